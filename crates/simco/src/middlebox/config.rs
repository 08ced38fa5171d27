//! The configuration of a middlebox, which its operator decides.

use core::net::IpAddr;
use core::ops::RangeInclusive;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::auth::Key;
use crate::filter::Network;
use crate::numbers::{Lifetime, TransportProtocol};
use crate::parameters::{Capabilities, IpVersions, NatMode};
use crate::rule::Owner;

/// Configuration of a middlebox.
#[derive(Clone, Debug)]
pub struct MiddleboxConfig {
    /// Firewall or translator. Default: firewall.
    pub service: Service,
    /// Whether policy disable rules may be asked for. Default: yes.
    pub disable_rules: Offer,
    /// The longest lifetime granted. Default: an hour.
    pub longest_lifetime: Lifetime,
    /// How old a rule may grow by extensions; `None`, the default, is no limit. Beyond it 0x0352.
    pub longest_age: Option<Duration>,
    /// Protocols served, [`TransportProtocol::ANY`] among them if rules may leave it open; others get 0x0354.
    /// `None`, the default, is all.
    pub protocols: Option<Vec<TransportProtocol>>,
    /// The addresses that may be named in rules.
    pub realms: Realms,
    /// The agents that may connect, and what each may do.
    pub agents: Agents,
    /// The limits over all agents.
    pub limits: Limits,
    /// The demands on a connection.
    pub demands: Demands,
}

impl Default for MiddleboxConfig {
    fn default() -> Self {
        Self {
            service: Service::Firewall,
            disable_rules: Offer::Offered,
            longest_lifetime: Lifetime::from_secs(3600),
            longest_age: None,
            protocols: None,
            realms: Realms::default(),
            agents: Agents::default(),
            limits: Limits::default(),
            demands: Demands::default(),
        }
    }
}

/// Whether something is offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offer {
    /// The middlebox offers the service.
    Offered,
    /// The middlebox refuses it.
    Refused,
}

/// The service that a middlebox does to packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Service {
    /// The middlebox lets packets pass or not, and changes none.
    Firewall,
    /// Translates the internal endpoint (traditional NAT).
    TraditionalNat {
        /// The addresses and ports that stand for internal endpoints outside.
        outside: Pool,
    },
    /// Translates both endpoints; an agent may ask for the traditional service.
    TwiceNat {
        /// The addresses and ports that stand for internal endpoints outside.
        outside: Pool,
        /// The addresses and ports that stand for external endpoints inside.
        inside: Pool,
    },
}

impl Service {
    /// Returns the translation that the service does by itself; `None` for a firewall.
    #[must_use]
    pub const fn nat_mode(&self) -> Option<NatMode> {
        match self {
            Self::Firewall => None,
            Self::TraditionalNat { .. } => Some(NatMode::Traditional),
            Self::TwiceNat { .. } => Some(NatMode::Twice),
        }
    }

    /// Returns the addresses and ports that stand for internal endpoints outside; `None` for a firewall.
    #[must_use]
    pub const fn outside(&self) -> Option<&Pool> {
        match self {
            Self::Firewall => None,
            Self::TraditionalNat { outside } | Self::TwiceNat { outside, .. } => Some(outside),
        }
    }
}

/// Addresses and ports a translator may give out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pool {
    /// The addresses, used in this order.
    pub addresses: Vec<IpAddr>,
    /// The range of ports of each address.
    pub ports: RangeInclusive<u16>,
}

impl Pool {
    /// Creates a pool with the ports of each address that are not well known: 1024 to 65535.
    #[must_use]
    pub const fn new(addresses: Vec<IpAddr>) -> Self {
        Self { addresses, ports: 1024..=u16::MAX }
    }
}

/// The addresses that may be named in rules. Everything a wildcard matches is held to them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Realms {
    /// The protected network; empty, the default, is every address. Others get 0x0353.
    pub internal: Vec<Network>,
    /// The outside network; empty, the default, is every address. Others get 0x0353.
    pub external: Vec<Network>,
    /// Addresses for which nothing is opened, on either side: a pinhole that touches one gets 0x0347, a block that has
    /// nothing else, too.
    pub closed: Vec<Network>,
}

