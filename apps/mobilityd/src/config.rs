//! The configuration of the daemon: read, and checked.

use std::path::{Path, PathBuf};

use daemon::config::{ConfigError, read, value};
use mobility::{Damping, Policies, Policy};
use serde::Deserialize;

/// The settings of the daemon, checked.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) socket: PathBuf,
    pub(crate) clients: usize,
    pub(crate) queued_lines: usize,
    pub(crate) damping: Damping,
    pub(crate) policy: Policy,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    socket: PathBuf,
    policies: PathBuf,
    application: Option<String>,
    clients: Option<usize>,
    queued_lines: Option<usize>,
}

impl Settings {
    /// Reads the configuration and the policies that it names.
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        let file: File = toml::from_str(&read(path)?).map_err(Box::new)?;
        for (key, named) in [("socket", &file.socket), ("policies", &file.policies)] {
            if !named.is_absolute() {
                return Err(value(key, named.display(), "a path from / on is needed"));
            }
        }
        let policies = Policies::parse(&read(&file.policies)?)
            .map_err(|error| value("policies", file.policies.display(), &error.to_string()))?;
        Ok(Self {
            clients: within("clients", file.clients.unwrap_or(64), 1, 1024)?,
            queued_lines: within("queued_lines", file.queued_lines.unwrap_or(64), 1, 1024)?,
            socket: file.socket,
            damping: policies.damping,
            policy: policies.application(file.application.as_deref().unwrap_or_default()),
        })
    }
}

fn within(key: &str, found: usize, least: usize, most: usize) -> Result<usize, ConfigError> {
    if (least..=most).contains(&found) {
        return Ok(found);
    }
    Err(value(key, found, &format!("from {least} to {most} are possible")))
}
