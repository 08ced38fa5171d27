//! A policy rule as octets, kept by the kernel beside the rule's elements.
//!
//! A record is the reply to a status request (PRS, PES or PDS), which has everything the protocol knows of a rule; before
//! it stands what the protocol does not say: kind and protocol of the translation, and when the rule came to be. Behind it
//! stands, for a reservation, the request it came from. The deadline is not in it: the kernel counts the time.

use simco::filter::{Mapping, Ports, Translation};
use simco::{
    AddressTuple, Blockade, Body, DisableStatus, EnableStatus, HEADER_BYTES, Header, Lifetime, Message,
    Owner, Pinhole, PolicyRequest, PolicyRule, PositiveReply, Request, Reservation, ReserveRequest,
    ReserveStatus, RuleKind, TransactionId, TransportProtocol,
};
use virtual_time::Instant;

/// Encodes a rule, to be kept in the kernel.
pub(crate) fn encode(rule: &PolicyRule) -> Result<Vec<u8>, RecordError> {
    let mut octets = vec![translation_code(rule.translation())];
    octets.push(rule.translation().map_or(TransportProtocol::ANY, |translation| translation.protocol).get());
    octets.extend_from_slice(&rule.created.as_nanos().to_be_bytes());
    // The lifetime in it is not read.
    let body = Body::Positive(rule.status(rule.deadline));
    Message { transaction: TransactionId::default(), body }.encode(&mut octets)?;
    if let RuleKind::Reserve(Reservation { group, parameters, .. }) = rule.kind {
        let request = ReserveRequest { parameters, lifetime: Lifetime::ZERO, group: Some(group) };
        let body = Body::Request(Request::Policy(PolicyRequest::Reserve(request)));
        Message { transaction: TransactionId::default(), body }.encode(&mut octets)?;
    }
    Ok(octets)
}

/// Returns the rule that was encoded, with a deadline.
pub(crate) fn decode(octets: &[u8], deadline: Instant) -> Result<PolicyRule, RecordError> {
    let (&[code, protocol], rest) = octets.split_first_chunk().ok_or(RecordError::Incomplete)?;
    let (created, messages) = rest.split_first_chunk().ok_or(RecordError::Incomplete)?;
    let created = Instant::from_nanos(u64::from_be_bytes(*created));
    let protocol = TransportProtocol::new(protocol);
    let header = Header::decode(messages)?;
    let (status, rest) =
        messages.split_at_checked(HEADER_BYTES + header.payload_bytes).ok_or(RecordError::Incomplete)?;
    let Body::Positive(status) = Message::decode(status)?.body else { return Err(RecordError::NoStatus) };
    let translation = |outside: &AddressTuple, inside: Option<&AddressTuple>| match code {
        TRADITIONAL => Some(Translation { protocol, outside: mapping(outside)?, inside: None }),
        TWICE => Some(Translation { protocol, outside: mapping(outside)?, inside: Some(mapping(inside?)?) }),
        _ => None,
    };
    let (id, owner, kind) = match status {
        PositiveReply::ReserveStatus(ReserveStatus { reserved, owner }) => {
            let Body::Request(Request::Policy(PolicyRequest::Reserve(request))) = Message::decode(rest)?.body
            else {
                return Err(RecordError::NoStatus);
            };
            let translation = translation(&reserved.outside, reserved.inside.as_ref());
            let (outside, inside) = (reserved.outside, reserved.inside);
            let parameters = request.parameters;
            let reservation = Reservation { group: reserved.group, parameters, outside, inside, translation };
            (reserved.rule, owner, RuleKind::Reserve(reservation))
        }
        PositiveReply::EnableStatus(EnableStatus { parameters, internal, external, enabled, owner }) => {
            let translation = translation(&enabled.outside, enabled.inside.as_ref());
            let (group, outside, inside) = (enabled.group, enabled.outside, enabled.inside);
            let pinhole = Pinhole { group, parameters, internal, external, outside, inside, translation };
            (enabled.rule, owner, RuleKind::Enable(pinhole))
        }
        PositiveReply::DisableStatus(DisableStatus { rule, internal, external, owner, .. }) => {
            (rule, owner, RuleKind::Disable(Blockade { internal, external }))
        }
        PositiveReply::SessionEstablishment { .. }
        | PositiveReply::SessionAuthentication { .. }
        | PositiveReply::SessionTermination
        | PositiveReply::Reserve(_)
        | PositiveReply::Enable(_)
        | PositiveReply::Disable { .. }
        | PositiveReply::LifetimeChange { .. }
        | PositiveReply::Deletion
        | PositiveReply::List(_) => return Err(RecordError::NoStatus),
    };
    let owner = Owner::new(owner).map_err(|_| RecordError::NoStatus)?;
    Ok(PolicyRule { id, owner, created, deadline, kind })
}

/// The reason why octets are no record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordError {
    /// Something is missing at the end.
    #[error("it ends too early")]
    Incomplete,
    /// The record is not one that we write.
    #[error("it is not the status of a policy rule")]
    NoStatus,
    /// A message in it cannot be read.
    #[error(transparent)]
    Decode(#[from] simco::DecodeError),
    /// The rule cannot be written.
    #[error(transparent)]
    Encode(#[from] simco::EncodeError),
}

const fn translation_code(translation: Option<&Translation>) -> u8 {
    match translation {
        None => 0,
        Some(Translation { inside: None, .. }) => TRADITIONAL,
        Some(Translation { inside: Some(_), .. }) => TWICE,
    }
}

fn mapping(tuple: &AddressTuple) -> Option<Mapping> {
    let (address, port, range) = tuple.full()?;
    Some(Mapping { address, ports: Ports::new(port, range) })
}

const TRADITIONAL: u8 = 1;
const TWICE: u8 = 2;

#[cfg(test)]
mod tests;
