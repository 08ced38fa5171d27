//! The way from what is written to what holds: bounds, defaults, key files.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use call_core::{AuthenticationSettings, CallSettings, HopName, NextHop, Route};
use daemon::config::{at_least, value};
use sctp::SctpPort;
use simco::agent::{AgentSettings, Credentials, Reconnection, Resynchronisation};
use simco::filter::Network;
use simco::{Key, Lifetime, Owner, PORT};
use simco_agent::{Carrier, Middlebox, Transport as SimcoCarrier};
use sip::{Flow, Host, MessageLimits, Transport};

use super::file::{
    AuthenticationTable, CallsTable, ConfigFile, KindOfMiddlebox, LimitsTable, MiddleboxTable, RouteTable,
    SctpTable, SimcoTransport, SipTransport,
};
use super::{ConfigError, Listen, MiddleboxSettings, SctpListen, Settings, TlsSettings};

pub(super) fn settings(file: ConfigFile, folder: &Path) -> Result<Settings, ConfigError> {
    let sctp = file.listen.sctp.as_ref().map(sctp_listen).transpose()?;
    let listen = Listen { udp: file.listen.udp, tcp: file.listen.tcp, tls: file.listen.tls, sctp };
    check_listen(&listen)?;
    if let (Some(address), None) = (listen.tls.first(), &file.tls) {
        return Err(value("listen.tls", address, "only with [tls], which names certificate and key"));
    }
    if let Some(server) = file.dns.servers.iter().find(|at| at.ip().is_unspecified() || at.port() == 0) {
        return Err(value("dns.servers", server, "the address and port of a host are needed"));
    }
    let tls = file.tls.map(|table| TlsSettings::read(&table, &file.routes, folder)).transpose()?;
    if file.routes.is_empty() {
        return Err(value("routes", "[]", "name a route at least; no call could go anywhere"));
    }
    let routes = file.routes.iter().enumerate().map(|(at, table)| route(at, table, &listen));
    let routes = routes.collect::<Result<Vec<_>, _>>()?;
    let mut middleboxes: Vec<MiddleboxSettings> = Vec::new();
    let mut internal = Vec::new();
    for (index, table) in file.middleboxes.iter().enumerate() {
        if middleboxes.iter().any(|other| other.name == table.name) {
            return Err(value(
                &format!("middleboxes[{index}].name"),
                &table.name,
                "a name of its own is needed",
            ));
        }
        middleboxes.push(middlebox(index, table, folder)?);
        internal.push(networks(&format!("middleboxes[{index}].internal"), &table.internal)?);
    }
    let calls = calls(&file.calls, &file.limits, CallSettings::new(routes, internal))?;
    let authentication = file.authentication.map(authentication).transpose()?;
    let translators = translators(&middleboxes, &calls.internal)?;
    let calls = CallSettings { authentication, translators, ..calls };
    let connections = file.limits.connections.unwrap_or(4_096);
    at_least("limits.connections", connections, 1)?;
    let connections_per_host = file.limits.connections_per_host.unwrap_or(256);
    at_least("limits.connections_per_host", connections_per_host, 1)?;
    Ok(Settings {
        listen,
        tls,
        dns: file.dns.servers,
        calls,
        middleboxes,
        endpoint_limits: messages(&file.limits)?,
        connections,
        connections_per_host,
        drain: Duration::from_secs(file.calls.drain_s.unwrap_or(30)),
        metrics: file.metrics.map(|metrics| metrics.listen),
        records: file.records.map(|records| folder.join(records.file)),
    })
}

/// Checks the addresses that peers are told: there is at least one, none is a wildcard, and each transport has no more
/// than one of each family.
fn check_listen(listen: &Listen) -> Result<(), ConfigError> {
    let has_none = listen.udp.is_empty() && listen.tcp.is_empty() && listen.tls.is_empty();
    if has_none && listen.sctp.is_none() {
        let bound = "name an address, or have listen.tcp, listen.tls or listen.sctp; nobody could call";
        return Err(value("listen.udp", "[]", bound));
    }
    for (key, addresses) in
        [("listen.udp", &listen.udp), ("listen.tcp", &listen.tcp), ("listen.tls", &listen.tls)]
    {
        for (at, address) in addresses.iter().enumerate() {
            if address.ip().is_unspecified() {
                return Err(value(
                    key,
                    address,
                    "peers are told this address: name the one by which they reach it",
                ));
            }
            if addresses[..at].iter().any(|other| other.is_ipv4() == address.is_ipv4()) {
                return Err(value(key, address, "one address of each family is possible"));
            }
        }
    }
    Ok(())
}

