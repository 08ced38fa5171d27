//! Transfers: who gets a zone, and what of it (RFC 5936, RFC 1995).

use std::net::{IpAddr, SocketAddr};

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::{LowerName, RecordType};

use super::{Now, Outcome, SMALLEST_UDP, Service, Via};
use crate::answer::{increments, response_to, whole};
use crate::keys::TSigResponse;
use crate::zone::soa_of;

impl Service {
    pub(super) fn transfer(
        &mut self,
        now: Now,
        origin: &LowerName,
        request: &Message,
        signing: Option<TSigResponse>,
        peer: SocketAddr,
        via: Via,
    ) -> Outcome {
        let mut refusal = response_to(request);
        refusal.metadata.response_code = ResponseCode::Refused;
        let (Some(zone), Some(query)) = (self.zones.get(origin), request.queries.first()) else {
            return Outcome::Nothing;
        };
        let is_origin = LowerName::new(query.name()) == *origin;
        let is_secondary =
            |ip: IpAddr| self.secondaries.get(origin).is_some_and(|all| all.iter().any(|one| one.ip() == ip));
        // Messages of a transfer are signed one after the other, each over the one before: that is not there.
        if !is_origin || signing.is_some() || !is_secondary(peer.ip().to_canonical()) {
            self.log.warn(
                now.since_start,
                format_args!("{peer}: {origin} is not given to it: zones.\"{origin}\".secondaries"),
            );
            return self.answered(refusal, signing, SMALLEST_UDP);
        }
        let serial = request.authorities.iter().find_map(soa_of).map(|soa| soa.serial);
        let messages = match (query.query_type(), serial, via) {
            // Whoever asks so finds that it has to come by TCP (RFC 1995 §2).
            (RecordType::IXFR, Some(_), Via::Udp) => increments(zone, request, zone.serial()),
            (RecordType::IXFR, Some(serial), Via::Tcp) => increments(zone, request, serial),
            (RecordType::IXFR, None, _) | (_, _, Via::Udp) => {
                refusal.metadata.response_code = ResponseCode::FormErr;
                return self.answered(refusal, None, SMALLEST_UDP);
            }
            (_, _, Via::Tcp) => whole(zone, request),
        };
        if via == Via::Tcp {
            let is_whole = query.query_type() == RecordType::AXFR
                || serial.is_some_and(|serial| serial != zone.serial() && zone.since(serial).is_none());
            let of = match (is_whole, serial == Some(zone.serial())) {
                (true, _) => "whole",
                (false, true) => "nothing_new",
                (false, false) => "changes",
            };
            *self.counters.transfers.entry(of.to_owned()).or_default() += 1;
        }
        Outcome::Answer(messages.into_iter().filter_map(|message| message.to_vec().ok()).collect())
    }
}
