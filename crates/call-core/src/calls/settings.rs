//! The settings that calls go by.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use simco::filter::Network;
use sip::SipUri;

use super::hops::{HopName, NextHop};

/// Settings of calls; they may change while calls are up.
#[derive(Clone, PartialEq, Debug)]
pub struct CallSettings {
    /// The rules about where calls go, of which the first that fits decides.
    pub routes: Vec<Route>,
    /// The networks behind each middlebox, in the order in which media from inside meet them.
    pub internal: Vec<Vec<Network>>,
    /// The middleboxes that translate addresses, by their place in that order; default none.
    pub translators: BTreeSet<usize>,
    /// How long the firewall may take to answer; default 2 s.
    pub firewall_patience: Duration,
    /// How long a call may ring; default 180 s.
    pub longest_ringing: Duration,
    /// How long a call may last; default 12 h.
    pub longest_call: Duration,
    /// Calls at the same time; default 50,000.
    pub most_calls: usize,
    /// New calls a second; default 2,000.
    pub calls_per_second: u32,
    /// The seconds that refused callers are asked to wait; default 5.
    pub retry_after_s: u32,
    /// Media streams of a call; default 8.
    pub most_streams: usize,
    /// The lowest port that a pinhole may be opened for; default 1,024.
    pub lowest_port: u16,
    /// The callers that have to say who they are; `None`: nobody has to.
    pub authentication: Option<AuthenticationSettings>,
    /// Signalling peers that may name media addresses on either side of a middlebox, such as proxies; default none.
    pub may_speak_for_others: Vec<Network>,
}

/// Who has to prove by digest who it is before it may call (RFC 8760).
#[derive(Clone, PartialEq)]
pub struct AuthenticationSettings {
    /// The realm, which callers are shown.
    pub realm: String,
    /// The passwords by the names of users.
    pub users: BTreeMap<String, String>,
    /// The networks whose callers are believed without a proof.
    pub exempt: Vec<Network>,
}

/// Shows no passwords.
impl fmt::Debug for AuthenticationSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let users = self.users.len();
        f.debug_struct("AuthenticationSettings").field("realm", &self.realm).field("users", &users).finish()
    }
}

/// A rule about where calls go.
#[derive(Clone, PartialEq, Debug)]
pub struct Route {
    /// The beginning of the user part; empty: any.
    pub prefix: String,
    /// The host of the Request-URI; `None`: any.
    pub domain: Option<String>,
    /// The next hop, to which calls of this route are sent.
    pub to: NextHop,
}

impl Route {
    /// Returns whether calls to this URI go this way.
    pub(crate) fn fits(&self, uri: &SipUri) -> bool {
        let user = uri.user.as_deref().unwrap_or_default();
        let is_domain = match &self.domain {
            Some(domain) => uri.host.to_string().eq_ignore_ascii_case(domain),
            None => true,
        };
        user.starts_with(&self.prefix) && is_domain
    }
}

impl CallSettings {
    /// Creates settings with defaults.
    #[must_use]
    pub fn new(routes: Vec<Route>, internal: Vec<Vec<Network>>) -> Self {
        Self {
            routes,
            internal,
            translators: BTreeSet::new(),
            firewall_patience: Duration::from_secs(2),
            longest_ringing: Duration::from_secs(180),
            longest_call: Duration::from_secs(12 * 3600),
            most_calls: 50_000,
            calls_per_second: 2_000,
            retry_after_s: 5,
            most_streams: 8,
            lowest_port: 1_024,
            authentication: None,
            may_speak_for_others: Vec::new(),
        }
    }

    /// Returns the names of next hops.
    pub fn names(&self) -> impl Iterator<Item = &HopName> {
        self.routes.iter().filter_map(|route| match &route.to {
            NextHop::Address(_) => None,
            NextHop::Name(name) => Some(name),
        })
    }

    /// Returns whether somebody who speaks from `peer` may have pinholes towards `address`: they have to be on the same side
    /// of every middlebox. Otherwise anybody outside could name a server inside and have the firewall opened towards it. With a
    /// translator nobody is trusted, because where somebody speaks from decides whether descriptions are rewritten.
    pub(crate) fn may_name(&self, peer: IpAddr, address: IpAddr) -> bool {
        let is_trusted = crate::pinhole::is_inside(&self.may_speak_for_others, peer);
        let same_side = |internal: &Vec<Network>| {
            crate::pinhole::is_inside(internal, peer) == crate::pinhole::is_inside(internal, address)
        };
        (is_trusted && self.translators.is_empty()) || self.internal.iter().all(same_side)
    }
}