fn sctp_listen(table: &SctpTable) -> Result<SctpListen, ConfigError> {
    if table.addresses.is_empty() {
        return Err(value("listen.sctp.addresses", "[]", "name an address at least"));
    }
    if let Some(address) = table.addresses.iter().find(|address| address.is_unspecified()) {
        let bound = "peers are told this address: name the one by which they reach it";
        return Err(value("listen.sctp.addresses", address, bound));
    }
    if let (Some(port), None) = (table.peer_encapsulation_port, table.encapsulation_port) {
        return Err(value("listen.sctp.peer_encapsulation_port", port, "only with encapsulation_port"));
    }
    let port = table.port.unwrap_or(Transport::SCTP.default_port());
    let ports = [
        ("listen.sctp.encapsulation_port", table.encapsulation_port.unwrap_or(ENCAPSULATION_PORT)),
        ("listen.sctp.peer_encapsulation_port", table.peer_encapsulation_port.unwrap_or(ENCAPSULATION_PORT)),
    ];
    for (key, port) in ports {
        at_least(key, port, 1)?;
    }
    Ok(SctpListen {
        addresses: table.addresses.clone(),
        port: SctpPort::try_from(port).map_err(|_| value("listen.sctp.port", port, "at least 1"))?,
        encapsulation_port: table.encapsulation_port,
        peer_encapsulation_port: ports[1].1,
    })
}

fn authentication(table: AuthenticationTable) -> Result<AuthenticationSettings, ConfigError> {
    // What stands between quotation marks in a challenge must not end them.
    let is_fine =
        |text: &str| !text.is_empty() && !text.contains(['"', '\\', ':']) && !text.contains(char::is_control);
    let bound =
        "quotation marks, backslashes, colons and control characters cannot be in it, nor can it be empty";
    if !is_fine(&table.realm) {
        return Err(value("authentication.realm", &table.realm, bound));
    }
    if table.users.is_empty() {
        return Err(value("authentication.users", "{}", "name a user at least; nobody could call"));
    }
    for (user, password) in &table.users {
        if !is_fine(user) {
            return Err(value("authentication.users", user, bound));
        }
        if password.is_empty() {
            return Err(value(&format!("authentication.users.{user}"), "\"\"", "a password is needed"));
        }
    }
    let exempt = optional_networks("authentication.exempt", &table.exempt)?;
    Ok(AuthenticationSettings { realm: table.realm, users: table.users, exempt })
}

fn route(at: usize, table: &RouteTable, listen: &Listen) -> Result<Route, ConfigError> {
    let place = |key| format!("routes[{at}].{key}");
    let address = table.to.parse::<SocketAddr>().ok();
    if let (Some(name), Some(_)) =
        (&table.tls_name, address.filter(|_| table.transport != Some(SipTransport::Tls)))
    {
        return Err(value(&place("tls_name"), name, "only with transport = \"tls\""));
    }
    let to = match address {
        Some(to) => {
            let transport = transport(table.transport.unwrap_or(SipTransport::Udp));
            if to.ip().is_unspecified() || to.port() == 0 {
                return Err(value(&place("to"), to, "the address and port of a host are needed"));
            }
            if !told(listen, transport).iter().any(|own| own.is_ipv4() == to.is_ipv4()) {
                let bound =
                    format!("listen.{} has no address of this family", transport.name().to_lowercase());
                return Err(value(&place("to"), to, &bound));
            }
            NextHop::Address(Flow::new(transport, to))
        }
        None => NextHop::Name(hop_name(at, table, listen)?),
    };
    Ok(Route { prefix: table.prefix.clone(), domain: table.domain.clone(), to })
}

/// Returns the name of a next hop, which is looked up.
fn hop_name(at: usize, table: &RouteTable, listen: &Listen) -> Result<HopName, ConfigError> {
    let (host, port) = match table.to.rsplit_once(':') {
        Some((host, port)) => (host, Some(port.parse::<u16>().ok().filter(|port| *port > 0))),
        None => (table.to.as_str(), None),
    };
    let is_name = matches!(Host::parse(host), Some(Host::Name(_)));
    let port = match (is_name, port) {
        (true, None) => None,
        (true, Some(Some(port))) => Some(port),
        (true, Some(None)) | (false, _) => {
            let bound = "an address with a port, as 192.0.2.1:5060, or a name, as example.org, is needed";
            return Err(value(&format!("routes[{at}].to"), &table.to, bound));
        }
    };
    if let Some(name) = &table.tls_name {
        let bound =
            "only where `to` is an address: the certificate of a name is for that name (RFC 5922 §7.2)";
        return Err(value(&format!("routes[{at}].tls_name"), name, bound));
    }
    let transport = table.transport.map(transport);
    if let Some(transport) = transport.filter(|transport| told(listen, *transport).is_empty()) {
        let bound = format!("listen.{} has no address", transport.name().to_lowercase());
        return Err(value(&format!("routes[{at}].to"), &table.to, &bound));
    }
    Ok(HopName { host: host.to_owned(), port, transport })
}

