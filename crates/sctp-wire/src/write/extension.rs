//! Chunks of the extensions: AUTH, I-DATA, FORWARD TSN, I-FORWARD-TSN, ASCONF, ASCONF-ACK, RE-CONFIG, PAD.

use core::net::IpAddr;

use super::value::{self, Full, ValueWriter};
use super::{ChunkBuf, PacketWriter};
use crate::chunk::{Auth, HmacAlgorithm, IDataHeader, SkippedMid, SkippedSsn};
use crate::codepoints::ChunkType;
use crate::numbers::{AsconfSerial, SharedKeyId, Tsn};
use crate::parameter::{ChunkSet, Parameter};

/// The chunks of a packet that have to stand behind an AUTH chunk, and how that is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AuthPolicy {
    /// The number of the key that the AUTH chunk names.
    pub key: SharedKeyId,
    /// The algorithm of its HMAC.
    pub algorithm: HmacAlgorithm,
    /// The types of chunks that need it.
    pub chunks: ChunkSet,
}

/// An AUTH chunk whose HMAC is still zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenAuth {
    start: usize,
    algorithm: HmacAlgorithm,
}

impl AuthPolicy {
    /// Returns whether messages have to be authenticated.
    #[must_use]
    pub const fn covers_data(&self) -> bool {
        self.chunks.contains(ChunkType::DATA) || self.chunks.contains(ChunkType::I_DATA)
    }
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
        value::write_chunk(self.buffer, self.limit, ChunkType::AUTH, 0, |value| {
            value.u16(key.get());
            value.u16(algorithm.id().get());
            value.zeros(algorithm.hmac_bytes());
        })?;
        self.open_auth = Some(OpenAuth { start, algorithm });
        Ok(())
    }

    /// Authenticates the packet from here on: the first chunk that `policy` names gets an AUTH chunk in front
    /// of it, or does not fit.
    ///
    /// ```
    /// use sctp_wire::{AuthPolicy, ChunkSet, ChunkType, HmacAlgorithm, Packet, Checksum};
    /// # use sctp_wire::{PacketWriter, SctpPort, SharedKeyId, VerificationTag};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let port = SctpPort::try_from(7626)?;
    /// # let mut datagram = Vec::new();
    /// let mut packet = PacketWriter::begin(&mut datagram, port, port, VerificationTag::new(1), 1200);
    /// let chunks = ChunkSet::from_iter([ChunkType::COOKIE_ACK]);
    /// packet.authenticate(AuthPolicy { key: SharedKeyId::new(3), algorithm: HmacAlgorithm::Sha1, chunks });
    /// packet.shutdown_ack()?;
    /// packet.cookie_ack()?;
    /// packet.sign(|_octets, hmac| hmac.fill(0xaa));
    /// let _octets = packet.finish();
    /// let kinds: Vec<_> = Packet::decode(&datagram, Checksum::Verify)?.chunks().flatten().map(|c| c.kind()).collect();
    /// assert_eq!(kinds, [ChunkType::SHUTDOWN_ACK, ChunkType::AUTH, ChunkType::COOKIE_ACK]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn authenticate(&mut self, policy: AuthPolicy) {
        self.authentication = Some(policy);
    }

    /// Puts AUTH in front of a chunk that needs it; says how long the packet was without it.
    #[inline]
    pub(super) fn open_auth_for(&mut self, kind: ChunkType) -> Result<Option<usize>, Full> {
        let Some(policy) = self.authentication else { return Ok(None) };
        if self.open_auth.is_some() || !policy.chunks.contains(kind) {
            return Ok(None);
        }
        let before = self.buffer.len();
        self.auth(policy.key, policy.algorithm).map(|()| Some(before))
    }

    /// Takes back an AUTH chunk that [`open_auth_for`](Self::open_auth_for) wrote for nothing.
    pub(super) fn take_back(&mut self, before: Option<usize>) {
        if let Some(before) = before {
            self.buffer.truncate(before);
            self.open_auth = None;
        }
    }

    /// Returns the number of octets of the AUTH chunk without which no DATA or I-DATA can be written.
    #[inline]
    pub(super) fn auth_owed_to_data(&self) -> usize {
        match self.authentication {
            Some(policy) if self.open_auth.is_none() && policy.covers_data() => {
                policy.algorithm.chunk_bytes()
            }
            _ => 0,
        }
    }

    /// Fills in the HMAC of the AUTH chunk by `compute`, then does what [`finish`](Self::finish) does.
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
        self.sign(compute);
        self.finish()
    }

    /// Fills in the HMAC of the AUTH chunk by `compute`; the packet is finished later, and takes no further
    /// chunk.
    pub fn sign(&mut self, compute: impl FnOnce(&[u8], &mut [u8])) {
        if let Some(OpenAuth { start, algorithm }) = self.open_auth.take() {
            let mut hmac = [0; HmacAlgorithm::MOST_BYTES];
            let hmac = &mut hmac[..algorithm.hmac_bytes()];
            compute(&self.buffer[start..], hmac);
            let place = start + Auth::HEADER_BYTES;
            self.buffer[place..place + algorithm.hmac_bytes()].copy_from_slice(hmac);
            self.limit = self.buffer.len();
        }
    }

    /// Appends an I-DATA chunk. An empty payload is written as it is, though no receiver accepts it.
    ///
    /// # Errors
    ///
    /// [`Full`] if it does not fit; so for all that follow.
    pub fn i_data(&mut self, header: &IDataHeader, payload: &[u8]) -> Result<(), Full> {
        let [t0, t1, t2, t3] = header.tsn.get().to_be_bytes();
        let [s0, s1] = header.stream.get().to_be_bytes();
        let [m0, m1, m2, m3] = header.mid.get().to_be_bytes();
        let [l0, l1, l2, l3] = header.label.get().to_be_bytes();
        let fields = [t0, t1, t2, t3, s0, s1, 0, 0, m0, m1, m2, m3, l0, l1, l2, l3];
        self.fixed_chunk::<16, 20>(ChunkType::I_DATA, header.flag_bits(), fields, payload)
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
    /// Creates an ASCONF.
    ///
    /// # Errors
    ///
    /// [`Full`] if it is longer than 65535 octets; so for all that follow.
    pub fn asconf(serial: AsconfSerial, address: IpAddr, requests: &[Parameter<'_>]) -> Result<Self, Full> {
        Self::encode(ChunkType::ASCONF, 0, |value| value.asconf(serial, address, requests))
    }

    /// Creates an ASCONF-ACK.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn asconf_ack(serial: AsconfSerial, responses: &[Parameter<'_>]) -> Result<Self, Full> {
        Self::encode(ChunkType::ASCONF_ACK, 0, |value| value.asconf_ack(serial, responses))
    }

    /// Creates a RE-CONFIG.
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
