//! The demands that calls make of the firewall, and what becomes of them.

use virtual_time::Instant;

use super::Calls;
use super::call::{Call, Held, PinholeId, Side, Step};
use super::ending::Ending;
use crate::pinhole::Pinhole;

/// Something the firewall is to be asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Demand {
    /// Open a pinhole, keep it open, and say what became of it.
    Open {
        /// The number by which the call knows the pinhole.
        id: PinholeId,
        /// The pinhole that is to be opened.
        pinhole: Pinhole,
    },
    /// Close a pinhole, whether it is open or still being asked for.
    Close {
        /// The number with which the pinhole was asked for.
        id: PinholeId,
        /// The middlebox that has it.
        middlebox: usize,
    },
}

/// The reason why there is no pinhole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The middlebox said no to the request.
    #[error("the firewall refuses")]
    Refused,
    /// There is no session with the middlebox.
    #[error("the firewall cannot be reached")]
    Unreachable,
    /// The middlebox did not answer in time.
    #[error("the firewall does not answer")]
    Silent,
}

impl Refusal {
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Silent => "silent",
        }
    }
}

impl Calls {
    pub(super) fn ask(&mut self, call: &mut Call, exchange: Option<u32>, towards: Side, pinhole: Pinhole) {
        let id = PinholeId(self.draw());
        self.pinholes.insert(id, call.id);
        call.pinholes.push(Held { id, pinhole, towards, is_open: false, exchange });
        self.demands.push_back(Demand::Open { id, pinhole });
    }

    /// Closes the pinholes that a test picks.
    pub(super) fn close(&mut self, call: &mut Call, is_unwanted: impl Fn(&Held) -> bool) {
        let (pinholes, demands) = (&mut self.pinholes, &mut self.demands);
        call.pinholes.retain(|held| {
            let goes = is_unwanted(held);
            if goes {
                pinholes.remove(&held.id);
                demands.push_back(Demand::Close { id: held.id, middlebox: held.pinhole.middlebox });
            }
            !goes
        });
    }

    pub(super) fn on_verdict(
        &mut self,
        now: Instant,
        call: &mut Call,
        id: PinholeId,
        verdict: Result<(), Refusal>,
    ) {
        let Some(held) = call.pinholes.iter_mut().find(|held| held.id == id) else { return };
        let exchange = held.exchange;
        match verdict {
            Ok(()) => {
                held.is_open = true;
                self.counters.granted += 1;
                call.record.pinholes += 1;
                if let Some(number) = exchange
                    && !call.waits(number)
                {
                    self.go_on(now, call, number);
                }
            }
            Err(refusal) => {
                *self.counters.denied.entry(refusal.label()).or_default() += 1;
                tracing::warn!(call = call.record.call_id, %refusal, "no pinhole");
                self.close(call, |held| held.id == id);
                match exchange {
                    Some(number) => self.refuse_exchange(now, call, number),
                    None => self.end(now, call, Ending::NO_PINHOLE, None),
                }
            }
        }
    }

    /// The firewall has lost a pinhole, or somebody has closed it there.
    pub(super) fn on_loss(&mut self, now: Instant, call: &mut Call, id: PinholeId) {
        let Some(at) = call.pinholes.iter().position(|held| held.id == id) else { return };
        let held = call.pinholes.remove(at);
        self.pinholes.remove(&id);
        self.counters.reopened += 1;
        tracing::warn!(call = call.record.call_id, "a pinhole is gone and is opened again");
        let exchange = held.exchange.filter(|_| !held.is_open);
        self.ask(call, exchange, held.towards, held.pinhole);
        if let Some(exchange) = exchange.and_then(|number| call.exchange(number)) {
            exchange.asked_at.get_or_insert(now);
        }
    }

    /// All pinholes are open that an exchange waited for.
    fn go_on(&mut self, now: Instant, call: &mut Call, number: u32) {
        let Some(exchange) = call.exchange(number) else { return };
        let asked_at = exchange.asked_at.take();
        let step = core::mem::replace(&mut exchange.step, Step::Forwarded);
        match step {
            Step::OpenForRequest => self.forward_request(now, call, number),
            Step::OpenForResponse(response, essentials) => {
                if let Some(at) = asked_at {
                    call.record.firewall_delay += now.since(at);
                }
                self.pass_response(now, call, number, &response, &essentials);
                self.take_queue(now, call, number);
            }
            Step::OpenForAck(ack) => self.pass_ack(call, number, &ack),
            Step::Forwarded => {}
            other @ (Step::Accepted | Step::Done) => {
                if let Some(exchange) = call.exchange(number) {
                    exchange.step = other;
                }
            }
        }
    }

    /// Patience with something is over.
    pub(super) fn on_deadline(&mut self, now: Instant, call: &mut Call) {
        let patience = self.settings.firewall_patience;
        let is_late = |at: Option<Instant>| at.is_some_and(|at| at + patience <= now);
        let late =
            call.exchanges.iter().find(|exchange| is_late(exchange.asked_at) && call.waits(exchange.number));
        if let Some(number) = late.map(|exchange| exchange.number) {
            *self.counters.denied.entry(Refusal::Silent.label()).or_default() += 1;
            tracing::warn!(call = call.record.call_id, "the firewall does not answer in time");
            return self.refuse_exchange(now, call, number);
        }
        if call.expires.is_some_and(|at| at <= now) {
            return self.end(now, call, Ending::EXPIRED, None);
        }
        if call.deadline.is_some_and(|at| at <= now) {
            let ending = if call.is_up { Ending::TOO_LONG } else { Ending::NO_ANSWER };
            self.end(now, call, ending, None);
        }
    }
}
