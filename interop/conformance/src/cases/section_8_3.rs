//! §8, continued: what HEARTBEATs do, and what the user is told of the end.

use sctp_core::Event;

use crate::packet::{Chunk, DATA, HEARTBEAT, HEARTBEAT_ACK, heartbeat, sack, shutdown};
use crate::script::{Peer, Verdict, chunk, holds, same};
use crate::wire::Call;

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
