//! Cases of §3: the format of packets, chunks and parameters.

use crate::packet::{
    ABORT, BEGINNING, COOKIE_ECHO, Chunk, ENDING, ERROR, HEARTBEAT, HEARTBEAT_ACK, IMMEDIATE, INIT, INIT_ACK,
    SACK, UNORDERED, WHOLE, data, heartbeat, init, item, packet, sack, sealed,
};
use crate::script::{Peer, Verdict, chunk, holds, same};
use crate::wire::Call;

cases! {
    Must "3.1" Both Plain packets_carry_the_tag_of_the_peers_init:
        "every packet carries the initiate tag of the peer, and both ports";
    Must "3.2" Both Plain unknown_chunk_00_stops_the_packet_silently:
        "an unknown chunk with the upper bits 00 ends the packet, without a report";
    Must "3.2" Both Plain unknown_chunk_01_stops_the_packet_and_is_reported:
        "one with 01 ends the packet and is reported, whole, as Unrecognized Chunk Type";
    Must "3.2" Both Plain unknown_chunk_10_is_skipped:
        "one with 10 is skipped; what follows is processed";
    Must "3.2" Both Plain unknown_chunk_11_is_skipped_and_reported:
        "one with 11 is skipped and reported; what follows is processed";
    Must "3.2" Both Plain padding_is_ignored_whatever_it_holds:
        "the octets of padding are ignored";
    Should "3.2" Both Plain final_padding_may_be_counted:
        "a chunk whose length counts its last padding is accepted";
    Must "3.2.1" Both Plain unknown_parameter_00_ends_the_parameters:
        "an unknown parameter of INIT with the upper bits 00 ends the parameters, and INIT ACK comes without a report";
    Must "3.2.1, 3.2.2" Both Plain unknown_parameter_01_ends_the_parameters_and_is_reported:
        "one with 01 ends the parameters and is reported in INIT ACK";
    Must "3.2.1" Both Plain unknown_parameter_10_is_skipped:
        "one with 10 is skipped; those that follow count";
    Must "3.2.1, 3.2.2" Both Plain unknown_parameter_11_is_skipped_and_reported:
        "one with 11 is skipped and reported in INIT ACK; those that follow count";
    Should "3.2.2" Both Plain unknown_parameter_of_init_ack_is_reported_behind_cookie_echo:
        "an unknown parameter of INIT ACK is reported by an ERROR in the packet of COOKIE ECHO, which comes first";
    Must "3.3.1" Both Plain unordered_data_is_delivered_whatever_its_ssn:
        "the stream sequence number of unordered DATA is ignored";
    Must "3.3.1" Both Plain user_data_goes_out_with_its_marks:
        "a message in one chunk has B and E, its stream, and a length that leaves the padding out";
    Must "3.3.1" Both Plain unordered_user_data_is_marked_in_every_fragment:
        "each fragment of an unordered message has U; B is in the first and E in the last; TSNs are in sequence";
    Must "3.3.2" Both Plain init_of_the_stack_is_sound:
        "INIT goes out alone, with tag 0, flags 0, an initiate tag, a window of at least 1500, streams both ways, no host name";
    Must "3.3.2" Both Plain init_with_tag_zero_is_dropped:
        "INIT with initiate tag 0 is dropped silently";
    Must "3.3.2" Both Plain init_with_a_small_window_is_refused:
        "INIT with a window below 1500 is answered by ABORT with its initiate tag";
    Must "3.3.2" Both Plain init_without_outbound_streams_is_refused:
        "INIT with no outbound streams is answered by ABORT with its initiate tag";
    Must "3.3.2" Both Plain init_without_inbound_streams_is_refused:
        "INIT with no inbound streams is answered by ABORT with its initiate tag";
    Must "3.3.2" Both Plain unsound_init_leaves_the_association_alone:
        "an INIT with zero streams or a small window changes nothing in an association that exists";
    Should "3.3.2" Both Plain flags_of_init_are_ignored:
        "the flags of INIT are ignored";
    Must "3.3.2.1.4" Both Plain host_name_in_init_is_refused:
        "INIT with a host name is answered by ABORT";
    Must "3.3.2.1.4" Both Plain host_name_in_init_ack_is_refused:
        "INIT ACK with a host name is answered by ABORT";
    Must "3.3.3" Both Plain init_ack_of_the_stack_is_sound:
        "INIT ACK goes out alone, to the INIT's tag, with flags 0, an initiate tag, a window of at least 1500, streams both ways and a cookie";
    Must "3.3.3" Both Plain init_ack_with_tag_zero_ends_the_attempt:
        "INIT ACK with initiate tag 0 ends the association, and is answered by ABORT with the T bit";
    Must "3.3.3" Both Plain init_ack_with_a_small_window_is_refused:
        "INIT ACK with a window below 1500 is answered by ABORT to its initiate tag, and dropped: the attempt goes on";
    Must "3.3.3" Both Plain init_ack_without_streams_ends_the_attempt:
        "INIT ACK with no outbound streams is answered by ABORT, and the association ends";
    Should "3.3.3, 5.1" Both Plain init_ack_without_a_cookie_is_refused_with_its_cause:
        "INIT ACK without a cookie is answered by ABORT with Missing Mandatory Parameter, which names the cookie";
    Must "3.3.4" Both Plain sack_names_gaps_from_the_cumulative_tsn:
        "gap ack blocks are offsets from the cumulative TSN; the window is told";
    Must "3.3.4" Both Plain sack_lists_duplicates:
        "a TSN that came twice is listed as a duplicate, as often as it came again";
    Must "3.3.6, 8.3" Both Plain heartbeat_is_echoed_unchanged:
        "HEARTBEAT ACK has the information of the HEARTBEAT, whatever it is";
    Must "3.3.7" Both Plain abort_before_other_chunks_ends_the_packet:
        "what stands behind an ABORT in a packet is ignored";
    Must "3.3.7" Both Plain abort_with_a_bad_length_is_dropped:
        "an ABORT whose length is wrong is dropped silently";
    Must "3.3.11" Both Plain cookie_comes_back_exactly:
        "COOKIE ECHO holds the very octets of the State Cookie parameter, and goes to the tag of INIT ACK";
}

