//! Chunks of the extensions: AUTH, I-DATA, FORWARD TSN, I-FORWARD-TSN, ASCONF, ASCONF-ACK, RE-CONFIG, PAD.

use core::net::IpAddr;

use super::value::{Full, ValueWriter};
use super::{ChunkBuf, PacketWriter};
use crate::chunk::{Auth, HmacAlgorithm, IDataHeader, SkippedMid, SkippedSsn};
use crate::codepoints::ChunkType;
use crate::numbers::{AsconfSerial, SharedKeyId, Tsn};
use crate::parameter::Parameter;

/// An AUTH chunk whose HMAC is still zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenAuth {
    start: usize,
    algorithm: HmacAlgorithm,
}

/// Chunks of extensions.
impl PacketWriter<'_> {
    /// Appends an AUTH chunk whose HMAC [`finish_authenticated`](Self::finish_authenticated) fills in; what
    /// is written after it is authenticated (RFC 4895 §6.2).
    ///
    /// # Errors
    ///
    /// [`Full`] if it does not fit, or if the packet has one already: a packet takes one at most.
    pub fn auth(&mut self, key: SharedKeyId, algorithm: HmacAlgorithm) -> Result<(), Full> {
        if self.open_auth.is_some() {
            return Err(Full);
        }
        let start = self.buffer.len();
        self.chunk(ChunkType::AUTH, 0, |value| {
            value.u16(key.get());
            value.u16(algorithm.id().get());
            value.zeros(algorithm.hmac_bytes());
        })?;
        self.open_auth = Some(OpenAuth { start, algorithm });
        Ok(())
    }

    /// Has the HMAC of the AUTH chunk computed, then does what [`finish`](Self::finish) does.
    ///
    /// `compute` is given the octets the HMAC covers (the AUTH chunk with zeros for the HMAC, and all that
    /// follows) and fills in the HMAC, which is as long as its algorithm makes it. It is not called when the
    /// packet has no AUTH chunk.
    ///
    /// ```
    /// use sctp_wire::{HmacAlgorithm, PacketWriter, SctpPort, SharedKeyId, VerificationTag};
    /// # fn hmac_sha1(key: &[u8], octets: &[u8]) -> [u8; 20] { [key[0] ^ octets[0]; 20] }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let port = SctpPort::try_from(7626)?;
    /// let mut datagram = Vec::new();
    /// let mut packet = PacketWriter::begin(&mut datagram, port, port, VerificationTag::new(1), 1200);
    /// packet.auth(SharedKeyId::new(0), HmacAlgorithm::Sha1)?;
    /// packet.cookie_ack()?;
    /// let length = packet.finish_authenticated(|octets, hmac| hmac.copy_from_slice(&hmac_sha1(b"key", octets)));
    /// assert_eq!(length, 12 + HmacAlgorithm::Sha1.chunk_bytes() + 4);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "the length says where the packet ends"]
    pub fn finish_authenticated(mut self, compute: impl FnOnce(&[u8], &mut [u8])) -> usize {
        if let Some(OpenAuth { start, algorithm }) = self.open_auth.take() {
            let mut hmac = [0; HmacAlgorithm::MOST_BYTES];
            let hmac = &mut hmac[..algorithm.hmac_bytes()];
            compute(&self.buffer[start..], hmac);
            let place = start + Auth::HEADER_BYTES;
            self.buffer[place..place + algorithm.hmac_bytes()].copy_from_slice(hmac);
        }
        self.finish()
    }

    /// Appends an I-DATA chunk. An empty payload is written as it is, though no receiver accepts it.
    ///
    /// # Errors
    ///
    /// [`Full`] if it does not fit; so for all that follow.
    pub fn i_data(&mut self, header: &IDataHeader, payload: &[u8]) -> Result<(), Full> {
        self.chunk(ChunkType::I_DATA, header.flag_bits(), |value| {
            value.u32(header.tsn.get());
            value.u16(header.stream.get());
            value.u16(0);
            value.u32(header.mid.get());
            value.u32(header.label.get());
            value.bytes(payload);
        })
    }

    /// Appends a FORWARD TSN. Nothing is left out: if it does not fit, the caller goes less far.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn forward_tsn(
        &mut self,
        new_cumulative: Tsn,
        skipped: impl IntoIterator<Item = SkippedSsn>,
    ) -> Result<(), Full> {
        self.chunk(ChunkType::FORWARD_TSN, 0, |value| {
            value.u32(new_cumulative.get());
            skipped.into_iter().for_each(|skipped| value.bytes(&skipped.to_wire()));
        })
    }

    /// Appends an I-FORWARD-TSN. Nothing is left out: if it does not fit, the caller goes less far.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn i_forward_tsn(
        &mut self,
        new_cumulative: Tsn,
        skipped: impl IntoIterator<Item = SkippedMid>,
    ) -> Result<(), Full> {
        self.chunk(ChunkType::I_FORWARD_TSN, 0, |value| {
            value.u32(new_cumulative.get());
            skipped.into_iter().for_each(|skipped| value.bytes(&skipped.to_wire()));
        })
    }

    /// Appends an ASCONF.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn asconf(
        &mut self,
        serial: AsconfSerial,
        address: IpAddr,
        requests: &[Parameter<'_>],
    ) -> Result<(), Full> {
        self.chunk(ChunkType::ASCONF, 0, |value| value.asconf(serial, address, requests))
    }

    /// Appends an ASCONF-ACK.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn asconf_ack(&mut self, serial: AsconfSerial, responses: &[Parameter<'_>]) -> Result<(), Full> {
        self.chunk(ChunkType::ASCONF_ACK, 0, |value| value.asconf_ack(serial, responses))
    }

    /// Appends a RE-CONFIG.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn re_config(&mut self, parameters: &[Parameter<'_>]) -> Result<(), Full> {
        self.chunk(ChunkType::RE_CONFIG, 0, |value| value.parameters(parameters))
    }

    /// Appends a PAD with this many octets of zero after its 4 octets of chunk header (RFC 4820 §3).
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn pad(&mut self, padding_bytes: usize) -> Result<(), Full> {
        self.chunk(ChunkType::PAD, 0, |value| value.zeros(padding_bytes))
    }
}

