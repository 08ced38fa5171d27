//! The words in which plans are written: hosts, routers, links, flows, and when it ends. Plans are written in these words.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeSet;

use netem::{BitRate, Impairments, Loss, Probability, QueueLimit};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use toml::Spanned;

use crate::handover::Handover;
use crate::text::{Span, Text};
use crate::transport::{FlowPlan, StopRule, TransportSpec};

/// A network and what flows through it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The names of the hosts it has.
    pub hosts: Vec<String>,
    /// Names of the routers. Default none.
    #[serde(default)]
    pub routers: Vec<String>,
    /// The links, each between two hosts or routers.
    pub links: Named<LinkPlan>,
    /// The flows, each from a host to another one.
    pub flows: Named<FlowPlan>,
    /// The rule by which a run ends.
    pub stop: StopRule,
    /// The family of the addresses. Default IPv4.
    #[serde(default)]
    pub addresses: AddressFamily,
    /// How long a client waits for an answer before it goes on from the next address of its host: over TCP by new connections, on which what
    /// was not answered is sent again, over QUIC by migration. Default it waits for ever; SCTP looks after its paths itself.
    pub switch_after: Option<Span>,
    /// The change of the client's access link in mid-run. Default it stays where it is.
    pub handover: Option<Handover>,
}

/// The family of IP addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AddressFamily {
    /// IPv4, with headers of 20 octets.
    #[default]
    Ipv4,
    /// IPv6, with headers of 40 octets.
    Ipv6,
}

impl AddressFamily {
    /// Returns the octets of a packet that every link has to carry (RFC 791 §3.2, RFC 8200 §5).
    pub(crate) const fn least_mtu_bytes(self) -> usize {
        match self {
            Self::Ipv4 => 68,
            Self::Ipv6 => 1280,
        }
    }
}

/// A link: what it does to packets in both directions, and when that changes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkPlan {
    /// The two ends of the link.
    pub between: [String; 2],
    /// One-way propagation delay. Default 0.
    pub delay: Option<Span>,
    /// Uniform variation of the delay, `delay ± jitter`. Default 0.
    pub jitter: Option<Span>,
    /// Random loss: `1%`, `bursts:GOOD,BAD,h,k` or `ge:p,r,h,k`. Default none.
    pub loss: Option<Text<Loss>>,
    /// Rate of serialisation. Default unlimited.
    pub rate: Option<Text<BitRate>>,
    /// The packets or octets that may wait for the link: `50p`, `64KiB`. Default unlimited.
    pub queue: Option<Text<QueueLimit>>,
    /// Octets of the largest IP packet it carries. A longer one is cut into fragments by the host that sends it, or dropped there if IP may
    /// not cut it, as with `flows.NAME.sctp.paths.mtu_discovery`. At least 68, over IPv6 1280. Default any.
    pub mtu: Option<usize>,
    /// Numbers of packets to drop, counted from 1 in the first direction.
    #[serde(default)]
    pub drop: BTreeSet<u64>,
    /// Share of packets that skip the delay. Default none.
    pub reorder: Option<Text<Probability>>,
    /// Share of packets that arrive twice. Default none.
    pub duplicate: Option<Text<Probability>>,
    /// Share of packets with a flipped bit. Default none.
    pub corrupt: Option<Text<Probability>>,
    /// The properties that are different from the second end to the first.
    #[serde(default)]
    pub reverse: LinkWay,
    /// The changes that happen to the link in mid-run.
    #[serde(default)]
    pub changes: Vec<LinkChange>,
}

