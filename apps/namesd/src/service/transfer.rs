//! Transfers: who gets a zone, and what of it (RFC 5936, RFC 1995).

use std::net::SocketAddr;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::{LowerName, RecordType};

use super::{Now, Outcome, Service, Via};
use crate::answer::{increments, response_to, whole};
use crate::keys::Fault;
use crate::secondaries::NotGiven;
use crate::signature::Signing;
use crate::zone::{Zone, soa_of};

/// Somebody who asks for a zone, and how the answer gets there.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) peer: SocketAddr,
    pub(super) via: Via,
    /// The key by which the request is signed, which has been judged.
    pub(super) key: Option<LowerName>,
    pub(super) signing: Option<Signing>,
    /// The octets that an answer may have.
    pub(super) most: u16,
}

impl Service {
    /// Answers a request for the zone `origin`: every message of the answer is signed if the request was.
    pub(super) fn transfer(
        &mut self,
        now: Now,
        origin: &LowerName,
        request: &Message,
        asking: Asking,
    ) -> Outcome {
        let Asking { peer, via, key, mut signing, most } = asking;
        let mut refusal = response_to(request);
        let (Some(zone), Some(query)) = (self.zones.get(origin), request.queries.first()) else {
            return Outcome::Nothing;
        };
        let admitted = match self.secondaries.get(origin) {
            _ if LowerName::new(query.name()) != *origin => Err(NotGiven::Part),
            Some(secondaries) => secondaries.admit(peer.ip().to_canonical(), key.as_ref()),
            None => Err(NotGiven::Stranger),
        };
        if let Err(because) = admitted {
            self.count_refused_transfer(because.name());
            let by = key.map_or_else(|| "nobody".to_owned(), |key| format!("key {key}"));
            let line = format_args!(
                "{peer}, signed by {by}: {origin} is not given to it: {}; see secondaries and transfer_keys",
                because.name()
            );
            self.log.warn(now.since_start, line);
            refusal.metadata.response_code = ResponseCode::Refused;
            return self.answered(refusal, signing, most);
        }
        let serial = request.authorities.iter().find_map(soa_of).map(|soa| soa.serial);
        let messages = match (query.query_type(), serial, via) {
            // Whoever asks so finds that it has to come by TCP (RFC 1995 §2).
            (RecordType::IXFR, Some(_), Via::Udp) => increments(zone, request, zone.serial()),
            (RecordType::IXFR, Some(serial), Via::Tcp) => increments(zone, request, serial),
            (RecordType::IXFR, None, _) | (_, _, Via::Udp) => {
                refusal.metadata.response_code = ResponseCode::FormErr;
                return self.answered(refusal, signing, most);
            }
            (_, _, Via::Tcp) => whole(zone, request),
        };
        if via == Via::Tcp {
            let of = content(zone, query.query_type(), serial);
            *self.counters.transfers.entry(of.to_owned()).or_default() += 1;
        }
        let write = |message: Message| match &mut signing {
            Some(signing) => signing.sign(message),
            None => message.to_vec().ok(),
        };
        Outcome::Answer(messages.into_iter().filter_map(write).collect())
    }

    /// Counts and logs that somebody asked for a zone by a key that is not ours, or not right.
    pub(super) fn on_wrong_signature(&mut self, now: Now, request: &Message, peer: SocketAddr, fault: Fault) {
        *self.counters.questions.entry(fault.name().to_owned()).or_default() += 1;
        let key = request.signature().map(|signature| signature.name.to_string()).unwrap_or_default();
        let is_transfer = |kind| matches!(kind, RecordType::AXFR | RecordType::IXFR);
        let query = request.queries.first().filter(|query| is_transfer(query.query_type()));
        let fault = fault.name();
        if let Some(query) = query {
            self.count_refused_transfer(fault);
            let zone = query.name();
            self.log.warn(
                now.since_start,
                format_args!(
                    "{peer}: {zone} is not given to it, since the request is not by key {key}: {fault}"
                ),
            );
        } else {
            self.log.warn(now.since_start, format_args!("{peer}: a question is not by key {key}: {fault}"));
        }
    }

    fn count_refused_transfer(&mut self, because: &str) {
        *self.counters.transfers_refused.entry(because.to_owned()).or_default() += 1;
    }
}

/// Returns what somebody gets who asks so: a whole zone, changes, or that there are none.
fn content(zone: &Zone, kind: RecordType, serial: Option<u32>) -> &'static str {
    let is_whole = kind == RecordType::AXFR
        || serial.is_some_and(|serial| serial != zone.serial() && zone.since(serial).is_none());
    match (is_whole, serial == Some(zone.serial())) {
        (true, _) => "whole",
        (false, true) => "nothing_new",
        (false, false) => "changes",
    }
}
