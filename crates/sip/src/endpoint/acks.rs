//! A 2xx to INVITE and its ACK go over and over until both sides know (RFC 3261 §13.2.2.4, §13.3.1.4): no transaction does
//! that, over reliable transports neither.

use bytes::Bytes;
use virtual_time::Instant;

use super::table::Origin;
use super::{Endpoint, TransactionId};
use crate::transaction::Repeat;
use crate::transport::Flow;

/// A 2xx that waits for its ACK.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) origin: Origin,
    pub(super) is_acknowledged: bool,
    repeat: Repeat,
}

impl Answer {
    pub(super) const fn new(origin: Origin, repeat: Repeat) -> Self {
        Self { origin, is_acknowledged: false, repeat }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        (!self.is_acknowledged).then_some(self.repeat.at)
    }
}

/// The ACKs of a client's INVITE, one for each fork that accepted.
#[derive(Debug, Default)]
pub(super) struct Acks(Vec<Ack>);

#[derive(Debug)]
struct Ack {
    tag: String,
    /// The ACK that was sent; `None` as long as the user has not acknowledged.
    sent: Option<(Flow, Bytes)>,
}

/// The verdict on a 2xx to an INVITE, which says what to do with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Fork {
    /// The response is the first of its fork, and goes to the user.
    New,
    /// The response is a repetition; this ACK goes again, by this flow.
    Again(Flow, Bytes),
    /// The response is a repetition, and the user has not acknowledged the first yet.
    Early,
    /// There are more forks than can be.
    Surplus,
}

impl Acks {
    pub(super) fn fork(&mut self, tag: &str) -> Fork {
        match self.0.iter().find(|ack| ack.tag == tag) {
            Some(Ack { sent: Some((flow, octets)), .. }) => Fork::Again(*flow, octets.clone()),
            Some(Ack { sent: None, .. }) => Fork::Early,
            None if self.0.len() >= MOST_FORKS => Fork::Surplus,
            None => {
                self.0.push(Ack { tag: tag.to_owned(), sent: None });
                Fork::New
            }
        }
    }

    pub(super) fn sent(&mut self, tag: &str, flow: Flow, octets: Bytes) {
        if let Some(ack) = self.0.iter_mut().find(|ack| ack.tag == tag) {
            ack.sent = Some((flow, octets));
        }
    }
}

impl Endpoint {
    /// Sends a 2xx once more if that is what the alarm was for.
    pub(super) fn repeat_answer(&mut self, now: Instant, id: TransactionId) -> bool {
        let most = Some(self.config.timers.t2);
        let Some(answer) = self.table.server(id).and_then(|server| server.answer.as_mut()) else {
            return false;
        };
        if answer.is_acknowledged || answer.repeat.at > now {
            return false;
        }
        answer.repeat = answer.repeat.doubled(now, most);
        // At the end of patience the machine has its say.
        let is_over = self.table.is_over(now, id);
        if !is_over {
            self.send_last(id);
            self.table.arm(now, id);
        }
        !is_over
    }
}

/// A request forks into no more answers than this.
const MOST_FORKS: usize = 8;
