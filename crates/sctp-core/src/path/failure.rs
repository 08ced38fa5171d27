//! The failure of paths, and the choice of one that is used instead (RFC 9260 §6.4, §8.2; RFC 7829): pure
//! decisions.

use crate::config::AssociationConfig;
use crate::event::PathState;
use crate::transmit::PathIndex;

/// The thresholds of an association.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FailureThresholds {
    /// Path.Max.Retrans (RFC 9260 §16).
    pub(crate) path: u32,
    /// PotentiallyFailed.Max.Retrans (RFC 7829 §3.2), where the state is used.
    pub(crate) potentially_failed: Option<u32>,
    /// Primary.Switchover.Max.Retrans (RFC 7829 §5), where the primary follows the data.
    pub(crate) primary_switchover: Option<u32>,
}

impl FailureThresholds {
    pub(crate) fn of(config: &AssociationConfig) -> Self {
        Self {
            path: config.attempts.path,
            potentially_failed: config.paths.potentially_failed,
            primary_switchover: config.paths.primary_switchover,
        }
    }

    /// Returns the state after an error that raised the counter to `errors`.
    pub(crate) fn after_error(&self, state: PathState, errors: u32) -> PathState {
        let is_potentially_failed = self.potentially_failed.is_some_and(|limit| errors > limit);
        match state {
            // What was never verified does not become usable by failing.
            PathState::Unconfirmed => PathState::Unconfirmed,
            PathState::Inactive => PathState::Inactive,
            PathState::Removed => PathState::Removed,
            PathState::Active | PathState::PotentiallyFailed if errors > self.path => PathState::Inactive,
            PathState::Active if is_potentially_failed => PathState::PotentiallyFailed,
            PathState::Active | PathState::PotentiallyFailed => state,
        }
    }

    /// Returns whether that many errors on the primary path make another one primary (RFC 7829 §5).
    pub(crate) fn switches_primary(&self, errors: u32) -> bool {
        self.primary_switchover.is_some_and(|limit| errors > limit)
    }
}

/// A path as the choice sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathCandidate {
    pub(crate) path: PathIndex,
    pub(crate) state: PathState,
    pub(crate) errors: u32,
    /// Whether the path has a local address to send from.
    pub(crate) has_source: bool,
}

/// The purpose for which a path is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// New data: the primary path while it is active, otherwise the one in use while that is.
    NewData,
    /// Data that timed out on this path: another one, if there is one as good (RFC 9260 §6.4, §6.4.1).
    TimedOutOn(PathIndex),
}

/// The path that was chosen, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The primary path is active (RFC 9260 §6.4).
    Primary(PathIndex),
    /// An active path other than the preferred one (RFC 9260 §6.4.1).
    Alternate(PathIndex),
    /// The potentially failed path with the fewest errors, because none is active (RFC 7829 §3.2, point 4).
    LeastFailed(PathIndex),
    /// All are inactive: that with the fewest errors (RFC 7829 §4.1).
    Dormant(PathIndex),
    /// There is no path data may be sent on: nothing is confirmed or has a local address.
    Nowhere,
}

impl Choice {
    pub(crate) fn path(self) -> Option<PathIndex> {
        match self {
            Self::Primary(path) | Self::Alternate(path) | Self::LeastFailed(path) | Self::Dormant(path) => {
                Some(path)
            }
            Self::Nowhere => None,
        }
    }
}

/// Chooses a path.
///
/// "Most divergent" (RFC 9260 §6.4.1) is the path other than the one that failed; among several of these the primary,
/// then the one in use, then the lowest number.
pub(crate) fn choose(
    candidates: impl Iterator<Item = PathCandidate>,
    primary: PathIndex,
    current: PathIndex,
    purpose: Purpose,
) -> Choice {
    let rank = |candidate: &PathCandidate| {
        let (class, errors) = match candidate.state {
            PathState::Active => (0, 0),
            PathState::PotentiallyFailed => (1, candidate.errors),
            PathState::Inactive | PathState::Unconfirmed | PathState::Removed => (2, candidate.errors),
        };
        let failed = purpose == Purpose::TimedOutOn(candidate.path);
        (class, errors, failed, candidate.path != primary, candidate.path != current, candidate.path)
    };
    let is_known = |state| !matches!(state, PathState::Unconfirmed | PathState::Removed);
    let usable = |candidate: &PathCandidate| is_known(candidate.state) && candidate.has_source;
    let Some(best) = candidates.filter(usable).min_by_key(rank) else { return Choice::Nowhere };
    match best.state {
        PathState::Active if best.path == primary => Choice::Primary(best.path),
        PathState::Active => Choice::Alternate(best.path),
        PathState::PotentiallyFailed => Choice::LeastFailed(best.path),
        PathState::Inactive | PathState::Unconfirmed | PathState::Removed => Choice::Dormant(best.path),
    }
}

