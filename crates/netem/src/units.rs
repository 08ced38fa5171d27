//! Link rates, sizes and queue limits.

use core::fmt;
use core::num::NonZeroU64;
use core::str::FromStr;
use core::time::Duration;

use crate::parse::{self, ParseError};

/// A link rate in bits per second, at least one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub struct BitRate(NonZeroU64);

impl BitRate {
    /// Creates the rate of `bits` per second; `None` for zero, which would carry nothing.
    #[must_use]
    pub fn from_bits_per_second(bits: u64) -> Option<Self> {
        NonZeroU64::new(bits).map(Self)
    }

    /// Returns the rate in bits per second.
    #[must_use]
    pub const fn bits_per_second(self) -> u64 {
        self.0.get()
    }

    /// Returns how long `wire_bytes` octets occupy the link, rounded up to a nanosecond.
    #[must_use]
    pub fn serialisation_time(self, wire_bytes: u64) -> Duration {
        let rate = self.0.get();
        if let Some(bit_nanos) = wire_bytes.checked_mul(8 * NANOS_PER_SECOND) {
            return Duration::from_nanos(bit_nanos.div_ceil(rate));
        }
        let bit_nanos = u128::from(wire_bytes) * u128::from(8 * NANOS_PER_SECOND);
        Duration::from_nanos(u64::try_from(bit_nanos.div_ceil(u128::from(rate))).unwrap_or(u64::MAX))
    }
}

/// `500bit`, `100kbit`, `1.7mbit`, `1gbit`, in any case; bare numbers are refused.
impl FromStr for BitRate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let value = || text.to_owned();
        let (digits, unit) = parse::split_unit(text);
        let scale = match unit.to_ascii_lowercase().as_str() {
            "bit" => 1,
            "kbit" => 1_000,
            "mbit" => 1_000_000,
            "gbit" => 1_000_000_000,
            "" if !digits.is_empty() => return Err(ParseError::RateWithoutUnit { value: value() }),
            _ => return Err(ParseError::NotABitRate { value: value() }),
        };
        let bits = parse::decimal(digits, scale).ok_or_else(|| ParseError::NotABitRate { value: value() })?;
        Self::from_bits_per_second(bits).ok_or_else(|| ParseError::RateIsZero { value: value() })
    }
}

/// In the largest unit that needs no fraction.
impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1_000_000_000, "gbit"), (1_000_000, "mbit"), (1_000, "kbit")];
        write_in_largest(f, self.0.get(), &units, "bit")
    }
}

/// A size: a number of octets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub struct ByteSize(u64);

impl ByteSize {
    /// Creates the size of `octets` octets.
    #[must_use]
    pub const fn from_octets(octets: u64) -> Self {
        Self(octets)
    }

    /// Returns the number of octets.
    #[must_use]
    pub const fn octets(self) -> u64 {
        self.0
    }
}

/// `500` or `500B` (octets), `64KiB`, `1.5MiB`, `1GiB`, in any case.
impl FromStr for ByteSize {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (digits, unit) = parse::split_unit(text);
        let scale = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => Some(1),
            "kib" => Some(KIB),
            "mib" => Some(KIB * KIB),
            "gib" => Some(KIB * KIB * KIB),
            _ => None,
        };
        scale
            .and_then(|scale| parse::decimal(digits, scale))
            .map(Self)
            .ok_or_else(|| ParseError::NotASize { value: text.to_owned() })
    }
}

/// In the largest unit that needs no fraction.
impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_in_largest(f, self.0, &[(KIB * KIB * KIB, "GiB"), (KIB * KIB, "MiB"), (KIB, "KiB")], "")
    }
}

/// How much may wait before a rate-limited link; the packet on the wire does not count.
///
/// A packet that does not fit is dropped, whole; RED and CoDel drop before that. One packet always fits an idle link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub enum QueueLimit {
    /// The queue holds at most so many packets.
    Packets(u32),
    /// The queue holds at most so many octets, counted as on the wire.
    Bytes(u64),
    /// The queue drops at random before it is full (random early detection).
    Red(Red),
    /// Controlled delay (RFC 8289).
    CoDel(CoDel),
}

