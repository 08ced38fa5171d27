//! Whether data moves to another address: a pure decision.

use core::net::IpAddr;

use virtual_time::Instant;

use crate::decision::{Judgement, Rule, Verdict};

/// The facts that the decision depends on.
pub(super) struct Question<'a> {
    pub(super) now: Instant,
    /// The judgements about the addresses, the best first.
    pub(super) found: &'a [Judgement],
    /// The primary address, or the one that was asked for last.
    pub(super) primary: Option<IpAddr>,
    /// Whether the peer has refused something about an address a short while ago.
    pub(super) is_blocked: &'a dyn Fn(IpAddr) -> bool,
    /// Returns the time at which an address has been fit for use for long enough.
    pub(super) ripe_at: &'a dyn Fn(IpAddr) -> Option<Instant>,
    /// The time from which on the primary address may be changed again.
    pub(super) may_change_at: Option<Instant>,
}

/// The decision about the primary address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Data stays where it is, and there is no reason why it should not.
    Stay,
    /// Data moves to another address.
    Move { to: IpAddr, rule: Rule },
    /// There is a reason to move, and one against it.
    Hold { instead_of: Option<IpAddr>, rule: Rule, until: Option<Instant> },
}

/// The state that the primary address is in.
enum PrimaryStanding {
    Missing,
    Gone,
    Unfit,
    Fit { cost: u16 },
}

/// Returns the decision.
pub(super) fn choose(question: &Question<'_>) -> Choice {
    let best = best(question, |verdict| matches!(verdict, Verdict::Fit { .. }));
    // Where nothing else is left, an interface that flaps is better than none.
    let any = best.or_else(|| self::best(question, |verdict| matches!(verdict, Verdict::Damped { .. })));
    let nothing = Choice::Hold { instead_of: None, rule: Rule::NothingFit, until: None };
    match (standing(question), best.zip(best.and_then(|best| cost(best.verdict)))) {
        (PrimaryStanding::Missing, _) => any.map_or(nothing, |any| move_to(any, Rule::First)),
        (PrimaryStanding::Gone, _) => any.map_or(nothing, |any| move_to(any, Rule::PrimaryGone)),
        (PrimaryStanding::Unfit, None) => nothing,
        (PrimaryStanding::Unfit, Some((best, _))) => {
            unless_changed_recently(question, best, Rule::PrimaryUnfit)
        }
        (PrimaryStanding::Fit { cost }, Some((best, less))) if less < cost => cheaper(question, best),
        (PrimaryStanding::Fit { .. }, _) => Choice::Stay,
    }
}

fn standing(question: &Question<'_>) -> PrimaryStanding {
    let Some(primary) = question.primary else { return PrimaryStanding::Missing };
    match question.found.iter().find(|judgement| judgement.address == primary) {
        None => PrimaryStanding::Gone,
        Some(judgement) if judgement.verdict == Verdict::Unusable => PrimaryStanding::Gone,
        Some(judgement) => {
            cost(judgement.verdict).map_or(PrimaryStanding::Unfit, |cost| PrimaryStanding::Fit { cost })
        }
    }
}

fn cheaper(question: &Question<'_>, best: &Judgement) -> Choice {
    match (question.ripe_at)(best.address).filter(|ripe_at| *ripe_at > question.now) {
        until @ Some(_) => Choice::Hold { instead_of: Some(best.address), rule: Rule::TooNew, until },
        None => unless_changed_recently(question, best, Rule::Cheaper),
    }
}

fn unless_changed_recently(question: &Question<'_>, best: &Judgement, rule: Rule) -> Choice {
    match question.may_change_at.filter(|at| *at > question.now) {
        until @ Some(_) => {
            Choice::Hold { instead_of: Some(best.address), rule: Rule::ChangedRecently, until }
        }
        None => move_to(best, rule),
    }
}

fn best<'a>(question: &Question<'a>, is_wanted: fn(Verdict) -> bool) -> Option<&'a Judgement> {
    let is_free =
        |judgement: &&Judgement| is_wanted(judgement.verdict) && !(question.is_blocked)(judgement.address);
    question.found.iter().find(is_free)
}

fn move_to(judgement: &Judgement, rule: Rule) -> Choice {
    Choice::Move { to: judgement.address, rule }
}

fn cost(verdict: Verdict) -> Option<u16> {
    if let Verdict::Fit { cost } = verdict { Some(cost) } else { None }
}
