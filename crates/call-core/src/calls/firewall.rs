//! The demands that calls make of the firewall, and what becomes of them.

use std::net::SocketAddr;

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
    /// Open what was reserved under this number.
    Enable {
        /// The number with which the reservation was asked for.
        id: PinholeId,
        /// The pinhole that the reservation becomes.
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
    /// The middlebox translates and should not, or does not and should.
    #[error("the middlebox is of another kind than the configuration says")]
    OtherKind,
    /// The middlebox translates otherwise than the other side was told, or not to ports that there are.
    #[error("the translator gives another address than before")]
    OtherAddress,
}

impl Refusal {
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Silent => "silent",
            Self::OtherKind => "other_kind",
            Self::OtherAddress => "other_address",
        }
    }
}

impl Calls {
    pub(super) fn ask(&mut self, call: &mut Call, exchange: Option<u32>, towards: Side, pinhole: Pinhole) {
        let id = PinholeId(self.draw());
        let has_translation = call.pinholes.iter().any(|held| held.pinhole.shares_translation(&pinhole));
        // A translator is asked for the address first; what it has for a listener already serves its other pinholes, too.
        let (pinhole, then) = match pinhole.is_translated && !has_translation && !pinhole.is_reservation() {
            true => (pinhole.reserved(), Some(pinhole)),
            false => (pinhole, None),
        };
        self.pinholes.insert(id, call.id);
        let (is_open, is_kept, outside) = (false, false, None);
        call.pinholes.push(Held { id, pinhole, towards, is_open, exchange, is_kept, outside, then });
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

    /// Opens a reservation for a pinhole that needs it, at once or when it has been made; returns whether there is one.
    pub(super) fn open_what_is_reserved(&mut self, call: &mut Call, number: u32, pinhole: &Pinhole) -> bool {
        let is_it = |held: &&mut Held| {
            held.pinhole.is_reservation() && held.then.is_none() && held.pinhole.shares_translation(pinhole)
        };
        let Some(held) = call.pinholes.iter_mut().find(is_it) else { return false };
        held.exchange = Some(number);
        if held.is_open {
            (held.pinhole, held.is_open) = (*pinhole, false);
            self.demands.push_back(Demand::Enable { id: held.id, pinhole: *pinhole });
        } else {
            held.then = Some(*pinhole);
        }
        true
    }

    /// Closes what an exchange has opened that fails; what the call had before stays.
    pub(super) fn close_of_exchange(&mut self, call: &mut Call, number: u32) {
        self.close(call, |held| held.exchange == Some(number) && !held.is_kept);
        for held in call.pinholes.iter_mut().filter(|held| held.exchange == Some(number)) {
            held.exchange = None;
        }
    }

    pub(super) fn on_verdict(
        &mut self,
        now: Instant,
        call: &mut Call,
        id: PinholeId,
        verdict: Result<Option<SocketAddr>, Refusal>,
    ) {
        let verdict = verdict.and_then(|outside| is_as_told(call, id, outside));
        let Some(held) = call.pinholes.iter_mut().find(|held| held.id == id) else { return };
        let exchange = held.exchange;
        match verdict {
            Ok(outside) => {
                held.outside = outside.or(held.outside);
                if let Some(pinhole) = held.then.take() {
                    held.pinhole = pinhole;
                    return self.demands.push_back(Demand::Enable { id, pinhole });
                }
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
        if held.pinhole.is_translated {
            // The other side has been told an address that may be somebody else's by now.
            tracing::warn!(call = call.record.call_id, "a translation is gone, and the call ends");
            return self.end(now, call, Ending::NO_PINHOLE, None);
        }
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
        if self.open_what_follows(now, call, number) {
            return;
        }
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

/// Checks that a translator gives a listener the address that the other side was told, or will be.
fn is_as_told(
    call: &Call,
    id: PinholeId,
    outside: Option<SocketAddr>,
) -> Result<Option<SocketAddr>, Refusal> {
    let Some(held) = call.pinholes.iter().find(|held| held.id == id) else { return Ok(outside) };
    if !held.pinhole.is_translated {
        return Ok(None);
    }
    let is_of_listener = |other: &&Held| other.pinhole.shares_translation(&held.pinhole);
    let told = call.pinholes.iter().filter(is_of_listener).find_map(|other| other.outside);
    let behind = held.pinhole.towards.ports.saturating_sub(1);
    let fits = |given: &SocketAddr| given.port().checked_add(behind).is_some();
    match (outside.filter(fits), told) {
        (None, _) => Err(Refusal::OtherAddress),
        (Some(given), Some(told)) if given != told => Err(Refusal::OtherAddress),
        (Some(_), _) => Ok(outside),
    }
}
