//! Cases of §§6.1, 6.2 and 6.9 once more: limits and full buffers.

use crate::packet::{BEGINNING, Chunk, DATA, ENDING, IMMEDIATE, SACK, WHOLE, sack};
use crate::script::{Peer, Verdict, chunk, holds, same};
use crate::wire::Call;

use super::section_6::{closed, echoed, filled};
use super::section_6_1::{flight, send_again_after_a_pause};
use super::section_6_2::{answered, blocks};

cases! {
    Should "3.3.1" Both Plain tsns_count_every_chunk:
        "each new DATA chunk has the next TSN, whatever its stream and order, and of whatever message";
    Should "6.1 (A)" VirtualTime Plain probes_leave_the_congestion_window_alone:
        "after many probes the first flight is the initial window";
    Should "6.1 (D)" VirtualTime Plain burst_limit_leaves_the_congestion_window_alone:
        "each SACK after a limited burst lets Max.Burst packets more go, up to the window there was before";
    Must "6.1" VirtualTime LargeBuffer window_of_messages_ends_at_65535:
        "no more than 65,535 messages of a stream are outstanding, nor chunks";
    Should "6.2" VirtualTime SmallBuffer what_all_wait_for_is_let_in_though_the_buffer_is_full:
        "with a buffer full of what came out of order, the chunk that all of it waits for is taken, and nothing is given up for it";
    Should "6.2" VirtualTime SmallBuffer gap_ack_blocks_stay_though_the_buffer_is_full:
        "what a SACK reported the next ones report, too, also when the buffer is full";
    Should "6.2" VirtualTime SmallBuffer what_is_acknowledged_is_delivered:
        "every message that was acknowledged is delivered, also when later ones were dropped";
    Should "6.2" VirtualTime SmallBuffer unread_messages_take_from_the_window:
        "the window shrinks by what the user has not read, and grows by what it reads";
    Should "6.2.1" Both Plain window_counts_what_is_in_flight:
        "what is outstanding after a SACK takes from the window that the SACK tells";
    Should "6.9" Both Pieces message_longer_than_the_buffer_is_delivered_in_pieces:
        "with a partial delivery point the user gets a message that does not fit the buffer in parts, and the window opens";
}

fn tsns_count_every_chunk(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let mut next = peer.their_tsn;
    for call in [
        Call::Send { stream: 0, octets: 10 },
        Call::SendUnordered { stream: 1, octets: 10 },
        Call::Send { stream: 2, octets: 3500 },
        Call::SendUnordered { stream: 0, octets: 3500 },
        Call::Send { stream: 0, octets: 10 },
    ] {
        peer.call(call)?;
        let mut flags = 0;
        while flags & ENDING == 0 {
            let heard = peer.hear("DATA")?;
            let found = chunk(&heard, DATA)?;
            same("the TSN", found.u32(0), next)?;
            (flags, next) = (found.flags, next.wrapping_add(1));
        }
        peer.say(&[sack(next.wrapping_sub(1), peer.a_rwnd, &[])])?;
    }
    Ok(())
}

fn probes_leave_the_congestion_window_alone(peer: &mut Peer) -> Verdict {
    closed(peer)?;
    for _ in 0..6 {
        peer.hear_within(70_000, "DATA")?;
        peer.say(&[sack(peer.their_tsn, 0, &[])])?;
    }
    peer.hear_within(70_000, "DATA")?;
    peer.say(&[peer.sack(2)])?;
    peer.call(Call::Send { stream: 0, octets: 60_000 })?;
    let (_, octets) = flight(peer)?;
    // RFC 9260 §7.2.1: min(4 PMDCS, max(2 PMDCS, 4404)) octets, and a packet beyond it.
    holds("the flight is the initial window", (4404 - 4 * 16..=4404 + 1500).contains(&octets))
}

fn burst_limit_leaves_the_congestion_window_alone(peer: &mut Peer) -> Verdict {
    let mut acknowledged = send_again_after_a_pause(peer)?;
    let mut flights = Vec::new();
    for _ in 0..3 {
        let (packets, _) = flight(peer)?;
        flights.push(packets.len());
        acknowledged += u32::try_from(packets.len()).unwrap_or(0);
        peer.say(&[peer.sack(acknowledged)])?;
    }
    // A window cut down to the burst would grow by a packet with each SACK.
    let grows = flights.windows(2).all(|pair| pair[1] >= pair[0] + 2);
    holds(&format!("the flights {flights:?} begin with a burst and grow"), flights[0] <= 4 && grows)
}

