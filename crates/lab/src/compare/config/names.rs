//! Options that are one word out of a few.

use core::fmt;
use core::str::FromStr;

use crate::text::UnknownName;

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
