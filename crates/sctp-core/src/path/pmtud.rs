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
use crate::transmit::Destination;

/// The largest size of packets on one path, and the search for a larger one.
#[derive(Clone, Debug)]
pub(crate) struct PathMtu {
    /// The size that packets may have now, in octets (PLPMTU).
    current: usize,
    /// The octets of that for the headers in front of an SCTP packet.
    header_bytes: u8,
    /// The search, with discovery only.
    search: Option<Box<Search>>,
}

/// The search on one path.
#[derive(Clone, Debug)]
struct Search {
    config: PathMtuConfig,
    /// MIN_PLPMTU and MAX_PLPMTU here.
    bounds: (usize, usize),
    /// The smallest size known not to get through.
    too_large: Option<usize>,
    state: SearchState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SearchState {
    /// The search is over: for ever, or until the next one.
    Idle,
    /// Probing for more than `current`.
    Searching(MtuProbe),
    /// Probing whether `current` still gets through.
    Confirming(MtuProbe),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MtuProbe {
    size: usize,
    /// Attempts so far, the one under way included.
    attempts: u32,
    nonce: Option<u64>,
}

/// The next step of the search.
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
    pub(crate) fn new(config: PathMtuConfig, destination: Destination) -> Self {
        let header_bytes = header_bytes(destination);
        if config.discovery == Discovery::Off {
            return Self { current: config.bytes, header_bytes, search: None };
        }
        let min = if destination.address.is_ipv4() {
            config.min_bytes
        } else {
            config.min_bytes.max(IPV6_MIN_BYTES)
        };
        let max = config.max_bytes.max(min);
        let search = Search { config, bounds: (min, max), too_large: None, state: SearchState::Idle };
        Self { current: search.base(), header_bytes, search: Some(Box::new(search)) }
    }

    /// Returns the size that packets may have now, in octets.
    #[inline]
    pub(crate) fn current(&self) -> usize {
        self.current
    }

    /// Returns the largest SCTP packet, common header included.
    #[inline]
    pub(super) fn packet_bytes(&self) -> usize {
        // Chunks are padded to four octets: a limit that is no multiple of four could never be filled.
        (self.current - usize::from(self.header_bytes)) & !3
    }

    /// Packets travel behind the headers of this destination from now on.
    pub(super) fn change_headers(&mut self, destination: Destination) {
        self.header_bytes = header_bytes(destination);
    }

    #[inline]
    pub(crate) fn is_searching(&self) -> bool {
        self.search.is_some()
    }

    fn state(&self) -> SearchState {
        self.search.as_ref().map_or(SearchState::Idle, |search| search.state)
    }

    /// Returns whether a probe waits to be sent.
    #[inline]
    pub(crate) fn wants_probe(&self) -> bool {
        match self.state() {
            SearchState::Searching(probe) | SearchState::Confirming(probe) => probe.nonce.is_none(),
            SearchState::Idle => false,
        }
    }

    /// Returns whether a search is under way.
    pub(crate) fn is_probing(&self) -> bool {
        self.state() != SearchState::Idle
    }

    /// Begins to search, because the path is usable, or it is time to look for more (RFC 8899 §5.2).
    pub(crate) fn begin(&mut self) -> Next {
        self.search.as_mut().map_or(Next::Nothing, |search| search.begin(self.current))
    }

    /// Returns the size to probe now, if any, and remembers the nonce that its answer is known by.
    pub(crate) fn send_probe(&mut self, nonce: u64) -> Option<usize> {
        let state = &mut self.search.as_mut()?.state;
        let (SearchState::Searching(probe) | SearchState::Confirming(probe)) = state else { return None };
        probe.attempts += 1;
        probe.nonce = Some(nonce);
        Some(probe.size)
    }

    /// Takes in a HEARTBEAT ACK, and returns the next step; `None` if it does not answer the outstanding probe.
    pub(crate) fn on_ack(&mut self, nonce: u64) -> Option<Next> {
        let search = self.search.as_mut()?;
        let (SearchState::Searching(probe) | SearchState::Confirming(probe)) = search.state else {
            return None;
        };
        if probe.nonce != Some(nonce) {
            return None;
        }
        self.current = probe.size;
        search.state = SearchState::Idle;
        Some(search.next(self.current))
    }

    /// Takes note that the outstanding probe went unanswered, and returns the next step, and whether packets
    /// became smaller.
    pub(crate) fn on_unanswered(&mut self) -> (Next, bool) {
        let Some(search) = &mut self.search else { return (Next::Nothing, false) };
        let (SearchState::Searching(probe) | SearchState::Confirming(probe)) = &mut search.state else {
            return (search.next(self.current), false);
        };
        probe.nonce = None;
        if probe.attempts < search.config.attempts {
            return (Next::Probe, false);
        }
        let probe = *probe;
        let before = self.current;
        search.too_large = Some(search.too_large.map_or(probe.size, |known| known.min(probe.size)));
        if matches!(search.state, SearchState::Confirming(_)) {
            self.current = search.below(self.current);
        }
        search.state = SearchState::Idle;
        (search.next(self.current), self.current < before)
    }

    /// Takes note that packets vanish (RFC 8899 §4.3), and returns whether they became smaller. At the base a
    /// probe decides whether even that is too large.
    pub(crate) fn on_black_hole(&mut self) -> bool {
        let Some(search) = &mut self.search else { return false };
        let falls = self.current > search.base();
        if falls {
            self.current = search.below(self.current);
        }
        if falls || search.state == SearchState::Idle {
            search.begin(self.current);
        }
        falls
    }

    /// Takes note of an ICMP message with the largest size, which is never believed, only tried (RFC 8899
    /// §4.6.2); returns whether a probe is to be sent.
    pub(crate) fn on_hint(&mut self, size: usize) -> bool {
        let size = size & !3;
        let Some(search) = &mut self.search else { return false };
        if size < search.bounds.0 || size >= search.bounds.1 {
            return false;
        }
        match search.state {
            SearchState::Searching(probe) if size < probe.size && size > self.current => {
                search.too_large = Some(size + 4);
                search.state = SearchState::Searching(MtuProbe::of(size));
                true
            }
            SearchState::Idle if size < self.current => {
                search.state = SearchState::Confirming(MtuProbe::of(self.current));
                true
            }
            SearchState::Idle | SearchState::Searching(_) | SearchState::Confirming(_) => false,
        }
    }
}

fn header_bytes(destination: Destination) -> u8 {
    // At most those of IPv6 and UDP.
    u8::try_from(destination.header_bytes()).unwrap_or(u8::MAX)
}

impl Search {
    fn begin(&mut self, current: usize) -> Next {
        self.too_large = None;
        // The base itself is confirmed first: some paths do not even carry that.
        self.state = if current <= self.base() {
            SearchState::Confirming(MtuProbe::of(current))
        } else {
            SearchState::Idle
        };
        self.next(current)
    }

    fn base(&self) -> usize {
        self.config.base_bytes.clamp(self.bounds.0, self.bounds.1)
    }

    /// Returns the size to which packets fall from this size.
    fn below(&self, current: usize) -> usize {
        let base = self.base();
        if current > base { base } else { self.bounds.0 }
    }

    fn next(&mut self, current: usize) -> Next {
        if self.state != SearchState::Idle {
            return Next::Probe;
        }
        let size = match self.too_large {
            None => self.bounds.1 & !3,
            Some(limit) => ((current + limit) / 2) & !3,
        };
        let gap = self.too_large.unwrap_or(self.bounds.1 + 1).saturating_sub(current);
        if gap > STEP_BYTES || (self.too_large.is_none() && size > current) {
            self.state = SearchState::Searching(MtuProbe::of(size));
            return Next::Probe;
        }
        if self.too_large.is_none() { Next::Nothing } else { Next::RaiseAfter(self.config.raise_after) }
    }
}

impl MtuProbe {
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
