//! The way from what is written to what holds: bounds, defaults, key files.

use core::num::NonZeroU32;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use daemon::config::{at_least, value};
use nft_filter::{NftConfig, Ownership, TranslationPriorities};
use simco::filter::Network;
use simco::middlebox::{
    AgentConfig, AgentPolicy, Agents, Demands, Limits, MiddleboxConfig, Offer, Pool, Protection, Realms,
    RequestRate, Scope, Service,
};
use simco::{Key, Lifetime, Owner, PORT, TransportProtocol};

use super::file::{self, Carrier, FilterKind, ServiceKind};
use super::{ConfigError, FilterSettings, Interfaces, Listen, SctpListen, Settings, TlsIdentity};

/// The IANA port of SCTP in UDP (RFC 6951 §6).
const ENCAPSULATION_PORT: u16 = 9899;
/// An agent needs one; this is for agents that share a host.
const CONNECTIONS_PER_HOST: usize = 64;

pub(super) fn settings(file: file::File, folder: &Path) -> Result<Settings, ConfigError> {
    let listen = listen(file.listen)?;
    let service = service(&file.service)?;
    let realms = realms("realms", &file.realms)?;
    let filter = filter(file.filter, &service, realms.closed.clone())?;
    let defaults = MiddleboxConfig::default();
    let longest = file.service.longest_lifetime_s.unwrap_or(defaults.longest_lifetime.as_secs());
    at_least("service.longest_lifetime_s", longest, 1)?;
    let middlebox = MiddleboxConfig {
        service,
        disable_rules: if file.service.disable_rules.unwrap_or(true) {
            Offer::Offered
        } else {
            Offer::Refused
        },
        longest_lifetime: Lifetime::from_secs(longest),
        longest_age: file.service.longest_age_s.map(Duration::from_secs),
        protocols: protocols("service.protocols", file.service.protocols.as_deref())?,
        realms,
        agents: agents(&file.agents, file.anonymous.as_ref(), folder)?,
        limits: limits(&file.limits)?,
        demands: Demands {
            fewest_streams: file.limits.fewest_streams.unwrap_or(1),
            protection: match &file.tls {
                Some(tls) if tls.demanded => Protection::Encrypted,
                Some(_) | None => Protection::None,
            },
        },
    };
    if let Some(pool) = middlebox.service.outside() {
        let is_given_out = |listener: &&SocketAddr| {
            pool.addresses.contains(&listener.ip()) && pool.ports.contains(&listener.port())
        };
        if let Some(listener) = listen.tcp.iter().find(is_given_out) {
            let reason = "service.outside gives this port out: what comes to it from outside is dropped";
            return Err(value("listen.tcp", listener, reason));
        }
    }
    let connections_per_host = file.limits.connections_per_host.unwrap_or(CONNECTIONS_PER_HOST);
    at_least("limits.connections_per_host", connections_per_host, 1)?;
    if middlebox.agents.known.is_empty() && middlebox.agents.anonymous.is_none() {
        return Err(value("agents", "{}", "name an agent, or allow [anonymous] ones; nobody could connect"));
    }
    let tls = file
        .tls
        .map(|tls| TlsIdentity::read(&folder.join(tls.certificate), &folder.join(tls.key)))
        .transpose()?;
    Ok(Settings {
        tls,
        listen,
        filter,
        middlebox,
        connections_per_host,
        metrics: file.metrics.map(|metrics| metrics.listen),
        audit: file.audit.map(|audit| folder.join(audit.file)),
        control: file.control.map(|control| folder.join(control.socket)),
    })
}

fn listen(file: file::ListenTable) -> Result<Listen, ConfigError> {
    if file.tcp.is_empty() && file.sctp.is_none() {
        return Err(value("listen.tcp", "[]", "name an address, or have listen.sctp; nobody could connect"));
    }
    let sctp = file.sctp.map(|sctp| {
        if sctp.addresses.is_empty() {
            return Err(value("listen.sctp.addresses", "[]", "name at least one address"));
        }
        let encapsulation_port = match (sctp.carrier, sctp.encapsulation_port) {
            (Carrier::Udp, port) => Some(port.unwrap_or(ENCAPSULATION_PORT)),
            (Carrier::Ip, None) => None,
            (Carrier::Ip, Some(port)) => {
                return Err(value("listen.sctp.encapsulation_port", port, "only with carrier = \"udp\""));
            }
        };
        let port = sctp.port.unwrap_or(PORT);
        at_least("listen.sctp.port", port, 1)?;
        Ok(SctpListen { addresses: sctp.addresses, port, encapsulation_port, capture: sctp.capture })
    });
    Ok(Listen { tcp: file.tcp, sctp: sctp.transpose()? })
}

