//! The configuration of the server: read, and checked.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use daemon::config::{ConfigError, at_least, read, value};
use daemon::tsig;
use hickory_proto::rr::rdata::{NS, SOA};
use hickory_proto::rr::{LowerName, Name, RData, Record};
use serde::Deserialize;

use crate::keys::{KeySettings, Pattern};
use crate::secondaries::{Secondaries, Secondary};
use crate::zone::ZoneBounds;

/// The settings of the server, checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) listen: Vec<SocketAddr>,
    pub(crate) folder: PathBuf,
    pub(crate) metrics: Option<SocketAddr>,
    /// TCP connections at the same time.
    pub(crate) connections: usize,
    /// Octets of the journal from which on it is made into a snapshot.
    pub(crate) longest_journal: u64,
    pub(crate) zones: Vec<ZoneSettings>,
    pub(crate) keys: Vec<KeySettings>,
}

/// The settings of a zone, as the configuration has them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ZoneSettings {
    pub(crate) origin: Name,
    /// The record of type SOA; its serial number is that of the zone.
    pub(crate) soa: Record,
    /// The records of type NS, and the addresses of those in the zone.
    pub(crate) servers: Vec<Record>,
    pub(crate) secondaries: Secondaries,
    pub(crate) bounds: ZoneBounds,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    server: ServerTable,
    #[serde(default)]
    zones: BTreeMap<String, ZoneTable>,
    #[serde(default)]
    keys: BTreeMap<String, KeyTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerTable {
    listen: Vec<SocketAddr>,
    folder: PathBuf,
    metrics: Option<SocketAddr>,
    connections: Option<usize>,
    journal_mib: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ZoneTable {
    contact: String,
    nameservers: BTreeMap<String, Vec<IpAddr>>,
    primary: Option<String>,
    #[serde(default)]
    secondaries: Vec<SecondaryEntry>,
    #[serde(default)]
    transfer_keys: Vec<String>,
    ttl_s: Option<u32>,
    negative_ttl_s: Option<u32>,
    refresh_s: Option<i32>,
    retry_s: Option<i32>,
    expire_s: Option<i32>,
    names: Option<usize>,
    records_per_name: Option<usize>,
    history: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyTable {
    algorithm: Option<String>,
    secret_file: PathBuf,
    #[serde(default)]
    may: Vec<String>,
}

/// A secondary as the configuration has it: an address alone, or with a key.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a secondary is an address with its port, or { address = \"192.0.2.54:53\", key = \"ns2\" }"
)]
enum SecondaryEntry {
    Address(SocketAddr),
    Keyed(KeyedSecondary),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyedSecondary {
    address: SocketAddr,
    key: String,
}

impl Settings {
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        Self::parse(&read(path)?, path.parent().unwrap_or(Path::new(".")))
    }

    /// Reads a text; files that it names without a path are in `beside`.
    pub(crate) fn parse(text: &str, beside: &Path) -> Result<Self, ConfigError> {
        let File { server, zones, keys } = toml::from_str(text).map_err(Box::new)?;
        if server.listen.is_empty() {
            return Err(value("server.listen", "[]", "name at least one address with its port"));
        }
        if zones.is_empty() {
            return Err(value("zones", "{}", "name a zone; there is nothing to serve"));
        }
        let connections = server.connections.unwrap_or(64);
        at_least("server.connections", connections, 1)?;
        let journal_mib = server.journal_mib.unwrap_or(16);
        if !(1..=1024).contains(&journal_mib) {
            return Err(value("server.journal_mib", journal_mib, "from 1 to 1024 are possible"));
        }
        let keys = keys.into_iter().map(|(name, key)| key_of(&name, key, beside));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        let zones = zones.into_iter().map(|(name, zone)| zone_of(&name, zone, &keys));
        let zones = zones.collect::<Result<Vec<_>, _>>()?;
        keys.iter().try_for_each(|key| check_use(key, &zones))?;
        Ok(Self {
            listen: server.listen,
            folder: beside.join(server.folder),
            metrics: server.metrics,
            connections,
            longest_journal: journal_mib << 20,
            zones,
            keys,
        })
    }
}

