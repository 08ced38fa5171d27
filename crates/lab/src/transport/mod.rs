//! The transports that messages travel over. Each is a folder with everything that is its own: its name and how it is
//! written, its options, its two ends in virtual time and over real sockets, what it cannot do, and the model that
//! predicts it. The command line, plans, errors, reports and worlds know the table [`TRANSPORTS`], and no transport by name.
//!
//! ```text
//!            Transport::simulated ─► End, End          below Client and Server on simulated links
//!  FlowPlan ─┤
//!            └ Transport::load, ::listen ─► sockets     below Client and Server on real ones
//! ```

mod end;
mod error;
mod flow;
mod list;
mod losses;
mod quic;
mod real;
mod s2;
mod sctp;
mod spec;
mod switching;
mod tcp;
mod udp;

use core::fmt;
use core::ops::Range;
use core::time::Duration;
use std::collections::BTreeSet;

pub(crate) use end::{End, Ends, Leaving};
pub use error::TransportError;
pub(crate) use flow::{FlowError, FlowSeed};
pub use flow::{FlowPlan, Octets, StopRule};
pub use list::TransportList;
pub(crate) use list::settings;
use losses::Search;
pub(crate) use losses::{SEVERAL_FLOWS, own_losses, transport_payload};
pub(crate) use real::{
    Alarm, Arrived, Between, Driven, Errand, FlowRun, LOOK_FOR_STOP, Movement, Networks, Pipes, Reconnecting,
    Serving, Stop, Task, arrival, drive,
};
pub use real::{Expected, Listener, Listening, RealError};
pub use s2::{Halving, StudyRules};
pub use sctp::{
    Carrier, CarrierName, EncapsulationPorts, InitialWindowName, PathOptions, SctpOptions, StartUpName,
    ValidationName, WindowOptions,
};
pub use spec::{Protocol, TransportSpec, described};
use switching::Switching;
pub use tcp::{MAX_CONNECTIONS, TcpOptions, set_tcp_congestion};

use crate::lanes::Carriage;
pub use crate::lanes::Lanes;

/// Every transport there is, in the order of the help.
pub const TRANSPORTS: [Protocol; 4] = [
    Protocol::new(&tcp::Tcp),
    Protocol::new(&sctp::Sctp),
    Protocol::new(&quic::Quic),
    Protocol::new(&udp::Udp),
];

/// Transports of studies, which plans may name and nobody else is offered: they exist in virtual time only.
const OF_STUDIES: [Protocol; 1] = [Protocol::new(&s2::OfStudy)];

/// A transport: what the laboratory asks of it.
pub(crate) trait Transport: fmt::Debug + Sync {
    /// Returns what there is to know of it, whatever the number of its lanes.
    fn facts(&self) -> &'static TransportFacts;

    /// Reads what follows the colon of `text`, if there is one.
    fn parse(&self, text: &str, argument: Option<&str>) -> Result<Lanes, TransportError>;

    /// Writes it as [`parse`](Self::parse) reads it.
    fn write(&self, lanes: Lanes) -> String {
        format!("{}:{}", self.facts().name, lanes.count)
    }

    /// Returns the transport as the object of a sentence: `SCTP with 6 streams`, `one TCP connection`.
    fn in_words(&self, lanes: Lanes) -> String;

    /// Returns the number of streams of its association or connection; `None` where there are none.
    fn streams(&self, _lanes: Lanes) -> Option<u16> {
        None
    }

    /// Returns the number of connections or associations; `None` where there are none.
    fn connections(&self, _lanes: Lanes) -> Option<u16> {
        Some(1)
    }

    /// Returns how long a run waits for its last responses.
    fn drain(&self) -> Duration {
        Duration::from_secs(10)
    }

    /// Returns the model that predicts its response times; why there is none.
    fn model(&self, lanes: Lanes) -> Result<models::resequencing::Transport, &'static str>;

    /// Returns the two ends of a simulated flow, client and server.
    fn simulated(&self, ends: &Ends<'_>) -> Result<[Box<dyn End>; 2], FlowError>;

    /// Returns the requests that lost a packet of their own, or of their response, told from the packets that did not arrive whole,
    /// behind their IP and, but for TCP, UDP headers; why nobody can tell.
    fn own_losses(&self, search: &Search<'_>, lost: &[&[u8]]) -> Result<BTreeSet<u64>, &'static str>;

    /// Returns what a flow asks for and real packets do not have: the key in the plan, and why.
    fn refused_on_real_packets(&self, _flow: &FlowPlan) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Runs the client of a flow over real sockets.
    fn load<'a>(&'a self, errand: Errand<'a>) -> Task<'a, Result<FlowRun, RealError>>;

    /// Opens servers on real sockets, one at least for the addresses together.
    fn listen<'a>(&'a self, at: Listening<'a>) -> Task<'a, Result<Vec<Listener>, RealError>>;
}

/// The facts about a transport that are known without asking it.
#[derive(Debug)]
pub(crate) struct TransportFacts {
    /// The protocol's name, with which everything written about it begins.
    pub(crate) name: &'static str,
    /// The ways to write it, each with what it means in a few words; none if the name says all.
    pub(crate) forms: &'static [(&'static str, &'static str)],
    /// The kind of content that a lane carries.
    pub(crate) carriage: Carriage,
    /// The colours it has in reports, by their numbers in the style sheet.
    pub(crate) colours: Range<usize>,
    /// The largest message in octets; `None`, the default, where there is no bound.
    pub(crate) most_message_bytes: Option<u32>,
    /// Whether the profile of a comparison is about it. Default no.
    pub(crate) takes_profile: bool,
    /// Whether plans may name a set of parameters for it. Default no.
    pub(crate) has_profiles: bool,
    /// The congestion control and loss recovery of the transport in words, where no option says them. Default none.
    pub(crate) settings: Option<&'static str>,
    /// Whether its packets have octets that no seed decides. Default no.
    pub(crate) has_random_octets: bool,
    /// Whether its client goes on in another network when it is told to. Default no.
    pub(crate) can_move: bool,
}

impl TransportFacts {
    /// Creates the facts of a transport about which nothing is special.
    pub(crate) const fn new(name: &'static str, carriage: Carriage, colours: Range<usize>) -> Self {
        Self {
            name,
            forms: &[],
            carriage,
            colours,
            most_message_bytes: None,
            takes_profile: false,
            has_profiles: false,
            settings: None,
            has_random_octets: false,
            can_move: false,
        }
    }
}

#[cfg(test)]
mod tests;
