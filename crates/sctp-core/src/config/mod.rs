//! Protocol parameters: the names and defaults of RFC 9260 §16, and where a profile departs from them.
//!
//! Every field says its unit, its default and who should change it. [`AssociationConfig::validate`] refuses
//! what cannot work, naming the field, the value and the bound.

mod authentication;
mod buffers;
mod congestion;
mod defaults;
mod events;
mod extensions;
mod incoming;
mod path_mtu;
mod paths;
mod profile;
mod reconfiguration;
mod redundancy;
mod scheduling;
mod setting;
#[cfg(test)]
mod tests;

use core::time::Duration;
use std::net::IpAddr;

use sctp_wire::{SctpPort, VerificationTag};

pub(crate) use self::authentication::NEVER_AUTHENTICATED;
pub use self::authentication::{AuthConfig, AuthKeys, HmacPreference};
pub use self::buffers::Buffers;
pub use self::congestion::{
    AfterTimeout, CongestionAlgorithm, CongestionConfig, InitialWindow, LeastWindow, Pacing, StandingQueue,
    StartUp, WindowValidation,
};
pub use self::events::{EventGroup, EventLimit, EventLimits, EventMask};
pub use self::extensions::{AutomaticAddresses, Extensions, Offer};
pub use self::incoming::{AskLimits, IncomingPolicy};
pub use self::path_mtu::{Discovery, PathMtuConfig};
pub use self::paths::{AnnouncedPrimary, Exposure, PathsConfig};
pub use self::profile::{Profile, UnknownProfile};
pub use self::reconfiguration::{Acceptance, ReconfigConfig};
pub use self::redundancy::{EarlyCopy, RedundancyConfig};
pub use self::scheduling::{StreamScheduler, StreamShare};
pub use self::setting::{Heartbeats, PathSetting, PathSettings, Setting};
use crate::error::ConfigError;
use crate::transmit::{Dscp, MAX_PATHS, is_unicast};

/// The configuration of an [`Endpoint`](crate::Endpoint): its port, and what it does with associations opened
/// by others.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
#[non_exhaustive]
pub struct EndpointConfig {
    /// The SCTP port of this endpoint.
    pub port: SctpPort,
    /// Parameters of associations opened by peers.
    #[cfg_attr(feature = "serde", serde(default = "defaults::association"))]
    pub association: AssociationConfig,
    /// Whether peers may open associations. Default: they may.
    #[cfg_attr(feature = "serde", serde(default = "defaults::incoming"))]
    pub incoming: IncomingPolicy,
    /// Associations this endpoint holds at most; further ones are refused with "Out of Resource". Default 10,000.
    /// Raise it on servers with memory for more: an idle association costs a few KB.
    #[cfg_attr(feature = "serde", serde(default = "defaults::association_limit"))]
    pub association_limit: usize,
    /// The rule for who gives way where associations are many. Default [`CrowdLimits::default`].
    #[cfg_attr(feature = "serde", serde(default = "defaults::crowds"))]
    pub crowds: CrowdLimits,
    /// Octets that all associations together hold at most of what was received and not read, bookkeeping included.
    /// Half of it is divided equally among [`association_limit`](Self::association_limit) associations, the other half
    /// goes to those that need more. Beside it, blocks of long messages that were read and dropped wait for the next ones: 1 MiB at
    /// most, and no more than a sixteenth of it. Default 512 MiB; at least twice the [`Buffers::receive_bytes`] of one association.
    /// Lower it on small hosts, raise it where thousands of readers are slow.
    #[cfg_attr(feature = "serde", serde(default = "defaults::receive_memory_bytes"))]
    pub receive_memory_bytes: usize,
    /// Valid.Cookie.Life (RFC 9260 §16): how old a returned state cookie may be. Default 60 s.
    #[cfg_attr(feature = "serde", serde(default = "defaults::cookie_life"))]
    pub cookie_life: Duration,
    /// The addresses of this host that peers are told of in INIT and INIT ACK (RFC 9260 §5.1.2), and that packets are
    /// sent from; at most 8. Default none: peers use the address they see, which is right for hosts with one address
    /// and the only thing that works behind a NAT (RFC 6951 §4.8). Name them all on hosts with several interfaces.
    /// A peer is not told of addresses it cannot reach: loopback ones only on the same host, link-local ones only on
    /// the link, private ones only where it is reached at a private address itself.
    #[cfg_attr(feature = "serde", serde(default = "defaults::local_addresses"))]
    pub local_addresses: Vec<IpAddr>,
    /// How much longer than that a cookie may live at most when a peer whose last one was stale asks for it
    /// (RFC 9260 §3.3.2.1.3). Default 10 s; a longer life gives more time to replay a cookie. Zero: never longer.
    #[cfg_attr(feature = "serde", serde(default = "defaults::cookie_extension"))]
    pub cookie_extension: Duration,
    /// INITs answered at most per source network, an IPv4 /24 or an IPv6 /48. Default 100,000 a second and as many at once
    /// ([`InitRate::NETWORK`]). It bounds the work that a flood makes; lower than what a flood brings it would keep the
    /// network's honest hosts out as well. Lower it where peers are few. `None`: no limit, for closed networks and load tests.
    #[cfg_attr(feature = "serde", serde(default = "defaults::init_rate"))]
    pub init_rate: Option<InitRate>,
    /// INITs answered at most per host, an IPv4 address or the /64 of an IPv6 address. Default 1000 a second and 2000 at once
    /// ([`InitRate::HOST`]). It bounds what the owner of a forged address gets. Raise it where thousands of peers share
    /// an address behind a NAT and come at once. `None`: no limit but the network's.
    #[cfg_attr(feature = "serde", serde(default = "defaults::host_init_rate"))]
    pub host_init_rate: Option<InitRate>,
    /// The share of verification tags that this endpoint gives to its associations. Default `None`: any. Set it
    /// where several endpoints share a port and the lower layer deals packets by their tags.
    #[cfg_attr(feature = "serde", serde(default = "defaults::tag_share"))]
    pub tag_share: Option<TagShare>,
}