/// One direction of a link, where it differs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkWay {
    /// The delay, as in [`LinkPlan`].
    pub delay: Option<Span>,
    /// The jitter, as in [`LinkPlan`].
    pub jitter: Option<Span>,
    /// The random loss, as in [`LinkPlan`].
    pub loss: Option<Text<Loss>>,
    /// The rate, as in [`LinkPlan`].
    pub rate: Option<Text<BitRate>>,
    /// The queue, as in [`LinkPlan`].
    pub queue: Option<Text<QueueLimit>>,
    /// The packets to drop, as in [`LinkPlan`], counted in this direction.
    #[serde(default)]
    pub drop: BTreeSet<u64>,
    /// The share that is reordered, as in [`LinkPlan`].
    pub reorder: Option<Text<Probability>>,
    /// The share that is duplicated, as in [`LinkPlan`].
    pub duplicate: Option<Text<Probability>>,
    /// The share that is corrupted, as in [`LinkPlan`].
    pub corrupt: Option<Text<Probability>>,
}

/// A change of a link in mid-run, both directions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkChange {
    /// The time of the change, counted from the start of the run.
    pub at: Span,
    /// The delay of the link from then on.
    pub delay: Option<Span>,
    /// The loss of the link from then on.
    pub loss: Option<Text<Loss>>,
    /// The rate of the link from then on.
    pub rate: Option<Text<BitRate>>,
    /// The largest IP packet from then on, in octets.
    pub mtu: Option<usize>,
    /// Whether it carries anything from then on.
    pub state: Option<SwitchState>,
}

/// Whether a link carries packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SwitchState {
    /// The link carries packets.
    Up,
    /// The link drops all packets.
    Down,
}

impl Scenario {
    /// Returns the messages of all flows per second, in the mean; bulk has none.
    #[must_use]
    pub fn messages_per_second(&self) -> f64 {
        let intervals = self.flows.iter().filter_map(|(_, flow)| flow.mean_interval().ok());
        intervals.map(|interval| 1.0 / interval.as_secs_f64()).sum()
    }

    /// Returns the octets of the largest packet that a host can send after so long, by the least of its links; `None`: any.
    pub(crate) fn mtu_of(&self, host: &str, time: Duration) -> Option<usize> {
        let of_host = self.links.iter().filter(|(_, link)| link.between.iter().any(|end| end == host));
        of_host.filter_map(|(_, link)| link.mtu_at(time)).min()
    }

    /// Returns the transports of its flows.
    pub(crate) fn transports(&self) -> impl Iterator<Item = &TransportSpec> {
        self.flows.iter().map(|(_, flow)| &flow.transport.0)
    }

    /// Returns whether a transport has octets that no seed decides: the trace hash of a run leaves octets out then.
    #[must_use]
    pub fn has_random_octets(&self) -> bool {
        self.transports().any(|transport| transport.transport().facts().has_random_octets)
    }
}

impl LinkPlan {
    /// Creates a link that does this to packets from the first end to the second, and that on their way back.
    #[must_use]
    pub fn new(between: [String; 2], there: &Impairments, back: &Impairments) -> Self {
        // A limit that is only there has none on the way back: the greatest rate takes no time.
        let boundless = |limit: &Impairments| limit.rate.and(BitRate::from_bits_per_second(u64::MAX));
        Self {
            between,
            delay: Some(Span(there.delay)),
            jitter: Some(Span(there.jitter)),
            loss: Some(Text(there.loss)),
            rate: there.rate.map(Text),
            queue: there.queue.map(Text),
            mtu: None,
            drop: there.drop_packets.clone(),
            reorder: Some(Text(there.reorder)),
            duplicate: Some(Text(there.duplicate)),
            corrupt: Some(Text(there.corrupt)),
            reverse: LinkWay {
                delay: Some(Span(back.delay)),
                jitter: Some(Span(back.jitter)),
                loss: Some(Text(back.loss)),
                rate: back.rate.or_else(|| boundless(there)).map(Text),
                queue: back.queue.map(Text),
                drop: back.drop_packets.clone(),
                reorder: Some(Text(back.reorder)),
                duplicate: Some(Text(back.duplicate)),
                corrupt: Some(Text(back.corrupt)),
            },
            changes: Vec::new(),
        }
    }

