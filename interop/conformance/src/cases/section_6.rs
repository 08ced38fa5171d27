//! Cases of §6: user data, acknowledgments, timers, order, bundling.

use crate::packet::{
    ABORT, BEGINNING, Chunk, DATA, ENDING, ERROR, HEARTBEAT_ACK, IMMEDIATE, SACK, WHOLE, data, heartbeat,
    packet, sack, sealed,
};
use crate::script::{Peer, Verdict, chunk, holds, same};
use crate::wire::Call;

cases! {
    Must "6.1 (A)" VirtualTime Plain closed_window_gets_a_probe_after_an_rto:
        "with a window of 0 no new data goes out, but one chunk as a probe after an RTO, and then at growing distances";
    Should "6.1 (A)" VirtualTime Plain answered_probes_never_end_an_association:
        "probes whose SACKs come never count as errors";
    Must "6.1 (B)" Both Plain first_flight_is_the_initial_window:
        "no more than the congestion window and a packet goes out before the first SACK";
    Should "6.1" Both Plain sack_travels_with_data:
        "a SACK that is due travels in the packet of outgoing DATA, before it";
    Must "6.2" VirtualTime Plain second_packet_is_acknowledged_at_once:
        "at least every second packet is acknowledged";
    Must "6.2" VirtualTime Plain acknowledgment_comes_within_200_ms:
        "DATA is acknowledged within 200 ms, and not more often than that and every second packet";
    Must "6.2" Both Plain one_sack_for_a_packet_of_many_chunks:
        "a packet of many DATA chunks gets one SACK, which acknowledges all of them";
    Should "6.2" VirtualTime Plain immediate_bit_brings_the_sack_at_once:
        "DATA with the I bit is acknowledged at once";
    Must "6.2" VirtualTime Plain duplicates_alone_are_acknowledged_at_once:
        "a packet of duplicates alone is acknowledged at once";
    Must "6.2" VirtualTime SmallBuffer data_beyond_the_buffer_is_dropped_and_the_window_told:
        "with a closed window new DATA is dropped, and a SACK with the window as it is comes at once";
    Should "6.2" VirtualTime SmallBuffer opened_window_is_told:
        "when the user has read and the window opens, a SACK says so without new data";
    Must "6.2.1" Both Plain old_sack_is_dropped:
        "a SACK whose cumulative TSN is behind the one that counted changes nothing";
    Must "3.3.4, 6.2.1" Both Plain sack_for_what_was_never_sent_is_a_violation:
        "a SACK beyond what was sent is answered by ABORT";
    Must "6.2" Both Plain data_without_payload_is_a_violation:
        "DATA without user data is answered by ABORT with No User Data and its TSN";
    Must "6.3.3" VirtualTime Plain lost_data_is_sent_again_with_doubling:
        "unacknowledged DATA is sent again when T3 expires, after twice as long each time up to RTO.Max";
    Must "6.3.2 (R3)" VirtualTime Plain acknowledgment_of_the_first_restarts_t3:
        "a SACK for the earliest outstanding chunk starts T3 anew for those that are left";
    Must "6.3.2 (R2)" VirtualTime Plain acknowledgment_of_all_stops_t3:
        "when all is acknowledged T3 stops, and nothing is sent again";
    Must "6.3.3 (E3)" VirtualTime Plain timeout_sends_one_packet:
        "after a timeout one packet goes out, with the earliest chunks that fit";
    Should "6.4" VirtualTime Plain reply_goes_to_where_the_request_came_from:
        "replies go to the address that the request came from";
    Should "6.4" VirtualTime Plain timed_out_data_goes_to_another_address:
        "what timed out goes to another address of a peer that has one";
    Should "6.5" Both Plain unknown_stream_is_acknowledged_and_reported:
        "DATA on a stream that does not exist is acknowledged, reported by ERROR with Invalid Stream Identifier, and not delivered";
    Must "6.5" Both Plain ssns_begin_at_0_and_count_ordered_messages:
        "SSNs begin at 0 in each stream, go up by one with each ordered message, and not with unordered ones";
    Must "6.6" Both Plain messages_of_a_stream_are_delivered_in_order:
        "within a stream messages are delivered in the order of their SSNs, whatever the order of their arrival";
    Must "6.6" Both Plain other_streams_do_not_wait:
        "a message that is missing holds up its own stream alone";
    Should "6.7" VirtualTime Plain gap_is_reported_at_once:
        "DATA behind a gap is acknowledged at once, and so is each packet until the gap is filled";
    Must "6.8" Both Plain bad_checksum_is_dropped:
        "a packet whose checksum is wrong is dropped silently";
    Must "6.9" Both Plain fragments_are_put_together:
        "fragments are put together by TSN, also if they come in another order";
    Must "6.9" Both Plain long_messages_are_cut:
        "a message that does not fit a packet is cut: B, then neither, then E, in sequence, with one SSN";
    Must "6.10" Both Plain chunks_are_processed_in_their_order:
        "bundled chunks are processed in their order";
    Must "6.10" Both Plain partial_chunk_is_dropped:
        "a chunk longer than its packet is dropped, those before it count";
    Must "6, 6.10" Both Plain control_chunks_come_first:
        "control chunks stand before DATA in a packet";
    Should "6" Both Plain data_while_closed_is_out_of_the_blue:
        "DATA without association is answered by ABORT with its tag reflected";
    Should "6" Both Plain data_in_shutdown_ack_sent_is_dropped:
        "DATA in SHUTDOWN-ACK-SENT is dropped";
    Must "7.2.4" Both Plain third_report_sends_again:
        "a chunk that three SACKs report missing is sent again at once";
}