fn window_of_messages_ends_at_65535(peer: &mut Peer) -> Verdict {
    peer.a_rwnd = 1 << 30;
    peer.establish()?;
    let before = peer.their_tsn.wrapping_sub(1);
    let mut highest: u32 = 0;
    for _ in 0..660 {
        for _ in 0..100 {
            peer.call(Call::Send { stream: 0, octets: 1 })?;
        }
        // All but the first chunk arrive.
        while let (tsns, 1..) = flight(peer)? {
            let offsets = tsns.iter().map(|tsn| tsn.wrapping_sub(before));
            highest = offsets.max().map_or(highest, |last| last.max(highest));
            let last = u16::try_from(highest);
            let last =
                last.map_err(|_| crate::script::Mismatch::new(format!("{highest} chunks are outstanding")))?;
            if last > 1 {
                peer.say(&[sack(before, peer.a_rwnd, &[(2, last)])])?;
            }
        }
    }
    same("the chunks outstanding", highest, 65_535)?;
    peer.say(&[sack(before.wrapping_add(highest), peer.a_rwnd, &[])])?;
    let (rest, _) = flight(peer)?;
    same("the next TSN", rest.first().copied(), Some(before.wrapping_add(65_536)))
}

/// Leaves out a chunk and fills the buffer behind it; gives that chunk, and the last offset that was taken.
fn filled_behind_a_gap(peer: &mut Peer) -> Verdict<(Chunk, u16)> {
    peer.establish()?;
    let missing = peer.next_data(0, 0, &[7; 1000]).flagged(WHOLE | IMMEDIATE);
    let mut last = 1;
    for ssn in 1..20 {
        let full = peer.next_data(0, ssn, &[7; 1000]);
        let reported = blocks(&answered(peer, full)?);
        if !reported.contains(&(2, ssn + 1)) {
            return holds("some were taken", last > 1).map(|()| (missing, last));
        }
        last = ssn + 1;
    }
    holds("the buffer is full after 20 messages", false).map(|()| (missing, last))
}

fn what_all_wait_for_is_let_in_though_the_buffer_is_full(peer: &mut Peer) -> Verdict {
    let (missing, last) = filled_behind_a_gap(peer)?;
    let before = missing.u32(0).wrapping_sub(1);
    let sack = answered(peer, missing)?;
    same("the cumulative TSN", sack.u32(0), before.wrapping_add(last.into()))
}

fn gap_ack_blocks_stay_though_the_buffer_is_full(peer: &mut Peer) -> Verdict {
    let (_, last) = filled_behind_a_gap(peer)?;
    for ssn in 20..25 {
        let beyond = peer.next_data(0, ssn, &[7; 1000]);
        same("the gap ack blocks", blocks(&answered(peer, beyond)?), vec![(2, last)])?;
    }
    Ok(())
}

fn what_is_acknowledged_is_delivered(peer: &mut Peer) -> Verdict {
    let messages = filled(peer)?;
    peer.call(Call::Echo)?;
    let back = echoed(peer, messages.into())?;
    holds("all of them come back whole", back.iter().all(|message| message == &[7; 1000]))
}

fn unread_messages_take_from_the_window(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let mut windows = vec![u32::try_from(crate::stack::SMALL_BUFFER).unwrap_or(0)];
    for ssn in 0..2 {
        let full = peer.next_data(0, ssn, &[7; 1000]).flagged(WHOLE | IMMEDIATE);
        windows.push(answered(peer, full)?.u32(4));
    }
    holds(
        &format!("the windows {windows:?} shrink"),
        windows.windows(2).all(|pair| pair[1] + 1000 <= pair[0]),
    )?;
    peer.call(Call::Read)?;
    while let Some(heard) = peer.hear_any() {
        chunk(&heard?, SACK)?;
    }
    let small = peer.next_data(0, 2, b"x").flagged(WHOLE | IMMEDIATE);
    let told = answered(peer, small)?.u32(4);
    holds("the window has grown by what was read at most", told > windows[2] && told < windows[1])
}

fn window_counts_what_is_in_flight(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for _ in 0..2 {
        peer.call(Call::Send { stream: 0, octets: 1000 })?;
        peer.hear("DATA")?;
    }
    peer.say(&[sack(peer.their_tsn, 1500, &[])])?;
    peer.lives()?;
    peer.call(Call::Send { stream: 0, octets: 1000 })?;
    peer.silence(500)?;
    peer.say(&[sack(peer.their_tsn.wrapping_add(1), 1500, &[])])?;
    peer.hear("DATA").map(drop)
}

fn message_longer_than_the_buffer_is_delivered_in_pieces(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Echo)?;
    let (mut sent, mut back) = (0, Vec::<u8>::new());
    while sent < 12_000 {
        let flags = if sent == 0 { BEGINNING } else { 0 };
        let flags = if sent == 10_800 { ENDING } else { flags };
        let part = peer.next_data(0, 0, &[7; 1200]).flagged(flags | IMMEDIATE);
        peer.say(&[part])?;
        sent += 1200;
        let mut is_acknowledged = false;
        while !is_acknowledged || back.len() < sent {
            let Some(heard) = peer.hear_soon() else { break };
            for found in &heard?.chunks {
                is_acknowledged |= found.kind == SACK && found.u32(0) == peer.tsn.wrapping_sub(1);
                if found.kind == DATA {
                    back.extend(found.value.get(12..).unwrap_or_default());
                    peer.say(&[sack(found.u32(0), peer.a_rwnd, &[])])?;
                }
            }
        }
        holds("the part is taken", is_acknowledged)?;
    }
    same("what the user has sent back", back.len(), 12_000)
}