fn zone_of(text: &str, table: ZoneTable, keys: &[KeySettings]) -> Result<ZoneSettings, ConfigError> {
    let key = |name: &str| format!("zones.\"{text}\".{name}");
    let origin = tsig::name(&format!("zones.\"{text}\""), text)?;
    let ttl = table.ttl_s.unwrap_or(3600);
    let mut servers = Vec::new();
    for (server, addresses) in &table.nameservers {
        let server = tsig::name(&key("nameservers"), server)?;
        servers.push(Record::from_rdata(origin.clone(), ttl, RData::NS(NS(server.clone()))));
        let is_inside = origin.zone_of(&server);
        if is_inside == addresses.is_empty() {
            let bound = if is_inside {
                "an address is needed, since it is in the zone"
            } else {
                "it has its addresses in another zone"
            };
            return Err(value(&key(&format!("nameservers.\"{server}\"")), format!("{addresses:?}"), bound));
        }
        servers.extend(
            addresses.iter().map(|address| Record::from_rdata(server.clone(), ttl, RData::from(*address))),
        );
    }
    let Some(first) = table.primary.as_ref().or_else(|| table.nameservers.keys().next()) else {
        return Err(value(&key("nameservers"), "{}", "name at least one server, with its addresses"));
    };
    // The first dot of a contact stands for the @ of a mail address.
    let contact = tsig::name(&key("contact"), &table.contact.replacen('@', ".", 1))?;
    let times = [
        ("refresh_s", table.refresh_s.unwrap_or(60)),
        ("retry_s", table.retry_s.unwrap_or(10)),
        ("expire_s", table.expire_s.unwrap_or(86_400)),
    ];
    for (name, seconds) in times {
        at_least(&key(name), seconds, 1)?;
    }
    let [(_, refresh), (_, retry), (_, expire)] = times;
    let minimum = table.negative_ttl_s.unwrap_or(5);
    let soa = SOA::new(tsig::name(&key("primary"), first)?, contact, 0, refresh, retry, expire, minimum);
    let bounds = ZoneBounds {
        names: table.names.unwrap_or(100_000),
        records_per_name: table.records_per_name.unwrap_or(64),
        history: table.history.unwrap_or(10_000),
    };
    at_least(&key("names"), bounds.names, 1)?;
    at_least(&key("records_per_name"), bounds.records_per_name, 1)?;
    let secondaries = secondaries_of(&key, table.secondaries, &table.transfer_keys, keys)?;
    Ok(ZoneSettings {
        soa: Record::from_rdata(origin.clone(), ttl, RData::SOA(soa)),
        origin,
        servers,
        secondaries,
        bounds,
    })
}

/// Returns the secondaries of a zone; `key` names a key of its table.
fn secondaries_of(
    key: &impl Fn(&str) -> String,
    entries: Vec<SecondaryEntry>,
    transfer_keys: &[String],
    keys: &[KeySettings],
) -> Result<Secondaries, ConfigError> {
    let known = |table: &str, text: &String| {
        let name = tsig::name(&key(table), text)?;
        let is_known = keys.iter().any(|key| *key.signer.signer_name() == name);
        let missing = || value(&key(table), text, &format!("a table [keys.\"{text}\"] is needed"));
        if is_known { Ok(LowerName::new(&name)) } else { Err(missing()) }
    };
    let told = entries.into_iter().map(|entry| match entry {
        SecondaryEntry::Address(address) => Ok(Secondary { address, key: None }),
        SecondaryEntry::Keyed(KeyedSecondary { address, key }) => {
            Ok(Secondary { address, key: Some(known("secondaries", &key)?) })
        }
    });
    let told = told.collect::<Result<_, ConfigError>>()?;
    let transfer_keys = transfer_keys.iter().map(|text| known("transfer_keys", text));
    let secondaries = Secondaries { told, transfer_keys: transfer_keys.collect::<Result<_, _>>()? };
    match secondaries.ambiguous() {
        Some(ip) => {
            let bound = "with a key each time or never, since without one anybody there has the zone";
            Err(value(&key("secondaries"), ip, bound))
        }
        None => Ok(secondaries),
    }
}

/// Refuses a key that may do nothing.
fn check_use(key: &KeySettings, zones: &[ZoneSettings]) -> Result<(), ConfigError> {
    let name = key.signer.signer_name();
    let own = LowerName::new(name);
    let has_zone = zones.iter().any(|zone| zone.secondaries.keys().any(|key| *key == own));
    if has_zone || !key.may.is_empty() {
        return Ok(());
    }
    let bound = "names that it may change are needed, or a zone that has it in secondaries or transfer_keys";
    Err(value(&format!("keys.\"{name}\".may"), "[]", bound))
}

