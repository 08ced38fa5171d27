//! The SCTP of study S2, built on a TCP-SACK that counts packets: for its pages alone, in virtual time alone.
//!
//! This is not the SCTP that ships; it exists because the study's figures come from such rules. Where they are not published,
//! [`StudyRules`] says what was chosen.

mod rules;
mod simulated;

use std::collections::BTreeSet;

use models::resequencing;
use netem::derive_indexed_seed;
use virtual_time::Instant;

pub use self::rules::{Halving, StudyRules};
use self::simulated::{LEAST_HEADERS, PacketSink, PacketSource};
use super::{
    Carriage, End, Ends, Errand, FlowRun, Lanes, Listener, Listening, Search, Task, Transport,
    TransportError, TransportFacts,
};
use crate::transport::{FlowError, FlowPlan, RealError};

/// The rules of the study: one lane, on which nothing waits.
#[derive(Debug)]
pub(super) struct OfStudy;

static FACTS: TransportFacts = TransportFacts::new("s2", Carriage::Messages, 3..7);

impl Transport for OfStudy {
    fn facts(&self) -> &'static TransportFacts {
        &FACTS
    }

    fn parse(&self, text: &str, argument: Option<&str>) -> Result<Lanes, TransportError> {
        let because = "the rules of study S2 have one stream, write s2";
        match argument {
            None => Ok(Lanes::UNORDERED),
            Some(_) => Err(TransportError::Argument { text: text.to_owned(), because }),
        }
    }

    fn write(&self, _lanes: Lanes) -> String {
        FACTS.name.to_owned()
    }

    fn in_words(&self, _lanes: Lanes) -> String {
        "the SCTP of study S2".to_owned()
    }

    fn streams(&self, _lanes: Lanes) -> Option<u16> {
        Some(1)
    }

    fn model(&self, _lanes: Lanes) -> Result<resequencing::Transport, &'static str> {
        Err("the models do not know the rules of study S2")
    }

    fn simulated(&self, ends: &Ends<'_>) -> Result<[Box<dyn End>; 2], FlowError> {
        let rules = ends.plan.sctp.s2;
        if rules.headers < LEAST_HEADERS {
            let because =
                format!("headers of {} octets are too short: {LEAST_HEADERS} at least", rules.headers);
            return Err(FlowError { key: "sctp.s2", because });
        }
        if ends.plan.workload.is_answered() {
            let because = "over the rules of study S2 nobody answers: use messages or bulk".to_owned();
            return Err(FlowError { key: "workload", because });
        }
        let [here, there] = ends.first;
        let source = PacketSource::new(ends.client()?, rules, begin_at(ends), [here, there]);
        let sink = PacketSink::new(ends.server()?, rules, [there, here]);
        Ok([Box::new(source), Box::new(sink)])
    }

    fn own_losses(&self, _search: &Search<'_>, _lost: &[&[u8]]) -> Result<BTreeSet<u64>, &'static str> {
        Err("its packets are counted, not written")
    }

    fn refused_on_real_packets(&self, _flow: &FlowPlan) -> Option<(&'static str, &'static str)> {
        Some(("transport", VIRTUAL))
    }

    fn load<'a>(&'a self, _errand: Errand<'a>) -> Task<'a, Result<FlowRun, RealError>> {
        Box::pin(async { Err(RealError::Configuration { because: VIRTUAL.to_owned() }) })
    }

    fn listen<'a>(&'a self, _at: Listening<'a>) -> Task<'a, Result<Vec<Listener>, RealError>> {
        Box::pin(async { Err(RealError::Configuration { because: VIRTUAL.to_owned() }) })
    }
}

/// Returns when the flow begins; those that compete with the first one do not all begin at once.
fn begin_at(ends: &Ends<'_>) -> Instant {
    let within = u64::try_from(ends.plan.sctp.s2.begin_within.0.as_nanos()).unwrap_or(u64::MAX);
    let drawn = derive_indexed_seed(ends.seed.run, "begin", u64::from(ends.seed.number) - 1);
    ends.begin_at() + core::time::Duration::from_nanos(drawn.checked_rem(within).unwrap_or(0))
}

const VIRTUAL: &str = "the rules of study S2 exist in virtual time only";
