//! The counters of a flow: those of its load, and those of what its transport did.

use core::time::Duration;

use sctp_core::AssociationStatistics;
use workload::{LATE_SEND_BOUND, Sample};

/// The counters of the load of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadCounters {
    /// Requests handed to the transport.
    pub requests: u64,
    /// Requests answered, each counted once.
    pub responses: u64,
    /// Requests handed over later than [`LATE_SEND_BOUND`] after they were due: the machine could not keep up. 0 in virtual
    /// time.
    pub late_sends: u64,
    /// The number of messages that answered no request.
    pub strange: u64,
}

impl LoadCounters {
    /// Counts requests and responses.
    #[must_use]
    pub fn of(samples: &[Sample], strange: u64) -> Self {
        let mut counters = Self { strange, ..Self::default() };
        for sample in samples {
            counters.requests += u64::from(sample.sent.is_some());
            counters.responses += u64::from(sample.response.is_some());
        }
        counters
    }

    /// Counts in real time, late sends among them.
    #[must_use]
    pub fn in_real_time(samples: &[Sample], strange: u64) -> Self {
        let is_late =
            |sample: &&Sample| sample.sent.is_some_and(|sent| sent.since(sample.intended) > LATE_SEND_BOUND);
        let late_sends = u64::try_from(samples.iter().filter(is_late).count()).unwrap_or(u64::MAX);
        Self { late_sends, ..Self::of(samples, strange) }
    }
}

/// The counters of both ends of a transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransportCounts {
    /// Retransmission timeouts of the client; `None` where nobody counts them, as for the kernel's TCP.
    pub timeouts: Option<u64>,
    /// Packets or chunks the client sent again; `None` likewise.
    pub retransmissions: Option<u64>,
    /// Messages that were complete and waited for an earlier one, both directions; `None` where it cannot be seen.
    pub blocked: Option<(u64, Duration)>,
}

impl From<&AssociationStatistics> for TransportCounts {
    fn from(statistics: &AssociationStatistics) -> Self {
        let streams = statistics.receiver.blocked.streams();
        let blocked = streams.fold((0, Duration::ZERO), |sum, (_, stream)| {
            (sum.0 + stream.messages, sum.1.saturating_add(stream.total))
        });
        Self {
            timeouts: Some(statistics.paths.iter().map(|path| path.counters.timeouts).sum()),
            retransmissions: Some(statistics.sender.retransmissions),
            blocked: Some(blocked),
        }
    }
}

impl TransportCounts {
    /// Returns the counters with what the receiver at the other end saw of head-of-line blocking.
    #[must_use]
    pub fn and_far(mut self, far: Self) -> Self {
        if let (Some(near), Some((messages, time))) = (&mut self.blocked, far.blocked) {
            *near = (near.0 + messages, near.1.saturating_add(time));
        }
        self
    }
}