fn closed_window_gets_a_probe_after_an_rto(peer: &mut Peer) -> Verdict {
    closed(peer)?;
    let first = peer.hear_within(1000, "DATA")?;
    same("the number of chunks", first.chunks.len(), 1)?;
    let mut waits = Vec::new();
    for _ in 0..5 {
        let before = peer.now_ms();
        peer.say(&[sack(peer.their_tsn, 0, &[])])?;
        let again = peer.hear_within(70_000, "DATA")?;
        same("the TSN", chunk(&again, DATA)?.u32(0), chunk(&first, DATA)?.u32(0))?;
        waits.push(peer.now_ms() - before);
    }
    holds("the distances grow", waits.is_sorted() && waits.last() >= Some(&8000))
}

/// Opens an association whose window is closed behind the first chunk, with more to send.
pub(super) fn closed(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 100 })?;
    peer.hear("DATA")?;
    peer.say(&[sack(peer.their_tsn, 0, &[])])?;
    peer.call(Call::Send { stream: 0, octets: 100 })?;
    peer.silence(500)
}

fn answered_probes_never_end_an_association(peer: &mut Peer) -> Verdict {
    closed(peer)?;
    for _ in 0..30 {
        peer.hear_within(70_000, "DATA")?;
        peer.say(&[sack(peer.their_tsn, 0, &[])])?;
    }
    peer.say(&[sack(peer.their_tsn, 100_000, &[])])?;
    peer.hear_within(70_000, "DATA").map(drop)
}

fn first_flight_is_the_initial_window(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 60_000 })?;
    // The first packet is due, and the stack may take its time; the answer to a HEARTBEAT comes behind the others.
    let mut octets = chunk(&peer.hear("DATA")?, DATA)?.value.len();
    peer.say(&[heartbeat(b"marker")])?;
    let flight = peer.gather_with(HEARTBEAT_ACK)?;
    octets += flight.iter().filter(|chunk| chunk.kind == DATA).map(|chunk| chunk.value.len()).sum::<usize>();
    while let Some(heard) = peer.hear_any() {
        octets += chunk(&heard?, DATA)?.value.len();
    }
    // RFC 9260 §7.2.1: min(4 PMDCS, max(2 PMDCS, 4404)), and one packet beyond it.
    holds("something goes out", octets > 1000)?;
    holds("it is no more than the initial window and a packet", octets <= 4404 + 1500)
}

