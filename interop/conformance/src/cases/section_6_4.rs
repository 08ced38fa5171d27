//! Cases of §6.4, §8.1, §8.2: peers with several addresses.

use sctp_core::{Event, PathState};

use super::section_6::two_addresses;
use crate::packet::{Chunk, DATA, HEARTBEAT, HEARTBEAT_ACK, Heard, IMMEDIATE, WHOLE, heartbeat, sack};
use crate::script::{Mismatch, Peer, Verdict, chunk, holds, same};
use crate::wire::Call;

cases! {
    Should "6.4" Both Plain data_goes_to_the_primary_path:
        "data goes to the primary path, wherever the peer speaks from";
    Should "6.4, 6.7" Both Plain sacks_go_to_where_data_came_from:
        "SACK goes to the address from which the last DATA came, and to no other";
    Should "6.4" Both Plain fast_retransmission_stays_at_its_address:
        "what is sent again after three reports goes to the same address";
    Should "6.3.3" VirtualTime Plain retransmission_uses_the_rto_of_its_own_path:
        "after a timeout T3 runs with the RTO of the address that the retransmission goes to";
    Should "6.4.1, 8.2" VirtualTime Plain inactive_primary_path_is_left:
        "after Path.Max.Retrans timeouts new data goes to the other address, and the user is told";
    Should "8.2, 8.3" VirtualTime Heartbeats answered_path_is_active_again:
        "an inactive address is still probed; HEARTBEAT ACK makes it active again, and the user is told";
    Should "8.1" VirtualTime Heartbeats idle_path_that_fails_does_not_end_the_association:
        "unanswered HEARTBEATs on a path that carries no data do not end the association";
    Should "8.3" VirtualTime Heartbeats one_heartbeat_at_a_time:
        "two idle addresses do not get their HEARTBEATs at the same moment";
    Should "8.2" VirtualTime Plain one_alternate_address_is_used:
        "when the primary of three addresses fails, data goes to one of the others and stays there";
}

fn next(peer: &mut Peer, ms: u64) -> Verdict<Heard> {
    peer.hear_later(ms).ok_or_else(|| Mismatch::new(format!("nothing came within {ms} ms")))?
}

fn data_goes_to_the_primary_path(peer: &mut Peer) -> Verdict {
    two_addresses(peer)?;
    for sent in 1..=4 {
        peer.from = 1;
        peer.say(&[heartbeat(b"x")])?;
        peer.hear("HEARTBEAT_ACK")?;
        peer.call(Call::Send { stream: 0, octets: 10 })?;
        same("the destination", peer.hear("DATA")?.to, 0)?;
        peer.say(&[peer.sack(sent)])?;
    }
    Ok(())
}

fn sacks_go_to_where_data_came_from(peer: &mut Peer) -> Verdict {
    two_addresses(peer)?;
    for (ssn, from) in (0..).zip([0, 0, 1, 1, 1, 0, 0]) {
        peer.from = from;
        let next = peer.next_data(0, ssn, b"x").flagged(WHOLE | IMMEDIATE);
        peer.say(&[next])?;
        same("the destination", peer.hear("SACK")?.to, from)?;
    }
    Ok(())
}

fn fast_retransmission_stays_at_its_address(peer: &mut Peer) -> Verdict {
    two_addresses(peer)?;
    for _ in 0..4 {
        peer.call(Call::Send { stream: 0, octets: 1000 })?;
        peer.hear("DATA")?;
    }
    for last in 2..=4 {
        peer.say(&[sack(peer.their_tsn.wrapping_sub(1), peer.a_rwnd, &[(2, last)])])?;
    }
    let again = peer.hear("DATA")?;
    same("TSN and destination", (chunk(&again, DATA)?.u32(0), again.to), (peer.their_tsn, 0))
}

fn retransmission_uses_the_rto_of_its_own_path(peer: &mut Peer) -> Verdict {
    two_addresses(peer)?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    peer.hear("DATA")?;
    for (wait, to) in [(1000, 1), (1000, 0), (2000, 1), (2000, 0)] {
        same("the destination", peer.hear_after(wait, "DATA")?.to, to)?;
    }
    Ok(())
}

