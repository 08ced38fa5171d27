//! Values that plans write as the command line does: `20ms`, `1%`, `1.7mbit`.

use core::fmt;
use core::marker::PhantomData;
use core::str::FromStr;
use core::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A value read from its text; a number is taken as the text that it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Text<T>(pub T);

/// A duration with its unit, such as `20ms`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = workload::DurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        workload::parse_duration(text).map(Self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Text::deserialize(deserializer).map(|text| text.0)
    }
}

impl<'de, T> Deserialize<'de> for Text<T>
where
    T: FromStr<Err: fmt::Display>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader(PhantomData)).map(Self)
    }
}

/// A word that is none of those known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not known here: use {known}")]
pub struct UnknownName {
    /// The text that was written.
    pub text: String,
    /// The names that can be written.
    pub known: String,
}

/// Gives a line of a table what follows from its name: it is written as its name, and two are the same, and in order, as their
/// names are.
macro_rules! by_name {
    ($line:ident) => {
        impl core::fmt::Display for $line {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl core::fmt::Debug for $line {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl PartialEq for $line {
            fn eq(&self, other: &Self) -> bool {
                self.name() == other.name()
            }
        }

        impl Eq for $line {}

        impl PartialOrd for $line {
            fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $line {
            fn cmp(&self, other: &Self) -> core::cmp::Ordering {
                self.name().cmp(other.name())
            }
        }

        impl core::hash::Hash for $line {
            fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
                self.name().hash(state);
            }
        }
    };
}
pub(crate) use by_name;

/// Returns names as in "use echo, messages or bulk".
pub(crate) fn or(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

struct Reader<T>(PhantomData<T>);

impl<T> Visitor<'_> for Reader<T>
where
    T: FromStr<Err: fmt::Display>,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text such as \"20ms\", or a number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}
