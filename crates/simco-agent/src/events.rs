//! The events other than answers, on their way to whoever listens. They do not pile up: what is not asked for
//! in time is counted and lost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use simco::agent::{AgentCloseReason, AgentEvent};
use tokio::sync::mpsc;

/// The receiver of events other than answers to requests.
#[derive(Debug)]
pub struct AgentEvents {
    queue: mpsc::Receiver<AgentEvent>,
    shared: Arc<Shared>,
    is_over: bool,
}

/// The driver's end.
#[derive(Debug)]
pub(crate) struct EventSender {
    queue: mpsc::Sender<AgentEvent>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    missed: AtomicU64,
    reason: OnceLock<AgentCloseReason>,
}

/// Creates both ends of a queue of events.
pub(crate) fn events() -> (EventSender, AgentEvents) {
    let (sender, queue) = mpsc::channel(EVENTS);
    let shared = Arc::<Shared>::default();
    (
        EventSender { queue: sender, shared: Arc::clone(&shared) },
        AgentEvents { queue, shared, is_over: false },
    )
}

impl AgentEvents {
    /// Returns the next event; `None` after the last [`AgentEvent::Closed`], which always comes. Where the
    /// agent comes back by itself, each session that ends is told by one, with [`AgentEvent::Reconnecting`]
    /// behind it.
    ///
    /// 8,192 wait; beyond that new ones are lost, and [`missed`](Self::missed) counts them. Cancellation-safe.
    pub async fn next(&mut self) -> Option<AgentEvent> {
        if let Some(event) = self.queue.recv().await {
            return Some(event);
        }
        let reason = self.shared.reason.get().filter(|_| !self.is_over)?;
        self.is_over = true;
        Some(AgentEvent::Closed { reason: *reason })
    }

    /// Returns how many events were lost for nobody asked for them in time. If there are any, what is known of
    /// rules of others is out of date: PRL and PRS tell how things stand.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.shared.missed.load(Ordering::Relaxed)
    }
}

impl EventSender {
    /// There will be no session any more.
    pub(crate) fn finish(self, reason: AgentCloseReason) {
        // It is told once only: this takes the sender.
        let _first = self.shared.reason.set(reason);
    }

    /// Tells an event. Nobody has to listen.
    pub(crate) fn tell(&self, event: AgentEvent) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.queue.try_send(event) {
            self.shared.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

const EVENTS: usize = 8192;

#[cfg(test)]
mod tests {
    use simco::{Lifetime, PolicyRuleId};

    use super::*;

    #[test]
    fn events_nobody_asks_for_are_counted_and_the_end_is_told() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (sender, mut events) = events();
        for number in 0..10_000 {
            let rule = PolicyRuleId::new(number);
            sender.tell(AgentEvent::RuleEvent { rule, lifetime: Lifetime::ZERO });
        }
        sender.finish(AgentCloseReason::Lost);
        assert_eq!(events.missed(), 10_000 - 8192);
        runtime.block_on(async {
            for number in 0..8192 {
                let rule = PolicyRuleId::new(number);
                let expected = AgentEvent::RuleEvent { rule, lifetime: Lifetime::ZERO };
                assert_eq!(events.next().await, Some(expected));
            }
            assert_eq!(events.next().await, Some(AgentEvent::Closed { reason: AgentCloseReason::Lost }));
            assert_eq!(events.next().await, None);
        });
    }
}