const fn transport(written: SipTransport) -> Transport {
    match written {
        SipTransport::Udp => Transport::UDP,
        SipTransport::Tcp => Transport::TCP,
        SipTransport::Tls => Transport::TLS,
        SipTransport::Sctp => Transport::SCTP,
    }
}

/// Returns the addresses that peers are told for a transport.
fn told(listen: &Listen, transport: Transport) -> Vec<SocketAddr> {
    match transport {
        Transport::TCP => listen.tcp.clone(),
        Transport::TLS => listen.tls.clone(),
        Transport::SCTP => listen.sctp.iter().flat_map(SctpListen::told).collect(),
        _ => listen.udp.clone(),
    }
}

fn middlebox(index: usize, table: &MiddleboxTable, folder: &Path) -> Result<MiddleboxSettings, ConfigError> {
    let place = format!("middleboxes[{index}]");
    let port = table.port.unwrap_or(PORT);
    at_least(&format!("{place}.port"), port, 1)?;
    if table.addresses.is_empty() {
        return Err(value(&format!("{place}.addresses"), "[]", "name an address at least"));
    }
    let streams = table.streams.unwrap_or(6);
    at_least(&format!("{place}.streams"), streams, 1)?;
    let transport = match (table.transport, table.encapsulation_port) {
        (SimcoTransport::Sctp, remote) => {
            let carrier = Carrier::Udp { local: 0, remote: remote.unwrap_or(ENCAPSULATION_PORT) };
            SimcoCarrier::Sctp { streams, carrier }
        }
        (_, Some(port)) => {
            return Err(value(
                &format!("{place}.encapsulation_port"),
                port,
                "only with transport = \"sctp\"",
            ));
        }
        (SimcoTransport::SctpOverIp, None) => SimcoCarrier::Sctp { streams, carrier: Carrier::Ip },
        (SimcoTransport::Tcp, None) => SimcoCarrier::Tcp,
    };
    let lifetime = table.lifetime_s.unwrap_or(180);
    at_least(&format!("{place}.lifetime_s"), lifetime, 10)?;
    let addresses = table.addresses.iter().map(|address| SocketAddr::new(*address, port)).collect();
    Ok(MiddleboxSettings {
        name: table.name.clone(),
        index,
        middlebox: Middlebox { addresses, transport, capture: None },
        agent: AgentSettings {
            credentials: credentials(&place, table, folder)?,
            resynchronisation: Resynchronisation::Always,
            reconnection: Some(Reconnection::default()),
            ..AgentSettings::default()
        },
        is_translator: table.kind == KindOfMiddlebox::Nat,
        lifetime: Lifetime::from_secs(lifetime),
    })
}

/// Returns the places of the middleboxes that translate. Beyond one of them nobody sees the addresses that are behind it, neither another
/// translator nor a filter.
fn translators(
    middleboxes: &[MiddleboxSettings],
    internal: &[Vec<Network>],
) -> Result<BTreeSet<usize>, ConfigError> {
    let translators: BTreeSet<usize> = middleboxes
        .iter()
        .filter(|middlebox| middlebox.is_translator)
        .map(|middlebox| middlebox.index)
        .collect();
    for at in &translators {
        for (beyond, networks) in internal.iter().enumerate().skip(at + 1) {
            let is_hidden = |network: &&Network| {
                let overlaps =
                    |own: &Network| own.contains(network.address()) || network.contains(own.address());
                internal[*at].iter().any(overlaps)
            };
            if let Some(network) = networks.iter().find(is_hidden) {
                let found = format!("{}/{}", network.address(), network.prefix_length());
                let name = &middleboxes[*at].name;
                let bound = format!(
                    "translated by {name} before this one sees it; name the networks that {name} gives out, or place this middlebox before {name} if it is"
                );
                return Err(value(&format!("middleboxes[{beyond}].internal"), found, &bound));
            }
        }
    }
    Ok(translators)
}

