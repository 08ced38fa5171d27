//! A client that goes on from its host's next address when nobody answers it: what was sent and not answered, and since when.

use core::time::Duration;
use std::collections::BTreeMap;

use virtual_time::Instant;

use crate::traffic::Pending;

/// The messages that wait for an answer, and the patience of who sent them.
#[derive(Debug)]
pub(crate) struct Switching {
    after: Option<Duration>,
    /// The time at which the client is told that it is in another network, and goes.
    told_at: Option<Instant>,
    /// Whether it may go at all, so that what is not answered is kept.
    is_on: bool,
    /// The messages that were handed over and not answered, by number, each with the time of that.
    outstanding: BTreeMap<u64, (Pending, Instant)>,
    heard_at: Instant,
}

impl Switching {
    /// Creates the rule to switch after so long without an answer, and once at a time that is told; `None`: never.
    pub(crate) const fn new(after: Option<Duration>, told_at: Option<Instant>) -> Self {
        let is_on = after.is_some() || told_at.is_some();
        Self { after, told_at, is_on, outstanding: BTreeMap::new(), heard_at: Instant::EPOCH }
    }

    /// Creates the rule to switch when that is told, which nobody knows beforehand.
    pub(crate) fn when_told() -> Self {
        Self { is_on: true, ..Self::new(None, None) }
    }

    /// The client is told that it is in another network, and goes.
    pub(crate) const fn tell(&mut self, now: Instant) {
        self.told_at = Some(now);
    }

    /// The transport has taken a message.
    pub(crate) fn on_sent(&mut self, now: Instant, pending: Pending) {
        if self.is_on {
            self.outstanding.insert(pending.number, (pending, now));
        }
    }

    /// Returns whether the answer to a message is the first one, which it always is where nobody switches.
    /// `number` reads its number, which nobody else needs.
    pub(crate) fn on_answer(&mut self, now: Instant, number: impl FnOnce() -> Option<u64>) -> bool {
        if !self.is_on {
            return true;
        }
        self.heard_at = now;
        number().is_some_and(|number| self.outstanding.remove(&number).is_some())
    }

    /// Returns when it switches if nothing is heard.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.told_at.into_iter().chain(self.patience_ends_at()).min()
    }

    fn patience_ends_at(&self) -> Option<Instant> {
        let (_, sent_at) = self.outstanding.first_key_value().map(|(_, sent)| *sent)?;
        Some(self.heard_at.max(sent_at) + self.after?)
    }

    /// Returns the messages without an answer in the order of their numbers, when it is time to switch; patience begins anew.
    pub(crate) fn switch(&mut self, now: Instant) -> Option<Vec<Pending>> {
        self.poll_timeout().filter(|due| *due <= now)?;
        self.told_at.take_if(|told_at| *told_at <= now);
        self.outstanding.values_mut().for_each(|(_, sent_at)| *sent_at = now);
        Some(self.outstanding.values().map(|(pending, _)| *pending).collect())
    }
}
