//! Cases of §6.2, §6.7, the receiver: windows, gaps, duplicates.

use crate::law::MTU;
use crate::packet::{BEGINNING, Chunk, HEARTBEAT_ACK, IMMEDIATE, SACK, WHOLE, data, heartbeat};
use crate::script::{Peer, Verdict, chunk, holds, same};
use crate::wire::Call;

cases! {
    Must "6.2" VirtualTime SmallBuffer window_opens_in_steps:
        "a user that reads small messages one by one brings no SACK for each of them";
    Must "6.2, 6.7" Both Plain sack_has_as_many_gaps_as_fit:
        "one SACK has the lowest gap ack blocks, as many as fit the path MTU";
    Should "6.2" Both Plain fragments_in_reassembly_take_from_the_window:
        "fragments that wait for others take from the window until they are delivered";
    Must "6.2" Both Plain dropped_chunk_is_not_reported:
        "DATA beyond the window is in no gap ack block until it is taken";
}

/// Returns the blocks of a SACK as offsets.
pub(super) fn blocks(sack: &Chunk) -> Vec<(u16, u16)> {
    let count = usize::from(sack.u16(8));
    (0..count).map(|each| (sack.u16(12 + 4 * each), sack.u16(14 + 4 * each))).collect()
}

/// Says DATA, and reads its SACK.
pub(super) fn answered(peer: &mut Peer, chunk: Chunk) -> Verdict<Chunk> {
    peer.say(&[chunk])?;
    peer.hear("SACK")?.chunk(SACK).cloned().ok_or_else(|| crate::script::Mismatch::new("no SACK came"))
}

fn dropped_chunk_is_not_reported(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.begin_data()?;
    // Farther away than any window lets a sender go.
    let far = data(peer.tsn.wrapping_add(40_000_000), 0, 9, b"far").flagged(WHOLE | IMMEDIATE);
    peer.say(&[far, heartbeat(b"marker")])?;
    for sack in peer.gather_with(HEARTBEAT_ACK)?.iter().filter(|chunk| chunk.kind == SACK) {
        same("gap ack blocks", sack.u16(8), 0)?;
    }
    let next = peer.next_data(0, 1, b"next").flagged(WHOLE | IMMEDIATE);
    let sack = answered(peer, next)?;
    same("the cumulative TSN and blocks", (sack.u32(0), sack.u16(8)), (peer.tsn.wrapping_sub(1), 0))
}

fn window_opens_in_steps(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.begin_data()?;
    let mut messages = 1;
    for ssn in 1..200 {
        let small = peer.next_data(0, ssn, &[7; 100]).flagged(WHOLE | IMMEDIATE);
        let sack = answered(peer, small)?;
        if sack.u32(0) != peer.tsn.wrapping_sub(1) {
            break;
        }
        messages += 1;
    }
    let mut updates = 0;
    for _ in 0..messages {
        peer.call(Call::Read)?;
        while let Some(heard) = peer.hear_any() {
            chunk(&heard?, SACK)?;
            updates += 1;
        }
    }
    holds("there were many messages", messages > 10)?;
    holds("the window was told for each quarter of the buffer", (1..=4).contains(&updates))
}

fn sack_has_as_many_gaps_as_fit(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.begin_data()?;
    let (mut tsn, mut last) = (peer.tsn, None);
    for _ in 0..10 {
        let chunks: Vec<Chunk> = (0..50)
            .map(|_| {
                tsn = tsn.wrapping_add(2);
                data(tsn, 0, 9, b"x").flagged(WHOLE | crate::packet::UNORDERED)
            })
            .collect();
        peer.say(&chunks)?;
        last = Some(peer.hear("SACK")?);
    }
    let heard = last.ok_or_else(|| crate::script::Mismatch::new("no SACK came"))?;
    let found = blocks(chunk(&heard, SACK)?);
    holds("another block would not have fitted", (MTU - 3..=MTU).contains(&heard.octets.len()))?;
    let lowest: Vec<(u16, u16)> = (0..).map(|each| (3 + 2 * each, 3 + 2 * each)).take(found.len()).collect();
    same("the gap ack blocks", found, lowest)
}

fn fragments_in_reassembly_take_from_the_window(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Echo)?;
    let first = peer.next_data(0, 0, &[7; 1000]).flagged(BEGINNING | IMMEDIATE);
    let mut window = answered(peer, first)?.u32(4);
    for _ in 0..5 {
        let middle = peer.next_data(0, 0, &[7; 1000]).flagged(IMMEDIATE);
        let told = answered(peer, middle)?.u32(4);
        holds("the window shrinks by each fragment", told + 1000 <= window)?;
        window = told;
    }
    Ok(())
}
