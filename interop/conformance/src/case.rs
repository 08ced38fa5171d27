//! A sentence of the RFC, and the script that checks it.

use crate::cases;
use crate::script::{Mismatch, Peer};
use crate::wire::{Settings, Wire};

/// One requirement that an observer outside can check.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The section of RFC 9260, with the letter of the rule.
    pub section: &'static str,
    /// The name of the script, which tells the behaviour.
    pub name: &'static str,
    /// Whether it is required or recommended.
    pub strength: Strength,
    /// The requirement in our words.
    pub requirement: &'static str,
    /// The wires over which the script runs.
    pub over: Over,
    /// The configuration of the stack.
    pub settings: Settings,
    /// The script that plays the peer.
    pub script: fn(&mut Peer) -> Result<(), Mismatch>,
}

/// The word that the RFC uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// The RFC says MUST or MUST NOT.
    Must,
    /// The RFC says SHOULD or SHOULD NOT.
    Should,
}

/// The wires over which a case can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Order and content decide: in virtual time and over raw IP.
    Both,
    /// Times decide, which only virtual time gives exactly.
    VirtualTime,
}

impl Case {
    /// Runs the script over a wire.
    ///
    /// # Errors
    /// The step that went otherwise.
    pub fn run(&self, wire: Box<dyn Wire>) -> Result<(), Mismatch> {
        let mut peer = Peer::new(wire);
        (self.script)(&mut peer).map_err(|mismatch| mismatch.after(&peer))
    }
}

/// Returns all cases in the order of the RFC.
#[must_use]
pub fn all() -> Vec<Case> {
    cases::ALL.iter().flat_map(|section| section.iter().copied()).collect()
}
