//! The configuration of the daemon: read, and checked.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use daemon::config::{ConfigError, read, value};
use daemon::tsig;
use mobility::{DEFAULT_APPLICATION, Damping, Policies, Policy};
use serde::Deserialize;

use crate::names::NameSettings;

/// The settings of the daemon, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) socket: PathBuf,
    pub(crate) clients: usize,
    pub(crate) metrics: Option<SocketAddr>,
    pub(crate) damping: Damping,
    /// The name that the addresses of this host are kept under, if there is one.
    pub(crate) names: Option<NameSettings>,
    /// The policies by application, that of [`DEFAULT_APPLICATION`] among them.
    pub(crate) applications: BTreeMap<String, Policy>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DaemonTable {
    socket: Option<PathBuf>,
    clients: Option<usize>,
    metrics: Option<SocketAddr>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamesTable {
    server: SocketAddr,
    zone: String,
    name: String,
    application: Option<String>,
    ttl_s: Option<u32>,
    key: String,
    algorithm: Option<String>,
    secret_file: PathBuf,
}

impl Settings {
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        Self::parse_beside(&read(path)?, path.parent().unwrap_or(Path::new(".")))
    }

    #[cfg(test)]
    pub(crate) fn parse(text: &str) -> Result<Self, ConfigError> {
        Self::parse_beside(text, Path::new("/nowhere"))
    }

    /// Returns these settings with what only a restart changes as it was.
    pub(crate) fn after(self, before: &Self) -> Self {
        Self { socket: before.socket.clone(), names: before.names.clone(), ..self }
    }

    /// Takes `[daemon]` and `[names]` out of the text; what is left are policies, as an application reads them that has none of this
    /// daemon. Files that it names without a path are in `beside`.
    fn parse_beside(text: &str, beside: &Path) -> Result<Self, ConfigError> {
        let mut table: toml::Table = toml::from_str(text).map_err(Box::new)?;
        let daemon = match table.remove("daemon") {
            Some(daemon) => daemon.try_into().map_err(Box::new)?,
            None => DaemonTable::default(),
        };
        let host: Option<NamesTable> =
            table.remove("names").map(|names| names.try_into().map_err(Box::new)).transpose()?;
        let socket = daemon.socket.unwrap_or_else(|| DEFAULT_SOCKET.into());
        if !socket.is_absolute() {
            return Err(value("daemon.socket", socket.display(), "a path from / on is needed"));
        }
        let clients = daemon.clients.unwrap_or(DEFAULT_CLIENTS);
        if !(1..=MOST_CLIENTS).contains(&clients) {
            let bound = format!("from 1 to {MOST_CLIENTS} are possible");
            return Err(value("daemon.clients", clients, &bound));
        }
        let policies = policies(&table.to_string())?;
        let names = policies.names().chain([DEFAULT_APPLICATION]);
        let applications = names.map(|name| (name.to_owned(), policies.application(name))).collect();
        refuse_what_nobody_measures(&applications)?;
        let names = host.map(|host| host_name(host, &applications, beside)).transpose()?;
        let (metrics, damping) = (daemon.metrics, policies.damping);
        Ok(Self { socket, clients, metrics, damping, names, applications })
    }
}

fn host_name(
    table: NamesTable,
    applications: &BTreeMap<String, Policy>,
    beside: &Path,
) -> Result<NameSettings, ConfigError> {
    let zone = tsig::name("names.zone", &table.zone)?;
    let name = tsig::name("names.name", &table.name)?;
    if !zone.zone_of(&name) {
        return Err(value("names.name", &table.name, "a name in names.zone is needed"));
    }
    let application = table.application.unwrap_or_else(|| DEFAULT_APPLICATION.to_owned());
    if !applications.contains_key(&application) {
        let known: Vec<&str> = applications.keys().map(String::as_str).collect();
        return Err(value("names.application", application, &format!("there are: {}", known.join(", "))));
    }
    let key = tsig::name("names.key", &table.key)?;
    let secret_file = beside.join(table.secret_file);
    let signer = tsig::signer("names", key, table.algorithm.as_deref(), &secret_file)?;
    Ok(NameSettings {
        server: table.server,
        zone,
        name,
        application,
        ttl_s: table.ttl_s.unwrap_or(5),
        signer,
    })
}

