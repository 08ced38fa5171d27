//! Cases of §6, the sender: states, windows, timers and round trips.

use crate::packet::{
    COOKIE_ACK, Chunk, DATA, IMMEDIATE, SACK, SHUTDOWN_ACK, SHUTDOWN_COMPLETE, WHOLE, data, sack,
};
use crate::script::{Peer, Verdict, chunk, holds, same};
use crate::wire::Call;

cases! {
    Must "6" Both Plain data_while_shutdown_is_pending_is_taken:
        "DATA in SHUTDOWN-PENDING is taken and acknowledged";
    Should "6" Both Plain data_in_shutdown_received_is_dropped:
        "DATA in SHUTDOWN-RECEIVED is dropped";
    Should "6" Both Plain data_while_opening_is_dropped:
        "DATA in COOKIE-WAIT and COOKIE-ECHOED is dropped";
    Should "6" Both Plain sack_while_opening_is_dropped:
        "SACK in COOKIE-WAIT and COOKIE-ECHOED is dropped, whatever it acknowledges";
    Should "6" Both Plain sack_while_shut_down_is_dropped:
        "SACK in SHUTDOWN-SENT and SHUTDOWN-ACK-SENT is dropped, whatever it acknowledges";
    Must "6.1 (A)" Both Plain no_more_than_the_peers_window_goes_out:
        "no more new data goes out than the window of the peer takes";
    Should "6.1 (A)" VirtualTime Plain probe_waits_for_outstanding_data:
        "while data is outstanding a closed window is not probed with new data";
    Must "6.1 (A)" VirtualTime Plain window_that_opens_a_little_brings_no_small_chunk:
        "a window that opens by a few octets brings no chunk of a few octets";
    Should "6.1 (B)" VirtualTime Plain flight_reaches_the_window:
        "with enough data the flight reaches the congestion window";
    Must "6.1 (C)" VirtualTime Plain retransmissions_go_before_new_data:
        "what has to be sent again goes out before new data";
    Should "6.1 (D)" VirtualTime Plain burst_after_a_pause_is_limited:
        "after a pause no more than Max.Burst packets go out at once";
    Must "6.1" VirtualTime Plain later_data_does_not_restart_t3:
        "new DATA does not restart T3, which runs for the earliest outstanding chunk";
    Must "6.1" VirtualTime Plain retransmission_of_the_first_restarts_t3:
        "sending the earliest outstanding chunk again starts T3 anew";
    Must "6.3.1 (C4)" VirtualTime Plain rto_follows_the_round_trip:
        "the RTO follows the round trip up and down";
    Should "6.3.1 (C4)" VirtualTime Plain round_trip_is_measured_once_a_round:
        "many acknowledgments of one flight count as one round trip";
    Must "6.3.1 (C5)" VirtualTime Plain retransmitted_data_gives_no_round_trip:
        "the acknowledgment of what was sent twice leaves the RTO as it is";
    Should "6.3.1 (C5)" VirtualTime Plain no_round_trip_past_a_retransmission:
        "what waited for the retransmission of an earlier chunk gives no round trip";
    Should "6.3.3" VirtualTime Plain rest_of_a_timeout_follows_the_sack:
        "what timed out and did not fit a packet follows as soon as a SACK comes";
    Must "6.5" VirtualTime Plain ssn_65535_is_followed_by_0:
        "SSN 65535 is followed by 0";
    Must "6.9, 6.10" Both Plain sack_and_long_data_fit_the_path_mtu:
        "a long message behind a SACK that is due leaves in packets of the path MTU at most";
}

/// Sends a message and reads its packet.
fn sent(peer: &mut Peer, octets: usize) -> Verdict<u32> {
    peer.call(Call::Send { stream: 0, octets })?;
    Ok(chunk(&peer.hear("DATA")?, DATA)?.u32(0))
}