/// One of several endpoints at the same port: those whose tags, divided by `of`, leave `index` are its own. It stays
/// silent about others, which reached it by mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TagShare {
    /// The number of the share, below `of`.
    pub index: u16,
    /// How many endpoints there are; at least 1.
    pub of: u16,
}

impl TagShare {
    /// Returns whether a tag is one of this share.
    pub(crate) fn has(self, tag: VerificationTag) -> bool {
        tag.get() % u32::from(self.of.max(1)) == u32::from(self.index)
    }

    /// Returns the tag of this share that is nearest below or above; `None` where that would be zero, which is
    /// no tag.
    pub(crate) fn adopt(self, tag: VerificationTag) -> Option<VerificationTag> {
        let of = u32::from(self.of.max(1));
        let adopted = (tag.get() / of).checked_mul(of)?.checked_add(u32::from(self.index))?;
        (adopted != 0).then(|| VerificationTag::new(adopted))
    }
}

/// The division of the associations that peers open among source networks (an IPv4 /24, an IPv6 /48), so that
/// one host cannot have all of [`EndpointConfig::association_limit`]. Associations opened here and those over
/// channels of the caller's ([`Encapsulation::Datagrams`](crate::Encapsulation::Datagrams)) are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct CrowdLimits {
    /// Percent of the limit that one network may have, rounded up; it is refused more with "Out of Resource". Default 50.
    /// 100 is no bound: for servers all of whose clients are behind one NAT, and for load tests from one host.
    pub network_percent: u8,
    /// Percent of the limit that are kept free as long as there are associations on which the peer has sent no user data: for
    /// each new one the oldest of these ends, in the network that has most of them
    /// ([`AssociationError::GaveWay`](crate::AssociationError::GaveWay)). Default 6. Rounded down. Zero is off: for servers whose
    /// clients listen only, where there may be as many of them as the limit allows.
    pub reserve_percent: u8,
}

impl Default for CrowdLimits {
    fn default() -> Self {
        Self { network_percent: 50, reserve_percent: 6 }
    }
}

impl CrowdLimits {
    /// Returns how many of `limit` associations one network may have.
    pub(crate) fn of_network(self, limit: usize) -> usize {
        (limit.saturating_mul(self.network_percent.into())).div_ceil(100)
    }

    /// Returns how many of `limit` associations are kept free.
    pub(crate) fn reserve(self, limit: usize) -> usize {
        limit.saturating_mul(self.reserve_percent.into()) / 100
    }
}

