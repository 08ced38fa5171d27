//! The configuration as it is written.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) listen: ListenTable,
    #[serde(default)]
    pub(super) filter: FilterTable,
    #[serde(default)]
    pub(super) service: Service,
    #[serde(default)]
    pub(super) limits: Limits,
    #[serde(default)]
    pub(super) realms: Realms,
    #[serde(default)]
    pub(super) agents: BTreeMap<String, Agent>,
    pub(super) anonymous: Option<Policy>,
    pub(super) tls: Option<Tls>,
    pub(super) metrics: Option<Metrics>,
    pub(super) audit: Option<AuditTable>,
    pub(super) control: Option<ControlTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListenTable {
    #[serde(default)]
    pub(super) tcp: Vec<SocketAddr>,
    pub(super) sctp: Option<Sctp>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sctp {
    pub(super) addresses: Vec<IpAddr>,
    pub(super) port: Option<u16>,
    pub(super) carrier: Carrier,
    pub(super) encapsulation_port: Option<u16>,
    pub(super) capture: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Carrier {
    Udp,
    Ip,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FilterTable {
    pub(super) kind: Option<FilterKind>,
    pub(super) inside: Option<Vec<String>>,
    pub(super) inside_may_come_later: Option<bool>,
    pub(super) table: Option<String>,
    pub(super) priority: Option<i32>,
    pub(super) most_shapes: Option<usize>,
    pub(super) most_shapes_per_agent: Option<usize>,
    pub(super) most_elements: Option<usize>,
    pub(super) own_table: Option<bool>,
    pub(super) mark: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FilterKind {
    Memory,
    Nftables,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Service {
    #[serde(default)]
    pub(super) kind: ServiceKind,
    pub(super) outside: Option<Pool>,
    pub(super) inside: Option<Pool>,
    pub(super) disable_rules: Option<bool>,
    pub(super) longest_lifetime_s: Option<u32>,
    pub(super) longest_age_s: Option<u64>,
    pub(super) protocols: Option<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ServiceKind {
    #[default]
    Firewall,
    TraditionalNat,
    TwiceNat,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pool {
    pub(super) addresses: Vec<IpAddr>,
    pub(super) first_port: Option<u16>,
    pub(super) last_port: Option<u16>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    pub(super) sessions: Option<usize>,
    pub(super) anonymous_sessions: Option<usize>,
    pub(super) connections_per_host: Option<usize>,
    pub(super) rules: Option<usize>,
    pub(super) outbox_bytes: Option<usize>,
    pub(super) establishment_s: Option<u64>,
    pub(super) fewest_streams: Option<u16>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Realms {
    #[serde(default)]
    pub(super) internal: Vec<String>,
    #[serde(default)]
    pub(super) external: Vec<String>,
    #[serde(default)]
    pub(super) closed: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Agent {
    pub(super) key_file: PathBuf,
    #[serde(flatten)]
    pub(super) policy: Policy,
}

/// The policy of an agent; what is not written has its default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Policy {
    pub(super) may_connect: Option<bool>,
    pub(super) may_reserve: Option<bool>,
    pub(super) may_enable: Option<bool>,
    pub(super) may_disable: Option<bool>,
    pub(super) may_change_lifetimes: Option<bool>,
    pub(super) may_extend: Option<bool>,
    pub(super) may_inspect: Option<bool>,
    pub(super) may_access_others: Option<bool>,
    pub(super) most_sessions: Option<usize>,
    pub(super) most_rules: Option<usize>,
    pub(super) requests_per_second: Option<u32>,
    pub(super) request_burst: Option<u32>,
    pub(super) realms: Option<Realms>,
    pub(super) protocols: Option<Vec<String>>,
    pub(super) ports: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tls {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
    #[serde(default)]
    pub(super) demanded: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Metrics {
    pub(super) listen: SocketAddr,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuditTable {
    pub(super) file: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ControlTable {
    pub(super) socket: PathBuf,
}