fn packets_carry_the_tag_of_the_peers_init(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.say(&[heartbeat(b"x")])?;
    let heard = peer.hear("HEARTBEAT_ACK")?;
    same("the tag", heard.tag, peer.tag)?;
    same("the ports", heard.ports, (peer.ports.1, peer.ports.0))
}

fn unknown_chunk_00_stops_the_packet_silently(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.say(&[Chunk::new(0x2a, *b"what"), heartbeat(b"behind")])?;
    peer.no_answer()
}

fn unknown_chunk_01_stops_the_packet_and_is_reported(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.say(&[Chunk::new(0x6a, *b"what"), heartbeat(b"behind")])?;
    let heard = peer.hear("ERROR")?;
    same("the report", chunk(&heard, ERROR)?.item(0, 6), Some(b"\x6a\x00\x00\x08what".to_vec()))?;
    peer.no_answer()
}

fn unknown_chunk_10_is_skipped(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.say(&[Chunk::new(0xaa, *b"what"), heartbeat(b"behind")])?;
    peer.hear("HEARTBEAT_ACK")?;
    peer.no_answer()
}

fn unknown_chunk_11_is_skipped_and_reported(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.say(&[Chunk::new(0xea, *b"what"), heartbeat(b"behind")])?;
    let chunks = peer.gather(&[ERROR, HEARTBEAT_ACK])?;
    let report = chunks.iter().find_map(|chunk| chunk.item(0, 6));
    same("the report", report, Some(b"\xea\x00\x00\x08what".to_vec()))
}

fn padding_is_ignored_whatever_it_holds(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let mut octets = packet(peer.ports, peer.their_tag, &[heartbeat(b"x"), heartbeat(b"behind")]);
    // HEARTBEAT of 9 octets: its length is that of its parameter, whose last three octets are padding.
    octets.splice(21..24, *b"pad");
    octets.splice(14..16, 9_u16.to_be_bytes());
    peer.say_octets(&sealed(octets))?;
    peer.gather(&[HEARTBEAT_ACK, HEARTBEAT_ACK]).map(drop)
}

