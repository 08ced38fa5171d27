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
mod tcp;
mod udp;

use core::fmt;
use core::ops::Range;
use core::time::Duration;
use std::collections::BTreeSet;

pub(crate) use end::{End, Ends};
pub use error::TransportError;
pub(crate) use flow::{FlowError, FlowSeed};
pub use flow::{FlowPlan, StopRule};
pub use list::TransportList;
pub(crate) use list::settings;
use losses::Search;
pub(crate) use losses::{SEVERAL_FLOWS, own_losses, transport_payload};
pub(crate) use real::{
    Alarm, Arrived, Between, Driven, Errand, FlowRun, LOOK_FOR_STOP, Serving, Stop, Task, drive,
};
pub use real::{Expected, Listener, Listening, RealError};
pub use s2::{Halving, StudyRules};
pub use sctp::{Carrier, CarrierName, EncapsulationPorts, InitialWindowName, SctpOptions};
pub use spec::{Protocol, TransportSpec, described};
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
    /// Returns the protocol's name, with which everything written about it begins.
    fn name(&self) -> &'static str;

    /// Returns the ways to write it, each with what it means in a few words; none if the name says all.
    fn forms(&self) -> &'static [(&'static str, &'static str)];

    /// Reads what follows the colon of `text`, if there is one.
    fn parse(&self, text: &str, argument: Option<&str>) -> Result<Lanes, TransportError>;

    /// Writes it as [`parse`](Self::parse) reads it.
    fn write(&self, lanes: Lanes) -> String {
        format!("{}:{}", self.name(), lanes.count)
    }

    /// Returns the transport as the object of a sentence: `SCTP with 6 streams`, `one TCP connection`.
    fn in_words(&self, lanes: Lanes) -> String;

    /// Returns the kind of content that a lane carries.
    fn carriage(&self) -> Carriage;

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

    /// Returns the largest message in octets; `None` where there is no bound.
    fn most_message_bytes(&self) -> Option<u32> {
        None
    }

    /// Returns whether the profile of a comparison is about it.
    fn takes_profile(&self) -> bool {
        false
    }

    /// Returns whether plans may name a set of parameters for it.
    fn has_profiles(&self) -> bool {
        false
    }

    /// Returns the colours it has in reports, by their numbers in the style sheet.
    fn colours(&self) -> Range<usize>;

    /// Returns the model that predicts its response times; why there is none.
    fn model(&self, lanes: Lanes) -> Result<models::resequencing::Transport, &'static str>;

    /// Returns its congestion control and loss recovery in words, where no option says them.
    fn settings(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether its packets have octets that no seed decides.
    fn has_random_octets(&self) -> bool {
        false
    }

    /// Returns the two ends of a simulated flow, client and server.
    fn simulated(&self, ends: &Ends<'_>) -> Result<[Box<dyn End>; 2], FlowError>;

    /// Returns the requests that lost a packet of their own, or of their response, told from the packets that did not arrive whole,
    /// behind their IP and, but for TCP, UDP headers; why nobody can tell.
    fn own_losses(&self, search: &Search<'_>, lost: &[&[u8]]) -> Result<BTreeSet<u64>, &'static str>;

    /// Returns what a flow asks for and real packets do not have: the key in the plan, and why.
    fn refused_on_real_packets(&self, flow: &FlowPlan) -> Option<(&'static str, &'static str)>;

    /// Runs the client of a flow over real sockets.
    fn load<'a>(&'a self, errand: Errand<'a>) -> Task<'a, Result<FlowRun, RealError>>;

    /// Opens servers on real sockets, one at least for the addresses together.
    fn listen<'a>(&'a self, at: Listening<'a>) -> Task<'a, Result<Vec<Listener>, RealError>>;
}

#[cfg(test)]
mod tests;