impl EndpointConfig {
    /// Creates an endpoint on this SCTP port whose associations begin with this configuration; all else has its default.
    #[must_use]
    pub fn with_association(port: SctpPort, association: AssociationConfig) -> Self {
        Self { association, ..Self::new(port) }
    }

    /// Creates an endpoint on this SCTP port with all defaults.
    #[must_use]
    pub fn new(port: SctpPort) -> Self {
        Self {
            port,
            association: AssociationConfig::default(),
            incoming: IncomingPolicy::Accept,
            association_limit: 10_000,
            crowds: CrowdLimits::default(),
            receive_memory_bytes: 512 << 20,
            cookie_life: Duration::from_secs(60),
            local_addresses: Vec::new(),
            cookie_extension: Duration::from_secs(10),
            init_rate: Some(InitRate::NETWORK),
            host_init_rate: Some(InitRate::HOST),
            tag_share: None,
        }
    }
}

/// How many INITs an endpoint answers; the rest are dropped without an
/// answer, so that a flood costs little and reflects nothing (RFC 5062 §5).
///
/// Sources are told apart in tables of fixed size: two may share an allowance, none can make a table grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct InitRate {
    /// INITs a second in the long run.
    pub per_second: u32,
    /// INITs at once after a silence.
    pub burst: u32,
}

impl InitRate {
    /// The default for a host: 1000 a second, 2000 at once, far above what one needs.
    pub const HOST: Self = Self { per_second: 1000, burst: 2000 };
    /// The default for a network: 100,000 a second and at once.
    pub const NETWORK: Self = Self { per_second: 100_000, burst: 100_000 };
}

/// Parameters of one association.
///
/// [`AssociationConfig::default`] is the profile [`Profile::Signalling`]; [`AssociationConfig::profile`] gives others.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct AssociationConfig {
    /// Streams asked for and allowed.
    pub streams: Streams,
    /// The extensions that are offered beyond RFC 9260.
    pub extensions: Extensions,
    /// The chunks that are authenticated, and the keys.
    pub authentication: AuthConfig,
    /// The limits to what the association may hold in memory.
    pub buffers: Buffers,
    /// The parameters of the retransmission timeout.
    pub rto: RtoConfig,
    /// The times at which data is acknowledged.
    pub sack: SackConfig,
    /// How much may be in flight.
    pub congestion: CongestionConfig,
    /// How losses are found and repaired.
    pub recovery: RecoveryConfig,
    /// How idle paths are supervised.
    pub heartbeat: HeartbeatConfig,
    /// An association on which no user data was sent or received for this long is shut down gracefully (SCTP_AUTOCLOSE,
    /// RFC 6458 §8.1.8). Default `None`: never. At least 1 ms. Set it on servers whose clients come once and do not
    /// always end what they opened.
    pub autoclose: Option<Duration>,
    /// How often something is tried before it is given up.
    pub attempts: Attempts,
    /// The rules for a path that fails, for the primary path, and for addresses that come and go.
    pub paths: PathsConfig,
    /// The order and the form in which queued messages leave.
    pub transmission: TransmissionConfig,
    /// The changes that the peer may make to streams (RFC 6525).
    pub reconfiguration: ReconfigConfig,
    /// How large packets may be, and whether to search for the largest a path carries.
    pub path_mtu: PathMtuConfig,
}

/// Stream counts (RFC 9260 §5.1.1): the smaller of what one side asks and the other allows is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Streams {
    /// Outgoing streams asked for (OS). Default 64.
    pub outbound: u16,
    /// Incoming streams allowed (MIS). Default 2048.
    pub inbound: u16,
}

/// Retransmission timeout (RFC 9260 §6.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct RtoConfig {
    /// RTO.Initial: before the first measurement. Default 1 s; 3 s by the old rule and so by `studies`.
    pub initial: Duration,
    /// The least timeout, RTO.Min. Default 1 s by RFC 9260, 200 ms by `signalling` (what TCP stacks use). Lower
    /// it only where peers acknowledge at once.
    pub min: Duration,
    /// The largest timeout, RTO.Max. Default 60 s.
    pub max: Duration,
}

