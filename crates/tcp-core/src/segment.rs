//! Segments as values, and as octets (RFC 9293 §3.1).
//!
//! The checksum covers everything but the addresses: the simulator delivers to whom a packet is addressed, so the
//! pseudo-header would protect against nothing.

use smallvec::SmallVec;

/// A segment; the payload is borrowed from whoever has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The TCP port of the sender.
    pub source_port: u16,
    /// The TCP port of the receiver.
    pub destination_port: u16,
    /// Sequence number of the first octet, or of SYN or FIN.
    pub sequence: u32,
    /// The next octet expected; `None` in the very first segment.
    pub acknowledgment: Option<u32>,
    /// The flags SYN, FIN and RST.
    pub flags: Flags,
    /// The window field as it stands, before scaling.
    pub window: u16,
    /// The options, which only a SYN has.
    pub syn_options: Option<SynOptions>,
    /// The clock of the sender and the last one it saw of its peer, in milliseconds (RFC 7323 §3).
    pub timestamps: Option<(u32, u32)>,
    /// Ranges received out of order, the latest first (RFC 2018): first octet, and the one behind the last.
    pub sack: SmallVec<[(u32, u32); 3]>,
    /// The octets of the user's stream.
    pub payload: &'a [u8],
}

/// The control bits that are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// SYN: the segment opens a connection.
    pub syn: bool,
    /// FIN: the segment ends one direction of a connection.
    pub fin: bool,
    /// RST: the segment refuses or gives up a connection.
    pub rst: bool,
}

/// The options of a SYN: maximum segment size, window scale (RFC 7323), and that SACK is understood (RFC 2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynOptions {
    /// The largest payload the sender of this option accepts.
    pub mss: u16,
    /// The shift count of its window fields.
    pub window_scale: u8,
}

/// The reason why octets are no segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Shorter than a header, or than its data offset says.
    #[error("a segment of {0} octets is shorter than its header")]
    TooShort(usize),
    /// The checksum does not match.
    #[error("bad checksum")]
    Checksum,
    /// An option runs over the end of the header, or has an impossible length.
    #[error("malformed option of kind {0}")]
    Option(u8),
}

impl<'a> Segment<'a> {
    /// Appends the segment to `buffer`.
    pub fn encode(&self, buffer: &mut Vec<u8>) {
        let start = buffer.len();
        buffer.extend_from_slice(&self.source_port.to_be_bytes());
        buffer.extend_from_slice(&self.destination_port.to_be_bytes());
        buffer.extend_from_slice(&self.sequence.to_be_bytes());
        buffer.extend_from_slice(&self.acknowledgment.unwrap_or(0).to_be_bytes());
        buffer.extend_from_slice(&[0, self.control_bits()]);
        buffer.extend_from_slice(&self.window.to_be_bytes());
        buffer.extend_from_slice(&[0; 4]);
        self.encode_options(buffer);
        let header_bytes = buffer.len() - start;
        buffer[start + 12] = u8::try_from(header_bytes / 4).unwrap_or(15) << 4;
        buffer.extend_from_slice(self.payload);
        let checksum = checksum(&buffer[start..]);
        buffer[start + 16..start + 18].copy_from_slice(&checksum.to_be_bytes());
    }

    fn encode_options(&self, buffer: &mut Vec<u8>) {
        if let Some(options) = self.syn_options {
            let [high, low] = options.mss.to_be_bytes();
            buffer.extend_from_slice(&[MSS, 4, high, low, NOP, WINDOW_SCALE, 3, options.window_scale]);
            buffer.extend_from_slice(&[NOP, NOP, SACK_PERMITTED, 2]);
        }
        if let Some((value, echo)) = self.timestamps {
            buffer.extend_from_slice(&[NOP, NOP, TIMESTAMPS, 10]);
            buffer.extend_from_slice(&value.to_be_bytes());
            buffer.extend_from_slice(&echo.to_be_bytes());
        }
        if !self.sack.is_empty() {
            let len = u8::try_from(2 + 8 * self.sack.len()).unwrap_or(u8::MAX);
            buffer.extend_from_slice(&[NOP, NOP, SACK, len]);
            for (from, to) in &self.sack {
                buffer.extend_from_slice(&from.to_be_bytes());
                buffer.extend_from_slice(&to.to_be_bytes());
            }
        }
    }

    fn control_bits(&self) -> u8 {
        let Flags { syn, fin, rst } = self.flags;
        let bit = |is_set: bool, value: u8| if is_set { value } else { 0 };
        bit(fin, FIN) | bit(syn, SYN) | bit(rst, RST) | bit(self.acknowledgment.is_some(), ACK)
    }