/// Random early detection (Floyd and Jacobson 1993), counted in packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Red {
    /// The average length, in packets, below which nothing is dropped.
    pub min_packets: u32,
    /// The average length, in packets, from which on everything is dropped.
    pub max_packets: u32,
    /// The share that is dropped just below it, in millionths.
    pub most_millionths: u32,
    /// The largest number of packets that wait.
    pub limit_packets: u32,
}

impl Red {
    /// Returns the share that is dropped just below the maximum.
    #[must_use]
    pub fn probability(self) -> crate::Probability {
        crate::Probability::new(f64::from(self.most_millionths) / 1e6).unwrap_or_default()
    }
}

/// Controlled delay (RFC 8289).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoDel {
    /// The delay that is accepted for long. RFC 8289 §3.2 has 5 ms.
    pub target: Duration,
    /// How long it may be above: a round trip. RFC 8289 §3.2 has 100 ms.
    pub interval: Duration,
    /// The largest number of packets that wait.
    pub limit_packets: u32,
}

/// `MIN,MAX,P,LIMIT`: `5p,15p,10%,50p`.
impl FromStr for Red {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = || ParseError::NotAQueueLimit { value: format!("red:{text}") };
        let [min, max, most, limit] = text.split(',').collect::<Vec<_>>()[..] else { return Err(refused()) };
        let packets = |text| packets(text).ok_or_else(refused);
        let (share, _) = parse::fraction(most).map_err(|_| refused())?;
        let millionths =
            (0.0..=1.0).contains(&share).then(|| format!("{:.0}", share * 1e6).parse().ok()).flatten();
        let (min_packets, max_packets) = (packets(min)?, packets(max)?);
        if min_packets >= max_packets {
            return Err(refused());
        }
        let most_millionths = millionths.ok_or_else(refused)?;
        Ok(Self { min_packets, max_packets, most_millionths, limit_packets: packets(limit)? })
    }
}

/// `TARGET,INTERVAL,LIMIT`, times in ms: `5ms,100ms,1000p`.
impl FromStr for CoDel {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = || ParseError::NotAQueueLimit { value: format!("codel:{text}") };
        let [target, interval, limit] = text.split(',').collect::<Vec<_>>()[..] else {
            return Err(refused());
        };
        let ms = |text: &str| {
            let digits = text.strip_suffix("ms").ok_or_else(refused)?;
            parse::decimal(digits, 1_000_000).map(Duration::from_nanos).ok_or_else(refused)
        };
        let (target, interval) = (ms(target)?, ms(interval)?);
        if interval.is_zero() {
            return Err(refused());
        }
        Ok(Self { target, interval, limit_packets: packets(limit).ok_or_else(refused)? })
    }
}

/// Reads a number of packets, such as `50p`.
fn packets(text: &str) -> Option<u32> {
    let digits = text.strip_suffix(['p', 'P'])?;
    parse::decimal(digits, 1).and_then(|packets| u32::try_from(packets).ok())
}

/// `50p` (packets), a size: `64KiB`, `500` (octets), `red:5p,15p,10%,50p` or `codel:5ms,100ms,1000p`.
impl FromStr for QueueLimit {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = || ParseError::NotAQueueLimit { value: text.to_owned() };
        if let Some(red) = text.strip_prefix("red:") {
            return red.parse().map(Self::Red);
        }
        if let Some(codel) = text.strip_prefix("codel:") {
            return codel.parse().map(Self::CoDel);
        }
        match text.strip_suffix(['p', 'P']) {
            Some(packets) => {
                let packets = parse::decimal(packets, 1).and_then(|packets| u32::try_from(packets).ok());
                packets.map(Self::Packets).ok_or_else(refused)
            }
            None => text.parse::<ByteSize>().map(|size| Self::Bytes(size.octets())).map_err(|_| refused()),
        }
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => write!(f, "{packets}p"),
            Self::Bytes(octets) => ByteSize(*octets).fmt(f),
            Self::Red(Red { min_packets, max_packets, most_millionths, limit_packets }) => {
                let share = f64::from(*most_millionths) / 1e6;
                write!(f, "red:{min_packets}p,{max_packets}p,{share},{limit_packets}p")
            }
            Self::CoDel(CoDel { target, interval, limit_packets }) => {
                let ms = |span: &Duration| span.as_secs_f64() * 1e3;
                write!(f, "codel:{}ms,{}ms,{limit_packets}p", ms(target), ms(interval))
            }
        }
    }
}

