//! Transactions, by their number, their key, their flow and their next deadline.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use virtual_time::Instant;

use super::acks::{Acks, Answer};
use crate::essentials::Essentials;
use crate::message::{HeaderName, Request};
use crate::method::Method;
use crate::status::StatusClass;
use crate::transaction::{Client, InviteClient, InviteServer, Server, Step};
use crate::transport::{Connection, Flow};
use crate::via::MAGIC_COOKIE;

/// The number of a transaction, never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TransactionId(pub(super) u64);

/// All transactions of an endpoint, with the maps by which they are found.
#[derive(Debug, Default)]
pub(super) struct Table {
    transactions: BTreeMap<TransactionId, Transaction>,
    by_key: BTreeMap<Key, TransactionId>,
    by_flow: BTreeSet<(Flow, TransactionId)>,
    /// Requests outside dialogs that are being served, to find merged ones (RFC 3261 §8.2.2.2).
    by_origin: BTreeMap<Origin, TransactionId>,
    /// Transactions with a 2xx that may be acknowledged.
    by_answer: BTreeMap<Origin, TransactionId>,
    deadlines: BTreeSet<(Instant, TransactionId)>,
    drawn: u64,
}

#[derive(Debug)]
pub(super) struct Transaction {
    key: Key,
    pub(super) machine: Machine,
    pub(super) flow: Flow,
    /// The message that is sent again.
    pub(super) last: Option<Bytes>,
    pub(super) role: Role,
    armed: Option<Instant>,
}

#[derive(Debug)]
pub(super) enum Machine {
    InviteClient(InviteClient),
    Client(Client),
    InviteServer(InviteServer),
    Server(Server),
}

impl Machine {
    fn deadline(&self) -> Option<Instant> {
        match self {
            Self::InviteClient(machine) => machine.deadline(),
            Self::Client(machine) => machine.deadline(),
            Self::InviteServer(machine) => machine.deadline(),
            Self::Server(machine) => machine.deadline(),
        }
    }
}

#[derive(Debug)]
pub(super) enum Role {
    Client(ClientPart),
    Server(ServerPart),
}

/// The part of a client transaction that is not its machine.
#[derive(Debug)]
pub(super) struct ClientPart {
    pub(super) request: Request,
    /// A CANCEL of the endpoint's own, of which nobody is told.
    pub(super) is_internal: bool,
    pub(super) cancelling: Cancelling,
    pub(super) acks: Acks,
    /// The flow by which the request goes if TCP, which was taken for its length, does not carry it.
    pub(super) fallback: Option<Flow>,
}

/// How far a wish to cancel has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cancelling {
    Unwanted,
    /// The CANCEL goes as soon as a provisional response is there (RFC 3261 §9.1).
    Wanted,
    Sent,
}

/// The part of a server transaction that is not its machine.
#[derive(Debug, Default)]
pub(super) struct ServerPart {
    pub(super) origin: Option<Origin>,
    /// The 2xx to an INVITE, until it is acknowledged.
    pub(super) answer: Option<Answer>,
}

/// The key by which a message finds its transaction (RFC 3261 §17.1.3, §17.2.3).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Key {
    Client { branch: String, method: Method },
    Server { branch: String, sent_by: String, method: Method },
}

/// Call-ID, a tag, and the number of CSeq.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Origin {
    pub(super) call_id: String,
    pub(super) tag: String,
    pub(super) number: u32,
}

impl Key {
    /// Returns the key under which a request is served. An ACK has the key of its INVITE; so has a CANCEL if `method`
    /// is INVITE.
    pub(super) fn of_request(request: &Request, essentials: &Essentials, method: &Method) -> Self {
        let method = if *method == Method::Ack { Method::Invite } else { method.clone() };
        let sent_by = essentials.via.sent_by().to_ascii_lowercase();
        let branch = match essentials.via.branch() {
            Some(branch) if is_unique(branch) => branch.to_ascii_lowercase(),
            // Of RFC 2543: what identifies it is all this together.
            Some(_) | None => {
                let via = request.headers.first(&HeaderName::Via).unwrap_or_default();
                let tag = essentials.from.tag().unwrap_or_default();
                format!("{}\n{}\n{tag}\n{}\n{via}", request.uri, essentials.call_id, essentials.cseq.number)
            }
        };
        Self::Server { branch, sent_by, method }
    }
}