/// Sends messages whose SACKs come from address 1 alone, until one goes there at first.
fn primary_fails(peer: &mut Peer) -> Verdict<u32> {
    for sent in 1..20 {
        peer.call(Call::Send { stream: 0, octets: 10 })?;
        let mut heard = next(peer, 60_000)?;
        let is_left = heard.to == 1 && heard.chunk(DATA).is_some();
        while heard.to != 1 || heard.chunk(DATA).is_none() {
            if let (1, Some(probe)) = (heard.to, heard.chunk(HEARTBEAT)) {
                peer.from = 1;
                peer.say(&[Chunk::new(HEARTBEAT_ACK, probe.value.clone())])?;
            }
            heard = next(peer, 60_000)?;
        }
        peer.from = 1;
        peer.say(&[peer.sack(sent)])?;
        if is_left {
            return Ok(sent);
        }
    }
    holds("the primary path is left", false).map(|()| 0)
}

pub(super) fn is_now(events: &[Event], wanted: PathState) -> bool {
    events.iter().any(|event| matches!(event, Event::PeerAddressChange { state, .. } if *state == wanted))
}

fn inactive_primary_path_is_left(peer: &mut Peer) -> Verdict {
    two_addresses(peer)?;
    let sent = primary_fails(peer)?;
    holds("it is left after more than Path.Max.Retrans timeouts", sent == 7)?;
    holds("the user is told", is_now(&peer.events(), PathState::Inactive))
}

fn answered_path_is_active_again(peer: &mut Peer) -> Verdict {
    two_addresses(peer)?;
    let sent = primary_fails(peer)?;
    let mut probes = 0;
    while probes < 3 {
        let heard = next(peer, 200_000)?;
        let probe = chunk(&heard, HEARTBEAT)?.value.clone();
        probes += usize::from(heard.to == 0);
        if heard.to == 1 || probes == 3 {
            peer.from = heard.to;
            peer.say(&[Chunk::new(HEARTBEAT_ACK, probe)])?;
        }
    }
    let events = peer.events();
    let last = events.iter().rev().find(|event| matches!(event, Event::PeerAddressChange { .. }));
    holds(
        "the user is told",
        last.is_some_and(|event| is_now(core::slice::from_ref(event), PathState::Active)),
    )?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    same("the destination", peer.hear("DATA")?.to, 0)?;
    peer.say(&[peer.sack(sent + 1)])
}

fn idle_path_that_fails_does_not_end_the_association(peer: &mut Peer) -> Verdict {
    two_addresses(peer)?;
    let mut unanswered = 0;
    while unanswered < 20 {
        let heard = next(peer, 200_000)?;
        let probe = chunk(&heard, HEARTBEAT)?.value.clone();
        unanswered += usize::from(heard.to == 1);
        if heard.to == 0 {
            peer.say(&[Chunk::new(HEARTBEAT_ACK, probe)])?;
        }
    }
    peer.lives()
}

fn one_heartbeat_at_a_time(peer: &mut Peer) -> Verdict {
    two_addresses(peer)?;
    let mut before = 0;
    for _ in 0..40 {
        let heard = next(peer, 60_000)?;
        let probe = chunk(&heard, HEARTBEAT)?.value.clone();
        holds("some time has passed", peer.now_ms() > before)?;
        before = peer.now_ms();
        peer.from = heard.to;
        peer.say(&[Chunk::new(HEARTBEAT_ACK, probe)])?;
    }
    Ok(())
}

fn one_alternate_address_is_used(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    let list: Vec<u8> =
        [1, 2, 3].iter().flat_map(|last| crate::packet::item(5, &[10, 99, 0, *last])).collect();
    peer.init_ack(&list)?;
    peer.hear("COOKIE_ECHO")?;
    peer.say(&[Chunk::new(crate::packet::COOKIE_ACK, [])])?;
    let mut confirmed = 0;
    while confirmed < 2 {
        let heard = next(peer, 60_000)?;
        let probe = chunk(&heard, HEARTBEAT)?.value.clone();
        peer.from = heard.to;
        peer.say(&[Chunk::new(HEARTBEAT_ACK, probe)])?;
        confirmed += 1;
    }
    let (mut used, mut sent) = (Vec::new(), 0);
    for _ in 0..12 {
        peer.call(Call::Send { stream: 0, octets: 10 })?;
        let mut heard = next(peer, 60_000)?;
        used.push(heard.to);
        while heard.to == 0 || heard.chunk(DATA).is_none() {
            heard = next(peer, 60_000)?;
        }
        sent += 1;
        peer.from = heard.to;
        peer.say(&[peer.sack(sent)])?;
    }
    let others: Vec<usize> = used.into_iter().skip_while(|to| *to == 0).collect();
    holds("the primary path is left", !others.is_empty())?;
    holds("one other is used", others.iter().all(|to| Some(to) == others.first()))
}