fn key_of(text: &str, table: KeyTable, beside: &Path) -> Result<KeySettings, ConfigError> {
    let key = |name: &str| format!("keys.\"{text}\".{name}");
    let name = tsig::name(&format!("keys.\"{text}\""), text)?;
    let secret_file = beside.join(table.secret_file);
    let table_name = format!("keys.\"{text}\"");
    let signer = tsig::signer(&table_name, name, table.algorithm.as_deref(), &secret_file)?;
    let pattern = |text: &String| {
        let (is_below, rest) = text.strip_prefix("*.").map_or((false, text.as_str()), |rest| (true, rest));
        let name = LowerName::new(&tsig::name(&key("may"), rest)?);
        Ok(if is_below { Pattern::Below(name) } else { Pattern::Exactly(name) })
    };
    let may = table.may.iter().map(pattern).collect::<Result<_, ConfigError>>()?;
    Ok(KeySettings { signer, may })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "[server]\nlisten = [\"127.0.0.1:53\"]\nfolder = \"names\"\n";
    const ZONE: &str = "[zones.\"example.org\"]\ncontact = \"admin@example.org\"\nnameservers = { \"ns.example.org\" = [\"192.0.2.53\"] }\n";

    fn refusal(text: &str) -> String {
        Settings::parse(text, Path::new("/nowhere")).unwrap_err().to_string()
    }

    #[test]
    fn the_least_configuration_has_defaults() {
        let settings = Settings::parse(&format!("{LEAST}{ZONE}"), Path::new("/somewhere")).unwrap();
        assert_eq!((settings.folder.to_str(), settings.connections), (Some("/somewhere/names"), 64));
        let zone = &settings.zones[0];
        assert_eq!((zone.servers.len(), zone.bounds.records_per_name), (2, 64));
        assert_eq!(zone.soa.data.to_string(), "ns.example.org. admin.example.org. 0 60 10 86400 5");
    }

    #[test]
    fn secondaries_are_known_by_address_or_by_key() {
        let folder = std::env::temp_dir().join(format!("namesd-config-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("ns2.key"), "MDEyMzQ1Njc4OWFiY2RlZg==\n").unwrap();
        let parsed = |zone: &str, key: &str| {
            let text = format!("{LEAST}{ZONE}{zone}\n[keys.ns2]\nsecret_file = \"ns2.key\"\n{key}");
            Settings::parse(&text, &folder).map_err(|error| error.to_string())
        };
        let both = "secondaries = [\"192.0.2.54:53\", { address = \"192.0.2.55:53\", key = \"ns2\" }]";
        let secondaries = parsed(both, "").unwrap().zones.remove(0).secondaries;
        let found: Vec<bool> = secondaries.told.iter().map(|one| one.key.is_some()).collect();
        assert_eq!((found, secondaries.transfer_keys.len()), (vec![false, true], 0));
        assert!(parsed("transfer_keys = [\"ns2\"]", "").is_ok());
        for (zone, error) in [
            ("", "keys.\"ns2.\".may = []: names that it may change"),
            (
                "transfer_keys = [\"ns3\"]",
                "zones.\"example.org\".transfer_keys = ns3: a table [keys.\"ns3\"]",
            ),
            (
                "secondaries = [\"192.0.2.55:53\", { address = \"192.0.2.55:54\", key = \"ns2\" }]",
                "zones.\"example.org\".secondaries = 192.0.2.55: with a key each time or never",
            ),
        ] {
            let found = parsed(zone, "").unwrap_err();
            assert!(found.starts_with(error), "{found}");
        }
        let unreadable = parsed("secondaries = [{ address = \"192.0.2.55\" }]", "").unwrap_err();
        assert!(unreadable.contains("a secondary is an address with its port, or {"), "{unreadable}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn every_error_names_key_value_and_bound() {
        let key = "[keys.phone]\nmay = [\"phone.example.org\"]\n";
        for (text, error) in [
            ("[server]\nlisten = []\nfolder = \"x\"\n".to_owned(), "server.listen = []: name at least one"),
            (LEAST.to_owned(), "zones = {}: name a zone"),
            (format!("{LEAST}journal_mib = 0\n{ZONE}"), "server.journal_mib = 0: from 1 to 1024"),
            (format!("{LEAST}{ZONE}retry_s = 0\n"), "zones.\"example.org\".retry_s = 0: at least 1"),
            (
                format!("{LEAST}{ZONE}").replace("[\"192.0.2.53\"]", "[]"),
                "zones.\"example.org\".nameservers.\"ns.example.org.\" = []: an address is needed",
            ),
            (
                format!("{LEAST}{ZONE}{key}secret_file = \"none\"\n"),
                "keys.\"phone\".secret_file = /nowhere/none: No such file",
            ),
            (
                format!("{LEAST}{ZONE}{key}secret_file = \"none\"\nalgorithm = \"md5\"\n"),
                "keys.\"phone\".algorithm = md5: hmac-sha256, hmac-sha384 or hmac-sha512",
            ),
        ] {
            let found = refusal(&text);
            assert!(found.starts_with(error), "{found}");
        }
    }
}
