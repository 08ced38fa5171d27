//! The requests that were late, and whose loss that was.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use virtual_time::Instant;
use workload::{Lane, Sample};

use super::result::{LateResult, LossSplit};
use super::to_nanoseconds;
use crate::compare::{BackendKind, CompareConfig, RawRun};
use crate::statistics::milliseconds;

/// The time from which on a response is late, and what it takes without any wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Round trip and processing, or the way there where receipts tell.
    shortest: Duration,
    threshold: Duration,
    reach: Reach,
}

/// The requests that can be late because of somebody else's loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// Whoever waits while a lost packet is missing, or for so long after: the sender's window is small then. Where nothing
    /// but losses makes anybody late.
    Everybody(Duration),
    /// Whoever waits on the same stream or connection while a packet is missing, if messages are kept in order there. Where
    /// queues and busy machines make messages late, too.
    Lane,
}

impl Bounds {
    /// Returns the bound of late requests: a millisecond above the most that the path alone makes of a round
    /// trip: delay, jitter, processing, and the time that a message takes on a link with a rate.
    pub(super) fn of(config: &CompareConfig, backend: BackendKind) -> Self {
        let shortest = config.shortest();
        let octets = u64::from(config.traffic.message_bytes.get()) + HEADERS;
        let of_path = |path: &netem::Impairments| {
            let sending = |rate: netem::BitRate| octets as f64 * 8.0 / rate.bits_per_second() as f64;
            path.jitter + Duration::from_secs_f64(path.rate.map_or(0.0, sending))
        };
        let path = of_path(&config.request_path) + of_path(&config.response_path);
        let is_narrow = config.request_path.rate.is_some() || config.response_path.rate.is_some();
        let reach = match backend {
            BackendKind::Simulator if !is_narrow => {
                Reach::Everybody(shortest.saturating_mul(AFTERMATH_ROUND_TRIPS))
            }
            BackendKind::Simulator | BackendKind::Namespaces | BackendKind::Network => Reach::Lane,
        };
        Self { shortest, threshold: shortest + path + TOLERANCE, reach }
    }

    /// Returns the late requests of all repetitions of a transport; `None` without requests.
    pub(super) fn late(self, runs: &[&RawRun]) -> Option<LateResult> {
        let due: usize = runs.iter().map(|run| run.samples.len()).sum();
        let share = |count: usize| count as f64 / due as f64;
        let tallies: Result<Vec<Tally>, &str> = runs.iter().map(|run| self.tally(run)).collect();
        let late = runs.iter().flat_map(|run| &run.samples).filter(|sample| self.is_late(sample)).count();
        let excess: Vec<f64> = runs
            .iter()
            .flat_map(|run| &run.samples)
            .filter_map(|sample| Some(milliseconds(sample.response?) - milliseconds(self.shortest)))
            .collect();
        let mean_excess_ms =
            (!excess.is_empty()).then(|| to_nanoseconds(excess.iter().sum::<f64>() / excess.len() as f64));
        let split = tallies.map(|tallies| tallies.into_iter().fold(Tally::default(), Tally::plus));
        (due > 0).then(|| LateResult {
            threshold_ms: to_nanoseconds(milliseconds(self.threshold)),
            shortest_ms: to_nanoseconds(milliseconds(self.shortest)),
            share: share(late),
            unsplit: split.err().map(str::to_owned),
            losses: split.ok().map(|tally| LossSplit {
                by_own_loss: share(tally.own),
                by_others_loss: share(tally.others),
                without_loss: share(tally.none),
                others_loss_ms: to_nanoseconds(milliseconds(tally.time)),
            }),
            mean_excess_ms,
        })
    }

    fn is_late(self, sample: &Sample) -> bool {
        sample.response.is_none_or(|response| response > self.threshold)
    }

    /// Counts the late requests of a run; why nobody knows whose packets were lost.
    fn tally(self, run: &RawRun) -> Result<Tally, &'static str> {
        let own = run.own_losses.as_ref().map_err(|because| *because)?;
        let spells = self.spells(run, own);
        let mut tally = Tally::default();
        for sample in run.samples.iter().filter(|sample| self.is_late(sample)) {
            if own.contains(&sample.number.0) {
                tally.own += 1;
            } else if spells.get(&self.place(sample)).is_some_and(|spells| spells.touch(sample)) {
                tally.others += 1;
                let wait = sample.response.map(|response| response.saturating_sub(self.shortest));
                tally.time = tally.time.saturating_add(wait.unwrap_or_default());
            } else {
                tally.none += 1;
            }
        }
        Ok(tally)
    }
}

impl Bounds {
    /// Returns what shares its losses: everything, or a lane.
    fn place(self, sample: &Sample) -> Lane {
        match self.reach {
            Reach::Everybody(_) => Lane::default(),
            Reach::Lane => sample.lane,
        }
    }

    fn spells(self, run: &RawRun, own: &BTreeSet<u64>) -> BTreeMap<Lane, Spells> {
        let aftermath = match self.reach {
            Reach::Everybody(aftermath) => aftermath,
            Reach::Lane if !run.transport.is_ordered() => return BTreeMap::new(),
            Reach::Lane => Duration::ZERO,
        };
        let mut places: BTreeMap<Lane, Vec<(Instant, Instant)>> = BTreeMap::new();
        let all = run.samples.iter().chain(&run.untimed);
        for sample in all.filter(|sample| own.contains(&sample.number.0)) {
            let (begin, end) = spell(sample);
            places.entry(self.place(sample)).or_default().push((begin, end + aftermath));
        }
        places.into_iter().map(|(place, spells)| (place, Spells::of(spells))).collect()
    }
}