    /// Returns what it does to packets from the first end to the second.
    #[must_use]
    pub fn request(&self) -> Impairments {
        let probability =
            |value: Option<Text<Probability>>| value.map_or_else(Probability::default, |value| value.0);
        Impairments {
            delay: self.delay.unwrap_or_default().0,
            jitter: self.jitter.unwrap_or_default().0,
            loss: self.loss.map_or(Loss::None, |loss| loss.0),
            drop_packets: self.drop.clone(),
            rate: self.rate.map(|rate| rate.0),
            queue: self.queue.map(|queue| queue.0),
            reorder: probability(self.reorder),
            duplicate: probability(self.duplicate),
            corrupt: probability(self.corrupt),
        }
    }

    /// Returns what it does to packets from the second end to the first.
    #[must_use]
    pub fn response(&self) -> Impairments {
        let there = self.request();
        let LinkWay { delay, jitter, loss, rate, queue, drop, reorder, duplicate, corrupt } =
            self.reverse.clone();
        Impairments {
            delay: delay.map_or(there.delay, |delay| delay.0),
            jitter: jitter.map_or(there.jitter, |jitter| jitter.0),
            loss: loss.map_or(there.loss, |loss| loss.0),
            rate: rate.map_or(there.rate, |rate| Some(rate.0)),
            queue: queue.map_or(there.queue, |queue| Some(queue.0)),
            drop_packets: drop,
            reorder: reorder.map_or(there.reorder, |share| share.0),
            duplicate: duplicate.map_or(there.duplicate, |share| share.0),
            corrupt: corrupt.map_or(there.corrupt, |share| share.0),
        }
    }
}

impl LinkPlan {
    /// Returns what it does to packets in both directions from one of its changes on.
    pub(crate) fn changed(&self, change: usize) -> [Impairments; 2] {
        let at = self.changes[change].at;
        let mut ways = [self.request(), self.response()];
        for earlier in self.changes.iter().filter(|earlier| earlier.at <= at) {
            ways.iter_mut().for_each(|way| earlier.apply(way));
        }
        ways
    }

    /// Returns the octets of the largest packet it carries after so long; `None`: any.
    pub(crate) fn mtu_at(&self, time: Duration) -> Option<usize> {
        let changed = self.changes.iter().filter(|change| change.at.0 <= time);
        let latest = changed.filter(|change| change.mtu.is_some()).max_by_key(|change| change.at.0);
        latest.map_or(self.mtu, |change| change.mtu)
    }
}

impl LinkChange {
    /// Changes what one direction does.
    fn apply(&self, impairments: &mut Impairments) {
        if let Some(delay) = self.delay {
            impairments.delay = delay.0;
        }
        if let Some(loss) = self.loss {
            impairments.loss = loss.0;
        }
        if let Some(rate) = self.rate {
            impairments.rate = Some(rate.0);
        }
    }
}

/// Named things in the order in which the plan writes them.
#[derive(Clone, Debug)]
pub struct Named<T>(Vec<(String, T)>);

impl<T> Named<T> {
    /// Creates a list of one thing.
    #[must_use]
    pub fn one(name: impl Into<String>, thing: T) -> Self {
        Self(vec![(name.into(), thing)])
    }

    /// Returns each thing with its name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, thing)| (name.as_str(), thing))
    }

    /// Returns the thing of a name, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        self.0.iter_mut().find(|(known, _)| known == name).map(|(_, thing)| thing)
    }

    /// Returns each thing with its name, to change it.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut T)> {
        self.0.iter_mut().map(|(name, thing)| (name.as_str(), thing))
    }

    /// Returns whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> FromIterator<(String, T)> for Named<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(things: I) -> Self {
        Self(things.into_iter().collect())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(core::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Vec<(String, Spanned<T>)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of named tables")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(entries)
            }
        }

        let mut entries = deserializer.deserialize_map(Entries(core::marker::PhantomData))?;
        entries.sort_by_key(|(_, thing)| thing.span().start);
        Ok(Self(entries.into_iter().map(|(name, thing)| (name, thing.into_inner())).collect()))
    }
}