/// Delayed acknowledgment (RFC 9260 §6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct SackConfig {
    /// SACK.Delay: how long an acknowledgment may wait for company. Default 200 ms, at most 500 ms.
    pub delay: Duration,
    /// Packets with data after which a SACK is sent in any case, whether they arrive one by one or many together. Default 2
    /// (RFC 9260 §6.2). Leave it: a peer's slow start grows by a packet with each SACK (§7.2.1).
    ///
    /// Two exceptions: the first data of an association is acknowledged at once; and where packets arrive together, SACKs
    /// beyond 50,000 a second and 512 at once are left out, which
    /// [`ReceiverStatistics::sacks_left_out`](crate::ReceiverStatistics::sacks_left_out) counts.
    pub every_packets: u32,
}

/// How losses are found (the mechanism that decides what a lost message costs).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct RecoveryConfig {
    /// The evidence that declares a chunk lost before the retransmission timer does.
    pub loss_detection: LossDetection,
    /// Whether the sender asks for immediate acknowledgment (I bit, RFC 9260 §3.3.1).
    pub immediate_sack: ImmediateSack,
    /// Whether packets of new data carry unacknowledged chunks once more. Default `None`: they do not; `signalling-redundant` has
    /// [`RedundancyConfig::default`]. For short messages over lossy paths that cannot wait for a round trip.
    pub redundancy: Option<RedundancyConfig>,
}

/// The evidence that declares a chunk lost before T3-rtx does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum LossDetection {
    /// Three missing reports, once per chunk (RFC 9260 §7.2.4).
    MissingReports,
    /// So many missing reports, and as many further ones for a chunk that was sent again: reports that tell of a chunk
    /// sent after that. The old rules ruled out fast retransmission a second time; Linux up to 2.6.15 did it, after four
    /// reports each time, and the models of S1 and S4 are of three. For comparisons with them.
    RepeatedMissingReports {
        /// The missing reports that declare a chunk lost, each time. Three is the rule of today, four an old rule.
        reports: u8,
    },
    /// Time: a chunk is lost when one sent later has arrived and a round trip plus a reordering window has passed
    /// (RFC 8985 §6), and when nothing has been heard for two round trips a probe goes out (RFC 8985 §7), repeated
    /// with doubling until T3-rtx takes over. A retransmission that is lost is found in the same way.
    Rack,
}

/// The occasions on which the I bit is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum ImmediateSack {
    /// The I bit is set only while shutting down, as RFC 9260 §9.2 asks.
    WhenShuttingDown,
    /// The I bit is also set on the last chunk the sender has for now: a thin flow need not wait for the peer's
    /// SACK delay.
    WhenSenderDry,
}

/// Path supervision (RFC 9260 §8.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct HeartbeatConfig {
    /// HB.interval: an idle path is probed every RTO + this. Default 30 s. `None`: no HEARTBEATs on confirmed paths.
    pub interval: Option<Duration>,
    /// A peer that has opened an association, and from which no packet has come since, is asked this long after the handshake
    /// whether it is there, and again until it answers; it is given up after [`Attempts::untried`] errors. Default 5 s in
    /// `signalling`; at least 1 ms. `None`, as in the other profiles: neither is it asked sooner than others nor given up sooner, so
    /// that whoever opens associations and vanishes holds them for minutes. For links on which every packet counts.
    pub untried: Option<Duration>,
    /// HB.Max.Burst (RFC 9260 §16): HEARTBEATs to addresses not verified yet in one RTO. Default 1, at least 1. Raise it
    /// where peers have many addresses and verifying them one a second is too slow.
    pub max_burst: u32,
    /// The longest time on a path through UDP without a HEARTBEAT and without new data at the latest, whatever
    /// `interval` says, so that NATs and firewalls on the way do not forget the flow (RFC 6951 §4, RFC 8085
    /// §3.5). Default 15 s: many forget after 30 s, though RFC 4787 §4.3 asks for 2 min. At least 1 s; less
    /// than 15 s is more than RFC 8085 §3.5 grants. Raise it where batteries or silence count and the
    /// middleboxes are known; `None`, no keep-alives, where there are none. Paths directly over IP have none.
    pub nat_keepalive: Option<Duration>,
}