/// Late requests by what made them late.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// A packet of their own was lost.
    own: usize,
    /// The number of requests that lost none, but one of somebody who could make it wait.
    others: usize,
    /// The number of requests late for another reason: a queue, or a machine that was busy.
    none: usize,
    /// The time that was waited because of others, by those that were answered.
    time: Duration,
}

impl Tally {
    fn plus(self, more: Self) -> Self {
        Self {
            own: self.own + more.own,
            others: self.others + more.others,
            none: self.none + more.none,
            time: self.time.saturating_add(more.time),
        }
    }
}

/// The spells in which the requests waited that lost packets, with the time after, in the order of their
/// beginnings.
struct Spells {
    begins: Vec<Instant>,
    /// The latest end of this one and all before it.
    ends: Vec<Instant>,
}

impl Spells {
    fn of(mut spells: Vec<(Instant, Instant)>) -> Self {
        spells.sort_unstable();
        let mut latest = Instant::EPOCH;
        let ends = spells.iter().map(|(_, end)| {
            latest = latest.max(*end);
            latest
        });
        let ends = ends.collect();
        Self { begins: spells.into_iter().map(|(begin, _)| begin).collect(), ends }
    }

    /// Returns whether one of them overlaps the time that this one waited.
    fn touch(&self, sample: &Sample) -> bool {
        let (begin, end) = spell(sample);
        let before_end = self.begins.partition_point(|other| *other <= end);
        before_end.checked_sub(1).and_then(|last| self.ends.get(last)).is_some_and(|latest| *latest >= begin)
    }
}

/// Returns the spell in which a request waited.
fn spell(sample: &Sample) -> (Instant, Instant) {
    let end = sample.response.map_or(Instant::MAX, |response| sample.intended + response);
    (sample.intended, end)
}

/// A response that takes longer than the path by this is late.
const TOLERANCE: Duration = Duration::from_millis(1);

/// A congestion window that a loss made small grows back within so many round trips, most of the time: 1 s at 20 ms.
const AFTERMATH_ROUND_TRIPS: u32 = 50;

/// Octets of headers at most, of IP, UDP, transport and chunk, in front of a message.
const HEADERS: u64 = 120;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run;

    /// Answers after these times in ms, one request every 10 ms; these lost a packet of their own.
    fn late(responses: &[Option<u64>], own: &[u64]) -> LateResult {
        let responses: Vec<_> =
            responses.iter().map(|response| response.map(Duration::from_millis)).collect();
        let mut run = run("sctp:1", &responses);
        run.own_losses = Ok(own.iter().copied().collect());
        Bounds::of(&CompareConfig::default(), BackendKind::Simulator).late(&[&run]).unwrap()
    }

    #[test]
    fn who_waits_for_a_loss_that_is_not_its_own_is_told_apart() {
        let late = late(&[Some(25), Some(20), Some(20), Some(45), Some(40), Some(21), Some(20)], &[3]);
        let losses = late.losses.unwrap();
        let sevenths = [late.share, losses.by_own_loss, losses.by_others_loss, losses.without_loss]
            .map(|share| (share * 7.0).round());
        // The first one came before anything was lost.
        assert_eq!(sevenths, [3.0, 1.0, 1.0, 1.0]);
        assert_eq!((losses.others_loss_ms, late.threshold_ms), (20.0, 21.0));
        assert!((late.mean_excess_ms.unwrap() - 51.0 / 7.0).abs() < 1e-6);
    }

    #[test]
    fn on_real_packets_only_a_missing_predecessor_makes_others_wait() {
        let others = |transport: &str, lanes: u16| {
            let slow = [Some(20), Some(45), Some(40), Some(30), Some(20), Some(30)];
            let mut run = run(transport, &slow.map(|response| response.map(Duration::from_millis)));
            run.own_losses = Ok([1].into());
            for (sample, lane) in run.samples.iter_mut().zip((0..lanes).cycle()) {
                sample.lane = Lane(lane);
            }
            let bounds = Bounds::of(&CompareConfig::default(), BackendKind::Namespaces);
            let losses = bounds.late(&[&run]).unwrap().losses.unwrap();
            [losses.by_others_loss, losses.without_loss].map(|share| (share * 6.0).round())
        };
        assert_eq!(others("sctp:1", 1), [3.0, 0.0]);
        assert_eq!(others("sctp:2", 2), [2.0, 1.0]);
        assert_eq!(others("sctp:unordered", 1), [0.0, 3.0]);
    }

    #[test]
    fn who_is_never_answered_is_late_and_waits_for_ever() {
        let late = late(&[Some(20), None, None, Some(20)], &[2]);
        let losses = late.losses.unwrap();
        assert_eq!((losses.by_own_loss, losses.by_others_loss), (0.25, 0.25));
        assert_eq!((losses.others_loss_ms, late.mean_excess_ms), (0.0, Some(0.0)));
    }

    #[test]
    fn what_the_path_alone_takes_is_not_late() {
        let mut config = CompareConfig { processing: Duration::from_millis(3), ..CompareConfig::default() };
        config.request_path.jitter = Duration::from_millis(2);
        config.response_path.rate = "10kbit".parse().ok();
        let bounds = Bounds::of(&config, BackendKind::Simulator);
        assert_eq!(bounds.shortest, Duration::from_millis(23));
        assert_eq!(bounds.threshold, Duration::from_micros(23_000 + 2_000 + 147_200 + 1_000));
    }

    #[test]
    fn without_knowing_the_packets_the_share_stands_alone() {
        let run = run("tcp", &[Some(Duration::from_millis(30)), Some(Duration::from_millis(20))]);
        let late = Bounds::of(&CompareConfig::default(), BackendKind::Simulator).late(&[&run]).unwrap();
        assert_eq!((late.share, late.losses, late.unsplit.as_deref()), (0.5, None, Some("a test")));
    }
}