fn sack_travels_with_data(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.begin_data()?;
    peer.call(Call::Echo)?;
    let more = peer.next_data(0, 1, b"more");
    peer.say(&[more])?;
    peer.gather(&[SACK, DATA, DATA])?;
    Ok(())
}

fn second_packet_is_acknowledged_at_once(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.begin_data()?;
    let (second, third) = (peer.next_data(0, 1, b"x"), peer.next_data(0, 2, b"x"));
    peer.say(&[second])?;
    peer.silence(100)?;
    peer.say(&[third])?;
    let heard = peer.hear("SACK")?;
    same("the cumulative TSN", chunk(&heard, SACK)?.u32(0), peer.tsn.wrapping_sub(1))
}

fn acknowledgment_comes_within_200_ms(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.begin_data()?;
    let second = peer.next_data(0, 1, b"x");
    peer.say(&[second])?;
    peer.hear_after(200, "SACK").map(drop)
}

fn one_sack_for_a_packet_of_many_chunks(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.begin_data()?;
    let chunks: Vec<Chunk> = (1..21).map(|ssn| peer.next_data(0, ssn, b"x")).collect();
    let mut chunks = chunks;
    if let Some(last) = chunks.last_mut() {
        last.flags |= IMMEDIATE;
    }
    peer.say(&chunks)?;
    let heard = peer.hear("SACK")?;
    same("the cumulative TSN", chunk(&heard, SACK)?.u32(0), peer.tsn.wrapping_sub(1))?;
    peer.no_answer()
}

fn immediate_bit_brings_the_sack_at_once(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.begin_data()?;
    let second = peer.next_data(0, 1, b"x").flagged(WHOLE | IMMEDIATE);
    peer.say(&[second])?;
    peer.hear("SACK").map(drop)
}

fn duplicates_alone_are_acknowledged_at_once(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.begin_data()?;
    peer.silence(1000)?;
    let again = data(peer.tsn.wrapping_sub(1), 0, 0, b"first");
    peer.say(&[again])?;
    peer.hear("SACK").map(drop)
}

/// Fills the receive buffer; the window of the last SACK is below a message.
pub(super) fn filled(peer: &mut Peer) -> Verdict<u16> {
    peer.establish()?;
    for ssn in 0..100 {
        let full = peer.next_data(0, ssn, &[7; 1000]).flagged(WHOLE | IMMEDIATE);
        peer.say(&[full])?;
        let heard = peer.hear("SACK")?;
        let found = chunk(&heard, SACK)?;
        if found.u32(0) != peer.tsn.wrapping_sub(1) {
            peer.tsn = peer.tsn.wrapping_sub(1);
            return Ok(ssn);
        }
    }
    holds("the buffer is full after 100 messages", false)?;
    Ok(0)
}

fn data_beyond_the_buffer_is_dropped_and_the_window_told(peer: &mut Peer) -> Verdict {
    let ssn = filled(peer)?;
    let beyond = data(peer.tsn, 0, ssn, &[7; 1000]);
    peer.say(&[beyond])?;
    let heard = peer.hear("SACK")?;
    let found = chunk(&heard, SACK)?;
    same("the cumulative TSN", found.u32(0), peer.tsn.wrapping_sub(1))?;
    holds("the window is smaller than the message", found.u32(4) < 1000)
}

fn opened_window_is_told(peer: &mut Peer) -> Verdict {
    filled(peer)?;
    // Reading makes room; what is read comes back.
    peer.call(Call::Echo)?;
    let heard = peer.hear_within(200, "SACK DATA")?;
    holds("the window is open", chunk(&heard, SACK)?.u32(4) >= 1000)
}