/// Plans and reports write units as text, the way the command line does.
macro_rules! as_text {
    ($($unit:ty),*) => {$(
        impl TryFrom<String> for $unit {
            type Error = ParseError;

            fn try_from(text: String) -> Result<Self, ParseError> {
                text.parse()
            }
        }

        impl From<$unit> for String {
            fn from(unit: $unit) -> Self {
                unit.to_string()
            }
        }
    )*};
}
pub(crate) use as_text;

as_text!(BitRate, ByteSize, QueueLimit);

fn write_in_largest(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    units: &[(u64, &str)],
    smallest: &str,
) -> fmt::Result {
    match units.iter().find(|(scale, _)| value >= *scale && value.is_multiple_of(*scale)) {
        Some((scale, unit)) => write!(f, "{}{unit}", value / scale),
        None => write!(f, "{value}{smallest}"),
    }
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;
const KIB: u64 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_need_a_unit_and_carry_something() {
        assert_eq!("1.7mbit".parse::<BitRate>().unwrap().bits_per_second(), 1_700_000);
        assert_eq!("100kbit".parse::<BitRate>().unwrap().bits_per_second(), 100_000);
        assert_eq!("1Gbit".parse::<BitRate>().unwrap().bits_per_second(), 1_000_000_000);
        assert_eq!("500bit".parse::<BitRate>().unwrap().bits_per_second(), 500);
        assert_eq!("500".parse::<BitRate>(), Err(ParseError::RateWithoutUnit { value: "500".into() }));
        assert_eq!("0mbit".parse::<BitRate>(), Err(ParseError::RateIsZero { value: "0mbit".into() }));
        for text in ["", "mbit", "-1mbit", "1mbyte", "1e3bit"] {
            assert_eq!(text.parse::<BitRate>(), Err(ParseError::NotABitRate { value: text.into() }));
        }
    }

    #[test]
    fn sizes_and_queue_limits_are_read_as_written() {
        assert_eq!("500".parse::<ByteSize>().unwrap().octets(), 500);
        assert_eq!("64KiB".parse::<ByteSize>().unwrap().octets(), 65_536);
        assert_eq!("1.5MiB".parse::<ByteSize>().unwrap().octets(), 1_572_864);
        assert!("64kB".parse::<ByteSize>().is_err() && "".parse::<ByteSize>().is_err());
        assert_eq!("50p".parse(), Ok(QueueLimit::Packets(50)));
        assert_eq!("64KiB".parse(), Ok(QueueLimit::Bytes(65_536)));
        assert_eq!("500".parse(), Ok(QueueLimit::Bytes(500)));
        for text in ["p", "5.5p", "50 p", "4294967296p", "fifty"] {
            assert_eq!(text.parse::<QueueLimit>(), Err(ParseError::NotAQueueLimit { value: text.into() }));
        }
    }

    #[test]
    fn what_is_displayed_reads_back() {
        for text in ["1700kbit", "1gbit", "1bit", "999bit"] {
            assert_eq!(text.parse::<BitRate>().unwrap().to_string(), text);
        }
        for text in ["50p", "64KiB", "500", "0", "3GiB"] {
            assert_eq!(text.parse::<QueueLimit>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn serialisation_time_is_bits_over_rate_rounded_up() {
        let rate = |text: &str| text.parse::<BitRate>().unwrap();
        assert_eq!(rate("1gbit").serialisation_time(1500), Duration::from_micros(12));
        assert_eq!(rate("1.7mbit").serialisation_time(1500), Duration::from_nanos(7_058_824));
        assert_eq!(rate("1bit").serialisation_time(1), Duration::from_secs(8));
        assert_eq!(rate("8gbit").serialisation_time(u64::MAX), Duration::from_nanos(u64::MAX));
    }
}
