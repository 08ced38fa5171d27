//! Cases of §8, continued: what HEARTBEATs do, and what the user is told of the end.

use sctp_core::{Event, PathState};

use crate::packet::{Chunk, DATA, HEARTBEAT, HEARTBEAT_ACK, heartbeat, item, sack, shutdown};
use crate::script::{Peer, Verdict, chunk, holds, same};
use crate::wire::Call;

use super::section_6::two_addresses;
use super::section_6_4::is_now;

cases! {
    Should "8.1" VirtualTime Plain user_is_told_that_the_peer_is_unreachable:
        "when the peer is given up the user is told, and gets back what was not acknowledged";
    Should "8.1, 8.3" VirtualTime Heartbeats answered_heartbeats_reset_the_error_counter:
        "each HEARTBEAT ACK starts the count of errors anew";
    Should "8.3" VirtualTime Heartbeats unanswered_heartbeats_back_off:
        "the distance between unanswered HEARTBEATs grows";
    Should "8.3" VirtualTime Heartbeats heartbeat_ack_gives_a_round_trip:
        "the RTO follows the round trip of HEARTBEATs";
    Must "8.3" Both Plain heartbeat_is_answered_while_shutdown_is_pending:
        "HEARTBEAT is answered in SHUTDOWN-PENDING";
    Must "8.3" Both Plain heartbeat_is_answered_after_shutdown_was_received:
        "HEARTBEAT is answered in SHUTDOWN-RECEIVED";
    Should "8.2" VirtualTime Plain acknowledged_data_resets_the_error_counter_of_its_path:
        "five lost messages do not make an address inactive if the sixth is acknowledged, however often";
    Should "8.3" VirtualTime Heartbeats unanswered_heartbeats_make_a_path_inactive:
        "an address that does not answer more than Path.Max.Retrans HEARTBEATs is inactive, the user is told, and HEARTBEATs go on";
    Should "8.3" VirtualTime Heartbeats answered_heartbeats_reset_the_error_counter_of_their_path:
        "five unanswered HEARTBEATs do not make an address inactive if the sixth is answered, however often";
    Should "8.3" Both Plain parameters_behind_the_heartbeat_information_come_back:
        "what stands behind the information of a HEARTBEAT comes back with it";
    Should "8.4 (1)" VirtualTime Plain packet_from_a_group_is_dropped:
        "a packet out of the blue from an address that is not a host's is dropped silently";
}

fn user_is_told_that_the_peer_is_unreachable(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    while let Some(heard) = peer.hear_later(61_000) {
        heard?;
    }
    let told = peer.events();
    holds("the end is told", told.iter().any(|event| matches!(event, Event::CommunicationLost(_))))?;
    holds("the message comes back", told.iter().any(|event| matches!(event, Event::SendFailed { .. })))
}

/// Answers the next HEARTBEAT after so many milliseconds.
fn beaten(peer: &mut Peer, ms: u64) -> Verdict {
    let heard = peer.hear_within(200_000, "HEARTBEAT")?;
    let value = chunk(&heard, HEARTBEAT)?.value.clone();
    peer.silence(ms)?;
    peer.say(&[Chunk::new(HEARTBEAT_ACK, value)])
}

fn answered_heartbeats_reset_the_error_counter(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for _ in 0..4 {
        for _ in 0..5 {
            peer.hear_within(200_000, "HEARTBEAT")?;
        }
        beaten(peer, 0)?;
    }
    peer.lives()
}

fn unanswered_heartbeats_back_off(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let mut waits = Vec::new();
    for _ in 0..6 {
        let before = peer.now_ms();
        peer.hear_within(200_000, "HEARTBEAT")?;
        waits.push(peer.now_ms() - before);
    }
    holds(
        "the last distance is longer by 8 s",
        waits.last() >= waits.first().map(|first| first + 8000).as_ref(),
    )
}

