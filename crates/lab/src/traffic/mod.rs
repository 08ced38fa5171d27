//! The workloads: what flows send and who answers. A workload is a file or folder here — what its messages say, who
//! answers, how a byte stream is cut into them, what is measured — and a line of [`WORKLOADS`]. Transports carry
//! octets between client and server, in every world, and do not know which workload it is.
//!
//! ```text
//!  ClientPlan ─► Client ── message for a lane ─► transport ─► Server ◄─ ServerPlan
//!    Script ───►   ▲                                            │  ◄─── Service
//!                  └────────── on_response ◄── transport ◄──────┘
//! ```

mod arrivals;
mod bulk;
mod client;
mod echo;
mod framer;
mod messages;
mod server;
mod simco;
mod sip;
mod sip_simco;
mod video;
mod workload;

use core::fmt;
use core::time::Duration;

use ::workload::{ArrivalsError, Message, MessageError, MessageSize, StreamFramer};
use bytes::Bytes;
use virtual_time::Instant;

pub use self::arrivals::{Arrivals, TraceFileError};
pub use self::client::ClientPlan;
pub(crate) use self::client::{Client, Pending};
pub(crate) use self::framer::Framer;
pub(crate) use self::server::Server;
pub use self::server::ServerPlan;
pub use self::simco::pinhole;
pub use self::workload::Workload;
use crate::lanes::Carriage;
use crate::statistics::{CallCounts, FrameCounts, Trip};

/// Every workload there is, in the order of the help.
pub const WORKLOADS: [Workload; 8] = [
    Workload::ECHO,
    Workload::new(&messages::Messages),
    Workload::new(&bulk::Bulk),
    Workload::SIMCO,
    Workload::new(&sip::Sip::CALLS),
    Workload::new(&sip::Sip::INVITES),
    Workload::new(&sip_simco::SipSimco),
    Workload::VIDEO,
];

/// A workload: what the laboratory asks of it.
pub(crate) trait Kind: fmt::Debug + Sync {
    /// Returns what there is to know of it, whatever carries it.
    fn facts(&self) -> &'static WorkloadFacts;

    /// Returns what cuts its messages out of a byte stream.
    fn framer(&self) -> Framer {
        Box::new(StreamFramer::new(MessageSize::MAX))
    }

    /// Returns how its messages are found in the packets that carried them.
    fn followed(&self) -> Followed {
        Followed::Never
    }

    /// Returns the number of the request that a whole message is, or answers, by which copies of it are known.
    fn number(&self, wire: &[u8]) -> Option<u64> {
        match self.followed() {
            Followed::ByHeader(headers) => (headers.read)(wire).map(|beginning| beginning.number),
            Followed::Never | Followed::ByPlace => Message::decode(wire).ok().map(|message| message.number.0),
        }
    }

    /// Returns the size that none of its messages exceeds, where they have this one in the mean; an error where no message is so long.
    fn longest(&self, mean: MessageSize) -> Result<MessageSize, MessageError> {
        Ok(mean)
    }

    /// Returns why it does not run over so many lanes of this kind.
    fn check(&self, _carriage: Carriage, _lanes: u16) -> Result<(), &'static str> {
        Ok(())
    }

    /// Returns what its messages say, where that is more than a number and a time.
    fn script(&self, _terms: &Terms, _seed: u64) -> Result<Option<Box<dyn Script>>, ArrivalsError> {
        Ok(None)
    }

    /// Returns who answers; `terms` are not known to a server that takes whoever comes.
    fn service(&self, terms: Option<Terms>) -> Box<dyn Service>;
}

/// The facts about a workload that are known without asking it.
#[derive(Debug)]
pub(crate) struct WorkloadFacts {
    /// The name of the workload in plans and on the command line.
    pub(crate) name: &'static str,
    /// The meaning of the workload in a few words, for the help.
    pub(crate) meaning: &'static str,
    /// The words for what is sent, as in "echoed messages of real packets".
    pub(crate) in_words: &'static str,
    /// The unit of what is counted per second: messages, transactions.
    pub(crate) unit: &'static str,
    /// The quantity that is measured of the workload.
    pub(crate) measure: Measure,
    /// The payload protocol identifier of its messages over SCTP; 0 where they have none.
    pub(crate) payload_protocol: u32,
    /// Whether its messages have lengths of their own: the size of a message that a user names is not theirs.
    pub(crate) has_own_lengths: bool,
    /// Whether what is timed is one message there and one back, each of one packet, as in the models of response times.
    pub(crate) is_one_exchange: bool,
    /// The messages that a user gets who says nothing of them.
    pub(crate) usual: Usual,
    /// How old a message may be when it is delivered, where the user does not say it; `None` where age does not matter.
    pub(crate) deadline: Option<Duration>,
    /// Whether client and server repeat by themselves what was lost: datagrams go out as they are.
    pub(crate) repeats_itself: bool,
}

impl WorkloadFacts {
    /// Creates the facts of messages of the laboratory, as long as the user says.
    pub(crate) const fn of_messages(name: &'static str, meaning: &'static str, measure: Measure) -> Self {
        let (in_words, unit) = (meaning, "messages");
        Self {
            name,
            meaning,
            in_words,
            unit,
            measure,
            payload_protocol: 0,
            has_own_lengths: false,
            is_one_exchange: true,
            usual: Usual { octets: 64, interval: None, is_regular: false },
            deadline: None,
            repeats_itself: false,
        }
    }
}