/// The agents that may connect, and what each may do.
#[derive(Clone, Debug, Default)]
pub struct Agents {
    /// The configured agents, by their identity.
    pub known: BTreeMap<Owner, AgentConfig>,
    /// The policy for agents that do not authenticate themselves; `None`, the default, refuses them. Their
    /// identity is [`Connection::peer`](super::Connection::peer).
    pub anonymous: Option<AgentPolicy>,
}

/// The configuration of one agent.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// The key it shares with the middlebox.
    pub key: Key,
    /// The policy: what the agent may do.
    pub policy: AgentPolicy,
}

/// The scope to which the rules of an agent are confined, beyond what holds for all. Rules of others that it
/// may access are not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scope {
    /// The addresses the agent may name; default: all.
    pub realms: Realms,
    /// The protocols the agent may name, [`TransportProtocol::ANY`] among them if it may leave that open;
    /// `None`, the default, is all.
    pub protocols: Option<Vec<TransportProtocol>>,
    /// The internal ports the agent may name, of protocols that have some; others get 0x0355, wildcards too.
    /// `None`, the default, is all.
    pub ports: Option<RangeInclusive<u16>>,
}

/// A policy: what an agent may do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgentPolicy {
    /// Open sessions; otherwise 0x0324. Default: yes.
    pub may_connect: bool,
    /// Whether the agent may reserve (PRR). Default: yes, otherwise 0x0341, as with the following.
    pub may_reserve: bool,
    /// PER and PEA. Default: yes.
    pub may_enable: bool,
    /// PDR, which beats the rules of everybody. Default: no.
    pub may_disable: bool,
    /// Whether the agent may change lifetimes (PLC). Default: yes.
    pub may_change_lifetimes: bool,
    /// PLC with a lifetime that is not zero; otherwise 0x0351. Default: yes.
    pub may_extend: bool,
    /// PRS and PRL. Default: yes.
    pub may_inspect: bool,
    /// See and change everybody's rules, as an administrator or a standby agent does. Default: no.
    pub may_access_others: bool,
    /// Sessions at a time; beyond it 0x0321. Default: 16.
    pub most_sessions: usize,
    /// Rules at a time; beyond it 0x0342. Default: 100,000.
    pub most_rules: usize,
    /// Requests per second in the long run; beyond it 0x0342. Default: none.
    pub request_rate: Option<RequestRate>,
    /// The scope to which the agent's rules are confined. Default: none.
    pub scope: Arc<Scope>,
}

impl Default for AgentPolicy {
    fn default() -> Self {
        Self {
            may_connect: true,
            may_reserve: true,
            may_enable: true,
            may_disable: false,
            may_change_lifetimes: true,
            may_extend: true,
            may_inspect: true,
            may_access_others: false,
            most_sessions: 16,
            most_rules: 100_000,
            request_rate: None,
            scope: Arc::default(),
        }
    }
}

/// A limit on the rate of requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestRate {
    /// The number of requests per second in the long run.
    pub per_second: u32,
    /// The number of requests at once after a pause.
    pub burst: u32,
}

/// The limits over all agents of a middlebox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Sessions and connections that want to become one; default: 1024. Beyond it a connection that is no session makes room
    /// for a new one; if all are sessions it gets 0x0321.
    pub sessions: usize,
    /// Sessions of agents that have not proved who they are; beyond it 0x0321. The rest of [`sessions`](Self::sessions) is for
    /// those that have. Default: 768.
    pub anonymous_sessions: usize,
    /// Rules; beyond it 0x0342. Default: a million.
    pub rules: usize,
    /// Octets that may wait for an agent that does not read; beyond it its session is cut. Default: 4 MiB.
    pub outbox_bytes: usize,
    /// How long a connection may take to become a session. Default: 30 s. Where more than half of the places are taken it is
    /// less, in proportion to those that are free, down to a tenth.
    pub establishment: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: 1024,
            anonymous_sessions: 768,
            rules: 1_000_000,
            outbox_bytes: 4 << 20,
            establishment: Duration::from_secs(30),
        }
    }
}

/// The demands on a connection, without which requests are refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demands {
    /// Streams over SCTP; with fewer 0x0325. Default: 1.
    pub fewest_streams: u16,
    /// Protection by the layers below, TLS or IPsec; without it 0x0326. Default: not needed.
    pub protection: Protection,
}