fn filter(
    file: file::FilterTable,
    service: &Service,
    closed: Vec<Network>,
) -> Result<FilterSettings, ConfigError> {
    if file.kind != Some(FilterKind::Nftables) {
        return memory(&file);
    }
    let inside = file.inside.unwrap_or_default();
    if inside.is_empty() {
        return Err(value(
            "filter.inside",
            "[]",
            "name the interfaces of the protected network, at least one",
        ));
    }
    let defaults = NftConfig::new(inside);
    let most_shapes = file.most_shapes.unwrap_or(defaults.most_shapes);
    at_least("filter.most_shapes", most_shapes, FEWEST_SHAPES)?;
    let most_shapes_per_agent = file.most_shapes_per_agent.unwrap_or(defaults.most_shapes_per_agent);
    at_least("filter.most_shapes_per_agent", most_shapes_per_agent, 1)?;
    let most_elements = file.most_elements.unwrap_or(defaults.most_elements);
    at_least("filter.most_elements", most_elements, 1)?;
    let interfaces = match file.inside_may_come_later {
        Some(true) => Interfaces::MayComeLater,
        Some(false) | None => Interfaces::Present,
    };
    let config = NftConfig {
        table: file.table.unwrap_or(defaults.table),
        priority: file.priority.unwrap_or(defaults.priority),
        translation: service.nat_mode().map(|_| TranslationPriorities::default()),
        shared_ports: service.outside().map_or(defaults.shared_ports, |pool| pool.ports.clone()),
        outside_addresses: service.outside().map(|pool| pool.addresses.clone()).unwrap_or_default(),
        mark: mark(file.mark)?,
        passing: defaults.passing,
        most_shapes,
        most_shapes_per_agent,
        most_elements,
        closed,
        inside: defaults.inside,
        removal: defaults.removal,
        ownership: match file.own_table {
            Some(true) | None => Ownership::Owned,
            Some(false) => Ownership::Shared,
        },
    };
    Ok(FilterSettings::Nftables { config, interfaces })
}

/// Returns the filter in memory; refuses options that only a filter in the kernel has, because whoever writes them wants packets
/// filtered.
fn memory(file: &file::FilterTable) -> Result<FilterSettings, ConfigError> {
    let Some(key) = first_key(file) else { return Ok(FilterSettings::Memory) };
    Err(match file.kind {
        None => value(
            "filter.kind",
            "(nothing)",
            &format!("with filter.{key}, \"nftables\" is needed; without it no packet is touched"),
        ),
        Some(_) => value(
            "filter.kind",
            "memory",
            &format!(
                "touches no packet, but there is filter.{key}; \"nftables\" is needed, or the key has to go"
            ),
        ),
    })
}

fn mark(bits: Option<u32>) -> Result<Option<NonZeroU32>, ConfigError> {
    let read =
        |bits| NonZeroU32::new(bits).ok_or_else(|| value("filter.mark", bits, "at least one bit is needed"));
    bits.map(read).transpose()
}

/// Returns a key that means nothing to a filter in memory, if one is written.
fn first_key(file: &file::FilterTable) -> Option<&'static str> {
    let keys = [
        ("inside", file.inside.is_some()),
        ("inside_may_come_later", file.inside_may_come_later.is_some()),
        ("table", file.table.is_some()),
        ("priority", file.priority.is_some()),
        ("most_shapes", file.most_shapes.is_some()),
        ("most_shapes_per_agent", file.most_shapes_per_agent.is_some()),
        ("most_elements", file.most_elements.is_some()),
        ("own_table", file.own_table.is_some()),
        ("mark", file.mark.is_some()),
    ];
    keys.into_iter().find_map(|(key, is_there)| is_there.then_some(key))
}

