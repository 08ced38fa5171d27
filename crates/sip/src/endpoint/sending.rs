//! Messages that the user wants sent: requests, responses, ACKs, CANCELs.

use core::net::SocketAddr;

use virtual_time::Instant;

use super::acks::{Acks, Answer};
use super::table::{Cancelling, ClientPart, Key, Machine, Origin, Role};
use super::{Endpoint, TransactionId};
use crate::essentials::CSeq;
use crate::message::{HeaderName, Request, Response};
use crate::method::Method;
use crate::status::StatusClass;
use crate::text::Parameters;
use crate::transaction::{Client, InviteClient, Repeat, Step};
use crate::transport::{Flow, Transport};
use crate::uri::{Host, NameAddr};
use crate::via::{MAGIC_COOKIE, Via};

/// The outcome of the wish to cancel an INVITE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CancelOutcome {
    /// CANCEL is sent, or will be as soon as the other side has said that it is there (RFC 3261 §9.1). A 2xx may come all the
    /// same.
    OnItsWay,
    /// The transaction has been answered for good, or is not there: there is nothing to cancel.
    TooLate,
}

impl Endpoint {
    /// Sends a request, with a Via of this side before all others, and returns its transaction. ACK goes by
    /// [`acknowledge`](Self::acknowledge), CANCEL by [`cancel`](Self::cancel).
    ///
    /// Over UDP a request of more than [`EndpointConfig::datagram_bytes`](super::EndpointConfig::datagram_bytes) goes over TCP
    /// if there is an address for that (RFC 3261 §18.1.1).
    ///
    /// Returns `None` if there is no address for the transport in [`EndpointConfig::addresses`](super::EndpointConfig::addresses).
    pub fn request(&mut self, now: Instant, request: Request, to: Flow) -> Option<TransactionId> {
        let branch = format!("{MAGIC_COOKIE}{}", self.nonces.text());
        let mut request = request;
        let mut via = self.via(to, &branch)?;
        request.headers.push_front(HeaderName::Via, via.to_string());
        let (mut flow, mut fallback, mut octets) = (to, None, request.encode());
        if octets.len() > self.config.datagram_bytes && to.transport == Transport::UDP {
            let stream = Flow::new(Transport::TCP, to.remote);
            if let Some(other) = self.via(stream, &branch) {
                via = other;
                request.headers.replace_first(&HeaderName::Via, via.to_string());
                (flow, fallback, octets) = (stream, Some(to), request.encode());
            }
        }
        let machine = self.client_machine(now, &request.method, flow.transport);
        let key = Key::Client { branch: branch.to_ascii_lowercase(), method: request.method.clone() };
        let role = ClientPart {
            request,
            is_internal: false,
            cancelling: Cancelling::Unwanted,
            acks: Acks::default(),
            fallback,
        };
        let id = self.table.insert(now, key, machine, flow, Role::Client(role));
        if let Some(transaction) = self.table.transaction(id) {
            transaction.last = Some(octets.clone());
        }
        self.transmit(flow, octets);
        Some(id)
    }

    /// Answers a request. A 2xx to INVITE is repeated until its ACK comes. Does nothing if the request has been answered for
    /// good before, or its transaction is over; returns whether the response was sent.
    pub fn respond(&mut self, now: Instant, id: TransactionId, response: &Response) -> bool {
        let class = response.status.class();
        if self.table.on_answer(now, id, class) != Step::Send {
            return false;
        }
        let octets = response.encode();
        let repeat = Repeat::after(now, self.config.timers.t1);
        let Some(transaction) = self.table.transaction(id) else { return false };
        let flow = transaction.flow;
        transaction.last = Some(octets.clone());
        let is_invite = matches!(transaction.machine, Machine::InviteServer(_));
        if is_invite
            && class == StatusClass::Success
            && let Some(origin) = answer_origin(response)
        {
            if let Role::Server(server) = &mut transaction.role {
                server.answer = Some(Answer::new(origin.clone(), repeat));
            }
            self.table.expect_ack(origin, id);
        }
        self.transmit(flow, octets);
        self.table.arm(now, id);
        true
    }

    /// Sends the ACK for a 2xx to INVITE, and sends it again for every repetition of that 2xx (RFC 3261 §13.2.2.4).
    pub fn acknowledge(&mut self, invite: TransactionId, ack: Request, to: Flow) {
        let branch = format!("{MAGIC_COOKIE}{}", self.nonces.text());
        let Some(via) = self.via(to, &branch) else { return };
        let mut ack = ack;
        ack.headers.push_front(HeaderName::Via, via.to_string());
        let tag = ack.headers.first(&HeaderName::To).and_then(NameAddr::parse);
        let tag = tag.as_ref().and_then(NameAddr::tag).unwrap_or_default().to_owned();
        let octets = ack.encode();
        if let Some(client) = self.table.client(invite) {
            client.acks.sent(&tag, to, octets.clone());
        }
        self.transmit(to, octets);
    }

