//! Packets as the scripts write and read them: an encoder and a decoder apart from the stack's.

/// A chunk: its type, its flags and what follows the length, without padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The type (RFC 9260 §3.2).
    pub kind: u8,
    /// The flags.
    pub flags: u8,
    /// What follows the length.
    pub value: Vec<u8>,
}

impl Chunk {
    /// A chunk with flags of zero.
    #[must_use]
    pub fn new(kind: u8, value: impl Into<Vec<u8>>) -> Self {
        Self { kind, flags: 0, value: value.into() }
    }

    /// The same with these flags.
    #[must_use]
    pub fn flagged(self, flags: u8) -> Self {
        Self { flags, ..self }
    }

    /// The 16-bit number at an offset of the value; 0 behind its end.
    #[must_use]
    pub fn u16(&self, offset: usize) -> u16 {
        self.value.get(offset..).and_then(<[u8]>::first_chunk).map_or(0, |octets| u16::from_be_bytes(*octets))
    }

    /// The 32-bit number at an offset of the value; 0 behind its end.
    #[must_use]
    pub fn u32(&self, offset: usize) -> u32 {
        self.value.get(offset..).and_then(<[u8]>::first_chunk).map_or(0, |octets| u32::from_be_bytes(*octets))
    }

    /// The parameters or causes from an offset on: type and content.
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

    /// The content of the first parameter or cause of this type.
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

/// A packet that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The position of the script's address it came to.
    pub to: usize,
    /// Source and destination port.
    pub ports: (u16, u16),
    /// The verification tag.
    pub tag: u32,
    /// The chunks in their order.
    pub chunks: Vec<Chunk>,
    /// All of it.
    pub octets: Vec<u8>,
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
        Ok(Self { to, ports, tag, chunks, octets: octets.to_vec() })
    }

    /// The chunk types: `"COOKIE_ECHO DATA"`.
    #[must_use]
    pub fn kinds(&self) -> String {
        self.chunks.iter().map(|chunk| name(chunk.kind)).collect::<Vec<_>>().join(" ")
    }

    /// The first chunk of a type.
    #[must_use]
    pub fn chunk(&self, kind: u8) -> Option<&Chunk> {
        self.chunks.iter().find(|chunk| chunk.kind == kind)
    }
}

/// A packet of these chunks.
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

/// The same octets with the checksum that fits.
#[must_use]
pub fn sealed(mut octets: Vec<u8>) -> Vec<u8> {
    if octets.len() >= 12 {
        octets.splice(8..12, [0; 4]);
        let sum = crc32c(&octets);
        octets.splice(8..12, sum.to_le_bytes());
    }
    octets
}

/// CRC32c, bit by bit (RFC 9260, Appendix A).
fn crc32c(octets: &[u8]) -> u32 {
    let step = |sum: u32, octet: &u8| {
        (0..8).fold(sum ^ u32::from(*octet), |sum, _| (sum >> 1) ^ (0x82F6_3B78 * (sum & 1)))
    };
    !octets.iter().fold(u32::MAX, step)
}

/// A parameter or cause: type, length, content, padding.
#[must_use]
pub fn item(kind: u16, content: &[u8]) -> Vec<u8> {
    let len = u16::try_from(4 + content.len()).unwrap_or(u16::MAX);
    let mut octets = [kind.to_be_bytes(), len.to_be_bytes()].concat();
    octets.extend(content);
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets
}

/// INIT, or with another `kind` INIT ACK.
#[must_use]
pub fn init(kind: u8, tag: u32, a_rwnd: u32, streams: (u16, u16), tsn: u32, parameters: &[u8]) -> Chunk {
    let (tag, a_rwnd, tsn) = (tag.to_be_bytes(), a_rwnd.to_be_bytes(), tsn.to_be_bytes());
    let streams = [streams.0.to_be_bytes(), streams.1.to_be_bytes()].concat();
    Chunk::new(kind, [&tag[..], &a_rwnd, &streams, &tsn, parameters].concat())
}

/// A whole ordered message; change the flags for others.
#[must_use]
pub fn data(tsn: u32, stream: u16, ssn: u16, payload: &[u8]) -> Chunk {
    let (tsn, stream, ssn) = (tsn.to_be_bytes(), stream.to_be_bytes(), ssn.to_be_bytes());
    Chunk::new(DATA, [&tsn[..], &stream, &ssn, &[0; 4], payload].concat()).flagged(WHOLE)
}

/// SACK with gap ack blocks.
#[must_use]
pub fn sack(cumulative: u32, a_rwnd: u32, gaps: &[(u16, u16)]) -> Chunk {
    let count = u16::try_from(gaps.len()).unwrap_or(u16::MAX).to_be_bytes();
    let mut value = [cumulative.to_be_bytes(), a_rwnd.to_be_bytes()].concat();
    value.extend([count, [0, 0]].concat());
    gaps.iter().for_each(|(start, end)| value.extend([start.to_be_bytes(), end.to_be_bytes()].concat()));
    Chunk::new(SACK, value)
}

/// HEARTBEAT with this information.
#[must_use]
pub fn heartbeat(information: &[u8]) -> Chunk {
    Chunk::new(HEARTBEAT, item(1, information))
}

/// SHUTDOWN.
#[must_use]
pub fn shutdown(cumulative: u32) -> Chunk {
    Chunk::new(SHUTDOWN, cumulative.to_be_bytes())
}

/// The name of a chunk type.
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

/// Chunk types (RFC 9260 §3.2).
pub const DATA: u8 = 0;
/// INIT.
pub const INIT: u8 = 1;
/// INIT ACK.
pub const INIT_ACK: u8 = 2;
/// SACK.
pub const SACK: u8 = 3;
/// HEARTBEAT.
pub const HEARTBEAT: u8 = 4;
/// HEARTBEAT ACK.
pub const HEARTBEAT_ACK: u8 = 5;
/// ABORT.
pub const ABORT: u8 = 6;
/// SHUTDOWN.
pub const SHUTDOWN: u8 = 7;
/// SHUTDOWN ACK.
pub const SHUTDOWN_ACK: u8 = 8;
/// ERROR.
pub const ERROR: u8 = 9;
/// COOKIE ECHO.
pub const COOKIE_ECHO: u8 = 10;
/// COOKIE ACK.
pub const COOKIE_ACK: u8 = 11;
/// SHUTDOWN COMPLETE.
pub const SHUTDOWN_COMPLETE: u8 = 14;

/// B and E of a DATA chunk.
pub const WHOLE: u8 = 0b0011;
/// U of a DATA chunk.
pub const UNORDERED: u8 = 0b0100;
/// I of a DATA chunk.
pub const IMMEDIATE: u8 = 0b1000;
/// B of a DATA chunk.
pub const BEGINNING: u8 = 0b0010;
/// E of a DATA chunk.
pub const ENDING: u8 = 0b0001;
/// T of ABORT and SHUTDOWN COMPLETE.
pub const REFLECTED: u8 = 1;
