//! Stream schedulers (RFC 8260 §3): which stream the next chunk is taken from.
//!
//! | module | discipline |
//! |---|---|
//! | `fcfs` | first come, first served over all streams (§3.1) |
//! | `round_robin` | streams take turns: a message or chunk each (§3.2), or a packet each (§3.3) |
//! | `priority` | the highest priority first (§3.4) |
//! | `fair` | octets in proportion to weights (§3.6), or the same for all (§3.5) |
//!
//! A discipline knows which streams wait and nothing of their messages. The queue tells it what joins and leaves.

mod fair;
mod fcfs;
mod priority;
mod round_robin;

use core::fmt::Debug;

use sctp_wire::StreamId;

use self::fair::Fair;
use self::fcfs::Fcfs;
use self::priority::Priority;
use self::round_robin::{RoundRobin, RoundRobinPerPacket};
use crate::config::{StreamScheduler, StreamShare};

/// The discipline that was configured.
pub(crate) fn discipline(scheduler: StreamScheduler) -> Box<dyn Discipline> {
    match scheduler {
        StreamScheduler::FirstComeFirstServed => Box::new(Fcfs::default()),
        StreamScheduler::RoundRobin => Box::new(RoundRobin::default()),
        StreamScheduler::RoundRobinPerPacket => Box::new(RoundRobinPerPacket::default()),
        StreamScheduler::Priority => Box::new(Priority::default()),
        StreamScheduler::FairCapacity => Box::new(Fair::equal()),
        StreamScheduler::WeightedFair => Box::new(Fair::weighted()),
    }
}

/// Chooses between the streams that have something to send.
pub(crate) trait Discipline: Debug + Send + Sync {
    /// A message joined a stream that may be served, which had `before` waiting.
    fn queued(&mut self, waiting: Waiting, before: Rest);

    /// The stream to take the next chunk from.
    fn next(&self) -> Option<StreamId>;

    /// A chunk was taken from a stream.
    fn served(&mut self, served: Served);

    /// A message left its stream without having been sent to its end.
    fn removed(&mut self, message: Waiting, rest: Rest);

    /// The stream is not served any more.
    fn withdrawn(&mut self, stream: StreamId);

    /// A packet is complete.
    fn packet_ended(&mut self) {}

    /// Whether a packet carries one stream only.
    fn one_stream_per_packet(&self) -> bool {
        false
    }
}

/// A message in the queue of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) stream: StreamId,
    /// Counts the messages of the association in the order in which they were handed in.
    pub(crate) number: u64,
    pub(crate) share: StreamShare,
}

/// What was taken from a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    /// The message the chunk is of.
    pub(crate) message: Waiting,
    /// Payload octets of the chunk.
    pub(crate) octets: usize,
    /// Whether it was the last chunk of its message.
    pub(crate) ends_message: bool,
    /// Whether another stream may be served now: at the end of a message, with interleaving after every chunk.
    pub(crate) ends_turn: bool,
    pub(crate) rest: Rest,
}

/// What waits in a stream and may be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    Some,
    None,
}