    /// Reads a segment.
    ///
    /// # Errors
    /// What is wrong with the octets.
    pub fn decode(octets: &'a [u8]) -> Result<Self, DecodeError> {
        let too_short = DecodeError::TooShort(octets.len());
        let (header, _) = octets.split_first_chunk::<HEADER_BYTES>().ok_or(too_short)?;
        let header_bytes = usize::from(header[12] >> 4) * 4;
        if header_bytes < HEADER_BYTES {
            return Err(too_short);
        }
        let (front, payload) = octets.split_at_checked(header_bytes).ok_or(too_short)?;
        if checksum(octets) != 0 {
            return Err(DecodeError::Checksum);
        }
        let bits = header[13];
        let mut segment = Self {
            source_port: u16::from_be_bytes([header[0], header[1]]),
            destination_port: u16::from_be_bytes([header[2], header[3]]),
            sequence: word(&header[4..8]),
            acknowledgment: (bits & ACK != 0).then(|| word(&header[8..12])),
            flags: Flags { syn: bits & SYN != 0, fin: bits & FIN != 0, rst: bits & RST != 0 },
            window: u16::from_be_bytes([header[14], header[15]]),
            syn_options: None,
            timestamps: None,
            sack: SmallVec::new(),
            payload,
        };
        segment.decode_options(&front[HEADER_BYTES..])?;
        Ok(segment)
    }

    fn decode_options(&mut self, mut options: &[u8]) -> Result<(), DecodeError> {
        let mut announced = SynOptions { mss: MSS_DEFAULT, window_scale: 0 };
        while let Some((&kind, rest)) = options.split_first() {
            if kind == END {
                break;
            }
            if kind == NOP {
                options = rest;
                continue;
            }
            let malformed = DecodeError::Option(kind);
            let len = usize::from(*rest.first().ok_or(malformed)?);
            let (option, rest) = options.split_at_checked(len).ok_or(malformed)?;
            let value = option.get(2..).ok_or(malformed)?;
            match (kind, value) {
                (MSS, &[high, low]) => announced.mss = u16::from_be_bytes([high, low]),
                // RFC 7323 §2.3: a larger shift counts as 14.
                (WINDOW_SCALE, &[shift]) => announced.window_scale = shift.min(14),
                (SACK, ranges) if ranges.len() % 8 == 0 => {
                    self.sack =
                        ranges.chunks(8).map(|range| (word(&range[..4]), word(&range[4..]))).collect();
                }
                (TIMESTAMPS, times) if times.len() == 8 => {
                    self.timestamps = Some((word(&times[..4]), word(&times[4..])));
                }
                (MSS | WINDOW_SCALE | SACK | TIMESTAMPS, _) => return Err(malformed),
                (_others, _) => {}
            }
            options = rest;
        }
        self.syn_options = self.flags.syn.then_some(announced);
        Ok(())
    }
}

fn word(octets: &[u8]) -> u32 {
    octets.iter().fold(0, |word, octet| word << 8 | u32::from(*octet))
}

/// Returns the Internet checksum (RFC 1071); zero over a segment that carries its own.
fn checksum(octets: &[u8]) -> u16 {
    let pairs =
        octets.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0)));
    let mut sum: u64 = pairs.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(0)
}

/// Octets of a header without options.
pub const HEADER_BYTES: usize = 20;
/// RFC 9293 §3.7.1: the payload a peer accepts that does not say.
const MSS_DEFAULT: u16 = 536;
const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;
const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
/// The octets that the timestamps option takes of each segment (RFC 7323, appendix A).
pub(crate) const TIMESTAMP_BYTES: u64 = 12;
/// The octets that SACK blocks take: the option itself, and each of them.
pub(crate) const SACK_BYTES: (u64, u64) = (4, 8);

#[cfg(test)]
mod tests {
    use super::*;

    fn segment() -> Segment<'static> {
        Segment {
            source_port: 5001,
            destination_port: 80,
            sequence: 0xfedc_ba98,
            acknowledgment: Some(7),
            flags: Flags { syn: true, ..Flags::default() },
            window: 65_535,
            syn_options: Some(SynOptions { mss: 1460, window_scale: 7 }),
            timestamps: None,
            sack: SmallVec::from_slice(&[(10, 20), (u32::MAX, 5)]),
            payload: b"odd",
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for payload in [&b""[..], b"odd", b"even"] {
            let one = Segment { payload, ..segment() };
            let mut octets = vec![1, 2, 3];
            one.encode(&mut octets);
            assert_eq!(Segment::decode(&octets[3..]), Ok(one));
            let timestamps = Some((77, u32::MAX));
            let segment = Segment { syn_options: None, flags: Flags::default(), timestamps, ..segment() };
            octets.clear();
            segment.encode(&mut octets);
            assert_eq!(Segment::decode(&octets), Ok(segment));
        }
    }

    #[test]
    fn any_flipped_bit_is_noticed() {
        let mut octets = Vec::new();
        segment().encode(&mut octets);
        for bit in 0..octets.len() * 8 {
            octets[bit / 8] ^= 1 << (bit % 8);
            assert!(Segment::decode(&octets).is_err(), "bit {bit}");
            octets[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(Segment::decode(&octets).is_ok());
    }

    #[test]
    fn any_prefix_is_refused() {
        let mut octets = Vec::new();
        segment().encode(&mut octets);
        for len in 0..octets.len() {
            assert!(Segment::decode(&octets[..len]).is_err());
        }
    }
}
