//! Calls through the back-to-back agent that ships, which asks a middlebox for their pinholes: study S4's system. The flow carries SIMCO
//! between agent and middlebox; telephones, agent and its calls are one host.
//!
//! ```text
//!   caller        calls, agent                       middlebox
//!     │ INVITE ────► │ PER, towards the caller ─────────► │
//!     │              │ ◄───────────────────────── granted │
//!     │              │ INVITE ─► callee ─► 200            │
//!     │              │ PER, towards the callee ─────────► │ timed: for so long
//!     │ ◄─────── 200 │ ◄───────────────────────── granted │ the answer is held back
//!     │ BYE ───────► │ PLC, PLC with lifetime 0 ────────► │
//! ```
//!
//! What is timed is the delay of the answer: from when the callee answers until the caller knows.

mod agent;

use workload::ArrivalsError;

use self::agent::BackToBack;
use super::simco::{self, Simco};
use super::{Framer, Kind, Measure, Script, Service, Terms, WorkloadFacts};
use crate::lanes::Carriage;

/// Firewall control within calls.
#[derive(Debug)]
pub(super) struct SipSimco;

static FACTS: WorkloadFacts = WorkloadFacts {
    name: "sip-simco",
    meaning: "calls whose answer waits for a firewall asked by SIMCO",
    in_words: "SIMCO within SIP calls",
    unit: "calls",
    payload_protocol: ::simco::PAYLOAD_PROTOCOL,
    has_own_lengths: true,
    is_one_exchange: false,
    ..WorkloadFacts::of_messages("", "", Measure::Responses)
};

impl Kind for SipSimco {
    fn facts(&self) -> &'static WorkloadFacts {
        &FACTS
    }

    fn framer(&self) -> Framer {
        Simco.framer()
    }

    fn check(&self, carriage: Carriage, lanes: u16) -> Result<(), &'static str> {
        simco::framing(carriage, lanes).map(drop)
    }

    fn script(&self, terms: &Terms, seed: u64) -> Result<Option<Box<dyn Script>>, ArrivalsError> {
        let framing = simco::framing(terms.carriage, terms.lanes).ok();
        Ok(framing.map(|framing| -> Box<dyn Script> { Box::new(BackToBack::new(framing, seed)) }))
    }

    fn service(&self, terms: Option<Terms>) -> Box<dyn Service> {
        simco::empty_middlebox(terms)
    }
}
