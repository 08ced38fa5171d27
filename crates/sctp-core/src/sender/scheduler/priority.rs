//! Strict priorities (RFC 8260 §3.4); streams of the same priority take turns.

use std::collections::{BTreeMap, BTreeSet};

use sctp_wire::StreamId;

use super::{Discipline, Rest, Served, WaitingMessage};

/// Waiting streams by priority, and within a priority by turn.
#[derive(Debug, Default)]
pub(super) struct Priority {
    order: BTreeSet<(Turn, StreamId)>,
    turns: BTreeMap<StreamId, Turn>,
    last_turn: u64,
}

/// Priority, then the number of the turn.
type Turn = (u16, u64);

impl Priority {
    fn join(&mut self, waiting: WaitingMessage) {
        self.last_turn += 1;
        let turn = (waiting.share.priority, self.last_turn);
        self.turns.insert(waiting.stream, turn);
        self.order.insert((turn, waiting.stream));
    }
}

impl Discipline for Priority {
    fn queued(&mut self, waiting: WaitingMessage, before: Rest) {
        if before == Rest::None {
            self.join(waiting);
        }
    }

    fn next(&self) -> Option<StreamId> {
        self.order.first().map(|(_, stream)| *stream)
    }

    fn served(&mut self, served: Served) {
        let is_over = served.rest == Rest::None;
        if is_over || served.ends_turn {
            self.withdrawn(served.message.stream);
        }
        if !is_over && served.ends_turn {
            self.join(served.message);
        }
    }

    fn removed(&mut self, message: WaitingMessage, rest: Rest) {
        if rest == Rest::None {
            self.withdrawn(message.stream);
        }
    }

    fn withdrawn(&mut self, stream: StreamId) {
        if let Some(turn) = self.turns.remove(&stream) {
            self.order.remove(&(turn, stream));
        }
    }
}
