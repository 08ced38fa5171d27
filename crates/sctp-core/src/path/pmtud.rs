//! How large packets on a path may be, found by probing (DPLPMTUD, RFC 8899 §5, §6.2).
//!
//! Packets begin with the base size. A probe of the largest size comes first, for most paths carry it; if it fails,
//! the interval between what works and what does not is halved until it is narrower than [`STEP_BYTES`]. When large
//! packets vanish the size falls to the base, and the search begins anew. Only answers to probes make packets larger;
//! an ICMP message only says what to probe (RFC 8899 §4.6).
//!
//! All sizes are octets of IP packets. Owns no timer: the caller asks what is next and reports what happened.

use core::time::Duration;

use crate::config::{Discovery, PathMtuConfig};

/// The search on one path.
#[derive(Clone, Debug)]
pub(crate) struct PathMtu {
    config: PathMtuConfig,
    /// MIN_PLPMTU and MAX_PLPMTU here.
    bounds: (usize, usize),
    /// PLPMTU: what packets may have now.
    current: usize,
    /// The smallest size known not to get through.
    too_large: Option<usize>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not searching: for ever, or until the next search.
    Idle,
    /// Probing for more than `current`.
    Searching(Probe),
    /// Probing whether `current` still gets through.
    Confirming(Probe),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probe {
    size: usize,
    /// Attempts so far, the one under way included.
    attempts: u32,
    nonce: Option<u64>,
}

/// What the search wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing any more.
    Nothing,
    /// A probe is to be sent now.
    Probe,
    /// Look again then, to see whether the path carries more.
    RaiseAfter(Duration),
}

impl PathMtu {
    /// `fixed_bytes`: the size without discovery.
    pub(crate) fn new(config: PathMtuConfig, is_ipv4: bool) -> Self {
        let min = if is_ipv4 { config.min_bytes } else { config.min_bytes.max(IPV6_MIN_BYTES) };
        let max = config.max_bytes.max(min);
        let current = match config.discovery {
            Discovery::Off => config.bytes,
            Discovery::On => config.base_bytes.clamp(min, max),
        };
        Self { config, bounds: (min, max), current, too_large: None, state: State::Idle }
    }

    /// What packets may have now.
    pub(crate) fn current(&self) -> usize {
        self.current
    }

    pub(crate) fn is_searching(&self) -> bool {
        self.config.discovery == Discovery::On
    }

    /// Whether a probe waits to be sent.
    pub(crate) fn wants_probe(&self) -> bool {
        match self.state {
            State::Searching(probe) | State::Confirming(probe) => probe.nonce.is_none(),
            State::Idle => false,
        }
    }

    /// Whether a search is under way.
    pub(crate) fn is_probing(&self) -> bool {
        self.state != State::Idle
    }

    /// The path is usable, or it is time to look for more (RFC 8899 §5.2).
    pub(crate) fn begin(&mut self) -> Next {
        if !self.is_searching() {
            return Next::Nothing;
        }
        self.too_large = None;
        // The base itself is confirmed first: some paths do not even carry that.
        self.state = if self.current <= self.base() {
            State::Confirming(Probe::of(self.current))
        } else {
            State::Idle
        };
        self.next()
    }

    /// The size to probe now, if any, and remembers the nonce that its answer is known by.
    pub(crate) fn send_probe(&mut self, nonce: u64) -> Option<usize> {
        let (State::Searching(probe) | State::Confirming(probe)) = &mut self.state else { return None };
        probe.attempts += 1;
        probe.nonce = Some(nonce);
        Some(probe.size)
    }

    /// A HEARTBEAT ACK came back; `None` if it does not answer the outstanding probe.
    pub(crate) fn on_ack(&mut self, nonce: u64) -> Option<Next> {
        let (State::Searching(probe) | State::Confirming(probe)) = self.state else { return None };
        if probe.nonce != Some(nonce) {
            return None;
        }
        self.current = probe.size;
        self.state = State::Idle;
        Some(self.next())
    }

    /// The outstanding probe went unanswered. True beside it if packets became smaller.
    pub(crate) fn on_unanswered(&mut self) -> (Next, bool) {
        let (State::Searching(probe) | State::Confirming(probe)) = &mut self.state else {
            return (self.next(), false);
        };
        probe.nonce = None;
        if probe.attempts < self.config.attempts {
            return (Next::Probe, false);
        }
        let probe = *probe;
        let before = self.current;
        self.too_large = Some(self.too_large.map_or(probe.size, |known| known.min(probe.size)));
        if matches!(self.state, State::Confirming(_)) {
            self.fall();
        }
        self.state = State::Idle;
        (self.next(), self.current < before)
    }

    /// Packets vanish (RFC 8899 §4.3). True if they became smaller. At the base a probe decides whether even that is
    /// too large.
    pub(crate) fn on_black_hole(&mut self) -> bool {
        let falls = self.is_searching() && self.current > self.base();
        if falls {
            self.fall();
        }
        if falls || self.state == State::Idle {
            self.begin();
        }
        falls
    }

    /// An ICMP message says that this is the largest size. It is never believed, only tried (RFC 8899 §4.6.2). True if
    /// a probe is to be sent.
    pub(crate) fn on_hint(&mut self, size: usize) -> bool {
        let size = size & !3;
        if !self.is_searching() || size < self.bounds.0 || size >= self.bounds.1 {
            return false;
        }
        match self.state {
            State::Searching(probe) if size < probe.size && size > self.current => {
                self.too_large = Some(size + 4);
                self.state = State::Searching(Probe::of(size));
                true
            }
            State::Idle if size < self.current => {
                self.state = State::Confirming(Probe::of(self.current));
                true
            }
            State::Idle | State::Searching(_) | State::Confirming(_) => false,
        }
    }

    fn base(&self) -> usize {
        self.config.base_bytes.clamp(self.bounds.0, self.bounds.1)
    }

    fn fall(&mut self) {
        let base = self.base();
        self.current = if self.current > base { base } else { self.bounds.0 };
    }

    fn next(&mut self) -> Next {
        if !self.is_searching() {
            return Next::Nothing;
        }
        if self.state != State::Idle {
            return Next::Probe;
        }
        let size = match self.too_large {
            None => self.bounds.1 & !3,
            Some(limit) => ((self.current + limit) / 2) & !3,
        };
        let gap = self.too_large.unwrap_or(self.bounds.1 + 1).saturating_sub(self.current);
        if gap > STEP_BYTES || (self.too_large.is_none() && size > self.current) {
            self.state = State::Searching(Probe::of(size));
            return Next::Probe;
        }
        if self.too_large.is_none() { Next::Nothing } else { Next::RaiseAfter(self.config.raise_after) }
    }
}

impl Probe {
    fn of(size: usize) -> Self {
        Self { size, attempts: 0, nonce: None }
    }
}

/// The search ends when less than this is left to gain.
pub(crate) const STEP_BYTES: usize = 32;

/// Every IPv6 path carries this (RFC 8200 §5).
const IPV6_MIN_BYTES: usize = 1280;

#[cfg(test)]
mod tests;