/// The order and the form in which queued messages leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct TransmissionConfig {
    /// Whether small messages wait to be bundled while data is in flight. Default: they do not.
    pub nagle: Nagle,
    /// Whether messages share packets. Default: they do, and fill them while the congestion window is the limit. The profiles
    /// `rfc9260` and `studies` cut no message that fits a packet.
    pub bundling: MessageBundling,
    /// The order in which streams are served (RFC 8260 §3). Default first come, first served, which costs
    /// least. Change it where streams compete: bulk beside requests, or media as in WebRTC
    /// ([`StreamScheduler::WeightedFair`]).
    pub scheduler: StreamScheduler,
    /// Max.Burst (RFC 9260 §6.1 (D)): packets sent at most on one occasion. Default 4.
    pub max_burst_packets: u32,
    /// The code point in the IP headers of all packets: what they ask of routers (RFC 2474; `spp_dscp` of RFC
    /// 6458 §8.1.12). Default CS0: nothing. Networks that tell signalling apart expect [`Dscp::CS5`] for it,
    /// for conferencing AF41; others clear it at their border. Answers to packets outside any association have
    /// that of [`EndpointConfig::association`]. Change it where the network's operator says which is honoured; by path where
    /// paths lead through different networks ([`PathSetting::Dscp`]).
    pub dscp: Dscp,
}

/// How often something is tried before it is given up (RFC 9260 §16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct Attempts {
    /// Max.Init.Retransmits: INIT and COOKIE ECHO. Default 8.
    pub init: u32,
    /// Path.Max.Retrans: consecutive errors until a path is inactive. Default 5.
    pub path: u32,
    /// Association.Max.Retrans: consecutive errors until the peer counts as unreachable. Default 10.
    pub association: u32,
    /// The most attempts for a peer that has opened an association and from which nothing has come since.
    /// Default 2, at most as many as for others.
    pub untried: u32,
    /// How long the peer may acknowledge nothing while data waits for it, even if it answers all probes of its closed window
    /// (RFC 9260 §6.1 (A)) and all HEARTBEATs. Default `None`: as long as it answers, as in TCP (RFC 9293 §3.8.6.1), for a
    /// slow reader is no fault, and the application notices it by its send buffer, which bounds what is held. At least 1 s.
    /// Set it on servers that send to strangers. While an association shuts down there is always a limit:
    /// [`AssociationError::ShutdownTimedOut`](crate::AssociationError::ShutdownTimedOut).
    pub persist: Option<Duration>,
}

/// The Nagle algorithm: hold a packet that is not full while data is in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Nagle {
    /// Send at once. What signalling wants.
    #[default]
    Off,
    /// Fewer, fuller packets at the price of a round trip's delay.
    On,
}

/// Whether several messages travel in one packet (RFC 9260 §6.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum MessageBundling {
    /// Messages that are due together share packets, each whole if it fits one. For messages that must never
    /// wait for two packets.
    On,
    /// Messages share packets as with `On`, and packets are filled while the congestion window is what data
    /// waits for: a message is cut in two where one ends, for its second half leaves no later than all of it
    /// would have. While there is less to send than may leave, messages are whole; so they are where the round
    /// trip is 2 ms or less or packets are not paced, where messages may be given up (what is in two packets is
    /// lost twice as often), and with another scheduler than [`StreamScheduler::FirstComeFirstServed`] (what
    /// was begun is finished before what is more urgent).
    #[default]
    FilledWhenLimited,
    /// Packets are filled always. For a peer or a path for which packets count more than octets. Messages of 1200 octets in
    /// packets of 1500 carry a tenth more, and cost a chunk header and a reassembly more; what is cut waits for two packets.
    Filled,
    /// Each new chunk has a packet of its own; SACKs still travel with it. For comparing with stacks that did so.
    Off,
}

impl Default for AssociationConfig {
    fn default() -> Self {
        Self::profile(Profile::Signalling)
    }
}