fn data_while_shutdown_is_pending_is_taken(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    sent(peer, 10)?;
    peer.call(Call::Shutdown)?;
    let late = peer.next_data(0, 0, b"late").flagged(WHOLE | IMMEDIATE);
    peer.say(&[late])?;
    let heard = peer.hear("SACK")?;
    same("the cumulative TSN", chunk(&heard, SACK)?.u32(0), peer.tsn.wrapping_sub(1))
}

fn data_in_shutdown_received_is_dropped(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    sent(peer, 10)?;
    peer.say(&[crate::packet::shutdown(peer.their_tsn.wrapping_sub(1))])?;
    let late = peer.next_data(0, 0, b"late").flagged(WHOLE | IMMEDIATE);
    peer.say(&[late])?;
    peer.silence(300)?;
    peer.say(&[peer.sack(1)])?;
    peer.hear("SHUTDOWN_ACK").map(drop)
}

fn data_while_opening_is_dropped(peer: &mut Peer) -> Verdict {
    let first = data(peer.tsn, 0, 0, b"first").flagged(WHOLE | IMMEDIATE);
    peer.be_called()?;
    peer.say(core::slice::from_ref(&first))?;
    peer.silence(100)?;
    peer.init_ack(&[])?;
    peer.hear("COOKIE_ECHO")?;
    peer.say(core::slice::from_ref(&first))?;
    peer.silence(100)?;
    peer.say(&[Chunk::new(COOKIE_ACK, [])])?;
    peer.say(&[first])?;
    let heard = peer.hear("SACK")?;
    let found = chunk(&heard, SACK)?;
    same("the cumulative TSN and duplicates", (found.u32(0), found.u16(10)), (peer.tsn, 0))
}

fn sack_while_opening_is_dropped(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    peer.say(&[peer.sack(9)])?;
    peer.silence(100)?;
    peer.init_ack(&[])?;
    peer.hear("COOKIE_ECHO")?;
    peer.say(&[peer.sack(9)])?;
    peer.silence(100)?;
    peer.say(&[Chunk::new(COOKIE_ACK, [])])?;
    peer.lives()
}

fn sack_while_shut_down_is_dropped(peer: &mut Peer) -> Verdict {
    peer.be_shut_down()?;
    peer.say(&[peer.sack(9)])?;
    peer.silence(100)?;
    peer.say(&[crate::packet::shutdown(peer.their_tsn.wrapping_sub(1))])?;
    peer.hear("SHUTDOWN_ACK")?;
    peer.say(&[peer.sack(9)])?;
    peer.silence(100)?;
    peer.say(&[Chunk::new(SHUTDOWN_ACK, [])])?;
    peer.hear("SHUTDOWN_COMPLETE")?.chunk(SHUTDOWN_COMPLETE).map_or(Ok(()), |_| peer.is_gone())
}

fn no_more_than_the_peers_window_goes_out(peer: &mut Peer) -> Verdict {
    peer.a_rwnd = 2500;
    peer.establish()?;
    for _ in 0..4 {
        peer.call(Call::Send { stream: 0, octets: 1000 })?;
    }
    peer.hear("DATA")?;
    peer.hear("DATA")?;
    peer.silence(500)
}

fn probe_waits_for_outstanding_data(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    sent(peer, 100)?;
    let outstanding = sent(peer, 100)?;
    peer.say(&[sack(peer.their_tsn, 0, &[])])?;
    peer.call(Call::Send { stream: 0, octets: 100 })?;
    for _ in 0..3 {
        let heard = peer.hear_within(10_000, "DATA")?;
        same("the TSN", chunk(&heard, DATA)?.u32(0), outstanding)?;
        peer.say(&[sack(peer.their_tsn, 0, &[])])?;
    }
    Ok(())
}