fn old_sack_is_dropped(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for _ in 0..2 {
        peer.call(Call::Send { stream: 0, octets: 10 })?;
        peer.hear("DATA")?;
    }
    peer.say(&[peer.sack(2)])?;
    peer.say(&[sack(peer.their_tsn.wrapping_sub(1), 0, &[])])?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    peer.hear("DATA").map(drop)
}

fn sack_for_what_was_never_sent_is_a_violation(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    peer.hear("DATA")?;
    peer.say(&[peer.sack(2)])?;
    same("the tag", peer.hear("ABORT")?.tag, peer.tag)
}

fn data_without_payload_is_a_violation(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let (tsn, empty) = (peer.tsn, peer.next_data(0, 0, b""));
    peer.say(&[empty])?;
    let heard = peer.hear("ABORT")?;
    same("the cause", chunk(&heard, ABORT)?.item(0, 9), Some(tsn.to_be_bytes().to_vec()))
}

fn lost_data_is_sent_again_with_doubling(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    let first = peer.hear("DATA")?;
    for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
        let again = peer.hear_after(wait * 1000, "DATA")?;
        same("the chunk", chunk(&again, DATA)?, chunk(&first, DATA)?)?;
    }
    Ok(())
}

fn acknowledgment_of_the_first_restarts_t3(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for _ in 0..2 {
        peer.call(Call::Send { stream: 0, octets: 10 })?;
        peer.hear("DATA")?;
    }
    peer.silence(900)?;
    peer.say(&[peer.sack(1)])?;
    // The measured round trip makes the RTO 2.7 s; without a new start it would have expired after 100 ms.
    peer.silence(900)?;
    let again = peer.hear_within(2000, "DATA")?;
    same("the TSN", chunk(&again, DATA)?.u32(0), peer.their_tsn.wrapping_add(1))
}

fn acknowledgment_of_all_stops_t3(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    peer.hear("DATA")?;
    peer.say(&[peer.sack(1)])?;
    peer.silence(200_000)
}

fn timeout_sends_one_packet(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for _ in 0..3 {
        peer.call(Call::Send { stream: 0, octets: 1000 })?;
        peer.hear("DATA")?;
    }
    let again = peer.hear_after(1000, "DATA")?;
    same("the TSN", chunk(&again, DATA)?.u32(0), peer.their_tsn)?;
    peer.silence(1900)
}

/// Opens an association with both of the script's addresses, verified.
pub(super) fn two_addresses(peer: &mut Peer) -> Verdict {
    peer.call(Call::ConnectToBoth)?;
    let heard = peer.hear("INIT")?;
    let init = chunk(&heard, crate::packet::INIT)?;
    (peer.their_tag, peer.their_tsn) = (init.u32(0), init.u32(12));
    let both = [crate::packet::item(5, &[10, 99, 0, 1]), crate::packet::item(5, &[10, 99, 0, 2])].concat();
    peer.init_ack(&both)?;
    peer.hear("COOKIE_ECHO")?;
    peer.say(&[Chunk::new(crate::packet::COOKIE_ACK, [])])
}

fn reply_goes_to_where_the_request_came_from(peer: &mut Peer) -> Verdict {
    two_addresses(peer)?;
    for from in [1, 0, 1] {
        peer.from = from;
        peer.say(&[heartbeat(b"x")])?;
        same("the destination", peer.hear("HEARTBEAT_ACK")?.to, from)?;
    }
    Ok(())
}

fn timed_out_data_goes_to_another_address(peer: &mut Peer) -> Verdict {
    two_addresses(peer)?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    let first = peer.hear("DATA")?;
    let again = peer.hear_within(1000, "DATA")?;
    same("the two destinations", (first.to, again.to), (0, 1))
}

