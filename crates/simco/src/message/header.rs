//! The eight octets before every message (RFC 4540 §4.1).

use crate::codepoints::{BasicType, HEADER_BYTES, PAYLOAD_BYTES};
use crate::error::{DecodeError, EncodeError};
use crate::numbers::TransactionId;

/// A message header, its types not yet judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The basic type of the message.
    pub basic_type: u8,
    /// The sub-type of the message.
    pub sub_type: u8,
    /// Octets of payload behind the header, at most 65,528.
    pub payload_bytes: usize,
    /// The transaction identifier.
    pub transaction: TransactionId,
}

impl Header {
    /// Reads a header from the front of `octets`.
    ///
    /// # Errors
    ///
    /// Too few octets, or a length beyond 65,528, the only inconsistency a header can have by itself (ruling R4).
    pub fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        let Some((&[basic_type, sub_type, length0, length1, a, b, c, d], _)) = octets.split_first_chunk()
        else {
            return Err(DecodeError::ShortHeader { available: octets.len() });
        };
        let length = u16::from_be_bytes([length0, length1]);
        let payload_bytes = usize::from(length);
        if payload_bytes > PAYLOAD_BYTES {
            return Err(DecodeError::TooLong { length });
        }
        Ok(Self {
            basic_type,
            sub_type,
            payload_bytes,
            transaction: TransactionId::from_octets([a, b, c, d]),
        })
    }

    /// Reads the header of a whole message and hands out the payload, which must have the length it gives.
    ///
    /// # Errors
    ///
    /// See [`decode`](Self::decode), or the payload is shorter or longer.
    pub fn split_message(octets: &[u8]) -> Result<(Self, &[u8]), DecodeError> {
        let header = Self::decode(octets)?;
        let payload = octets.get(HEADER_BYTES..).unwrap_or_default();
        if payload.len() != header.payload_bytes {
            let expected = u16::try_from(header.payload_bytes).unwrap_or(u16::MAX);
            return Err(DecodeError::WrongLength { expected, available: payload.len() });
        }
        Ok((header, payload))
    }
}

/// Writes a header, lets `attributes` write the payload, and sets the length.
pub(super) fn write(
    out: &mut Vec<u8>,
    basic: BasicType,
    sub_type: u8,
    transaction: TransactionId,
    attributes: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let start = out.len();
    out.extend([basic.get(), sub_type, 0, 0]);
    out.extend(transaction.to_octets());
    let written = attributes(out).and_then(|()| {
        let length = out.len() - start - HEADER_BYTES;
        match u16::try_from(length) {
            Ok(short) if length <= PAYLOAD_BYTES => Ok(short),
            Ok(_) | Err(_) => Err(EncodeError::TooLong { length }),
        }
    });
    match written {
        Ok(length) => {
            out[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
            Ok(())
        }
        Err(error) => {
            out.truncate(start);
            Err(error)
        }
    }
}