fn window_that_opens_a_little_brings_no_small_chunk(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    sent(peer, 100)?;
    peer.say(&[sack(peer.their_tsn, 0, &[])])?;
    peer.call(Call::Send { stream: 0, octets: 4000 })?;
    peer.silence(100)?;
    peer.say(&[sack(peer.their_tsn, 50, &[])])?;
    peer.silence(500)?;
    let heard = peer.hear_within(2000, "DATA")?;
    holds("the probe is a whole packet", chunk(&heard, DATA)?.value.len() > 1000)
}

/// Returns the TSNs of the DATA that comes at once, and the octets of payload.
pub(super) fn flight(peer: &mut Peer) -> Verdict<(Vec<u32>, usize)> {
    let (mut tsns, mut octets) = (Vec::new(), 0);
    while let Some(heard) = peer.hear_any() {
        for chunk in heard?.chunks.iter().filter(|chunk| chunk.kind == DATA) {
            tsns.push(chunk.u32(0));
            octets += chunk.value.len() - 12;
        }
    }
    Ok((tsns, octets))
}

fn flight_reaches_the_window(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 60_000 })?;
    // RFC 9260 §7.2.1: min(4 PMDCS, max(2 PMDCS, 4404)) octets.
    let (_, octets) = flight(peer)?;
    holds("the flight is the initial window at least", octets >= 4404 - 4 * 16)
}

fn retransmissions_go_before_new_data(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 20_000 })?;
    let (first, _) = flight(peer)?;
    let mut acknowledged = 0;
    peer.hear_after(1000, "DATA")?;
    let mut again = vec![peer.their_tsn];
    while again.len() < first.len() {
        acknowledged += 1;
        peer.say(&[peer.sack(acknowledged)])?;
        again.extend(flight(peer)?.0);
    }
    again.truncate(first.len());
    same("what is sent after the timeout", again, first)
}

/// Has everything acknowledged that fills the window, and sends as much again after a pause. Returns how many packets were
/// acknowledged.
pub(super) fn send_again_after_a_pause(peer: &mut Peer) -> Verdict<u32> {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 60_000 })?;
    let mut acknowledged = 0;
    while let Some(heard) = peer.hear_any() {
        heard?;
        acknowledged += 1;
        peer.say(&[peer.sack(acknowledged)])?;
    }
    peer.silence(100)?;
    peer.call(Call::Send { stream: 0, octets: 60_000 })?;
    Ok(acknowledged)
}

fn burst_after_a_pause_is_limited(peer: &mut Peer) -> Verdict {
    send_again_after_a_pause(peer)?;
    let (packets, _) = flight(peer)?;
    holds("there are four packets at most", (1..=4).contains(&packets.len()))
}

fn later_data_does_not_restart_t3(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let first = sent(peer, 1000)?;
    peer.silence(900)?;
    sent(peer, 1000)?;
    same("the TSN", chunk(&peer.hear_after(100, "DATA")?, DATA)?.u32(0), first)
}

fn retransmission_of_the_first_restarts_t3(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for count in 1..=2 {
        sent(peer, 1000)?;
        peer.say(&[peer.sack(count)])?;
    }
    for _ in 0..4 {
        sent(peer, 1000)?;
    }
    peer.silence(500)?;
    let cumulative = peer.their_tsn.wrapping_add(1);
    for last in 2..=4 {
        peer.say(&[sack(cumulative, peer.a_rwnd, &[(2, last)])])?;
    }
    peer.hear("DATA")?;
    let again = peer.hear_after(1000, "DATA")?;
    same("the TSN", chunk(&again, DATA)?.u32(0), cumulative.wrapping_add(1))
}

/// Makes the user send a message, whose SACK comes after so many milliseconds.
fn round(peer: &mut Peer, ms: u64) -> Verdict {
    let tsn = sent(peer, 10)?;
    peer.silence(ms)?;
    peer.say(&[sack(tsn, peer.a_rwnd, &[])])
}

