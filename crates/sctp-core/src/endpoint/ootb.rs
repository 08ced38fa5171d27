//! Packets out of the blue (RFC 9260 §8.4): correctly formed, of no association.

use std::net::IpAddr;

use sctp_wire::{Cause, Chunk, ChunkBuf, Packet, TagOrigin};
use virtual_time::Instant;

use super::Endpoint;
use crate::transmit::{Datagram, Destination, Encapsulation};

/// The answer to an out-of-the-blue packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Response {
    Discard,
    /// SHUTDOWN COMPLETE with the tag reflected.
    ShutdownComplete,
    /// ABORT with the tag reflected.
    Abort,
}

/// Returns the rules in their order; INIT and COOKIE ECHO (3, 4) are dealt with before.
pub(super) fn respond(source: Destination, packet: &Packet<'_>) -> Response {
    if is_nobodys(source) {
        return Response::Discard;
    }
    let mut response = Response::Abort;
    for chunk in packet.chunks().flatten() {
        match chunk {
            Chunk::Abort(_) => return Response::Discard,
            Chunk::ShutdownAck => response = Response::ShutdownComplete,
            Chunk::ShutdownComplete(_) | Chunk::CookieAck => return Response::Discard,
            Chunk::Error(causes)
                if causes.iter().flatten().any(|c| matches!(c, Cause::StaleCookie { .. })) =>
            {
                return Response::Discard;
            }
            Chunk::Data(_)
            | Chunk::Init(_)
            | Chunk::InitAck(_)
            | Chunk::Sack(_)
            | Chunk::Heartbeat(_)
            | Chunk::HeartbeatAck(_)
            | Chunk::Shutdown(_)
            | Chunk::Error(_)
            | Chunk::CookieEcho(_)
            | Chunk::Auth(_)
            | Chunk::IData(_)
            | Chunk::ForwardTsn(_)
            | Chunk::IForwardTsn(_)
            | Chunk::Asconf(_)
            | Chunk::AsconfAck(_)
            | Chunk::ReConfig(_)
            | Chunk::Pad(_)
            | Chunk::Unknown(_) => {}
        }
    }
    response
}

impl Endpoint {
    pub(super) fn on_out_of_the_blue(&mut self, datagram: &Datagram<'_>, packet: &Packet<'_>) {
        self.note_giving_up(datagram, packet);
        // Whoever has this tag knows whether the association is there.
        if self.config.tag_share.is_some_and(|share| !share.has(packet.verification_tag)) {
            self.statistics.out_of_the_blue_discarded += 1;
            return;
        }
        let chunk = match respond(datagram.source, packet) {
            Response::Discard => {
                self.statistics.out_of_the_blue_discarded += 1;
                return;
            }
            Response::ShutdownComplete => ChunkBuf::shutdown_complete(TagOrigin::Reflected),
            Response::Abort => match ChunkBuf::abort(TagOrigin::Reflected, &[]) {
                Ok(chunk) => chunk,
                Err(_full) => return,
            },
        };
        self.statistics.out_of_the_blue_answered += 1;
        self.answer(datagram, packet, packet.verification_tag, &chunk);
    }

    /// A packet for another SCTP port. Over UDP every port behind the socket is ours to answer for (and over a channel,
    /// where an answer hurts nobody who was not spoken to); over IP another
    /// process may own it, so silence is the only safe answer.
    pub(super) fn on_foreign_port(&mut self, now: Instant, datagram: &Datagram<'_>, packet: &Packet<'_>) {
        match datagram.source.encapsulation {
            Encapsulation::Ip => {}
            Encapsulation::Udp { .. } | Encapsulation::Datagrams => match packet.chunks().next() {
                Some(Ok(Chunk::Init(init))) => {
                    if self.may_answer_init(now, datagram, packet, &init) {
                        self.refuse_init(datagram, packet, &init, &[]);
                    }
                }
                _ => self.on_out_of_the_blue(datagram, packet),
            },
        }
    }
}

/// Whether a packet comes from an address that is not that of one host, so that nobody may be answered (RFC 9260 §8.4 (1)).
/// Over a channel addresses mean nothing.
pub(super) fn is_nobodys(source: Destination) -> bool {
    source.encapsulation != Encapsulation::Datagrams && !is_unicast(source.address)
}

fn is_unicast(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    !address.is_multicast() && !address.is_unspecified() && !broadcast
}

#[cfg(test)]
mod tests {
    use sctp_wire::{Checksum, PacketWriter, SctpPort, VerificationTag};

    use super::*;

    fn response(source: &str, chunks: &[ChunkBuf]) -> Response {
        let mut octets = Vec::new();
        let port = SctpPort::new(9).unwrap();
        let mut writer = PacketWriter::begin(&mut octets, port, port, VerificationTag::new(1), 1400);
        chunks.iter().for_each(|chunk| writer.raw(chunk).unwrap());
        let _len = writer.finish();
        let source = Destination { address: source.parse().unwrap(), encapsulation: Encapsulation::Ip };
        respond(source, &Packet::decode(&octets, Checksum::Verify).unwrap())
    }

    #[test]
    fn rules_of_section_8_4_one_by_one() {
        let abort = || ChunkBuf::abort(TagOrigin::Receiver, &[]).unwrap();
        let ack = ChunkBuf::shutdown_ack;
        let complete = || ChunkBuf::shutdown_complete(TagOrigin::Receiver);
        let error = |cause| ChunkBuf::error(&[cause]).unwrap();
        let stale = || error(Cause::StaleCookie { staleness_us: 1 });
        let heartbeat = || ChunkBuf::heartbeat(b"x").unwrap();
        let rows = [
            (vec![abort()], Response::Discard),
            (vec![heartbeat(), abort()], Response::Discard),
            (vec![ack(), abort()], Response::Discard),
            (vec![ack()], Response::ShutdownComplete),
            (vec![heartbeat(), ack()], Response::ShutdownComplete),
            (vec![complete()], Response::Discard),
            (vec![stale()], Response::Discard),
            (vec![ChunkBuf::cookie_ack()], Response::Discard),
            (vec![error(Cause::OutOfResource)], Response::Abort),
            (vec![heartbeat()], Response::Abort),
        ];
        for (chunks, expected) in rows {
            assert_eq!(response("10.0.0.1", &chunks), expected, "{chunks:?}");
            assert_eq!(response("224.0.0.1", &chunks), Response::Discard, "{chunks:?}");
        }
    }

    #[test]
    fn only_unicast_addresses_are_answered() {
        for source in ["ff02::1", "::", "0.0.0.0", "255.255.255.255", "239.1.1.1"] {
            assert_eq!(response(source, &[ChunkBuf::shutdown_ack()]), Response::Discard, "{source}");
        }
        assert_eq!(response("2001:db8::1", &[ChunkBuf::shutdown_ack()]), Response::ShutdownComplete);
    }
}
