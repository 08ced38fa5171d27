//! A client that goes on in another network: when, what its new access link does, and whether the old one is there meanwhile.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;
use std::collections::BTreeMap;

use netem::{Impairments, InvalidImpairments};
use sctp_core::StartUp;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use crate::text::{Span, Text};

/// A change of the client's access link in mid-run. Plans write it as a table, the command line as `at=5s,overlap=1s,rtt=30ms`.
#[derive(Clone, Debug, PartialEq)]
pub struct Handover {
    /// The change begins then, after the run's start: with an overlap the new link comes, without one the old link dies.
    pub at: Duration,
    /// Whether both links work for a while.
    pub coverage: Coverage,
    /// The new link impairs packets so, in both directions.
    pub link: Impairments,
    /// How SCTP begins on the new path. Default [`StartUp::SlowStart`].
    pub start_up: StartUp,
}

/// Whether a moving client is in both networks for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Both links work for so long (make before break).
    Overlap(Duration),
    /// No link works for so long (break before make).
    Gap(Duration),
}

/// The reason why a handover is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandoverError {
    /// A word that no key of a handover is.
    #[error("`{key}` is no key of a handover: there are {}", KEYS.join(", "))]
    UnknownKey {
        /// The word, which is none of the keys.
        key: String,
    },
    /// Something that is no `key=value`.
    #[error("`{text}` is no handover: write at=5s,overlap=1s,rtt=30ms")]
    NoKey {
        /// The text, in which a key is to be followed by its value.
        text: String,
    },
    /// A key stands there twice.
    #[error("`{key}` is there twice: write it once")]
    Twice {
        /// The key, which may stand there once.
        key: String,
    },
    /// A key that has to be there is missing.
    #[error("a handover needs {what}")]
    Missing {
        /// The key that is missing, in words and with an example.
        what: &'static str,
    },
    /// Both an overlap and a gap.
    #[error("overlap and gap exclude each other: name one of them")]
    OverlapAndGap,
    /// A value that makes no sense.
    #[error("{key} '{value}': {because}")]
    Value {
        /// The key whose value is refused.
        key: String,
        /// The value, as it was written.
        value: String,
        /// The mistake is told here, with the bound.
        because: String,
    },
    /// The values of the new link do not go together.
    #[error("the new link: {0}")]
    Link(InvalidImpairments),
}

impl Handover {
    /// Returns when the new link works, and the client goes there.
    #[must_use]
    pub const fn arrives_at(&self) -> Duration {
        match self.coverage {
            Coverage::Overlap(_) => self.at,
            Coverage::Gap(gap) => self.at.saturating_add(gap),
        }
    }

    /// Returns when the old link dies.
    #[must_use]
    pub const fn leaves_at(&self) -> Duration {
        match self.coverage {
            Coverage::Overlap(overlap) => self.at.saturating_add(overlap),
            Coverage::Gap(_) => self.at,
        }
    }

    /// Reads the keys and values that both plans and the command line write.
    fn from_pairs(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self, HandoverError> {
        let mut values = BTreeMap::new();
        for (key, value) in pairs {
            if !KEYS.contains(&key.as_str()) {
                return Err(HandoverError::UnknownKey { key });
            }
            if values.insert(key.clone(), value).is_some() {
                return Err(HandoverError::Twice { key });
            }
        }
        let missing = |what| HandoverError::Missing { what };
        let at = span(&values, "at")?.ok_or(missing("a time: at=5s"))?;
        if at.is_zero() {
            return Err(HandoverError::value(
                "at",
                "0s",
                "the client has to be somewhere before: write more than 0s",
            ));
        }
        let coverage = match (span(&values, "overlap")?, span(&values, "gap")?) {
            (Some(_), Some(_)) => return Err(HandoverError::OverlapAndGap),
            (Some(overlap), None) => Coverage::Overlap(overlap),
            (None, Some(gap)) => Coverage::Gap(gap),
            (None, None) => {
                return Err(missing("how long both links work, or none: overlap=1s, or gap=500ms"));
            }
        };
        let rtt = span(&values, "rtt")?.ok_or(missing("the round-trip time of the new network: rtt=30ms"))?;
        let link = Impairments {
            delay: rtt / 2,
            loss: read(&values, "loss")?.unwrap_or_default(),
            rate: read(&values, "rate")?,
            queue: read(&values, "queue")?,
            ..Impairments::default()
        };
        link.validate().map_err(HandoverError::Link)?;
        let start_up = match values.get("start_up").map(String::as_str) {
            None | Some("off") => StartUp::SlowStart,
            Some("resume") => StartUp::RESUME,
            Some("probe") => StartUp::PROBE,
            Some(other) => {
                return Err(HandoverError::value("start_up", other, "that is off, resume or probe"));
            }
        };
        Ok(Self { at, coverage, link, start_up })
    }
}

impl HandoverError {
    fn value(key: &str, value: &str, because: impl fmt::Display) -> Self {
        Self::Value { key: key.to_owned(), value: value.to_owned(), because: because.to_string() }
    }
}

/// Reads the value of a key, if it is there.
fn read<T: FromStr<Err: fmt::Display>>(
    values: &BTreeMap<String, String>,
    key: &str,
) -> Result<Option<T>, HandoverError> {
    let Some(value) = values.get(key) else { return Ok(None) };
    value.parse().map(Some).map_err(|error| HandoverError::value(key, value, error))
}

/// Reads a time, an hour at most.
fn span(values: &BTreeMap<String, String>, key: &str) -> Result<Option<Duration>, HandoverError> {
    let Some(Span(span)) = read(values, key)? else { return Ok(None) };
    if span > LONGEST {
        let value = values.get(key).map_or("", String::as_str);
        return Err(HandoverError::value(key, value, "that is too long: write at most 1h"));
    }
    Ok(Some(span))
}

impl FromStr for Handover {
    type Err = HandoverError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for part in text.split(',') {
            match (part.split_once('='), pairs.last_mut()) {
                (Some((key, value)), _) => pairs.push((key.trim().to_owned(), value.trim().to_owned())),
                // Bursts and queues have commas of their own.
                (None, Some((_, value))) => *value += &format!(",{part}"),
                (None, None) => return Err(HandoverError::NoKey { text: text.to_owned() }),
            }
        }
        Self::from_pairs(pairs)
    }
}