fn unknown_stream_is_acknowledged_and_reported(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Echo)?;
    let unknown = peer.next_data(60_000, 0, b"x").flagged(WHOLE | IMMEDIATE);
    peer.say(&[unknown])?;
    let chunks = peer.gather(&[SACK, ERROR])?;
    let cause = chunks.iter().filter(|chunk| chunk.kind == ERROR).find_map(|chunk| chunk.item(0, 1));
    same("the cause", cause, Some(b"\xea\x60\0\0".to_vec()))?;
    let acknowledged = chunks.iter().find(|chunk| chunk.kind == SACK).map(|chunk| chunk.u32(0));
    same("the cumulative TSN", acknowledged, Some(peer.tsn.wrapping_sub(1)))?;
    peer.no_answer()
}

fn ssns_begin_at_0_and_count_ordered_messages(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for (sent, (stream, ssn)) in (1..).zip([(0, 0), (0, 1), (5, 0), (0, 2), (5, 1)]) {
        peer.call(Call::Send { stream, octets: 10 })?;
        let heard = peer.hear("DATA")?;
        let found = chunk(&heard, DATA)?;
        same("stream and SSN", (found.u16(4), found.u16(6)), (stream, ssn))?;
        peer.say(&[peer.sack(sent)])?;
    }
    peer.call(Call::SendUnordered { stream: 0, octets: 10 })?;
    peer.hear("DATA")?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    same("the SSN after an unordered one", chunk(&peer.hear("DATA")?, DATA)?.u16(6), 3)
}

/// Returns what the user sends back, until this many messages have come.
pub(super) fn echoed(peer: &mut Peer, count: usize) -> Verdict<Vec<Vec<u8>>> {
    let mut messages = Vec::new();
    while messages.len() < count {
        let Some(heard) = peer.hear_soon() else {
            return holds("all messages come back", false).map(|()| messages);
        };
        let sent = heard?.chunks.into_iter().filter(|chunk| chunk.kind == DATA);
        messages.extend(sent.map(|chunk| chunk.value.get(12..).unwrap_or_default().to_vec()));
    }
    Ok(messages)
}

fn messages_of_a_stream_are_delivered_in_order(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Echo)?;
    let [first, second, third] = [0, 1, 2].map(|ssn: u8| peer.next_data(4, ssn.into(), &[ssn; 3]));
    peer.say(&[third.flagged(WHOLE | IMMEDIATE)])?;
    peer.hear("SACK")?;
    peer.say(&[first, second])?;
    same("what was delivered", echoed(peer, 3)?, vec![vec![0; 3], vec![1; 3], vec![2; 3]])
}

fn other_streams_do_not_wait(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Echo)?;
    peer.tsn = peer.tsn.wrapping_add(1);
    let (waiting, other) = (peer.next_data(4, 1, b"waits"), peer.next_data(5, 0, b"other"));
    peer.say(&[waiting, other])?;
    same("what was delivered", echoed(peer, 1)?, vec![b"other".to_vec()])
}

fn gap_is_reported_at_once(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.begin_data()?;
    let missing = peer.next_data(0, 1, b"x");
    for ssn in 2..5 {
        let behind = peer.next_data(0, ssn, b"x");
        peer.say(&[behind])?;
        let heard = peer.hear("SACK")?;
        same("the number of gap ack blocks", chunk(&heard, SACK)?.u16(8), 1)?;
    }
    peer.say(&[missing])?;
    let heard = peer.hear_within(200, "SACK")?;
    same("the cumulative TSN", chunk(&heard, SACK)?.u32(0), peer.tsn.wrapping_sub(1))
}

fn bad_checksum_is_dropped(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let mut octets = packet(peer.ports, peer.their_tag, &[heartbeat(b"x")]);
    octets[8] ^= 1;
    peer.say_octets(&octets)?;
    peer.no_answer()
}

fn fragments_are_put_together(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Echo)?;
    let first = peer.next_data(0, 0, b"one").flagged(BEGINNING);
    let middle = peer.next_data(0, 0, b"two").flagged(0);
    let last = peer.next_data(0, 0, b"three").flagged(ENDING);
    peer.say(&[last])?;
    peer.say(&[first])?;
    peer.say(&[middle])?;
    same("what was delivered", echoed(peer, 1)?, vec![b"onetwothree".to_vec()])
}

