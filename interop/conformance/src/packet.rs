//! Packets as the scripts write and read them: an encoder and a decoder apart from the stack's.

/// A chunk: its type, its flags and what follows the length, without padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The type (RFC 9260 §3.2).
    pub kind: u8,
    /// The flags of the chunk, eight bits.
    pub flags: u8,
    /// The octets that follow the length.
    pub value: Vec<u8>,
}

impl Chunk {
    /// Creates a chunk with flags of zero.
    #[must_use]
    pub fn new(kind: u8, value: impl Into<Vec<u8>>) -> Self {
        Self { kind, flags: 0, value: value.into() }
    }

    /// Returns the chunk with these flags instead.
    #[must_use]
    pub fn flagged(self, flags: u8) -> Self {
        Self { flags, ..self }
    }

    /// Returns the 16-bit number at an offset of the value; 0 behind its end.
    #[must_use]
    pub fn u16(&self, offset: usize) -> u16 {
        self.value.get(offset..).and_then(<[u8]>::first_chunk).map_or(0, |octets| u16::from_be_bytes(*octets))
    }

    /// Returns the 32-bit number at an offset of the value; 0 behind its end.
    #[must_use]
    pub fn u32(&self, offset: usize) -> u32 {
        self.value.get(offset..).and_then(<[u8]>::first_chunk).map_or(0, |octets| u32::from_be_bytes(*octets))
    }

    /// Returns the parameters or causes from an offset on: type and content.
    #[must_use]
    pub fn items(&self, offset: usize) -> Vec<(u16, Vec<u8>)> {
        let (mut items, mut rest) = (Vec::new(), self.value.get(offset..).unwrap_or_default());
        while let Some(([k0, k1, l0, l1], _)) = rest.split_first_chunk() {
            let len = usize::from(u16::from_be_bytes([*l0, *l1]));
            let Some(content) = rest.get(4..len) else { break };
            items.push((u16::from_be_bytes([*k0, *k1]), content.to_vec()));
            rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        }
        items
    }

    /// Returns the content of the first parameter or cause of this type.
    #[must_use]
    pub fn item(&self, offset: usize, kind: u16) -> Option<Vec<u8>> {
        self.items(offset).into_iter().find(|(each, _)| *each == kind).map(|(_, content)| content)
    }

    fn encode(&self, octets: &mut Vec<u8>) {
        let len = u16::try_from(4 + self.value.len()).unwrap_or(u16::MAX);
        octets.extend([self.kind, self.flags]);
        octets.extend(len.to_be_bytes());
        octets.extend(&self.value);
        octets.resize(octets.len().next_multiple_of(4), 0);
    }
}

/// A packet that a script has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The position of the script's address it came to.
    pub to: usize,
    /// Source and destination port.
    pub ports: (u16, u16),
    /// The verification tag of the packet.
    pub tag: u32,
    /// The chunks in their order.
    pub chunks: Vec<Chunk>,
    /// The octets of the whole packet.
    pub octets: Vec<u8>,
    /// Whether IP may fragment the packet on its way; true where nothing is known of that.
    pub may_be_fragmented: bool,
}

impl Heard {
    /// Reads a packet; says what is wrong with one that is not sound: its checksum, its lengths, its padding.
    ///
    /// # Errors
    /// What is wrong.
    pub fn read(to: usize, octets: &[u8]) -> Result<Self, String> {
        let Some((header, mut rest)) = octets.split_first_chunk::<12>() else {
            return Err(format!("a packet of {} octets", octets.len()));
        };
        let [s0, s1, d0, d1, t0, t1, t2, t3, c0, c1, c2, c3] = *header;
        let mut zeroed = octets.to_vec();
        zeroed.splice(8..12, [0; 4]);
        if u32::from_le_bytes([c0, c1, c2, c3]) != crc32c(&zeroed) {
            return Err("the checksum is wrong".to_owned());
        }
        let mut chunks = Vec::new();
        while let Some(([kind, flags, l0, l1], _)) = rest.split_first_chunk() {
            let len = usize::from(u16::from_be_bytes([*l0, *l1]));
            let padded = len.next_multiple_of(4);
            let (Some(value), Some(padding)) = (rest.get(4..len), rest.get(len..padded)) else {
                return Err(format!("chunk {kind} of {len} octets, and {} are left", rest.len()));
            };
            if padding.iter().any(|octet| *octet != 0) {
                return Err(format!("chunk {kind} is padded with {padding:?}"));
            }
            chunks.push(Chunk { kind: *kind, flags: *flags, value: value.to_vec() });
            rest = rest.get(padded..).unwrap_or_default();
        }
        let ports = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]));
        let tag = u32::from_be_bytes([t0, t1, t2, t3]);
        Ok(Self { to, ports, tag, chunks, octets: octets.to_vec(), may_be_fragmented: true })
    }

    /// Returns the chunk types: `"COOKIE_ECHO DATA"`.
    #[must_use]
    pub fn kinds(&self) -> String {
        self.chunks.iter().map(|chunk| name(chunk.kind)).collect::<Vec<_>>().join(" ")
    }

    /// Returns the first chunk of a type.
    #[must_use]
    pub fn chunk(&self, kind: u8) -> Option<&Chunk> {
        self.chunks.iter().find(|chunk| chunk.kind == kind)
    }
}

/// Returns a packet of these chunks.
#[must_use]
pub fn packet(ports: (u16, u16), tag: u32, chunks: &[Chunk]) -> Vec<u8> {
    let mut octets = Vec::new();
    octets.extend(ports.0.to_be_bytes());
    octets.extend(ports.1.to_be_bytes());
    octets.extend(tag.to_be_bytes());
    octets.extend([0; 4]);
    chunks.iter().for_each(|chunk| chunk.encode(&mut octets));
    sealed(octets)
}

