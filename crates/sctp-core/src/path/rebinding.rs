//! The UDP ports that a peer may have got from a NAT (RFC 6951 §5.4): whether it is there is asked before anything of the path's
//! goes there.
//!
//! A packet costs one HEARTBEAT at most, and all packets of an RTO together [`MOST`]. Nothing is asked again by itself: a peer
//! that is not answered repeats what it sent, and that asks again.

use core::time::Duration;

use virtual_time::Instant;

use crate::seldom::Seldom;
use crate::transmit::Encapsulation;

/// The ports in question.
#[derive(Debug, Default)]
pub(crate) struct Rebinding {
    asked: Seldom<Vec<Asked>>,
}

/// A HEARTBEAT to a port.
#[derive(Clone, Copy, Debug)]
struct Asked {
    at: Encapsulation,
    nonce: u64,
    sent_at: Instant,
}

/// The answer to whether a port is to be asked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// A HEARTBEAT goes there.
    Ask,
    /// It was asked at within the RTO.
    Asked,
    /// As many others were.
    TooMany,
}

impl Rebinding {
    /// A packet came from a port; decides whether it is asked at, with this nonce. What was asked longer ago than `patience`
    /// makes room.
    pub(crate) fn on_packet(
        &mut self,
        (now, patience): (Instant, Duration),
        at: Encapsulation,
        nonce: u64,
    ) -> Question {
        let asked = self.asked.note();
        asked.retain(|asked| now.since(asked.sent_at) < patience);
        if asked.iter().any(|asked| asked.at == at) {
            return Question::Asked;
        }
        if asked.len() == MOST {
            return Question::TooMany;
        }
        asked.push(Asked { at, nonce, sent_at: now });
        Question::Ask
    }

    /// Returns the round trip, if this nonce was sent to this port and no other.
    pub(crate) fn on_answer(&self, now: Instant, from: Encapsulation, nonce: u64) -> Option<Duration> {
        let asked = self.asked.as_ref()?.iter().find(|asked| asked.at == from && asked.nonce == nonce)?;
        Some(now.since(asked.sent_at))
    }
}

/// The ports that are asked at within an RTO. A host has one; the others are room beside somebody who knows the tag and sends from
/// many.
const MOST: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Duration = Duration::from_millis(200);

    fn udp(port: u16) -> Encapsulation {
        Encapsulation::Udp { port }
    }

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn a_port_is_asked_at_once_in_an_rto_and_few_are() {
        let mut rebinding = Rebinding::default();
        let mut on_packet = |millis, port| rebinding.on_packet((at(millis), RTO), udp(port), u64::from(port));
        for port in 1..=4 {
            assert_eq!(on_packet(0, port), Question::Ask);
            assert_eq!(on_packet(1, port), Question::Asked);
        }
        assert_eq!(on_packet(199, 5), Question::TooMany);
        assert_eq!(on_packet(200, 5), Question::Ask);
        assert_eq!(on_packet(200, 1), Question::Ask);
    }

    #[test]
    fn only_the_nonce_that_went_to_a_port_counts_from_there() {
        let mut rebinding = Rebinding::default();
        assert_eq!(rebinding.on_answer(at(0), udp(1), 11), None);
        for (port, nonce) in [(1, 11), (2, 22)] {
            assert_eq!(rebinding.on_packet((at(0), RTO), udp(port), nonce), Question::Ask);
        }
        assert_eq!(rebinding.on_answer(at(30), udp(1), 22), None, "it went to another port");
        assert_eq!(rebinding.on_answer(at(30), Encapsulation::Ip, 11), None);
        assert_eq!(rebinding.on_answer(at(30), udp(1), 11), Some(Duration::from_millis(30)));
    }
}
