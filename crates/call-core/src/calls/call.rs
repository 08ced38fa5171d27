//! The state of one call: its two legs, its exchanges and its pinholes.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use sip::{Dialog, Essentials, Flow, Method, Request, Response, SipUri, TransactionId};
use virtual_time::Instant;

use super::record::Record;
use crate::media::Stream;
use crate::pinhole::Pinhole;

/// The number of a call, never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId(pub u64);

/// The number of a pinhole, never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PinholeId(pub u64);

/// A side of a call: who called, or who was called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    A,
    B,
}

impl Side {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// A call: two legs, what is going on between them, and what was opened for it.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) a: Leg,
    pub(crate) b: Leg,
    pub(crate) exchanges: Vec<Exchange>,
    pub(crate) exchanges_so_far: u32,
    pub(crate) pinholes: Vec<Held>,
    /// The tags that A sees, by those of the forks of B; the first of them is the leg's.
    pub(crate) forks: Vec<(String, String)>,
    /// B has accepted.
    pub(crate) is_up: bool,
    pub(crate) is_over: bool,
    /// The time at which the call is ended: first for ringing too long, later for lasting too long.
    pub(crate) deadline: Option<Instant>,
    /// The time at which the session ends unless one of the sides refreshes it (RFC 4028).
    pub(crate) expires: Option<Instant>,
    /// The dialog with the called side that a reliable provisional response has made, until the call is answered.
    pub(crate) early: Option<Dialog>,
    /// The user that has proved to be the caller; `None`: the caller had not to.
    pub(crate) user: Option<String>,
    pub(crate) record: Record,
    /// Call-ID and tag of this side of each of its dialogs.
    pub(crate) dialogs: Vec<(String, String)>,
}

/// One of the two legs of a call: the dialog of this agent with one side.
#[derive(Debug)]
pub(crate) struct Leg {
    /// `None` before the other side has a tag.
    pub(crate) dialog: Option<Dialog>,
    /// The flow over which the messages of this side come.
    pub(crate) flow: Flow,
    pub(crate) tag: String,
    /// The addresses and ports where this side listens for media.
    pub(crate) streams: Vec<Stream>,
}

/// A pinhole of a call.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) id: PinholeId,
    pub(crate) pinhole: Pinhole,
    pub(crate) towards: Side,
    pub(crate) is_open: bool,
    /// The exchange that asked for it and has not succeeded yet.
    pub(crate) exchange: Option<u32>,
    /// It is part of the call, whatever becomes of the exchange that has changed it.
    pub(crate) is_kept: bool,
    /// The address and first port outside at which the listener is reached, where a translator gave one.
    pub(crate) outside: Option<SocketAddr>,
    /// The pinhole that a reservation becomes as soon as it is made.
    pub(crate) then: Option<Pinhole>,
}

/// A request of one side on its way to the other, with all that comes back.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) number: u32,
    pub(crate) from: Side,
    pub(crate) server: TransactionId,
    pub(crate) request: Box<Request>,
    pub(crate) essentials: Box<Essentials>,
    pub(crate) client: Option<TransactionId>,
    /// What makes a dialog of the request that was sent to the other side.
    pub(crate) sent: Option<Box<Request>>,
    pub(crate) step: Step,
    /// The request had a session description.
    pub(crate) has_offer: bool,
    /// The streams on which the asker listens from now on, if the exchange succeeds.
    pub(crate) offered: Option<Vec<Stream>>,
    /// Responses that came while pinholes were being opened.
    pub(crate) queue: VecDeque<(Box<Response>, Box<Essentials>)>,
    /// The time at which the firewall was asked; patience with it ends later.
    pub(crate) asked_at: Option<Instant>,
    /// The CSeq of the request to the other side.
    pub(crate) sent_number: u32,
}

/// How far an exchange has come.
#[derive(Debug)]
pub(crate) enum Step {
    /// The request waits for pinholes towards the asker.
    OpenForRequest,
    /// The request has gone.
    Forwarded,
    /// A response waits for pinholes towards its sender.
    OpenForResponse(Box<Response>, Box<Essentials>),
    /// The response has gone; an INVITE's ACK is due.
    Accepted,
    /// The ACK waits for pinholes towards its sender, whose answer is in it.
    OpenForAck(Box<Request>),
    /// Nothing more is due.
    Done,
}

impl Call {
    /// Returns whether every hop of the call has to be secure: the caller asked for a `sips:` URI (RFC 3261 §26.2.2).
    pub(crate) fn is_sips(&self) -> bool {
        SipUri::parse(&self.record.to).is_ok_and(|uri| uri.is_secure)
    }

    pub(crate) const fn leg(&self, side: Side) -> &Leg {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }

    pub(crate) const fn leg_mut(&mut self, side: Side) -> &mut Leg {
        match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        }
    }

    pub(crate) fn exchange(&mut self, number: u32) -> Option<&mut Exchange> {
        self.exchanges.iter_mut().find(|exchange| exchange.number == number)
    }

    /// Returns whether an exchange still waits for the firewall.
    pub(crate) fn waits(&self, number: u32) -> bool {
        self.pinholes.iter().any(|held| held.exchange == Some(number) && !held.is_open)
    }

    /// Returns when something has to happen by itself: the firewall's patience, or the call's.
    pub(crate) fn next_deadline(&self, patience: Duration) -> Option<Instant> {
        let firewall = self
            .exchanges
            .iter()
            .filter(|exchange| self.waits(exchange.number))
            .filter_map(|exchange| exchange.asked_at)
            .map(|at| at + patience);
        firewall.chain(self.deadline).chain(self.expires).min()
    }
}

impl Exchange {
    pub(crate) fn is_invite(&self) -> bool {
        self.request.method == Method::Invite
    }

    /// Returns whether session descriptions in it are offers and answers.
    pub(crate) fn has_media(&self) -> bool {
        matches!(self.request.method, Method::Invite | Method::Update | Method::Prack)
    }

    /// Returns whether it tells each side where the other is reached from now on (RFC 3261 §12.2, RFC 3311 §5.1).
    pub(crate) fn refreshes_target(&self) -> bool {
        matches!(self.request.method, Method::Invite | Method::Update)
    }

    /// Takes note that nothing more is due. The request is not needed any more but for its method, and the first one of a call
    /// stays as long as the call.
    pub(crate) fn settle(&mut self) {
        self.step = Step::Done;
        let method = self.request.method.clone();
        *self.request = Request::new(method, "");
    }

    /// Returns whether nothing more is due.
    pub(crate) const fn is_settled(&self) -> bool {
        matches!(self.step, Step::Done)
    }

    /// Returns whether the asker has had a final answer.
    pub(crate) const fn is_answered(&self) -> bool {
        matches!(self.step, Step::Accepted | Step::OpenForAck(_) | Step::Done)
    }

    /// Returns whether the request came without a session description, and the answer is in the ACK (RFC 3264 §4).
    pub(crate) fn answer_is_in_ack(&self) -> bool {
        self.is_invite() && !self.has_offer
    }
}