fn final_padding_may_be_counted(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let mut value = item(1, b"x");
    value.resize(8, 0);
    peer.say(&[Chunk::new(HEARTBEAT, value), heartbeat(b"behind")])?;
    peer.gather(&[HEARTBEAT_ACK, HEARTBEAT_ACK]).map(drop)
}

/// Says INIT with an unknown parameter and a host name behind it, which would be refused if it were read.
fn init_with_unknown(peer: &mut Peer, kind: u16) -> Verdict {
    let parameters = [item(kind, b"what"), item(HOST_NAME, b"host\0")].concat();
    let init = peer.init_chunk(&parameters);
    peer.say_tagged(0, &[init])
}

fn unknown_parameter_00_ends_the_parameters(peer: &mut Peer) -> Verdict {
    init_with_unknown(peer, 0x2aaa)?;
    let heard = peer.hear("INIT_ACK")?;
    same("the report", chunk(&heard, INIT_ACK)?.item(16, UNRECOGNIZED), None)
}

fn unknown_parameter_01_ends_the_parameters_and_is_reported(peer: &mut Peer) -> Verdict {
    init_with_unknown(peer, 0x6aaa)?;
    let heard = peer.hear("INIT_ACK")?;
    let report = chunk(&heard, INIT_ACK)?.item(16, UNRECOGNIZED);
    same("the report", report, Some(item(0x6aaa, b"what")))
}

fn unknown_parameter_10_is_skipped(peer: &mut Peer) -> Verdict {
    init_with_unknown(peer, 0xaaaa)?;
    peer.hear("ABORT").map(drop)
}

fn unknown_parameter_11_is_skipped_and_reported(peer: &mut Peer) -> Verdict {
    let parameters = [item(0xeaaa, b"what"), item(0xebbb, b"else")].concat();
    let heard = peer.init(&parameters)?;
    let items = chunk(&heard, INIT_ACK)?.items(16);
    let reports = items.into_iter().filter(|(kind, _)| *kind == UNRECOGNIZED).map(|(_, content)| content);
    same("what is reported", reports.collect::<Vec<_>>().concat(), parameters)
}

fn unknown_parameter_of_init_ack_is_reported_behind_cookie_echo(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    peer.init_ack(&item(0xeaaa, b"what"))?;
    let heard = peer.hear("COOKIE_ECHO ERROR")?;
    same("the report", chunk(&heard, ERROR)?.item(0, 8), Some(item(0xeaaa, b"what")))
}

fn unordered_data_is_delivered_whatever_its_ssn(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Echo)?;
    let unordered = peer.next_data(3, 77, b"any").flagged(WHOLE | UNORDERED | IMMEDIATE);
    peer.say(&[unordered])?;
    let chunks = peer.gather(&[SACK, 0])?;
    same(
        "what was delivered",
        chunks.iter().any(|chunk| chunk.kind == 0 && chunk.value.ends_with(b"any")),
        true,
    )
}

fn user_data_goes_out_with_its_marks(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 3, octets: 5 })?;
    let heard = peer.hear("DATA")?;
    let sent = chunk(&heard, 0)?;
    same("B and E", sent.flags & WHOLE, WHOLE)?;
    same("the TSN", sent.u32(0), peer.their_tsn)?;
    same("stream and SSN", (sent.u16(4), sent.u16(6)), (3, 0))?;
    same("the payload", sent.value.get(12..), Some(&[7; 5][..]))
}

fn unordered_user_data_is_marked_in_every_fragment(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::SendUnordered { stream: 1, octets: 4000 })?;
    let (mut flags, mut tsn) = (0, peer.their_tsn);
    while flags & ENDING == 0 {
        let heard = peer.hear("DATA")?;
        let sent = chunk(&heard, 0)?;
        flags = sent.flags;
        same("U", flags & UNORDERED, UNORDERED)?;
        same("B", flags & BEGINNING != 0, tsn == peer.their_tsn)?;
        same("the TSN", sent.u32(0), tsn)?;
        tsn = tsn.wrapping_add(1);
    }
    holds("there were several fragments", tsn.wrapping_sub(peer.their_tsn) > 1)
}