/// The messages of a workload where the user says nothing of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usual {
    /// Octets of a message, in the mean.
    pub(crate) octets: u32,
    /// The mean time between two; `None` where it has to be said.
    pub(crate) interval: Option<Duration>,
    /// Whether they fall due by a clock; otherwise by chance.
    pub(crate) is_regular: bool,
}

/// The quantity that is measured of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// The time from when a message was due to its response.
    Responses,
    /// The time from when a message was due to its delivery.
    Delays,
    /// Octets per second.
    Goodput,
}

/// The way in which messages are found in the packets that carried them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Followed {
    /// Nobody can tell which request a message belongs to.
    Never,
    /// Every message is equally long and begins with length, number and send time: the place of one tells those of all.
    ByPlace,
    /// Every message begins with a header that says how long it is and which request it belongs to.
    ByHeader(Headers),
}

/// The headers of a workload's messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Headers {
    /// The octets of a header.
    pub(crate) octets: usize,
    /// Reads the header that these octets begin with; `None` where they begin with none.
    pub(crate) read: fn(&[u8]) -> Option<Beginning>,
}

/// The beginning of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beginning {
    /// The number of the request that it is, or answers.
    pub(crate) number: u64,
    /// The octets of the message.
    pub(crate) octets: usize,
}

/// The terms that both ends of a flow know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// The kind of content that a lane of the transport carries.
    pub(crate) carriage: Carriage,
    /// How many lanes it has.
    pub(crate) lanes: u16,
    /// Mean time between two messages.
    pub(crate) interval: Duration,
    /// Messages at most.
    pub(crate) most: u32,
    /// Octets of a message, in the mean.
    pub(crate) size: MessageSize,
    /// How old a message may be when it is delivered.
    pub(crate) deadline: Option<Duration>,
}

/// The author of what the messages of a client say, and which of them is timed.
pub(crate) trait Script: fmt::Debug + Send {
    /// Returns how the conversation begins: the transport is there.
    fn begin(&mut self, now: Instant) -> Greeting;

    /// Returns the message with this number, which was due at `due`; `None` when nothing more can be asked.
    fn ask(&mut self, number: u64, due: Instant) -> Option<Asked>;

    /// Takes in a whole message of the server, which the receiver held so long behind others, where that is known; an error in
    /// words ends it all.
    fn handle_response(
        &mut self,
        now: Instant,
        stream: u16,
        wire: &[u8],
        blocked: Option<Duration>,
    ) -> Result<Vec<Told>, String>;

    /// Returns a message that follows from a response or from the time, and not from a message that fell due.
    fn poll_message(&mut self) -> Option<Asked> {
        None
    }

    /// Returns when it wants to be woken.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Lets time pass; an error in words ends it all.
    fn handle_timeout(&mut self, _now: Instant) -> Result<Vec<Told>, String> {
        Ok(Vec::new())
    }

    /// Returns how many messages it sent again, where it does that by itself.
    fn repeated(&self) -> u64 {
        0
    }

    /// Returns what became of the calls, if it makes calls.
    fn calls(&self) -> Option<CallCounts> {
        None
    }

    /// Returns what became of the frames, if it sends frames.
    fn frames(&self) -> Option<FrameCounts> {
        None
    }
}

/// The beginning of a conversation.
#[derive(Debug)]
pub(crate) enum Greeting {
    /// This message opens it.
    Message(Asked),
    /// It has begun before.
    Said,
    /// There is nothing to open: messages may fall due.
    Needless,
}

/// A message of a script, and the stream it takes.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) stream: u16,
    pub(crate) octets: Bytes,
    /// Whether its response is timed.
    pub(crate) is_timed: bool,
}

/// The news that a response has for a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// The conversation is open: messages may fall due.
    Open,
    /// A message is answered.
    Done { number: u64, due: Instant, is_timed: bool },
    /// The receiver says when it had a message.
    Received { number: u64, due: Instant, at: Instant },
}

/// The part of a server that answers.
pub(crate) trait Service: fmt::Debug + Send {
    /// Returns what follows from a whole message on a stream, complete at `arrived` and delivered now.
    fn on_message(&mut self, now: Instant, arrived: Instant, stream: u16, wire: Bytes) -> Reaction;

    /// Returns what follows from a message of an unreliable transport, where every copy of a request is answered and only the
    /// first one counts.
    fn on_datagram(&mut self, now: Instant, wire: Bytes) -> Reaction;

    /// Returns when it wants to be woken.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Lets time pass, and returns what is sent for it on these streams.
    fn handle_timeout(&mut self, _now: Instant) -> Vec<(u16, Bytes)> {
        Vec::new()
    }
}

/// The reaction of a service to a message.
#[derive(Debug)]
pub(crate) enum Reaction {
    /// The message has no effect.
    Nothing,
    /// An answer goes back where the message came from.
    Answer(Bytes),
    /// A message has arrived, and is acknowledged where there is something to acknowledge it with.
    Delivered(Trip, Option<Bytes>),
    /// Answers go back on these streams.
    Answers(Vec<(u16, Bytes)>),
}

#[cfg(test)]
mod tests;