fn service(file: &file::Service) -> Result<Service, ConfigError> {
    let pool = |key: &str, pool: Option<&file::Pool>| {
        let Some(pool) = pool else {
            return Err(value(key, "(nothing)", "service.kind needs this pool of addresses"));
        };
        let (first, last) = (pool.first_port.unwrap_or(1024), pool.last_port.unwrap_or(u16::MAX));
        at_least(&format!("{key}.first_port"), first, 1)?;
        at_least(&format!("{key}.last_port"), last, first)?;
        if pool.addresses.is_empty() {
            return Err(value(&format!("{key}.addresses"), "[]", "name at least one address"));
        }
        Ok(Pool { addresses: pool.addresses.clone(), ports: first..=last })
    };
    let outside = || pool("service.outside", file.outside.as_ref());
    match file.kind {
        ServiceKind::Firewall => Ok(Service::Firewall),
        ServiceKind::TraditionalNat => Ok(Service::TraditionalNat { outside: outside()? }),
        ServiceKind::TwiceNat => {
            let inside = pool("service.inside", file.inside.as_ref())?;
            Ok(Service::TwiceNat { outside: outside()?, inside })
        }
    }
}

fn limits(file: &file::Limits) -> Result<Limits, ConfigError> {
    let defaults = Limits::default();
    let sessions = file.sessions.unwrap_or(defaults.sessions);
    let limits = Limits {
        sessions,
        anonymous_sessions: file.anonymous_sessions.unwrap_or((sessions * 3 / 4).max(1)),
        rules: file.rules.unwrap_or(defaults.rules),
        outbox_bytes: file.outbox_bytes.unwrap_or(defaults.outbox_bytes),
        establishment: file.establishment_s.map_or(defaults.establishment, Duration::from_secs),
    };
    at_least("limits.sessions", limits.sessions, 1)?;
    at_least("limits.anonymous_sessions", limits.anonymous_sessions, 1)?;
    at_least("limits.rules", limits.rules, 1)?;
    at_least("limits.outbox_bytes", limits.outbox_bytes, 1 << 16)?;
    at_least("limits.establishment_s", limits.establishment.as_secs(), 1)?;
    at_least("limits.fewest_streams", file.fewest_streams.unwrap_or(1), 1)?;
    Ok(limits)
}

fn realms(place: &str, file: &file::Realms) -> Result<Realms, ConfigError> {
    let networks = |key: &str, texts: &[String]| {
        texts
            .iter()
            .map(|text| network(text).ok_or_else(|| value(key, text, NETWORK)))
            .collect::<Result<_, _>>()
    };
    Ok(Realms {
        internal: networks(&format!("{place}.internal"), &file.internal)?,
        external: networks(&format!("{place}.external"), &file.external)?,
        closed: networks(&format!("{place}.closed"), &file.closed)?,
    })
}

fn protocols(key: &str, texts: Option<&[String]>) -> Result<Option<Vec<TransportProtocol>>, ConfigError> {
    let Some(texts) = texts else { return Ok(None) };
    if texts.is_empty() {
        return Err(value(
            key,
            "[]",
            "name at least one protocol, or leave the key out; nothing could be opened",
        ));
    }
    let read = |text: &String| protocol(text).ok_or_else(|| value(key, text, PROTOCOL));
    texts.iter().map(read).collect::<Result<_, _>>().map(Some)
}

fn protocol(text: &str) -> Option<TransportProtocol> {
    let numbers = (0..=u8::MAX).map(TransportProtocol::new);
    numbers.into_iter().find(|protocol| protocol.to_string() == text || protocol.get().to_string() == text)
}

/// Reads a range of ports such as `5000-5999`, or a port alone.
fn ports(key: &str, text: &str) -> Result<RangeInclusive<u16>, ConfigError> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) if 0 < first && first <= last => Ok(first..=last),
        _ => Err(value(key, text, "a port, or two with a dash between, such as \"16384-32767\", is needed")),
    }
}

fn network(text: &str) -> Option<Network> {
    let (address, bits) = text.split_once('/')?;
    let (address, bits): (IpAddr, u8) = (address.parse().ok()?, bits.parse().ok()?);
    (bits <= if address.is_ipv4() { 32 } else { 128 }).then(|| Network::new(address, bits))
}