#[cfg(test)]
mod tests {
    use PathState::{Active, Inactive, PotentiallyFailed, Unconfirmed};

    use super::*;

    const A: PathIndex = PathIndex::new(0);
    const B: PathIndex = PathIndex::new(1);
    const C: PathIndex = PathIndex::new(2);

    fn chosen(states: &[(PathState, u32)], current: PathIndex, purpose: Purpose) -> Choice {
        let candidates = [A, B, C].into_iter().zip(states).map(|(path, &(state, errors))| PathCandidate {
            path,
            state,
            errors,
            has_source: true,
        });
        choose(candidates, A, current, purpose)
    }

    #[test]
    fn new_data_goes_to_the_primary_then_stays_then_to_the_fewest_errors() {
        let rows = [
            (vec![(Active, 3), (Active, 0)], A, Choice::Primary(A)),
            (vec![(Active, 0), (Active, 0)], B, Choice::Primary(A)),
            (vec![(PotentiallyFailed, 1), (Active, 0), (Active, 0)], A, Choice::Alternate(B)),
            (vec![(Inactive, 6), (Active, 0), (Active, 0)], C, Choice::Alternate(C)),
            (vec![(Inactive, 6), (Unconfirmed, 0), (Active, 2)], A, Choice::Alternate(C)),
            (vec![(PotentiallyFailed, 2), (PotentiallyFailed, 1)], A, Choice::LeastFailed(B)),
            (vec![(PotentiallyFailed, 5), (Inactive, 6)], B, Choice::LeastFailed(A)),
            (vec![(Inactive, 9), (Inactive, 7), (Inactive, 8)], A, Choice::Dormant(B)),
            (vec![(Inactive, 9), (Unconfirmed, 0)], A, Choice::Dormant(A)),
            (vec![(Unconfirmed, 0)], A, Choice::Nowhere),
        ];
        for (states, current, expected) in rows {
            assert_eq!(chosen(&states, current, Purpose::NewData), expected, "{states:?}");
        }
    }

    /// RFC 9260 §6.4, §6.4.1; RFC 7829 §3.2, points 3 and 4.
    #[test]
    fn data_that_timed_out_goes_elsewhere_if_elsewhere_is_as_good() {
        let rows = [
            (vec![(Active, 1), (Active, 0)], A, Choice::Alternate(B)),
            (vec![(Active, 1), (Active, 0)], B, Choice::Primary(A)),
            (vec![(Active, 1), (PotentiallyFailed, 1)], A, Choice::Primary(A)),
            (vec![(Active, 1), (Unconfirmed, 0)], A, Choice::Primary(A)),
            (vec![(PotentiallyFailed, 1), (PotentiallyFailed, 1)], A, Choice::LeastFailed(B)),
            (vec![(Inactive, 6), (Inactive, 6)], A, Choice::Dormant(B)),
            (vec![(Active, 1)], A, Choice::Primary(A)),
        ];
        for (states, failed, expected) in rows {
            assert_eq!(chosen(&states, A, Purpose::TimedOutOn(failed)), expected, "{states:?} not {failed}");
        }
    }

    #[test]
    fn a_path_without_local_address_is_not_used() {
        let path = |path, has_source| PathCandidate { path, state: Active, errors: 0, has_source };
        let both = [path(A, false), path(B, true)];
        assert_eq!(choose(both.into_iter(), A, A, Purpose::NewData), Choice::Alternate(B));
        assert_eq!(choose(both[..1].iter().copied(), A, A, Purpose::NewData), Choice::Nowhere);
    }

    /// RFC 9260 §8.2: more than Path.Max.Retrans; RFC 7829 §3.2, points 2 and 8: more than PFMR before that.
    #[test]
    fn states_follow_the_error_counter() {
        let plain = FailureThresholds { path: 5, potentially_failed: None, primary_switchover: None };
        assert_eq!(plain.after_error(Active, 5), Active);
        assert_eq!(plain.after_error(Active, 6), Inactive);
        assert_eq!(plain.after_error(Unconfirmed, 60), Unconfirmed);
        let pf = FailureThresholds { path: 5, potentially_failed: Some(0), primary_switchover: Some(0) };
        assert_eq!(pf.after_error(Active, 1), PotentiallyFailed);
        assert_eq!(pf.after_error(PotentiallyFailed, 5), PotentiallyFailed);
        assert_eq!(pf.after_error(PotentiallyFailed, 6), Inactive);
        // A threshold at or above Path.Max.Retrans is never reached before it.
        let late = FailureThresholds { potentially_failed: Some(5), ..pf };
        assert_eq!(late.after_error(Active, 6), Inactive);
        assert!(pf.switches_primary(1) && !pf.switches_primary(0) && !plain.switches_primary(100));
    }
}