fn long_messages_are_cut(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 2, octets: 3500 })?;
    let (mut tsn, mut octets, mut flags) = (peer.their_tsn, 0, 0);
    while flags & ENDING == 0 {
        let heard = peer.hear("DATA")?;
        let found = chunk(&heard, DATA)?;
        same("TSN, stream and SSN", (found.u32(0), found.u16(4), found.u16(6)), (tsn, 2, 0))?;
        same("B", found.flags & BEGINNING != 0, octets == 0)?;
        (tsn, octets, flags) = (tsn.wrapping_add(1), octets + found.value.len() - 12, found.flags);
    }
    same("octets in all", octets, 3500)
}

fn chunks_are_processed_in_their_order(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.say(&[heartbeat(b"1"), heartbeat(b"2"), heartbeat(b"3")])?;
    let chunks = peer.gather(&[HEARTBEAT_ACK, HEARTBEAT_ACK, HEARTBEAT_ACK])?;
    let order: Vec<_> = chunks.iter().filter_map(|chunk| chunk.item(0, 1)).collect();
    same("the order", order, vec![b"1".to_vec(), b"2".to_vec(), b"3".to_vec()])
}

fn partial_chunk_is_dropped(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let mut octets = packet(peer.ports, peer.their_tag, &[heartbeat(b"whole"), heartbeat(b"cut short")]);
    octets.truncate(octets.len() - 8);
    peer.say_octets(&sealed(octets))?;
    let heard = peer.hear("HEARTBEAT_ACK")?;
    same("what is answered", chunk(&heard, HEARTBEAT_ACK)?.item(0, 1), Some(b"whole".to_vec()))?;
    peer.no_answer()
}

fn control_chunks_come_first(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Echo)?;
    let first = peer.next_data(0, 0, b"x").flagged(WHOLE | IMMEDIATE);
    peer.say(&[first, heartbeat(b"x")])?;
    let mut kinds = Vec::new();
    while kinds.len() < 3 {
        let Some(heard) = peer.hear_soon() else { return holds("three chunks come", false) };
        let chunks: Vec<u8> = heard?.chunks.iter().map(|chunk| chunk.kind).collect();
        let first_data = chunks.iter().position(|kind| *kind == DATA).unwrap_or(chunks.len());
        holds("DATA is last", chunks.iter().skip(first_data).all(|kind| *kind == DATA))?;
        kinds.extend(chunks);
    }
    Ok(())
}

fn data_while_closed_is_out_of_the_blue(peer: &mut Peer) -> Verdict {
    peer.their_tag = 0x7777_7777;
    let first = peer.next_data(0, 0, b"x");
    peer.say(&[first])?;
    let heard = peer.hear("ABORT")?;
    same("the tag and T", (heard.tag, chunk(&heard, ABORT)?.flags & 1), (0x7777_7777, 1))
}

fn data_in_shutdown_ack_sent_is_dropped(peer: &mut Peer) -> Verdict {
    peer.shut_down()?;
    let late = peer.next_data(0, 0, b"late").flagged(WHOLE | IMMEDIATE);
    peer.say(&[late])?;
    peer.silence(300)
}

fn third_report_sends_again(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for sent in 1..=2 {
        peer.call(Call::Send { stream: 0, octets: 1000 })?;
        peer.hear("DATA")?;
        peer.say(&[peer.sack(sent)])?;
    }
    for _ in 0..4 {
        peer.call(Call::Send { stream: 0, octets: 1000 })?;
        peer.hear("DATA")?;
    }
    let cumulative = peer.their_tsn.wrapping_add(1);
    for last in 2..=4 {
        peer.say(&[sack(cumulative, peer.a_rwnd, &[(2, last)])])?;
    }
    let again = peer.hear("DATA")?;
    same("the TSN", chunk(&again, DATA)?.u32(0), cumulative.wrapping_add(1))
}