/// Chunks of extensions that wait for a packet.
impl ChunkBuf {
    /// An ASCONF.
    ///
    /// # Errors
    ///
    /// [`Full`] if it is longer than 65535 octets; so for all that follow.
    pub fn asconf(serial: AsconfSerial, address: IpAddr, requests: &[Parameter<'_>]) -> Result<Self, Full> {
        Self::encode(ChunkType::ASCONF, 0, |value| value.asconf(serial, address, requests))
    }

    /// An ASCONF-ACK.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn asconf_ack(serial: AsconfSerial, responses: &[Parameter<'_>]) -> Result<Self, Full> {
        Self::encode(ChunkType::ASCONF_ACK, 0, |value| value.asconf_ack(serial, responses))
    }

    /// A RE-CONFIG.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn re_config(parameters: &[Parameter<'_>]) -> Result<Self, Full> {
        Self::encode(ChunkType::RE_CONFIG, 0, |value| value.parameters(parameters))
    }
}

impl ValueWriter<'_> {
    /// Appends this many octets of zero.
    pub fn zeros(&mut self, count: usize) {
        if self.is_full || count > self.remaining() {
            self.is_full = true;
        } else {
            let length = self.buffer.len() + count;
            self.buffer.resize(length, 0);
        }
    }

    /// Appends an address parameter.
    pub(crate) fn address(&mut self, address: IpAddr) {
        self.parameter(&Parameter::from(address));
    }

    fn asconf(&mut self, serial: AsconfSerial, address: IpAddr, requests: &[Parameter<'_>]) {
        self.u32(serial.get());
        self.address(address);
        self.parameters(requests);
    }

    fn asconf_ack(&mut self, serial: AsconfSerial, responses: &[Parameter<'_>]) {
        self.u32(serial.get());
        self.parameters(responses);
    }
}
