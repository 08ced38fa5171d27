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
pub(crate) use self::fcfs::{Fcfs, PLACE_BYTES as ORDER_BYTES};
use self::priority::Priority;
use self::round_robin::{RoundRobin, RoundRobinPerPacket};
use crate::config::{StreamScheduler, StreamShare};

/// The discipline that was configured. The default one is called without detours: it is asked for every chunk.
#[derive(Debug)]
pub(crate) enum Schedule {
    Fcfs(Fcfs),
    Other(Box<dyn Discipline>),
}

impl Schedule {
    pub(crate) fn new(scheduler: StreamScheduler) -> Self {
        match scheduler {
            StreamScheduler::FirstComeFirstServed => Self::Fcfs(Fcfs::default()),
            StreamScheduler::RoundRobin => Self::Other(Box::new(RoundRobin::default())),
            StreamScheduler::RoundRobinPerPacket => Self::Other(Box::new(RoundRobinPerPacket::default())),
            StreamScheduler::Priority => Self::Other(Box::new(Priority::default())),
            StreamScheduler::FairCapacity => Self::Other(Box::new(Fair::equal())),
            StreamScheduler::WeightedFair => Self::Other(Box::new(Fair::weighted())),
        }
    }
}

/// As [`Discipline`]; what first come, first served need not know is not found out for it.
impl Schedule {
    #[inline]
    pub(crate) fn queued(&mut self, waiting: WaitingMessage, before: impl FnOnce() -> Rest) {
        match self {
            Self::Fcfs(fcfs) => fcfs.join(waiting.number, waiting.stream),
            Self::Other(other) => other.queued(waiting, before()),
        }
    }

    #[inline]
    pub(crate) fn next(&self) -> Option<StreamId> {
        match self {
            Self::Fcfs(fcfs) => fcfs.next(),
            Self::Other(other) => other.next(),
        }
    }

    /// A chunk of the message with this number was taken.
    #[inline]
    pub(crate) fn served(&mut self, number: u64, ends_message: bool, served: impl FnOnce() -> Served) {
        match self {
            Self::Fcfs(fcfs) if ends_message => fcfs.leave(number),
            Self::Fcfs(_) => {}
            Self::Other(other) => other.served(served()),
        }
    }

    pub(crate) fn removed(&mut self, message: WaitingMessage, rest: Rest) {
        match self {
            Self::Fcfs(fcfs) => fcfs.leave(message.number),
            Self::Other(other) => other.removed(message, rest),
        }
    }

    /// Messages that were kept back joined their streams, in the order of their numbers; each with what its stream had
    /// waiting before.
    pub(crate) fn released(&mut self, messages: &[(WaitingMessage, Rest)]) {
        match self {
            Self::Fcfs(fcfs) => fcfs.join_all(messages.iter().map(|(one, _)| (one.number, one.stream))),
            Self::Other(other) => messages.iter().for_each(|(one, before)| other.queued(*one, *before)),
        }
    }

    /// Returns the number of octets that hold what waits; a discipline that knows of streams alone holds
    /// little.
    pub(crate) fn held_bytes(&self) -> usize {
        match self {
            Self::Fcfs(fcfs) => fcfs.held_bytes(),
            Self::Other(_) => 0,
        }
    }

    /// Keeps no more room than is used.
    pub(crate) fn trim(&mut self) {
        match self {
            Self::Fcfs(fcfs) => fcfs.trim(),
            Self::Other(_) => {}
        }
    }

    pub(crate) fn withdrawn(&mut self, stream: StreamId) {
        match self {
            Self::Fcfs(fcfs) => fcfs.withdraw(stream),
            Self::Other(other) => other.withdrawn(stream),
        }
    }

    #[inline]
    pub(crate) fn packet_ended(&mut self) {
        match self {
            Self::Fcfs(_) => {}
            Self::Other(other) => other.packet_ended(),
        }
    }

    #[inline]
    pub(crate) fn one_stream_per_packet(&self) -> bool {
        match self {
            Self::Fcfs(_) => false,
            Self::Other(other) => other.one_stream_per_packet(),
        }
    }
}

/// Chooses between the streams that have something to send.
pub(crate) trait Discipline: Debug + Send + Sync {
    /// A message joined a stream that may be served, which had `before` waiting.
    fn queued(&mut self, waiting: WaitingMessage, before: Rest);

    /// Returns the stream to take the next chunk from.
    fn next(&self) -> Option<StreamId>;

    /// A chunk was taken from a stream.
    fn served(&mut self, served: Served);

    /// A message left its stream without having been sent to its end.
    fn removed(&mut self, message: WaitingMessage, rest: Rest);

    /// The stream is not served any more.
    fn withdrawn(&mut self, stream: StreamId);

    /// A packet is complete.
    fn packet_ended(&mut self) {}

    /// Returns whether a packet carries one stream only.
    fn one_stream_per_packet(&self) -> bool {
        false
    }
}

/// A message in the queue of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitingMessage {
    pub(crate) stream: StreamId,
    /// Counts the messages of the association in the order in which they were handed in.
    pub(crate) number: u64,
    pub(crate) share: StreamShare,
}

/// The fragment that was taken from a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    /// The message the chunk is of.
    pub(crate) message: WaitingMessage,
    /// Payload octets of the chunk.
    pub(crate) octets: usize,
    /// Whether it was the last chunk of its message.
    pub(crate) ends_message: bool,
    /// Whether another stream may be served now: at the end of a message, with interleaving after every chunk.
    pub(crate) ends_turn: bool,
    pub(crate) rest: Rest,
}

/// The part that waits in a stream and may be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    Some,
    None,
}
