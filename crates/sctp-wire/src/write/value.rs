//! The value of a chunk being written: fields, parameters and causes within a limit.

use crate::cause::Cause;
use crate::chunk::{CHUNK_HEADER_BYTES, InitHeader};
use crate::codepoints::ChunkType;
use crate::parameter::Parameter;

/// A chunk does not fit: into what is left of the packet, or into the 65535 octets of any chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the chunk does not fit: send what is there first, or make it smaller")]
pub struct Full;

/// Takes the fields of a chunk's value one by one.
///
/// What no longer fits is not written, and the chunk as a whole is refused with [`Full`] when it is closed.
#[derive(Debug)]
pub struct ValueWriter<'b> {
    pub(super) buffer: &'b mut Vec<u8>,
    origin: usize,
    limit: usize,
    pub(super) is_full: bool,
}

/// Octets left open by [`ValueWriter::placeholder`].
#[derive(Debug)]
pub(crate) struct Placeholder<const N: usize>(usize);

/// Appends a chunk, padding included, that ends at `limit` of the buffer at the latest.
///
/// The limit must leave room for the padding, that is, be a multiple of 4 away from the chunk's start. On
/// [`Full`] the buffer is as it was.
pub(crate) fn write_chunk(
    buffer: &mut Vec<u8>,
    limit: usize,
    kind: ChunkType,
    flags: u8,
    write_value: impl FnOnce(&mut ValueWriter<'_>),
) -> Result<(), Full> {
    let start = buffer.len();
    let limit = limit.min(start.saturating_add(usize::from(u16::MAX)));
    let mut writer = ValueWriter { buffer, origin: start, limit, is_full: false };
    writer.bytes(&[kind.get(), flags, 0, 0]);
    write_value(&mut writer);
    let fits = !writer.is_full;
    if fits && close(buffer, start) {
        pad(buffer, start);
        Ok(())
    } else {
        buffer.truncate(start);
        Err(Full)
    }
}

/// Fills in the length of the item that began at `start`; false if it is too long.
fn close(buffer: &mut [u8], start: usize) -> bool {
    let length = u16::try_from(buffer.len() - start);
    match (length, buffer.get_mut(start + 2..start + CHUNK_HEADER_BYTES)) {
        (Ok(length), Some(field)) => {
            field.copy_from_slice(&length.to_be_bytes());
            true
        }
        _ => false,
    }
}

/// Returns what `write_list` writes, alone: parameters or causes, the last one without padding.
pub(crate) fn encode_list(write_list: impl FnOnce(&mut ValueWriter<'_>)) -> Result<Vec<u8>, Full> {
    let mut buffer = Vec::new();
    let mut writer =
        ValueWriter { buffer: &mut buffer, origin: 0, limit: usize::from(u16::MAX), is_full: false };
    write_list(&mut writer);
    if writer.is_full { Err(Full) } else { Ok(buffer) }
}

fn pad(buffer: &mut Vec<u8>, start: usize) {
    let padded = (buffer.len() - start).next_multiple_of(4);
    buffer.resize(start + padded, 0);
}

impl ValueWriter<'_> {
    /// Appends octets as they are.
    #[inline]
    pub fn bytes(&mut self, octets: &[u8]) {
        if self.is_full || octets.len() > self.remaining() {
            self.is_full = true;
        } else {
            self.buffer.extend_from_slice(octets);
        }
    }

    /// Appends a number of one octet.
    #[inline]
    pub fn u8(&mut self, number: u8) {
        self.bytes(&[number]);
    }

    /// Appends a number of two octets.
    #[inline]
    pub fn u16(&mut self, number: u16) {
        self.bytes(&number.to_be_bytes());
    }

    /// Appends a number of four octets.
    #[inline]
    pub fn u32(&mut self, number: u32) {
        self.bytes(&number.to_be_bytes());
    }

    /// Appends a parameter. Padding comes before the next one, not after the last (RFC 9260 §3.2).
    pub fn parameter(&mut self, parameter: &Parameter<'_>) {
        parameter.write(self);
    }

    /// Appends an error cause, padded like a parameter.
    pub fn cause(&mut self, cause: &Cause<'_>) {
        cause.write(self);
    }

    /// Returns the number of octets left.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.limit.saturating_sub(self.buffer.len())
    }

    /// Appends an item of type, length and value, after the padding of the one before.
    pub(crate) fn tlv(&mut self, kind: u16, write_value: impl FnOnce(&mut Self)) {
        let padding = (self.buffer.len() - self.origin).wrapping_neg() % 4;
        let start = self.buffer.len() + padding;
        let [high, low] = kind.to_be_bytes();
        if padding > 0 {
            self.bytes(&[0; 3][..padding]);
        }
        self.bytes(&[high, low, 0, 0]);
        write_value(self);
        self.is_full = self.is_full || !close(self.buffer, start);
    }

    pub(crate) fn parameters(&mut self, parameters: &[Parameter<'_>]) {
        parameters.iter().for_each(|parameter| self.parameter(parameter));
    }

    pub(crate) fn causes(&mut self, causes: &[Cause<'_>]) {
        causes.iter().for_each(|cause| self.cause(cause));
    }

    pub(crate) fn init(&mut self, header: &InitHeader, parameters: &[Parameter<'_>]) {
        self.u32(header.initiate_tag.get());
        self.u32(header.a_rwnd);
        self.u16(header.outbound_streams);
        self.u16(header.inbound_streams);
        self.u32(header.initial_tsn.get());
        self.parameters(parameters);
    }

    /// Appends `count` as a number of four octets.
    pub(crate) fn count32(&mut self, count: usize) {
        match u32::try_from(count) {
            Ok(count) => self.u32(count),
            Err(_) => self.is_full = true,
        }
    }

    #[inline]
    pub(crate) fn placeholder<const N: usize>(&mut self) -> Placeholder<N> {
        let at = self.buffer.len();
        self.bytes(&[0; N]);
        Placeholder(at)
    }

    #[inline]
    pub(crate) fn fill<const N: usize>(&mut self, open: Placeholder<N>, octets: [u8; N]) {
        if let Some(field) = self.buffer.get_mut(open.0..open.0 + N) {
            field.copy_from_slice(&octets);
        }
    }

    /// Appends as many groups as fit and says how many; never makes the chunk too long.
    pub(crate) fn groups<const N: usize>(&mut self, groups: impl Iterator<Item = [u8; N]>) -> u16 {
        let mut count: u16 = 0;
        for group in groups {
            if self.is_full || self.remaining() < N || count == u16::MAX {
                break;
            }
            self.buffer.extend_from_slice(&group);
            count += 1;
        }
        count
    }
}
