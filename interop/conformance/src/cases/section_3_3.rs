//! Cases of §3, continued: padding, ports, and what INIT and INIT ACK may hold.

use super::section_6::echoed;
use crate::packet::{
    ABORT, BEGINNING, COOKIE_ACK, Chunk, DATA, ENDING, IMMEDIATE, INIT, INIT_ACK, SACK, UNORDERED, WHOLE,
    data, init, item, packet, sack, shutdown,
};
use crate::script::{Peer, Verdict, chunk, holds, same};
use crate::stack::PPID;
use crate::wire::Call;

cases! {
    Must "3.1" Both Plain port_zero_is_not_answered:
        "INIT from port 0, or to it, is not answered";
    Must "3.2.1" Both Plain odd_parameters_are_padded_with_zeros:
        "parameters are padded to four octets with zeros, which their length leaves out";
    Must "3.2.1" Both Plain padding_of_parameters_is_ignored:
        "the padding of a parameter is ignored, whatever it holds";
    Must "3.3.1" Both Plain unordered_data_does_not_wait:
        "an unordered message behind a gap is delivered at once";
    Must "3.3.1, 6.2" Both Plain empty_message_is_never_sent:
        "a message without octets is refused";
    Must "3.3.1" Both Plain fragments_carry_the_ppid:
        "every fragment has the payload protocol identifier of its message";
    Should "3.3.2" Both Plain window_comes_back_when_all_is_read:
        "when all is read the window is what INIT ACK promised";
    Must "3.3.2.1.5" Both Plain host_name_among_supported_types_is_ignored:
        "a host name among the supported address types is ignored";
    Should "3.3.3" Both Plain flags_of_init_ack_are_ignored:
        "the flags of INIT ACK are ignored";
    Must "3.3.3" Both Plain init_ack_offers_no_more_streams_than_the_peer_takes:
        "INIT ACK has no more outbound streams than the INIT takes";
    Must "3.3.3" Both Plain init_ack_without_inbound_streams_ends_the_attempt:
        "INIT ACK with no inbound streams is answered by ABORT, and the association ends";
    Should "3.3.3" Both Plain unsound_init_acks_are_dropped_when_established:
        "an INIT ACK with tag 0 or no streams is dropped silently in an established association";
    Should "3.3.3, 5.2.3" Both Plain init_acks_are_dropped_while_echoed:
        "in COOKIE-ECHOED any INIT ACK is dropped silently";
    Must "3.3.3" Both Plain large_init_ack_is_taken:
        "an INIT ACK of more than 1500 octets is taken";
    Should "3.3.4" Both Plain gap_ack_blocks_are_isolated:
        "TSNs in sequence are one gap ack block, in whatever order they came";
    Must "3.3.8" VirtualTime Plain shutdown_does_not_take_gaps_back:
        "SHUTDOWN takes back no gap ack block: what a SACK reported is not sent again";
}

fn port_zero_is_not_answered(peer: &mut Peer) -> Verdict {
    let init = peer.init_chunk(&[]);
    for ports in [(0, peer.ports.1), (peer.ports.0, 0)] {
        peer.say_octets(&packet(ports, 0, core::slice::from_ref(&init)))?;
        peer.silence(100)?;
    }
    peer.init(&[]).map(drop)
}

fn odd_parameters_are_padded_with_zeros(peer: &mut Peer) -> Verdict {
    let heard = peer.init(&[item(0xeaaa, b"o"), item(0xebbb, b"odd")].concat())?;
    let ack = chunk(&heard, INIT_ACK)?;
    let (mut rest, mut reports) = (ack.value.get(16..).unwrap_or_default(), 0);
    while let Some(([k0, k1, l0, l1], _)) = rest.split_first_chunk() {
        let len = usize::from(u16::from_be_bytes([*l0, *l1]));
        let next = len.next_multiple_of(4).min(rest.len());
        holds("a parameter has its header", len >= 4)?;
        let padding = rest.get(len..next).unwrap_or_default();
        holds("the padding is zero", padding.iter().all(|octet| *octet == 0))?;
        reports += usize::from(u16::from_be_bytes([*k0, *k1]) == UNRECOGNIZED);
        rest = rest.get(next..).unwrap_or_default();
    }
    same("what is left behind the last parameter", rest, &[])?;
    holds("the parameters are reported", reports > 0)
}

fn padding_of_parameters_is_ignored(peer: &mut Peer) -> Verdict {
    let mut skipped = item(0xaaaa, b"x");
    skipped.splice(5.., *b"pad");
    let heard = peer.init(&[skipped, item(0xeaaa, b"what")].concat())?;
    same("the report", chunk(&heard, INIT_ACK)?.item(16, UNRECOGNIZED), Some(item(0xeaaa, b"what")))
}

fn unordered_data_does_not_wait(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Echo)?;
    peer.tsn = peer.tsn.wrapping_add(1);
    let first = peer.next_data(4, 9, b"now").flagged(UNORDERED | BEGINNING);
    let last = peer.next_data(4, 9, b"here").flagged(UNORDERED | ENDING);
    peer.say(&[first, last])?;
    same("what was delivered", echoed(peer, 1)?, vec![b"nowhere".to_vec()])
}

fn empty_message_is_never_sent(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    holds("the message is refused", peer.call(Call::Send { stream: 0, octets: 0 }).is_err())
}