impl<'de> Deserialize<'de> for Handover {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = BTreeMap::<String, Text<String>>::deserialize(deserializer)?;
        let pairs = written.into_iter().map(|(key, Text(value))| (key, value));
        Self::from_pairs(pairs).map_err(D::Error::custom)
    }
}

/// As on the command line, with what was left out.
impl fmt::Display for Handover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, length) = match self.coverage {
            Coverage::Overlap(overlap) => ("overlap", overlap),
            Coverage::Gap(gap) => ("gap", gap),
        };
        let Impairments { delay, loss, rate, queue, .. } = &self.link;
        write!(f, "at={:?},{name}={length:?},rtt={:?},loss={loss}", self.at, *delay * 2)?;
        if let Some(rate) = rate {
            write!(f, ",rate={rate}")?;
        }
        if let Some(queue) = queue {
            write!(f, ",queue={queue}")?;
        }
        let start_up = match self.start_up {
            StartUp::Resume { .. } => "resume",
            StartUp::Probe { .. } => "probe",
            StartUp::SlowStart | _ => "off",
        };
        write!(f, ",start_up={start_up}")
    }
}

const KEYS: [&str; 8] = ["at", "overlap", "gap", "rtt", "loss", "rate", "queue", "start_up"];
/// The longest time that a handover takes or waits for.
const LONGEST: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_written_again() {
        let text = "at=5s,gap=500ms,rtt=30ms,loss=bursts:990ms,10ms,rate=20mbit,queue=red:5p,15p,10%,50p,start_up=resume";
        let handover: Handover = text.parse().unwrap();
        assert_eq!(handover.to_string().parse(), Ok(handover.clone()));
        assert_eq!(
            (handover.leaves_at(), handover.arrives_at()),
            (Duration::from_secs(5), Duration::from_millis(5500))
        );
        assert_eq!(handover.link.delay, Duration::from_millis(15));
        let table: Handover =
            toml::from_str("at = \"2s\"\noverlap = \"1s\"\nrtt = \"30ms\"\nloss = 0.01").unwrap();
        assert_eq!((table.leaves_at(), table.arrives_at()), (Duration::from_secs(3), Duration::from_secs(2)));
        assert_eq!(table.start_up, StartUp::SlowStart);
    }

    #[test]
    fn what_is_wrong_is_said_with_key_value_and_bound() {
        for (text, told) in [
            ("5s", "write at=5s"),
            ("at=5s,rtt=30ms", "overlap=1s, or gap=500ms"),
            ("at=5s,gap=1s", "rtt=30ms"),
            ("gap=1s,rtt=30ms", "at=5s"),
            ("at=5s,gap=1s,overlap=1s,rtt=30ms", "exclude each other"),
            ("at=0s,gap=1s,rtt=30ms", "at '0s'"),
            ("at=2h,gap=1s,rtt=30ms", "at '2h': that is too long: write at most 1h"),
            ("at=5s,gap=1s,rtt=30", "rtt '30'"),
            ("at=5s,gap=1s,rtt=30ms,rate=fast", "rate 'fast'"),
            ("at=5s,gap=1s,rtt=30ms,queue=50p", "the new link: "),
            ("at=5s,gap=1s,rtt=30ms,start_up=fast", "start_up 'fast': that is off, resume or probe"),
            ("at=5s,at=6s,gap=1s,rtt=30ms", "`at` is there twice"),
            ("at=5s,gap=1s,rtt=30ms,mtu=1", "`mtu` is no key of a handover: there are at, overlap"),
        ] {
            let error = text.parse::<Handover>().unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