fn sound(init: &Chunk) -> Verdict {
    same("the flags", init.flags, 0)?;
    holds("the initiate tag is not 0", init.u32(0) != 0)?;
    holds("the window is at least 1500", init.u32(4) >= 1500)?;
    holds("there are streams both ways", init.u16(8) > 0 && init.u16(10) > 0)?;
    let items = init.items(16);
    same("a host name", init.item(16, HOST_NAME), None)?;
    let types = init.item(16, 12).unwrap_or_default();
    holds("a host name is not supported", types.chunks(2).all(|kind| kind != HOST_NAME.to_be_bytes()))?;
    let is_mapped = |content: &[u8]| content.starts_with(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
    holds(
        "no IPv6 address is a mapped one",
        !items.iter().any(|(kind, content)| *kind == 6 && is_mapped(content)),
    )?;
    let mut kinds: Vec<u16> =
        items.iter().map(|(kind, _)| *kind).filter(|kind| !matches!(kind, 5 | 6)).collect();
    let count = kinds.len();
    kinds.sort_unstable();
    kinds.dedup();
    same("parameters of different types", kinds.len(), count)
}

fn init_of_the_stack_is_sound(peer: &mut Peer) -> Verdict {
    let heard = peer.be_called()?;
    same("the tag", heard.tag, 0)?;
    sound(chunk(&heard, INIT)?)
}

fn init_with_tag_zero_is_dropped(peer: &mut Peer) -> Verdict {
    peer.say_tagged(0, &[init(INIT, 0, 100_000, (10, 10), 1, &[])])?;
    peer.silence(1000)
}

/// Says an INIT that has to be refused, and expects the ABORT.
fn refused(peer: &mut Peer, init: Chunk) -> Verdict {
    peer.say_tagged(0, &[init])?;
    let heard = peer.hear("ABORT")?;
    same("the tag", heard.tag, peer.tag)?;
    same("the T bit", chunk(&heard, ABORT)?.flags & 1, 0)
}

fn init_with_a_small_window_is_refused(peer: &mut Peer) -> Verdict {
    let init = init(INIT, peer.tag, 1499, (10, 10), 1, &[]);
    refused(peer, init)
}

fn init_without_outbound_streams_is_refused(peer: &mut Peer) -> Verdict {
    let init = init(INIT, peer.tag, 100_000, (0, 10), 1, &[]);
    refused(peer, init)
}

fn init_without_inbound_streams_is_refused(peer: &mut Peer) -> Verdict {
    let init = init(INIT, peer.tag, 100_000, (10, 0), 1, &[]);
    refused(peer, init)
}

fn unsound_init_leaves_the_association_alone(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for (window, streams) in [(1499, (10, 10)), (100_000, (0, 10)), (100_000, (10, 0))] {
        peer.say_tagged(0, &[init(INIT, 5, window, streams, 1, &[])])?;
        same("the tag", peer.hear("ABORT")?.tag, 5)?;
        peer.lives()?;
    }
    Ok(())
}

fn flags_of_init_are_ignored(peer: &mut Peer) -> Verdict {
    let init = peer.init_chunk(&[]).flagged(0xff);
    peer.say_tagged(0, &[init])?;
    peer.hear("INIT_ACK").map(drop)
}

fn host_name_in_init_is_refused(peer: &mut Peer) -> Verdict {
    let init = peer.init_chunk(&item(HOST_NAME, b"host\0"));
    refused(peer, init)
}

fn host_name_in_init_ack_is_refused(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    peer.init_ack(&item(HOST_NAME, b"host\0"))?;
    let heard = peer.hear("ABORT")?;
    same("the tag", heard.tag, peer.tag)
}

fn init_ack_of_the_stack_is_sound(peer: &mut Peer) -> Verdict {
    let heard = peer.init(&[])?;
    same("the tag", heard.tag, peer.tag)?;
    sound(chunk(&heard, INIT_ACK)?)
}

/// Says an INIT ACK that has to be refused: what follows is out of the blue.
fn ends_the_attempt(peer: &mut Peer, ack: Chunk) -> Verdict {
    peer.be_called()?;
    peer.say(&[ack])?;
    let heard = peer.hear("ABORT")?;
    same("the tag", heard.tag, peer.tag)?;
    peer.is_gone()
}

fn init_ack_with_tag_zero_ends_the_attempt(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    peer.say(&[init(INIT_ACK, 0, 100_000, (10, 10), 1, &item(7, b"cookie"))])?;
    let heard = peer.hear("ABORT")?;
    same("the tag and T", (heard.tag, chunk(&heard, ABORT)?.flags & 1), (peer.their_tag, 1))?;
    peer.is_gone()
}

fn init_ack_with_a_small_window_is_refused(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    let ack = init(INIT_ACK, peer.tag, 1499, (10, 10), 1, &item(7, b"cookie"));
    peer.say(&[ack])?;
    let heard = peer.hear("ABORT")?;
    same("the tag and T", (heard.tag, chunk(&heard, ABORT)?.flags & 1), (peer.tag, 0))?;
    peer.init_ack(&[])?;
    peer.hear("COOKIE_ECHO").map(drop)
}

fn init_ack_without_streams_ends_the_attempt(peer: &mut Peer) -> Verdict {
    let ack = init(INIT_ACK, peer.tag, 100_000, (0, 10), 1, &item(7, b"cookie"));
    ends_the_attempt(peer, ack)
}

fn init_ack_without_a_cookie_is_refused_with_its_cause(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    let ack = init(INIT_ACK, peer.tag, 100_000, (10, 10), 1, &[]);
    peer.say(&[ack])?;
    let heard = peer.hear("ABORT")?;
    same("the tag", heard.tag, peer.tag)?;
    same("the cause", chunk(&heard, ABORT)?.item(0, 2), Some(b"\0\0\0\x01\0\x07".to_vec()))
}

fn sack_names_gaps_from_the_cumulative_tsn(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.begin_data()?;
    let cumulative = peer.tsn.wrapping_sub(1);
    peer.say(&[data(peer.tsn + 1, 0, 2, b"x"), data(peer.tsn + 4, 0, 5, b"x")])?;
    let heard = peer.hear("SACK")?;
    let found = chunk(&heard, SACK)?;
    same("the cumulative TSN", found.u32(0), cumulative)?;
    holds("a window is told", found.u32(4) > 0)?;
    let wanted = sack(cumulative, 0, &[(2, 2), (5, 5)]);
    same("the gap ack blocks", found.value.get(8..), wanted.value.get(8..))
}

fn sack_lists_duplicates(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.begin_data()?;
    let again = data(peer.tsn.wrapping_sub(1), 0, 0, b"first");
    peer.say(&[again.clone(), again])?;
    let heard = peer.hear("SACK")?;
    let found = chunk(&heard, SACK)?;
    let cumulative = peer.tsn.wrapping_sub(1);
    same("the number of duplicates", found.u16(10), 2)?;
    same("the duplicates", (found.u32(12), found.u32(16)), (cumulative, cumulative))
}

fn heartbeat_is_echoed_unchanged(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for information in [&b""[..], b"x", b"of some length", &[0xee; 1000]] {
        peer.say(&[heartbeat(information)])?;
        let heard = peer.hear("HEARTBEAT_ACK")?;
        same("the information", chunk(&heard, HEARTBEAT_ACK)?.item(0, 1), Some(information.to_vec()))?;
    }
    Ok(())
}

fn abort_before_other_chunks_ends_the_packet(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.say(&[Chunk::new(ABORT, []), heartbeat(b"behind")])?;
    peer.silence(100)?;
    peer.is_gone()
}

fn abort_with_a_bad_length_is_dropped(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let mut octets = packet(peer.ports, peer.their_tag, &[Chunk::new(ABORT, [])]);
    octets.splice(14..16, 3_u16.to_be_bytes());
    peer.say_octets(&sealed(octets))?;
    peer.lives()
}

fn cookie_comes_back_exactly(peer: &mut Peer) -> Verdict {
    let heard = peer.be_echoed()?;
    same("the tag", heard.tag, peer.tag)?;
    same("the cookie", chunk(&heard, COOKIE_ECHO)?.value.as_slice(), b"cookie")
}

const HOST_NAME: u16 = 11;
const UNRECOGNIZED: u16 = 8;
