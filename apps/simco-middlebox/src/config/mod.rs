//! The configuration file: TOML in, checked settings out.

mod file;
mod validate;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

pub use daemon::TlsIdentity;
use daemon::config;
pub use daemon::config::ConfigError;
use nft_filter::NftConfig;
use rustix::net::{AddressFamily, SocketType};
use simco::middlebox::MiddleboxConfig;

use crate::listen::StartError;

/// Everything the daemon is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The addresses at which agents connect.
    pub listen: Listen,
    /// The filter that makes packets obey.
    pub filter: FilterSettings,
    /// The configuration of sessions, rules and agents.
    pub middlebox: MiddleboxConfig,
    /// Connections from one host at most, with a session or not yet; default 64. Raise it where many agents share an
    /// address.
    pub connections_per_host: usize,
    /// Agents over TCP speak TLS with this; `None`, the default: without.
    pub tls: Option<TlsIdentity>,
    /// The address at which `GET /metrics` is answered; `None`: nowhere.
    pub metrics: Option<SocketAddr>,
    /// The file of the audit log, appended to; `None`: none.
    pub audit: Option<PathBuf>,
    /// The Unix socket by which an operator on this host may control the daemon; `None`: none.
    pub control: Option<PathBuf>,
}

/// The addresses at which agents connect.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listen {
    /// The addresses at which TCP listens.
    pub tcp: Vec<SocketAddr>,
    /// The addresses for SCTP, if it is served.
    pub sctp: Option<SctpListen>,
}

/// The addresses at which agents connect over SCTP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SctpListen {
    /// Own addresses; several make the endpoint multi-homed.
    pub addresses: Vec<IpAddr>,
    /// The SCTP port; 7626 unless configured.
    pub port: u16,
    /// The UDP port of encapsulation (RFC 6951), 0 for any free one; `None`: directly over IP, which needs CAP_NET_RAW.
    pub encapsulation_port: Option<u16>,
    /// Writes every packet to this file, for Wireshark and tshark (pcapng); `None` unless configured.
    pub capture: Option<PathBuf>,
}

/// The filter that makes packets obey.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FilterSettings {
    /// Nothing: rules are kept, packets are not touched.
    Memory,
    /// The nftables of the Linux kernel.
    Nftables {
        /// The form of the ruleset in the kernel.
        config: NftConfig,
        /// Whether interfaces may be missing at the start; unless configured they may not.
        interfaces: Interfaces,
    },
}

/// Whether interfaces of the protected network have to be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interfaces {
    /// The interfaces have to be there at the start; a name that is mistyped is found then.
    Present,
    /// The interfaces may come at any time.
    MayComeLater,
}

impl FilterSettings {
    /// Returns whether only a restart can make the one of the other: closed addresses may change without.
    pub(crate) fn needs_a_restart(&self, new: &Self) -> bool {
        let mut alike = self.clone();
        if let (Self::Nftables { config, .. }, Self::Nftables { config: new, .. }) = (&mut alike, new) {
            config.closed.clone_from(&new.closed);
        }
        alike != *new
    }

    /// Looks whether the interfaces of the protected network are there that have to be.
    ///
    /// # Errors
    ///
    /// One of them is not.
    pub fn check_interfaces(&self) -> Result<(), StartError> {
        if !matches!(self, Self::Nftables { interfaces: Interfaces::Present, .. }) {
            return Ok(());
        }
        let missing = self.missing_interfaces().map_err(|because| StartError::System {
            what: "a socket to look for interfaces".to_owned(),
            because,
        })?;
        match missing.first() {
            Some(name) => Err(StartError::NoSuchInterface { name: (*name).to_owned() }),
            None => Ok(()),
        }
    }

    /// Returns the names of the protected network's interfaces that the kernel does not know now.
    ///
    /// # Errors
    ///
    /// There is no socket to ask by.
    pub(crate) fn missing_interfaces(&self) -> io::Result<Vec<&str>> {
        let Self::Nftables { config, .. } = self else { return Ok(Vec::new()) };
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        let is_missing = |name: &&str| rustix::net::netdevice::name_to_index(&socket, name).is_err();
        Ok(config.inside.iter().map(String::as_str).filter(is_missing).collect())
    }
}

impl Settings {
    /// Reads and checks a file. Paths of key files are relative to it.
    ///
    /// # Errors
    ///
    /// See [`ConfigError`].
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = config::read(path)?;
        Self::parse(&text, path.parent().unwrap_or_else(|| Path::new(".")))
    }

    /// Returns the name of the table that a configuration means, whatever else is in it.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is none.
    pub fn table(path: &Path) -> Result<String, ConfigError> {
        let text = config::read(path)?;
        let file: file::File = toml::from_str(&text).map_err(|error| ConfigError::Toml(Box::new(error)))?;
        Ok(file.filter.table.unwrap_or_else(|| NftConfig::new(Vec::new()).table))
    }

    /// Checks a text; key files are looked for in `folder`.
    ///
    /// # Errors
    ///
    /// See [`ConfigError`].
    pub fn parse(text: &str, folder: &Path) -> Result<Self, ConfigError> {
        let file: file::File = toml::from_str(text).map_err(|error| ConfigError::Toml(Box::new(error)))?;
        validate::settings(file, folder)
    }
}

#[cfg(test)]
mod tests;