/// Returns the octets of a packet with the checksum that fits.
#[must_use]
pub fn sealed(mut octets: Vec<u8>) -> Vec<u8> {
    if octets.len() >= 12 {
        octets.splice(8..12, [0; 4]);
        let sum = crc32c(&octets);
        octets.splice(8..12, sum.to_le_bytes());
    }
    octets
}

/// Computes the CRC32c bit by bit (RFC 9260, Appendix A).
fn crc32c(octets: &[u8]) -> u32 {
    let step = |sum: u32, octet: &u8| {
        (0..8).fold(sum ^ u32::from(*octet), |sum, _| (sum >> 1) ^ (0x82F6_3B78 * (sum & 1)))
    };
    !octets.iter().fold(u32::MAX, step)
}

/// Encodes a parameter or cause: type, length, content, padding.
#[must_use]
pub fn item(kind: u16, content: &[u8]) -> Vec<u8> {
    let len = u16::try_from(4 + content.len()).unwrap_or(u16::MAX);
    let mut octets = [kind.to_be_bytes(), len.to_be_bytes()].concat();
    octets.extend(content);
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets
}

/// Creates INIT, or with another `kind` INIT ACK.
#[must_use]
pub fn init(kind: u8, tag: u32, a_rwnd: u32, streams: (u16, u16), tsn: u32, parameters: &[u8]) -> Chunk {
    let (tag, a_rwnd, tsn) = (tag.to_be_bytes(), a_rwnd.to_be_bytes(), tsn.to_be_bytes());
    let streams = [streams.0.to_be_bytes(), streams.1.to_be_bytes()].concat();
    Chunk::new(kind, [&tag[..], &a_rwnd, &streams, &tsn, parameters].concat())
}

/// Creates a whole ordered message; change the flags for others.
#[must_use]
pub fn data(tsn: u32, stream: u16, ssn: u16, payload: &[u8]) -> Chunk {
    let (tsn, stream, ssn) = (tsn.to_be_bytes(), stream.to_be_bytes(), ssn.to_be_bytes());
    Chunk::new(DATA, [&tsn[..], &stream, &ssn, &[0; 4], payload].concat()).flagged(WHOLE)
}

/// Creates a SACK with gap ack blocks.
#[must_use]
pub fn sack(cumulative: u32, a_rwnd: u32, gaps: &[(u16, u16)]) -> Chunk {
    let count = u16::try_from(gaps.len()).unwrap_or(u16::MAX).to_be_bytes();
    let mut value = [cumulative.to_be_bytes(), a_rwnd.to_be_bytes()].concat();
    value.extend([count, [0, 0]].concat());
    gaps.iter().for_each(|(start, end)| value.extend([start.to_be_bytes(), end.to_be_bytes()].concat()));
    Chunk::new(SACK, value)
}

/// Creates a HEARTBEAT with this information.
#[must_use]
pub fn heartbeat(information: &[u8]) -> Chunk {
    Chunk::new(HEARTBEAT, item(1, information))
}

/// Creates a SHUTDOWN that acknowledges up to a TSN.
#[must_use]
pub fn shutdown(cumulative: u32) -> Chunk {
    Chunk::new(SHUTDOWN, cumulative.to_be_bytes())
}

/// Returns the name of a chunk type.
#[must_use]
pub fn name(kind: u8) -> &'static str {
    let names = [
        "DATA",
        "INIT",
        "INIT_ACK",
        "SACK",
        "HEARTBEAT",
        "HEARTBEAT_ACK",
        "ABORT",
        "SHUTDOWN",
        "SHUTDOWN_ACK",
        "ERROR",
        "COOKIE_ECHO",
        "COOKIE_ACK",
        "ECNE",
        "CWR",
        "SHUTDOWN_COMPLETE",
    ];
    names.get(usize::from(kind)).copied().unwrap_or("?")
}

/// The chunk type of DATA (RFC 9260 §3.2).
pub const DATA: u8 = 0;
/// The chunk type of INIT (1).
pub const INIT: u8 = 1;
/// The chunk type of INIT ACK.
pub const INIT_ACK: u8 = 2;
/// The chunk type of SACK (3).
pub const SACK: u8 = 3;
/// The chunk type of HEARTBEAT.
pub const HEARTBEAT: u8 = 4;
/// The chunk type of HEARTBEAT ACK.
pub const HEARTBEAT_ACK: u8 = 5;
/// The chunk type of ABORT (6).
pub const ABORT: u8 = 6;
/// The chunk type of SHUTDOWN.
pub const SHUTDOWN: u8 = 7;
/// The chunk type of SHUTDOWN ACK.
pub const SHUTDOWN_ACK: u8 = 8;
/// The chunk type of ERROR (9).
pub const ERROR: u8 = 9;
/// The chunk type of COOKIE ECHO.
pub const COOKIE_ECHO: u8 = 10;
/// The chunk type of COOKIE ACK.
pub const COOKIE_ACK: u8 = 11;
/// The chunk type of SHUTDOWN COMPLETE.
pub const SHUTDOWN_COMPLETE: u8 = 14;

/// The flags B and E of DATA: a whole message.
pub const WHOLE: u8 = 0b0011;
/// The flag U of DATA: an unordered message.
pub const UNORDERED: u8 = 0b0100;
/// The flag I of DATA: to be acknowledged at once.
pub const IMMEDIATE: u8 = 0b1000;
/// The flag B of DATA: the first fragment.
pub const BEGINNING: u8 = 0b0010;
/// The flag E of DATA: the last fragment.
pub const ENDING: u8 = 0b0001;
/// The flag T of ABORT and SHUTDOWN COMPLETE.
pub const REFLECTED: u8 = 1;
