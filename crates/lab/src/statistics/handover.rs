//! The cost of a handover to the frames of a run whose sender goes on in another network.
//!
//! ```text
//!        at         arrives                  recovered     one second later
//!  ──────┼────────────┼──────────────────────────┼────────────────┼────► time at which frames fall due
//!        │◄──────── recovery ───────────────────►│
//!  what counts is what was under way at `at`, and what falls due until a second after the recovery
//! ```

use core::time::Duration;

use virtual_time::Instant;
use workload::Sample;

/// The cost of one handover to the frames around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandoverCounts {
    /// The number of frames around it that came too late, or never.
    pub late: u64,
    /// The longest time without a frame delivered; `None` if none was delivered any more.
    pub gap: Option<Duration>,
    /// The time from its beginning to the first frame from which on all frames of a second are in time; `None` if there is none.
    pub recovery: Option<Duration>,
    /// The most that a frame waited beyond the new network's delay, of those that fell due since the client was there: study S5's Θmax.
    pub penalty: Option<Duration>,
}

impl HandoverCounts {
    /// Counts what the handover did to messages, of which each may be so old: it begins at the first time, and at the second one the client
    /// is in the new network, whose delay is `one_way`.
    pub(crate) fn of(
        samples: &[Sample],
        deadline: Duration,
        [at, arrives]: [Instant; 2],
        one_way: Duration,
    ) -> Self {
        let is_late = |sample: &Sample| sample.response.is_none_or(|delay| delay > deadline);
        let recovered = recovered(samples, at, is_late);
        let end = recovered.map_or(Instant::MAX, |recovered| recovered + CALM);
        let delivered = |sample: &Sample| sample.response.map(|delay| sample.intended + delay);
        let until_end = samples.iter().filter(|sample| sample.intended < end);
        let is_concerned = |sample: &&Sample| match delivered(sample) {
            Some(delivered) => delivered > at,
            None => sample.intended + deadline > at,
        };
        let late = until_end.clone().filter(is_concerned).filter(|sample| is_late(sample)).count();
        let mut deliveries: Vec<_> = samples.iter().filter_map(delivered).collect();
        deliveries.sort_unstable();
        let steps = deliveries.windows(2).filter(|step| step[1] > at && step[0] < end);
        let waits =
            until_end.filter(|sample| sample.intended >= arrives).filter_map(|sample| sample.response);
        Self {
            late: late as u64,
            gap: steps.map(|step| step[1].since(step[0])).max(),
            recovery: recovered.map(|recovered| recovered.since(at)),
            penalty: waits.map(|delay| delay.saturating_sub(one_way)).max(),
        }
    }
}

/// Returns when the first message falls due from which on all of a second are in time: at once, where none is late.
fn recovered(samples: &[Sample], at: Instant, is_late: impl Fn(&Sample) -> bool) -> Option<Instant> {
    let mut recovered = at;
    let mut since = samples.iter().filter(|sample| sample.intended >= at).peekable();
    while let Some(sample) = since.next() {
        if sample.intended >= recovered + CALM {
            return Some(recovered);
        }
        if is_late(sample) {
            recovered = since.peek()?.intended;
        }
    }
    None
}

/// How long all messages have to be in time.
const CALM: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use workload::{Lane, MessageNumber};

    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::EPOCH + Duration::from_millis(ms)
    }

    /// A message every 100 ms for five seconds, each after 20 ms but for these; the client moves after a second and arrives 200 ms later.
    fn counts(others: &[(usize, Option<u64>)]) -> HandoverCounts {
        let sample = |number: u64| Sample {
            number: MessageNumber(number),
            lane: Lane(0),
            intended: at_ms(number * 100),
            sent: None,
            response: Some(Duration::from_millis(20)),
            blocked: None,
        };
        let mut samples: Vec<_> = (0..50).map(sample).collect();
        for (number, response) in others {
            samples[*number].response = response.map(Duration::from_millis);
        }
        HandoverCounts::of(
            &samples,
            Duration::from_millis(150),
            [at_ms(1000), at_ms(1200)],
            Duration::from_millis(20),
        )
    }

    #[test]
    fn without_late_messages_it_costs_nothing() {
        let (gap, zero) = (Some(Duration::from_millis(100)), Some(Duration::ZERO));
        assert_eq!(counts(&[]), HandoverCounts { late: 0, gap, recovery: zero, penalty: zero });
    }

    #[test]
    fn what_waits_is_late_until_a_second_is_in_time() {
        // Those of 900 ms to 1100 ms come at 1500 ms, after the one of 1400 ms, one is lost, one is late 800 ms after, and one long after that.
        let all = [
            (9, Some(600)),
            (10, Some(500)),
            (11, Some(400)),
            (12, Some(320)),
            (13, None),
            (21, Some(200)),
            (40, Some(300)),
        ];
        let counts = counts(&all);
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(counts, HandoverCounts { late: 6, gap: ms(600), recovery: ms(1200), penalty: ms(300) });
    }

    #[test]
    fn who_is_late_for_ever_does_not_recover() {
        let counts = counts(&(10..50).map(|number| (number, None)).collect::<Vec<_>>());
        assert_eq!(counts, HandoverCounts { late: 40, gap: None, recovery: None, penalty: None });
    }
}