impl EndpointConfig {
    /// Checks every field, those of [`EndpointConfig::association`] too.
    ///
    /// # Errors
    /// The first field that cannot work, with its value and bound.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let day = Duration::from_secs(24 * 3600);
        duration("cookie_life", self.cookie_life, Duration::from_millis(1), day)?;
        duration("cookie_extension", self.cookie_extension, Duration::ZERO, day)?;
        if let Some(TagShare { index, of }) = self.tag_share {
            at_least("tag_share.of", usize::from(of), 1)?;
            at_most("tag_share.index", usize::from(index), usize::from(of) - 1)?;
        }
        for (field, rate) in [("init_rate", self.init_rate), ("host_init_rate", self.host_init_rate)] {
            if let Some(rate) = rate {
                at_least(field, rate.per_second.min(rate.burst) as usize, 1)?;
            }
        }
        at_least("crowds.network_percent", self.crowds.network_percent.into(), 1)?;
        at_most("crowds.network_percent", self.crowds.network_percent.into(), 100)?;
        at_most("crowds.reserve_percent", self.crowds.reserve_percent.into(), 99)?;
        self.incoming.validate()?;
        let two_windows = self.association.buffers.most_receive_bytes().saturating_mul(2);
        at_least("receive_memory_bytes", self.receive_memory_bytes, two_windows)?;
        at_most("local_addresses.len()", self.local_addresses.len(), MAX_PATHS)?;
        for (position, &address) in self.local_addresses.iter().enumerate() {
            let is_same = |other: &IpAddr| other.to_canonical() == address.to_canonical();
            let is_twice = self.local_addresses[..position].iter().any(is_same);
            if !is_unicast(address.to_canonical()) || is_twice {
                return Err(ConfigError::Address { field: "local_addresses", address });
            }
        }
        self.association.validate()
    }
}

impl AssociationConfig {
    /// Checks every field against its bounds and the fields against each other.
    ///
    /// # Errors
    /// The first field that cannot work, with its value and bound.
    pub fn validate(&self) -> Result<(), ConfigError> {
        at_least("streams.outbound", usize::from(self.streams.outbound), 1)?;
        at_least("streams.inbound", usize::from(self.streams.inbound), 1)?;
        self.authentication.validate(&self.extensions)?;
        at_least("transmission.max_burst_packets", self.transmission.max_burst_packets as usize, 1)?;
        self.path_mtu.validate()?;
        self.congestion.validate()?;
        self.buffers.validate()?;
        at_least("sack.every_packets", self.sack.every_packets as usize, 1)?;
        at_least("heartbeat.max_burst", self.heartbeat.max_burst as usize, 1)?;
        if let Some(interval) = self.heartbeat.interval {
            duration("heartbeat.interval", interval, Duration::ZERO, YEAR)?;
        }
        if let Some(untried) = self.heartbeat.untried {
            duration("heartbeat.untried", untried, Duration::from_millis(1), YEAR)?;
        }
        if let Some(keepalive) = self.heartbeat.nat_keepalive {
            duration("heartbeat.nat_keepalive", keepalive, Duration::from_secs(1), YEAR)?;
        }
        if let Some(idle) = self.autoclose {
            duration("autoclose", idle, Duration::from_millis(1), YEAR)?;
        }
        if let Some(persist) = self.attempts.persist {
            duration("attempts.persist", persist, Duration::from_secs(1), YEAR)?;
        }
        self.paths.validate(self.attempts.path)?;
        self.recovery.redundancy.map_or(Ok(()), |redundancy| redundancy.validate())?;
        // RFC 9260 §6.2: the delay must not exceed 500 ms.
        duration("sack.delay", self.sack.delay, Duration::ZERO, Duration::from_millis(500))?;
        duration("rto.min", self.rto.min, Duration::from_millis(1), self.rto.max)?;
        duration("rto.initial", self.rto.initial, self.rto.min, self.rto.max)?;
        duration("rto.max", self.rto.max, Duration::from_millis(1), Duration::from_secs(3600))?;
        Ok(())
    }
}

/// The longest time that anything is put off.
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

fn at_least(field: &'static str, value: usize, bound: usize) -> Result<(), ConfigError> {
    if value < bound { Err(ConfigError::TooSmall { field, value, bound }) } else { Ok(()) }
}

fn at_most(field: &'static str, value: usize, bound: usize) -> Result<(), ConfigError> {
    if value > bound { Err(ConfigError::TooLarge { field, value, bound }) } else { Ok(()) }
}

fn duration(field: &'static str, value: Duration, min: Duration, max: Duration) -> Result<(), ConfigError> {
    if value < min || value > max { Err(ConfigError::Duration { field, value, min, max }) } else { Ok(()) }
}
