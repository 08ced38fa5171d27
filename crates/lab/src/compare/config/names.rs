//! Options that are one word out of a few.

use core::fmt;
use core::str::FromStr;

use thiserror::Error;

/// The backend that a comparison asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BackendChoice {
    /// Namespaces and, where they are refused, the simulator. The default.
    #[default]
    Auto,
    /// Real packets through the emulator between two network namespaces, or nothing.
    Namespaces,
    /// The simulator, in virtual time.
    Simulator,
}

impl FromStr for BackendChoice {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "namespaces" => Ok(Self::Namespaces),
            "simulator" => Ok(Self::Simulator),
            _ => {
                Err(UnknownName { text: text.to_owned(), known: "auto, namespaces or simulator".to_owned() })
            }
        }
    }
}

impl fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Namespaces => "namespaces",
            Self::Simulator => "simulator",
        })
    }
}

/// A word that is none of those known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not known here: use {known}")]
pub struct UnknownName {
    /// The text that was written.
    pub text: String,
    /// The names that can be written.
    pub known: String,
}