/// Returns how long it takes until a lost message is sent again.
fn patience(peer: &mut Peer) -> Verdict<u64> {
    let tsn = sent(peer, 10)?;
    let before = peer.now_ms();
    same("the TSN", chunk(&peer.hear_within(60_000, "DATA")?, DATA)?.u32(0), tsn)?;
    let waited = peer.now_ms() - before;
    peer.say(&[sack(tsn, peer.a_rwnd, &[])])?;
    Ok(waited)
}

fn rto_follows_the_round_trip(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for ms in (800..2000).step_by(25) {
        round(peer, ms)?;
    }
    let long = patience(peer)?;
    holds("the RTO is above the round trip of 2 s", (2000..3000).contains(&long))?;
    for _ in 0..60 {
        round(peer, 10)?;
    }
    same("the RTO after short round trips", patience(peer)?, 1000)
}

fn round_trip_is_measured_once_a_round(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for _ in 0..20 {
        round(peer, 0)?;
    }
    let mut tsns = Vec::new();
    for _ in 0..20 {
        tsns.push(sent(peer, 10)?);
    }
    peer.silence(900)?;
    for tsn in tsns {
        peer.say(&[sack(tsn, peer.a_rwnd, &[])])?;
    }
    // One round of 900 ms makes the RTO 1013 ms; twenty make it more than 2 s.
    holds("the RTO grew for one round", patience(peer)? < 1100)
}

fn retransmitted_data_gives_no_round_trip(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let tsn = sent(peer, 10)?;
    peer.hear_after(1000, "DATA")?;
    peer.silence(900)?;
    peer.say(&[sack(tsn, peer.a_rwnd, &[])])?;
    same("the RTO, doubled once", patience(peer)?, 2000)
}

fn no_round_trip_past_a_retransmission(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for _ in 0..10 {
        round(peer, 0)?;
    }
    let mut tsns = Vec::new();
    for _ in 0..5 {
        tsns.push(sent(peer, 500)?);
    }
    let cumulative = tsns[0].wrapping_sub(1);
    for last in 2..=4 {
        peer.say(&[sack(cumulative, peer.a_rwnd, &[(2, last)])])?;
    }
    same("what is sent again", chunk(&peer.hear("DATA")?, DATA)?.u32(0), tsns[0])?;
    peer.silence(900)?;
    peer.say(&[sack(tsns[4], peer.a_rwnd, &[])])?;
    same("the RTO", patience(peer)?, 1000)
}

fn rest_of_a_timeout_follows_the_sack(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for _ in 0..3 {
        sent(peer, 1000)?;
    }
    peer.hear_after(1000, "DATA")?;
    peer.say(&[peer.sack(1)])?;
    let again = peer.hear("DATA")?;
    same("the TSN", chunk(&again, DATA)?.u32(0), peer.their_tsn.wrapping_add(1))
}

fn ssn_65535_is_followed_by_0(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for ssn in (0..=u16::MAX).chain([0, 1]) {
        peer.call(Call::Send { stream: 3, octets: 1 })?;
        let heard = peer.hear("DATA")?;
        let found = chunk(&heard, DATA)?;
        same("the SSN", found.u16(6), ssn)?;
        peer.say(&[sack(found.u32(0), peer.a_rwnd, &[])])?;
    }
    Ok(())
}

fn sack_and_long_data_fit_the_path_mtu(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.begin_data()?;
    let waiting = peer.next_data(0, 1, b"x");
    peer.say(&[waiting])?;
    peer.call(Call::Send { stream: 2, octets: 4000 })?;
    let mut octets = 0;
    while octets < 4000 {
        let heard = peer.hear_soon().ok_or_else(|| crate::script::Mismatch::new("nothing came"))??;
        holds("the packet fits", heard.octets.len() <= crate::law::MTU)?;
        octets += heard
            .chunks
            .iter()
            .filter(|each| each.kind == DATA)
            .map(|each| each.value.len() - 12)
            .sum::<usize>();
    }
    same("octets in all", octets, 4000)
}
