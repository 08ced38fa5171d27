//! The configuration file: TOML in, checked settings out.

mod file;
mod listen;
#[cfg(test)]
mod tests;
mod tls;
mod validate;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use call_core::CallSettings;
use daemon::config;
pub use daemon::config::ConfigError;
use simco::Lifetime;
use simco::agent::AgentSettings;
use simco_agent::Middlebox;
use sip::MessageLimits;

pub use self::listen::{Listen, SctpListen};
pub use self::tls::TlsSettings;

/// Everything the agent is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The addresses where the agent speaks SIP.
    pub listen: Listen,
    /// The certificates for TLS; `None`: there is no TLS.
    pub tls: Option<TlsSettings>,
    /// The servers of DNS; none: those of the system.
    pub dns: Vec<SocketAddr>,
    /// The settings that calls go by.
    pub calls: CallSettings,
    /// The middleboxes, in the order of the configuration.
    pub middleboxes: Vec<MiddleboxSettings>,
    /// The limits that SIP messages have to keep.
    pub endpoint_limits: MessageLimits,
    /// Connections at the same time; default 4,096.
    pub connections: usize,
    /// Connections from one host; default 256. Raise it where a proxy opens one for each call.
    pub connections_per_host: usize,
    /// How long calls may go on once the agent is to go down; default 30 s.
    pub drain: Duration,
    /// The address at which `GET /metrics` is answered; `None`: nowhere.
    pub metrics: Option<SocketAddr>,
    /// The file of call records, appended to; `None`: none.
    pub records: Option<PathBuf>,
}

/// A middlebox, and how it is asked.
#[derive(Clone, Debug)]
pub struct MiddleboxSettings {
    /// The name of the middlebox in logs and metrics.
    pub name: String,
    /// The place of the middlebox in the configuration.
    pub index: usize,
    /// The addresses and the transport by which the middlebox is reached.
    pub middlebox: Middlebox,
    /// The settings of this agent towards the middlebox, such as its credentials.
    pub agent: AgentSettings,
    /// The middlebox has to translate addresses; otherwise it has to be a packet filter that does not.
    pub is_translator: bool,
    /// The lifetime that pinholes are asked for; default 180 s. They are refreshed after half of it.
    pub lifetime: Lifetime,
}

impl Settings {
    /// Reads and checks a file. Paths in it are relative to it.
    ///
    /// # Errors
    ///
    /// See [`ConfigError`].
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = config::read(path)?;
        Self::parse(&text, path.parent().unwrap_or_else(|| Path::new(".")))
    }

    /// Checks a text; files are looked for in `folder`.
    ///
    /// # Errors
    ///
    /// See [`ConfigError`].
    pub fn parse(text: &str, folder: &Path) -> Result<Self, ConfigError> {
        let file: file::ConfigFile =
            toml::from_str(text).map_err(|error| ConfigError::Toml(Box::new(error)))?;
        validate::settings(file, folder)
    }

    /// Returns the tables that have changed and do not hold yet.
    pub(crate) fn needs_a_restart(&self, new: &Self) -> Vec<&'static str> {
        let middlebox = |settings: &MiddleboxSettings| {
            let identity =
                settings.agent.credentials.as_ref().map(|credentials| credentials.identity.clone());
            (
                settings.name.clone(),
                settings.middlebox.clone(),
                settings.is_translator,
                settings.lifetime,
                identity,
            )
        };
        let of = |settings: &Self| settings.middleboxes.iter().map(middlebox).collect::<Vec<_>>();
        let connections =
            |settings: &Self| (settings.connections, settings.connections_per_host, settings.endpoint_limits);
        let tables = [
            ("listen", self.listen != new.listen),
            ("middleboxes", of(self) != of(new) || self.calls.internal != new.calls.internal),
            ("limits of connections and messages", connections(self) != connections(new)),
        ];
        tables.into_iter().filter_map(|(table, has_changed)| has_changed.then_some(table)).collect()
    }
}