fn policies(text: &str) -> Result<Policies, ConfigError> {
    Policies::parse(text).map_err(|error| match error {
        mobility::PolicyError::Toml(error) => ConfigError::Toml(error),
        mobility::PolicyError::Value { key, value, bound } => ConfigError::Value { key, value, bound },
    })
}

/// Refuses policies that ask for what this daemon does not find out: their addresses would never be used, or always.
fn refuse_what_nobody_measures(applications: &BTreeMap<String, Policy>) -> Result<(), ConfigError> {
    for (name, policy) in applications {
        let refused = |key: &str| {
            let bound = "nobody measures that for this daemon; it knows links, addresses and routes";
            Err(value(&format!("applications.{name}.{key}"), "set", bound))
        };
        if policy.needs.verification {
            return refused("needs_verification");
        }
        for (place, rule) in policy.prefer.iter().enumerate() {
            let measured = [
                (rule.signal.is_some(), "min_signal_dbm"),
                (rule.rtt.is_some(), "max_rtt_ms"),
                (rule.loss_permille.is_some(), "max_loss_permille"),
            ];
            if let Some((_, key)) = measured.iter().find(|(is_set, _)| *is_set) {
                return refused(&format!("prefer[{place}].{key}"));
            }
        }
    }
    Ok(())
}

/// The path of the socket if the configuration names none.
pub(crate) const DEFAULT_SOCKET: &str = "/run/mobilityd/socket";
const DEFAULT_CLIENTS: usize = 64;
const MOST_CLIENTS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_configuration_has_defaults() {
        let settings = Settings::parse("").unwrap();
        assert_eq!((settings.socket.to_str(), settings.clients), (Some(DEFAULT_SOCKET), 64));
        assert_eq!(settings.applications.keys().collect::<Vec<_>>(), ["default"]);
    }

    #[test]
    fn every_application_has_its_policy() {
        let text = "[daemon]\nclients = 3\n[applications.video]\naddresses = 2\n[applications.default]\naddresses = 4\n";
        let settings = Settings::parse(text).unwrap();
        let addresses = |name: &str| settings.applications[name].addresses;
        assert_eq!((settings.clients, addresses("video"), addresses("default")), (3, 2, 4));
    }

    #[test]
    fn every_error_names_key_value_and_bound() {
        for (text, error) in [
            ("[daemon]\nsocket = \"x\"", "daemon.socket = x: a path from / on is needed"),
            ("[daemon]\nclients = 0", "daemon.clients = 0: from 1 to 1024 are possible"),
            (
                "[names]\nserver = \"192.0.2.53:53\"\nzone = \"example.org\"\nname = \"phone.example.com\"\nkey = \"phone\"\nsecret_file = \"x\"",
                "names.name = phone.example.com: a name in names.zone is needed",
            ),
            (
                "[names]\nserver = \"192.0.2.53:53\"\nzone = \"example.org\"\nname = \"phone.example.org\"\nkey = \"phone\"\nsecret_file = \"x\"",
                "names.secret_file = /nowhere/x: No such file",
            ),
            ("[daemon]\nclients = 1025", "daemon.clients = 1025: from 1 to 1024 are possible"),
            ("[applications.a]\naddresses = 9", "applications.a.addresses = 9: from 2 to 8 are possible"),
            (
                "[applications.a]\nneeds_verification = true",
                "applications.a.needs_verification = set: nobody measures that",
            ),
            (
                "[[applications.a.prefer]]\ninterface = \"w*\"\n[[applications.a.prefer]]\ninterface = \"*\"\nmax_rtt_ms = 5",
                "applications.a.prefer[1].max_rtt_ms = set: nobody measures that",
            ),
        ] {
            let found = Settings::parse(text).unwrap_err().to_string();
            assert!(found.starts_with(error), "{found}");
        }
        for text in ["[daemon]\nport = 1", "[other]", "[daemon]\nmetrics = \"x\"", "daemon = 1", "[["] {
            Settings::parse(text).unwrap_err();
        }
    }
}