    /// Cancels an INVITE of this side, as soon as that may be.
    pub fn cancel(&mut self, now: Instant, invite: TransactionId) -> CancelOutcome {
        let Some(transaction) = self.table.transaction(invite) else { return CancelOutcome::TooLate };
        let Machine::InviteClient(machine) = &transaction.machine else { return CancelOutcome::TooLate };
        let (is_calling, is_proceeding) = (machine.is_calling(), machine.is_proceeding());
        let Role::Client(client) = &mut transaction.role else { return CancelOutcome::TooLate };
        if client.cancelling != Cancelling::Unwanted {
            return CancelOutcome::OnItsWay;
        }
        client.cancelling = Cancelling::Wanted;
        if is_proceeding {
            self.send_cancel(now, invite);
        }
        if is_calling || is_proceeding { CancelOutcome::OnItsWay } else { CancelOutcome::TooLate }
    }

    /// Sends the CANCEL for an INVITE, with the branch of the INVITE and in a transaction of its own.
    pub(super) fn send_cancel(&mut self, now: Instant, invite: TransactionId) {
        let Some(transaction) = self.table.transaction(invite) else { return };
        let flow = transaction.flow;
        if let Machine::InviteClient(machine) = &mut transaction.machine {
            machine.on_cancelled(now);
        }
        let Role::Client(client) = &mut transaction.role else { return };
        client.cancelling = Cancelling::Sent;
        let request = client.request.cancel();
        self.table.arm(now, invite);
        let via = request.headers.first(&HeaderName::Via).and_then(Via::parse);
        let branch = via.as_ref().and_then(Via::branch).unwrap_or_default().to_ascii_lowercase();
        let key = Key::Client { branch, method: Method::Cancel };
        let machine = self.client_machine(now, &Method::Cancel, flow.transport);
        let octets = request.encode();
        let role = ClientPart {
            request,
            is_internal: true,
            cancelling: Cancelling::Unwanted,
            acks: Acks::default(),
            fallback: None,
        };
        let id = self.table.insert(now, key, machine, flow, Role::Client(role));
        if let Some(transaction) = self.table.transaction(id) {
            transaction.last = Some(octets.clone());
        }
        self.transmit(flow, octets);
    }

    /// Sends a request over UDP after all if it took TCP for its length alone, and returns whether it was sent.
    pub(super) fn fall_back(&mut self, now: Instant, id: TransactionId) -> bool {
        let Some(flow) = self.table.client(id).and_then(|client| client.fallback.take()) else {
            return false;
        };
        let Some(client) = self.table.client(id) else { return false };
        let old = client.request.headers.first(&HeaderName::Via).and_then(Via::parse);
        let branch = old.as_ref().and_then(Via::branch).unwrap_or_default().to_owned();
        let method = client.request.method.clone();
        let Some(via) = self.via(flow, &branch) else { return false };
        let Some(client) = self.table.client(id) else { return false };
        client.request.headers.replace_first(&HeaderName::Via, via.to_string());
        let octets = client.request.encode();
        let machine = self.client_machine(now, &method, flow.transport);
        self.table.reroute(id, flow, machine, octets.clone());
        self.counters.fallen_back += 1;
        self.transmit(flow, octets);
        self.table.arm(now, id);
        true
    }

    fn client_machine(&self, now: Instant, method: &Method, transport: Transport) -> Machine {
        let timers = self.config.timers;
        if *method == Method::Invite {
            return Machine::InviteClient(InviteClient::new(now, timers, transport));
        }
        Machine::Client(Client::new(now, timers, transport))
    }

    /// Creates a Via of this side, which asks for symmetric routing over UDP (RFC 3581 §3); `None` if this side has no
    /// address for the transport.
    fn via(&self, to: Flow, branch: &str) -> Option<Via> {
        let address = self.address(to.transport, to.remote)?;
        let mut parameters = Parameters::default();
        parameters.set("branch", branch);
        if !to.transport.is_reliable() {
            parameters.set_flag("rport");
        }
        Some(Via {
            transport: to.transport.name().to_owned(),
            host: Host::Address(address.ip()),
            port: Some(address.port()),
            parameters,
        })
    }

    /// Returns the address that `remote` is told of over a transport; `None` if there is none of its family.
    #[must_use]
    pub fn address(&self, transport: Transport, remote: SocketAddr) -> Option<SocketAddr> {
        let fits = |(own, address): &&(Transport, SocketAddr)| {
            *own == transport && address.is_ipv4() == remote.is_ipv4()
        };
        self.config.addresses.iter().find(fits).map(|(_, address)| *address)
    }
}

/// Returns the Call-ID, tag and number that a 2xx and its ACK have in common; `None` if the 2xx lacks one of them.
fn answer_origin(response: &Response) -> Option<Origin> {
    let to = NameAddr::parse(response.headers.first(&HeaderName::To)?)?;
    let cseq = CSeq::parse(response.headers.first(&HeaderName::CSeq)?)?;
    let call_id = response.headers.first(&HeaderName::CallId)?.to_owned();
    Some(Origin { call_id, tag: to.tag().unwrap_or_default().to_owned(), number: cseq.number })
}