impl Default for Demands {
    fn default() -> Self {
        Self { fewest_streams: 1, protection: Protection::None }
    }
}

/// The protection that the layers below give.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Protection {
    /// The layers below protect nothing.
    None,
    /// Integrity and confidentiality.
    Encrypted,
}

/// The reason why a middlebox cannot work as configured.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MiddleboxConfigError {
    /// The filter is no packet filter.
    #[error("service = firewall, but the packet filter cannot filter; choose another filter or service")]
    CannotFilter,
    /// The filter does not translate.
    #[error("service = NAT, but the packet filter cannot translate; choose another filter or service")]
    CannotTranslate,
    /// The filter translates one side only.
    #[error("service = twice NAT, but the packet filter translates one side only")]
    CannotTranslateTwice,
    /// A pool of addresses has no address.
    #[error("a NAT pool without addresses; name at least one")]
    EmptyPool,
    /// A pool has an address twice.
    #[error("address {0} is in a NAT pool twice")]
    DoubleAddress(IpAddr),
    /// A pool has no port, or port 0.
    #[error("NAT pool ports {first} to {last}; they must rise and begin at 1 or later")]
    Ports {
        /// The first port of the range.
        first: u16,
        /// The last port of the range.
        last: u16,
    },
    /// The longest lifetime is zero, so no rule could live.
    #[error("longest_lifetime = 0s; at least 1s is needed")]
    NoLifetime,
}

impl MiddleboxConfig {
    /// Returns the capabilities that are offered with a filter that can do `filter`.
    ///
    /// # Errors
    ///
    /// The filter cannot do what the configuration wants, or the configuration contradicts itself.
    pub fn capabilities(&self, filter: Capabilities) -> Result<Capabilities, MiddleboxConfigError> {
        let mut services = filter.services;
        services.can_disable &= self.disable_rules == Offer::Offered;
        match &self.service {
            Service::Firewall => {
                if !services.is_firewall {
                    return Err(MiddleboxConfigError::CannotFilter);
                }
                services.is_translator = false;
            }
            Service::TraditionalNat { outside } => outside.check()?,
            Service::TwiceNat { outside, inside } => {
                outside.check()?;
                inside.check()?;
                if !services.can_translate_twice {
                    return Err(MiddleboxConfigError::CannotTranslateTwice);
                }
            }
        }
        if self.service != Service::Firewall && !services.is_translator {
            return Err(MiddleboxConfigError::CannotTranslate);
        }
        services.can_translate_twice = matches!(self.service, Service::TwiceNat { .. });
        services.can_translate_ports &= services.is_translator;
        services.can_translate_protocol = false;
        let longest_lifetime = self.longest_lifetime.min(filter.longest_lifetime);
        if longest_lifetime.is_zero() {
            return Err(MiddleboxConfigError::NoLifetime);
        }
        let versions = match &self.service {
            Service::Firewall => filter.external_versions,
            // Nothing here translates one version to the other: both sides have what the pools have.
            Service::TraditionalNat { outside } => outside.versions(),
            Service::TwiceNat { outside, inside } => outside.versions().both(inside.versions()),
        };
        let internal_versions = match &self.service {
            Service::Firewall => filter.internal_versions,
            Service::TraditionalNat { .. } | Service::TwiceNat { .. } => {
                filter.internal_versions.both(versions)
            }
        };
        let external_versions = filter.external_versions.both(versions);
        Ok(Capabilities { services, longest_lifetime, internal_versions, external_versions, ..filter })
    }
}

impl Pool {
    /// Returns the IP versions of its addresses.
    fn versions(&self) -> IpVersions {
        IpVersions {
            v4: self.addresses.iter().any(IpAddr::is_ipv4),
            v6: self.addresses.iter().any(IpAddr::is_ipv6),
        }
    }

    fn check(&self) -> Result<(), MiddleboxConfigError> {
        let (first, last) = (*self.ports.start(), *self.ports.end());
        if first == 0 || first > last {
            return Err(MiddleboxConfigError::Ports { first, last });
        }
        if self.addresses.is_empty() {
            return Err(MiddleboxConfigError::EmptyPool);
        }
        let mut sorted = self.addresses.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(MiddleboxConfigError::DoubleAddress(pair[0])),
            None => Ok(()),
        }
    }
}