fn credentials(
    place: &str,
    table: &MiddleboxTable,
    folder: &Path,
) -> Result<Option<Credentials>, ConfigError> {
    let (identity, file) = match (&table.identity, &table.key_file) {
        (None, None) => return Ok(None),
        (Some(identity), Some(file)) => (identity, file),
        (Some(identity), None) => {
            return Err(value(&format!("{place}.identity"), identity, "only with key_file"));
        }
        (None, Some(file)) => {
            return Err(value(&format!("{place}.key_file"), file.display(), "only with identity"));
        }
    };
    let path = key_path(file, folder);
    let bad_key = |because: String| value(&format!("{place}.key_file"), path.display(), &because);
    let text = std::fs::read_to_string(&path).map_err(|error| bad_key(error.to_string()))?;
    let key = Key::from_hex(&text).map_err(|error| bad_key(error.to_string()))?;
    let identity = Owner::new(identity.as_bytes())
        .map_err(|_| value(&format!("{place}.identity"), identity, "at most 255 octets"))?;
    Ok(Some(Credentials { identity, key }))
}

/// Returns the path of a key: `%d/name` is a credential of systemd (`LoadCredential=`); all else is relative to the
/// configuration.
fn key_path(file: &Path, folder: &Path) -> PathBuf {
    match (file.strip_prefix("%d"), std::env::var_os("CREDENTIALS_DIRECTORY")) {
        (Ok(name), Some(credentials)) => Path::new(&credentials).join(name),
        (Ok(_) | Err(_), _) => folder.join(file),
    }
}

fn calls(
    table: &CallsTable,
    limits: &LimitsTable,
    defaults: CallSettings,
) -> Result<CallSettings, ConfigError> {
    let patience = table.firewall_patience_ms.unwrap_or(2_000);
    within("calls.firewall_patience_ms", patience, 10, 30_000)?;
    let ringing = table.longest_ringing_s.unwrap_or(180);
    within("calls.longest_ringing_s", ringing, 1, 3_600)?;
    let call = table.longest_call_s.unwrap_or(12 * 3_600);
    within("calls.longest_call_s", call, 1, 7 * 86_400)?;
    let most_calls = limits.calls.unwrap_or(defaults.most_calls);
    at_least("limits.calls", most_calls, 1)?;
    let calls_per_second = limits.calls_per_second.unwrap_or(defaults.calls_per_second);
    at_least("limits.calls_per_second", calls_per_second, 1)?;
    let most_streams = table.most_streams.unwrap_or(defaults.most_streams);
    within("calls.most_streams", most_streams, 1, 32)?;
    Ok(CallSettings {
        firewall_patience: Duration::from_millis(patience),
        longest_ringing: Duration::from_secs(ringing),
        longest_call: Duration::from_secs(call),
        most_calls,
        calls_per_second,
        retry_after_s: limits.retry_after_s.unwrap_or(defaults.retry_after_s),
        most_streams,
        lowest_port: table.lowest_media_port.unwrap_or(defaults.lowest_port),
        may_speak_for_others: optional_networks("calls.may_speak_for_others", &table.may_speak_for_others)?,
        ..defaults
    })
}

fn messages(limits: &LimitsTable) -> Result<MessageLimits, ConfigError> {
    let defaults = MessageLimits::default();
    let message_bytes = limits.message_bytes.unwrap_or(defaults.message_bytes);
    within("limits.message_bytes", message_bytes, 1_300, 1 << 24)?;
    let body_bytes = limits.body_bytes.unwrap_or(defaults.body_bytes);
    within("limits.body_bytes", body_bytes, 1_000, message_bytes)?;
    Ok(MessageLimits { message_bytes, body_bytes, ..defaults })
}

fn networks(key: &str, texts: &[String]) -> Result<Vec<Network>, ConfigError> {
    if texts.is_empty() {
        return Err(value(key, "[]", "name the networks behind it; without them nothing crosses it"));
    }
    optional_networks(key, texts)
}

fn optional_networks(key: &str, texts: &[String]) -> Result<Vec<Network>, ConfigError> {
    texts.iter().map(|text| network(text).ok_or_else(|| value(key, text, NETWORK))).collect()
}

fn network(text: &str) -> Option<Network> {
    let (address, bits) = text.split_once('/')?;
    let (address, bits): (IpAddr, u8) = (address.parse().ok()?, bits.parse().ok()?);
    (bits <= if address.is_ipv4() { 32 } else { 128 }).then(|| Network::new(address, bits))
}

fn within<T: PartialOrd + Display>(key: &str, found: T, least: T, most: T) -> Result<(), ConfigError> {
    if found < least || found > most {
        return Err(value(key, found, &format!("from {least} to {most}")));
    }
    Ok(())
}

/// The IANA port of SCTP in UDP (RFC 6951 §6).
const ENCAPSULATION_PORT: u16 = 9899;
const NETWORK: &str = "an address and a prefix length, such as 10.0.0.0/8, is needed";