fn agents(
    file: &BTreeMap<String, file::Agent>,
    anonymous: Option<&file::Policy>,
    folder: &Path,
) -> Result<Agents, ConfigError> {
    let mut known = BTreeMap::new();
    for (name, agent) in file {
        let place = format!("agents.{name}");
        let owner = Owner::new(name.as_bytes()).map_err(|_| value(&place, name, "at most 255 octets"))?;
        let path = key_path(&agent.key_file, folder);
        let bad_key = |because: String| value(&format!("{place}.key_file"), path.display(), &because);
        let text = std::fs::read_to_string(&path).map_err(|error| bad_key(error.to_string()))?;
        warn_if_readable(&path);
        let key = Key::from_hex(&text).map_err(|error| bad_key(error.to_string()))?;
        known.insert(owner, AgentConfig { key, policy: policy(&place, &agent.policy)? });
    }
    Ok(Agents { known, anonymous: anonymous.map(|file| policy("anonymous", file)).transpose()? })
}

/// Returns the path of a key: `%d/name` is a credential of systemd (`LoadCredential=`); all else is relative to
/// the configuration.
fn key_path(file: &Path, folder: &Path) -> PathBuf {
    match (file.strip_prefix("%d"), std::env::var_os("CREDENTIALS_DIRECTORY")) {
        (Ok(name), Some(credentials)) => Path::new(&credentials).join(name),
        (Ok(_) | Err(_), _) => folder.join(file),
    }
}

/// A key that everybody on the host can read is no secret.
fn warn_if_readable(path: &Path) {
    let mode = std::fs::metadata(path).map(|data| data.permissions().mode()).unwrap_or_default();
    if mode & 0o007 != 0 {
        tracing::warn!(file = %path.display(), "a key that everybody on this host can read: chmod o= it");
    }
}

fn policy(place: &str, file: &file::Policy) -> Result<AgentPolicy, ConfigError> {
    let defaults = AgentPolicy::default();
    let request_rate = match (file.requests_per_second, file.request_burst) {
        (None, None) => None,
        (None, Some(burst)) => {
            return Err(value(&format!("{place}.request_burst"), burst, "only with requests_per_second"));
        }
        (Some(per_second), burst) => {
            at_least(&format!("{place}.requests_per_second"), per_second, 1)?;
            let burst = burst.unwrap_or(per_second);
            at_least(&format!("{place}.request_burst"), burst, 1)?;
            Some(RequestRate { per_second, burst })
        }
    };
    Ok(AgentPolicy {
        may_connect: file.may_connect.unwrap_or(defaults.may_connect),
        may_reserve: file.may_reserve.unwrap_or(defaults.may_reserve),
        may_enable: file.may_enable.unwrap_or(defaults.may_enable),
        may_disable: file.may_disable.unwrap_or(defaults.may_disable),
        may_change_lifetimes: file.may_change_lifetimes.unwrap_or(defaults.may_change_lifetimes),
        may_extend: file.may_extend.unwrap_or(defaults.may_extend),
        may_inspect: file.may_inspect.unwrap_or(defaults.may_inspect),
        may_access_others: file.may_access_others.unwrap_or(defaults.may_access_others),
        most_sessions: file.most_sessions.unwrap_or(defaults.most_sessions),
        most_rules: file.most_rules.unwrap_or(defaults.most_rules),
        request_rate,
        scope: Arc::new(Scope {
            realms: match &file.realms {
                Some(file) => realms(&format!("{place}.realms"), file)?,
                None => Realms::default(),
            },
            protocols: protocols(&format!("{place}.protocols"), file.protocols.as_deref())?,
            ports: file.ports.as_deref().map(|text| ports(&format!("{place}.ports"), text)).transpose()?,
        }),
    })
}

const PROTOCOL: &str = "udp, tcp, sctp, dccp, udplite, icmp, a number from 1 to 255, or any is needed";
const NETWORK: &str = "an address and a prefix length, such as 10.0.0.0/8, is needed";
/// The shapes that are there from the start, for one IP version.
const FEWEST_SHAPES: usize = 4;
