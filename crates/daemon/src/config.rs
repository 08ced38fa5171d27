//! Reading a configuration file, and the reasons why one is refused.

use std::fmt::Display;
use std::path::{Path, PathBuf};

/// The reason why a configuration is none.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The configuration file cannot be read.
    #[error("cannot read {}: {because}", path.display())]
    Read {
        /// The path of the file meant.
        path: PathBuf,
        /// The reason that the system gave.
        because: String,
    },
    /// The file is no TOML, a key is unknown, or a value has the wrong type.
    #[error("{0}")]
    Toml(#[from] Box<toml::de::Error>),
    /// A value is out of bounds.
    #[error("{key} = {value}: {bound}")]
    Value {
        /// The name of the key, with its tables.
        key: String,
        /// The value as it was written.
        value: String,
        /// The bound of values that are allowed.
        bound: String,
    },
}

/// Returns the text of a configuration file.
///
/// # Errors
///
/// [`ConfigError::Read`], with the system's reason.
pub fn read(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path)
        .map_err(|error| ConfigError::Read { path: path.to_owned(), because: error.to_string() })
}

/// Refuses a value that is less than another.
///
/// # Errors
///
/// [`ConfigError::Value`], with what is needed.
pub fn at_least<T: PartialOrd + Display>(key: &str, found: T, least: T) -> Result<(), ConfigError> {
    if found < least { Err(value(key, found, &format!("at least {least} is needed"))) } else { Ok(()) }
}

/// Returns the refusal of a value that is out of bounds.
#[must_use]
pub fn value(key: &str, found: impl Display, bound: &str) -> ConfigError {
    ConfigError::Value { key: key.to_owned(), value: found.to_string(), bound: bound.to_owned() }
}
