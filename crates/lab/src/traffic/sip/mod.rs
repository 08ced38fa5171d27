//! SIP (RFC 3261): caller and called side are the endpoints that ship, whatever carries them. Over datagrams their own
//! timers repeat what was lost.
//!
//! ```text
//!   sip-invite                         sip
//!   caller          callee             caller          callee
//!     │ INVITE ───────► │                │ INVITE ───────► │
//!     │ ◄────── 100 ─── │ timed          │ ◄────── 180 ─── │
//!     │ ◄────── 480 ─── │                │ ◄────── 200 ─── │ timed
//!     │ ACK ──────────► │                │ ACK ──────────► │
//!                                        │ BYE ──────────► │
//!                                        │ ◄────── 200 ─── │
//! ```
//!
//! `sip-invite` is what study S2 asked: how long does a hop take to say that it is there? It refuses some seconds later, so that
//! the transaction ends. `sip` are whole calls whose callee answers at once, so that what is timed is all that the network
//! adds to a set-up: the way of the INVITE and that of the answer.

mod callee;
mod caller;
mod framer;
mod line;

use core::time::Duration;

use workload::ArrivalsError;

use self::callee::Callee;
use self::caller::Caller;
use self::framer::SipFramer;
use self::line::Line;
pub(super) use self::line::{CALLEE, CALLER};
use super::{Framer, Kind, Measure, Script, Service, Terms, WorkloadFacts};

/// Returns a caller of whole calls and a callee who answers at once. What each says is for whoever stands between them.
pub(super) fn telephones(seed: u64) -> (Box<dyn Script>, Box<dyn Service>) {
    let caller = Caller::new(Question::Call, Line::IN_MEMORY, seed);
    (Box::new(caller), Box::new(Callee::new(Question::Call, Some(Line::IN_MEMORY))))
}

/// SIP, as far as one of two questions goes.
#[derive(Debug)]
pub(super) struct Sip(Question);

impl Sip {
    pub(super) const CALLS: Self = Self(Question::Call);
    pub(super) const INVITES: Self = Self(Question::Trying);
}

/// The question that a flow of SIP answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    /// How long until the next hop says that it has the INVITE?
    Trying,
    /// How long until a call is up?
    Call,
}

static CALLS: WorkloadFacts = WorkloadFacts {
    name: "sip",
    meaning: "whole calls by SIP, from INVITE to BYE",
    in_words: "SIP calls",
    unit: "calls",
    ..OF_SIP
};

static INVITES: WorkloadFacts = WorkloadFacts {
    name: "sip-invite",
    meaning: "INVITE to 100 Trying, hop by hop",
    in_words: "SIP INVITEs",
    unit: "INVITEs",
    ..OF_SIP
};

const OF_SIP: WorkloadFacts = WorkloadFacts {
    has_own_lengths: true,
    is_one_exchange: false,
    repeats_itself: true,
    ..WorkloadFacts::of_messages("", "", Measure::Responses)
};

impl Kind for Sip {
    fn facts(&self) -> &'static WorkloadFacts {
        match self.0 {
            Question::Trying => &INVITES,
            Question::Call => &CALLS,
        }
    }

    fn framer(&self) -> Framer {
        Box::new(SipFramer::default())
    }

    fn script(&self, terms: &Terms, seed: u64) -> Result<Option<Box<dyn Script>>, ArrivalsError> {
        Ok(Some(Box::new(Caller::new(self.0, Line::new(terms), seed))))
    }

    fn service(&self, terms: Option<Terms>) -> Box<dyn Service> {
        Box::new(Callee::new(self.0, terms.as_ref().map(Line::new)))
    }
}

/// How long a call is up; shorter than those of people, so that a run soon has as many ends as beginnings.
const CALL: Duration = Duration::from_secs(10);
/// How long a hop that has said 100 Trying takes to refuse.
const REFUSAL: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests;