/// Returns whether a branch begins with the magic cookie, so that it is unique; case does not count (RFC 3261 §7.3.1).
fn is_unique(branch: &str) -> bool {
    branch.len() > MAGIC_COOKIE.len()
        && branch.get(..MAGIC_COOKIE.len()).is_some_and(|start| start.eq_ignore_ascii_case(MAGIC_COOKIE))
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.transactions.len()
    }

    pub(super) fn insert(
        &mut self,
        now: Instant,
        key: Key,
        machine: Machine,
        flow: Flow,
        role: Role,
    ) -> TransactionId {
        self.drawn += 1;
        let id = TransactionId(self.drawn);
        self.by_key.insert(key.clone(), id);
        self.by_flow.insert((flow, id));
        if let Role::Server(ServerPart { origin: Some(origin), .. }) = &role {
            self.by_origin.insert(origin.clone(), id);
        }
        self.transactions.insert(id, Transaction { key, machine, flow, last: None, role, armed: None });
        self.arm(now, id);
        id
    }

    pub(super) fn remove(&mut self, id: TransactionId) -> Option<Role> {
        let transaction = self.transactions.remove(&id)?;
        if let Some(at) = transaction.armed {
            self.deadlines.remove(&(at, id));
        }
        self.by_flow.remove(&(transaction.flow, id));
        if self.by_key.get(&transaction.key) == Some(&id) {
            self.by_key.remove(&transaction.key);
        }
        if let Role::Server(server) = &transaction.role {
            if let Some(origin) = &server.origin {
                self.by_origin.remove(origin);
            }
            if let Some(answer) = &server.answer {
                self.by_answer.remove(&answer.origin);
            }
        }
        Some(transaction.role)
    }

    pub(super) fn find(&self, key: &Key) -> Option<TransactionId> {
        self.by_key.get(key).copied()
    }

    /// Returns whether another transaction serves the same request, which has come by another way.
    pub(super) fn is_merged(&self, origin: &Origin) -> bool {
        self.by_origin.contains_key(origin)
    }

    pub(super) fn expect_ack(&mut self, origin: Origin, id: TransactionId) {
        self.by_answer.insert(origin, id);
    }

    pub(super) fn acknowledged_by(&self, origin: &Origin) -> Option<TransactionId> {
        self.by_answer.get(origin).copied()
    }

    pub(super) fn transaction(&mut self, id: TransactionId) -> Option<&mut Transaction> {
        self.transactions.get_mut(&id)
    }

    pub(super) fn client(&mut self, id: TransactionId) -> Option<&mut ClientPart> {
        match self.transactions.get_mut(&id).map(|transaction| &mut transaction.role) {
            Some(Role::Client(client)) => Some(client),
            Some(Role::Server(_)) | None => None,
        }
    }

    pub(super) fn server(&mut self, id: TransactionId) -> Option<&mut ServerPart> {
        match self.transactions.get_mut(&id).map(|transaction| &mut transaction.role) {
            Some(Role::Server(server)) => Some(server),
            Some(Role::Client(_)) | None => None,
        }
    }

    pub(super) fn last(&self, id: TransactionId) -> Option<(Flow, Bytes)> {
        let transaction = self.transactions.get(&id)?;
        Some((transaction.flow, transaction.last.clone()?))
    }

    /// Gives a transaction another flow, machine and message, so that it goes another way from now on.
    pub(super) fn reroute(&mut self, id: TransactionId, flow: Flow, machine: Machine, octets: Bytes) {
        let Some(transaction) = self.transactions.get_mut(&id) else { return };
        self.by_flow.remove(&(transaction.flow, id));
        self.by_flow.insert((flow, id));
        (transaction.flow, transaction.machine, transaction.last) = (flow, machine, Some(octets));
    }

    /// Returns the transactions of a flow: of its connection, or of all towards its remote side if it names none.
    pub(super) fn of_flow(&self, flow: Flow) -> Vec<TransactionId> {
        let last = Flow { connection: flow.connection.or(Some(Connection(u64::MAX))), ..flow };
        let range = (flow, TransactionId(0))..=(last, TransactionId(u64::MAX));
        self.by_flow.range(range).map(|(_, id)| *id).collect()
    }

    pub(super) fn on_timeout(&mut self, now: Instant, id: TransactionId) -> Step {
        match self.transactions.get_mut(&id).map(|transaction| &mut transaction.machine) {
            Some(Machine::InviteClient(machine)) => machine.on_timeout(now),
            Some(Machine::Client(machine)) => machine.on_timeout(now),
            Some(Machine::InviteServer(machine)) => machine.on_timeout(now),
            Some(Machine::Server(machine)) => machine.on_timeout(now),
            None => Step::Nothing,
        }
    }

    pub(super) fn on_response(&mut self, now: Instant, id: TransactionId, class: StatusClass) -> Step {
        match self.transactions.get_mut(&id).map(|transaction| &mut transaction.machine) {
            Some(Machine::InviteClient(machine)) => machine.on_response(now, class),
            Some(Machine::Client(machine)) => machine.on_response(now, class),
            Some(Machine::InviteServer(_) | Machine::Server(_)) | None => Step::Nothing,
        }
    }

    pub(super) fn on_repetition(&self, id: TransactionId) -> Step {
        match self.transactions.get(&id).map(|transaction| &transaction.machine) {
            Some(Machine::InviteServer(machine)) => machine.on_repetition(),
            Some(Machine::Server(machine)) => machine.on_repetition(),
            Some(Machine::InviteClient(_) | Machine::Client(_)) | None => Step::Nothing,
        }
    }

    pub(super) fn on_answer(&mut self, now: Instant, id: TransactionId, class: StatusClass) -> Step {
        match self.transactions.get_mut(&id).map(|transaction| &mut transaction.machine) {
            Some(Machine::InviteServer(machine)) => machine.on_answer(now, class),
            Some(Machine::Server(machine)) => machine.on_answer(now, class),
            Some(Machine::InviteClient(_) | Machine::Client(_)) | None => Step::Nothing,
        }
    }

    /// Tells a client transaction that its transport failed, and returns what is to be done. A server transaction goes
    /// on: whoever asked may come back over another connection (RFC 3261 §18.2.2).
    pub(super) fn on_transport_error(&self, id: TransactionId) -> Step {
        match self.transactions.get(&id).map(|transaction| &transaction.machine) {
            Some(Machine::InviteClient(machine)) => machine.on_transport_error(),
            Some(Machine::Client(machine)) => machine.on_transport_error(),
            Some(Machine::InviteServer(_) | Machine::Server(_)) | None => Step::Nothing,
        }
    }

    /// Returns whether the deadline of the machine itself has come.
    pub(super) fn is_over(&self, now: Instant, id: TransactionId) -> bool {
        self.transactions
            .get(&id)
            .and_then(|transaction| transaction.machine.deadline())
            .is_some_and(|at| at <= now)
    }

    /// Sets the alarm of a transaction to its next deadline.
    pub(super) fn arm(&mut self, now: Instant, id: TransactionId) {
        let Some(transaction) = self.transactions.get_mut(&id) else { return };
        let machine = transaction.machine.deadline();
        let answer = match &transaction.role {
            Role::Server(server) => server.answer.as_ref().and_then(Answer::deadline),
            Role::Client(_) => None,
        };
        let next = machine.into_iter().chain(answer).min().map(|at| at.max(now));
        if next != transaction.armed {
            if let Some(at) = transaction.armed {
                self.deadlines.remove(&(at, id));
            }
            if let Some(at) = next {
                self.deadlines.insert((at, id));
            }
            transaction.armed = next;
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Returns a transaction whose deadline has come.
    pub(super) fn due(&self, now: Instant) -> Option<TransactionId> {
        self.deadlines.first().filter(|(at, _)| *at <= now).map(|(_, id)| *id)
    }
}
