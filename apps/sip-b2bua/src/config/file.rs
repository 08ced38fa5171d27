//! The configuration as it is written.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigFile {
    pub(super) listen: ListenTable,
    #[serde(default)]
    pub(super) routes: Vec<RouteTable>,
    #[serde(default)]
    pub(super) middleboxes: Vec<MiddleboxTable>,
    #[serde(default)]
    pub(super) calls: CallsTable,
    #[serde(default)]
    pub(super) limits: LimitsTable,
    pub(super) tls: Option<TlsTable>,
    #[serde(default)]
    pub(super) dns: DnsTable,
    pub(super) authentication: Option<AuthenticationTable>,
    pub(super) metrics: Option<MetricsTable>,
    pub(super) records: Option<RecordsTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListenTable {
    #[serde(default)]
    pub(super) udp: Vec<SocketAddr>,
    #[serde(default)]
    pub(super) tcp: Vec<SocketAddr>,
    #[serde(default)]
    pub(super) tls: Vec<SocketAddr>,
    pub(super) sctp: Option<SctpTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SctpTable {
    pub(super) addresses: Vec<IpAddr>,
    pub(super) port: Option<u16>,
    pub(super) encapsulation_port: Option<u16>,
    pub(super) peer_encapsulation_port: Option<u16>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RouteTable {
    #[serde(default)]
    pub(super) prefix: String,
    pub(super) domain: Option<String>,
    pub(super) to: String,
    pub(super) transport: Option<SipTransport>,
    pub(super) tls_name: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SipTransport {
    Udp,
    Tcp,
    Tls,
    Sctp,
}

/// Has no `Debug`, for it has passwords.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuthenticationTable {
    pub(super) realm: String,
    pub(super) users: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) exempt: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DnsTable {
    #[serde(default)]
    pub(super) servers: Vec<SocketAddr>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TlsTable {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
    pub(super) authorities: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MiddleboxTable {
    pub(super) name: String,
    pub(super) addresses: Vec<IpAddr>,
    pub(super) port: Option<u16>,
    #[serde(default)]
    pub(super) transport: SimcoTransport,
    pub(super) encapsulation_port: Option<u16>,
    pub(super) streams: Option<u16>,
    pub(super) identity: Option<String>,
    pub(super) key_file: Option<PathBuf>,
    #[serde(default)]
    pub(super) kind: KindOfMiddlebox,
    pub(super) internal: Vec<String>,
    pub(super) lifetime_s: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum KindOfMiddlebox {
    #[default]
    Filter,
    /// A network address translator.
    Nat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SimcoTransport {
    #[default]
    Tcp,
    /// SCTP in UDP (RFC 6951).
    Sctp,
    /// SCTP directly over IP.
    SctpOverIp,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallsTable {
    pub(super) firewall_patience_ms: Option<u64>,
    pub(super) longest_ringing_s: Option<u64>,
    pub(super) longest_call_s: Option<u64>,
    pub(super) most_streams: Option<usize>,
    pub(super) lowest_media_port: Option<u16>,
    #[serde(default)]
    pub(super) may_speak_for_others: Vec<String>,
    pub(super) drain_s: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsTable {
    pub(super) calls: Option<usize>,
    pub(super) calls_per_second: Option<u32>,
    pub(super) retry_after_s: Option<u32>,
    pub(super) connections: Option<usize>,
    pub(super) connections_per_host: Option<usize>,
    pub(super) message_bytes: Option<usize>,
    pub(super) body_bytes: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MetricsTable {
    pub(super) listen: SocketAddr,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordsTable {
    pub(super) file: PathBuf,
}
