//! Whether what arrived is a request, and one for this state of the session (RFC 4540 §5.5; rulings R4 to R7).

use crate::codepoints::{BasicType, NegativeCode, RequestType};
use crate::message::{Header, Request};
use crate::numbers::TransactionId;

/// How far a session is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Closed,
    NoAuth,
    Open,
}

/// The result of a look at octets that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Examined<'a> {
    /// The octets are a request to process.
    Request { transaction: TransactionId, request: Request<'a> },
    /// The request is refused, with this code.
    Refuse { transaction: TransactionId, code: NegativeCode, then: Then },
    /// The octets are no message.
    BadlyFormed,
}

/// The fate of the connection after a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    GoOn,
    Close,
}

/// Examines one whole message, step by step as the RFC orders them.
pub(crate) fn examine(phase: Phase, octets: &[u8]) -> Examined<'_> {
    let Ok((header, payload)) = Header::split_message(octets) else {
        return Examined::BadlyFormed;
    };
    let transaction = header.transaction;
    let refuse = |code, then| Examined::Refuse { transaction, code, then };
    let unless_open = if phase == Phase::Open { Then::GoOn } else { Then::Close };
    if header.basic_type != BasicType::Request.get() {
        return refuse(NegativeCode::WrongBasicType, unless_open);
    }
    let kind = match admit(phase, RequestType::from_value(header.sub_type)) {
        Admission::Admitted(kind) => kind,
        Admission::NotApplicable => return refuse(NegativeCode::NotApplicable, Then::GoOn),
        Admission::WrongSubType => return refuse(NegativeCode::WrongSubType, unless_open),
    };
    match Request::decode_attributes(kind, payload) {
        Ok(request) => Examined::Request { transaction, request },
        Err(_) => refuse(NegativeCode::BadlyFormedRequest, unless_open),
    }
}

enum Admission {
    Admitted(RequestType),
    NotApplicable,
    WrongSubType,
}

/// Returns whether a request fits the state of the session: the table of ruling R6.
fn admit(phase: Phase, kind: Option<RequestType>) -> Admission {
    use RequestType as Type;
    let Some(kind) = kind else { return Admission::WrongSubType };
    match (phase, kind) {
        (Phase::Closed, Type::SessionEstablishment)
        | (Phase::NoAuth, Type::SessionAuthentication | Type::SessionTermination) => {
            Admission::Admitted(kind)
        }
        (Phase::NoAuth, Type::SessionEstablishment)
        | (Phase::Open, Type::SessionEstablishment | Type::SessionAuthentication) => Admission::NotApplicable,
        (Phase::Closed | Phase::NoAuth, _) => Admission::WrongSubType,
        (Phase::Open, _) => Admission::Admitted(kind),
    }
}