fn heartbeat_ack_gives_a_round_trip(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for ms in (800..2000).step_by(25) {
        beaten(peer, ms)?;
    }
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    let tsn = chunk(&peer.hear("DATA")?, DATA)?.u32(0);
    peer.silence(1990)?;
    let again = peer.hear_within(1000, "DATA")?;
    same("the TSN", chunk(&again, DATA)?.u32(0), tsn)?;
    peer.say(&[sack(tsn, peer.a_rwnd, &[])])
}

fn heartbeat_is_answered_while_shutdown_is_pending(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    peer.hear("DATA")?;
    peer.call(Call::Shutdown)?;
    peer.lives()
}

fn heartbeat_is_answered_after_shutdown_was_received(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    peer.hear("DATA")?;
    peer.say(&[shutdown(peer.their_tsn.wrapping_sub(1))])?;
    peer.lives()
}

fn packet_from_a_group_is_dropped(peer: &mut Peer) -> Verdict {
    (peer.from, peer.their_tag) = (3, 0x7777_7777);
    peer.say(&[heartbeat(b"x")])?;
    let init = peer.init_chunk(&[]);
    peer.say_tagged(0, &[init])?;
    peer.silence(1000)?;
    peer.from = 0;
    peer.is_gone()
}

/// Makes the user send a message, whose packet is lost if it goes to the primary path.
fn lost(peer: &mut Peer, sent: u32) -> Verdict {
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    same("the destination", peer.hear("DATA")?.to, 0)?;
    same("the destination after a timeout", peer.hear_within(60_000, "DATA")?.to, 1)?;
    peer.from = 1;
    peer.say(&[peer.sack(sent)])
}

fn acknowledged_data_resets_the_error_counter_of_its_path(peer: &mut Peer) -> Verdict {
    two_addresses(peer)?;
    for sent in 1..=24 {
        if sent % 6 != 0 {
            lost(peer, sent)?;
            continue;
        }
        peer.call(Call::Send { stream: 0, octets: 10 })?;
        same("the destination", peer.hear("DATA")?.to, 0)?;
        peer.from = 0;
        peer.say(&[peer.sack(sent)])?;
    }
    holds("no address became inactive", !is_now(&peer.events(), PathState::Inactive))
}

/// Answers the HEARTBEATs to address 0, and those to address 1 that `is_answered` picks by their ordinal; gives the ordinal of
/// the one to address 1 before which the user was told that an address is inactive.
fn probed(peer: &mut Peer, most: u32, is_answered: fn(u32) -> bool) -> Verdict<Option<u32>> {
    two_addresses(peer)?;
    let (mut probes, mut told) = (0, None);
    while probes < most {
        let heard = peer.hear_within(200_000, "HEARTBEAT")?;
        probes += u32::from(heard.to == 1);
        if told.is_none() && is_now(&peer.events(), PathState::Inactive) {
            told = Some(probes);
        }
        if heard.to == 0 || is_answered(probes) {
            peer.from = heard.to;
            peer.say(&[Chunk::new(HEARTBEAT_ACK, chunk(&heard, HEARTBEAT)?.value.clone())])?;
        }
    }
    Ok(told)
}

fn unanswered_heartbeats_make_a_path_inactive(peer: &mut Peer) -> Verdict {
    let told = probed(peer, 12, |_| false)?;
    holds(&format!("six were unanswered when it was told: {told:?}"), matches!(told, Some(6 | 7)))
}

fn answered_heartbeats_reset_the_error_counter_of_their_path(peer: &mut Peer) -> Verdict {
    same("the probe at which the address is inactive", probed(peer, 30, |probe| probe % 6 == 0)?, None)
}

fn parameters_behind_the_heartbeat_information_come_back(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let value = [item(1, b"info"), item(0x8123, b"more of it"), item(0xc123, b"")].concat();
    peer.say(&[Chunk::new(HEARTBEAT, value.clone())])?;
    let heard = peer.hear("HEARTBEAT_ACK")?;
    same("what comes back", &chunk(&heard, HEARTBEAT_ACK)?.value, &value)
}