fn fragments_carry_the_ppid(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 2, octets: 3500 })?;
    let mut flags = 0;
    while flags & ENDING == 0 {
        let heard = peer.hear("DATA")?;
        let found = chunk(&heard, DATA)?;
        same("the payload protocol identifier", found.u32(8), PPID)?;
        flags = found.flags;
    }
    Ok(())
}

fn window_comes_back_when_all_is_read(peer: &mut Peer) -> Verdict {
    let heard = peer.init(&[])?;
    let promised = chunk(&heard, INIT_ACK)?.u32(4);
    let echo = peer.cookie_echo();
    peer.say(&[echo])?;
    peer.hear("COOKIE_ACK")?;
    peer.call(Call::Echo)?;
    for (sent, ssn) in (1..).zip(0..10) {
        let full = peer.next_data(0, ssn, &[7; 1000]).flagged(WHOLE | IMMEDIATE);
        peer.say(&[full])?;
        peer.gather(&[SACK, DATA])?;
        peer.say(&[peer.sack(sent)])?;
    }
    let last = peer.next_data(0, 10, b"x").flagged(WHOLE | IMMEDIATE);
    peer.say(&[last])?;
    let chunks = peer.gather(&[SACK, DATA])?;
    let told = chunks.iter().find(|chunk| chunk.kind == SACK).map_or(0, |sack| sack.u32(4));
    holds("no more than the last message is missing", told.abs_diff(promised) < 1000)
}

fn host_name_among_supported_types_is_ignored(peer: &mut Peer) -> Verdict {
    let heard = peer.init(&item(12, &[0, 11, 0, 5]))?;
    same("a report", chunk(&heard, INIT_ACK)?.item(16, UNRECOGNIZED), None)
}

fn flags_of_init_ack_are_ignored(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    let ack = init(INIT_ACK, peer.tag, 100_000, (10, 10), 1, &item(7, b"cookie")).flagged(0xff);
    peer.say(&[ack])?;
    peer.hear("COOKIE_ECHO").map(drop)
}

fn init_ack_offers_no_more_streams_than_the_peer_takes(peer: &mut Peer) -> Verdict {
    peer.say_tagged(0, &[init(INIT, peer.tag, 100_000, (10, 2), 1, &[])])?;
    let heard = peer.hear("INIT_ACK")?;
    holds("there are two outbound streams at most", chunk(&heard, INIT_ACK)?.u16(8) <= 2)
}

fn init_ack_without_inbound_streams_ends_the_attempt(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    peer.say(&[init(INIT_ACK, peer.tag, 100_000, (10, 0), 1, &item(7, b"cookie"))])?;
    let heard = peer.hear("ABORT")?;
    same("the tag and T", (heard.tag, chunk(&heard, ABORT)?.flags & 1), (peer.tag, 0))?;
    peer.is_gone()
}

/// Returns INIT ACKs that would end an attempt.
fn unsound_init_acks() -> [Chunk; 3] {
    let ack = |tag, streams| init(INIT_ACK, tag, 100_000, streams, 1, &item(7, b"cookie"));
    [ack(0, (10, 10)), ack(5, (0, 10)), ack(5, (10, 0))]
}

fn unsound_init_acks_are_dropped_when_established(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for ack in unsound_init_acks() {
        peer.say(&[ack])?;
        peer.no_answer()?;
    }
    Ok(())
}

fn init_acks_are_dropped_while_echoed(peer: &mut Peer) -> Verdict {
    peer.be_echoed()?;
    let sound = init(INIT_ACK, 5, 100_000, (10, 10), 1, &item(7, b"another"));
    for ack in unsound_init_acks().into_iter().chain([sound]) {
        peer.say(&[ack])?;
        peer.no_answer()?;
    }
    peer.say(&[Chunk::new(COOKIE_ACK, [])])?;
    peer.lives()
}

fn large_init_ack_is_taken(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    peer.init_ack(&item(0x8aaa, &[0; 4000]))?;
    peer.hear("COOKIE_ECHO").map(drop)
}

fn gap_ack_blocks_are_isolated(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.begin_data()?;
    let cumulative = peer.tsn.wrapping_sub(1);
    let mut last = None;
    for offset in [4, 2, 3] {
        peer.say(&[data(cumulative.wrapping_add(offset), 0, 9, b"x").flagged(WHOLE | UNORDERED)])?;
        last = peer.hear("SACK")?.chunk(SACK).cloned();
    }
    let wanted = sack(cumulative, 0, &[(2, 4)]);
    let found = last.and_then(|sack| sack.value.get(8..).map(<[u8]>::to_vec));
    same("the gap ack blocks", found.as_deref(), wanted.value.get(8..))
}

fn shutdown_does_not_take_gaps_back(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for _ in 0..3 {
        peer.call(Call::Send { stream: 0, octets: 10 })?;
        peer.hear("DATA")?;
    }
    peer.say(&[sack(peer.their_tsn, peer.a_rwnd, &[(2, 2)])])?;
    peer.say(&[shutdown(peer.their_tsn)])?;
    for _ in 0..3 {
        let again = peer.hear_within(10_000, "DATA")?;
        same("the TSN", chunk(&again, DATA)?.u32(0), peer.their_tsn.wrapping_add(1))?;
    }
    Ok(())
}

const UNRECOGNIZED: u16 = 8;
