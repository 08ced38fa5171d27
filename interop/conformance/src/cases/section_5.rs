//! Cases of §5.1, §5.3, §5.4: opening an association.

use crate::packet::{
    ABORT, COOKIE_ACK, COOKIE_ECHO, Chunk, DATA, ERROR, HEARTBEAT, HEARTBEAT_ACK, INIT, INIT_ACK, SACK, data,
    heartbeat, init, item, packet, sealed,
};
use crate::script::{Peer, Verdict, chunk, holds, same};
use crate::wire::Call;

cases! {
    Must "5.1 (B)" Both Plain init_ack_goes_to_where_init_came_from:
        "INIT ACK goes to the source of INIT and has its initiate tag as tag";
    Must "5.1 (B)" VirtualTime Plain init_leaves_no_state:
        "after INIT ACK there is nothing to retransmit and no association";
    Must "5.1 (C)" Both Plain nothing_but_cookie_echo_before_cookie_ack:
        "until COOKIE ACK comes nothing else is sent, whatever the user wants to send";
    Must "5.1 (C), 6" VirtualTime Plain data_may_stand_behind_cookie_echo:
        "DATA queued before goes out behind COOKIE ECHO, which is first in its packet, or after COOKIE ACK";
    Must "5.1 (D)" Both Plain cookie_echo_is_answered_by_cookie_ack:
        "COOKIE ECHO is answered by COOKIE ACK, first in its packet, and the association is there";
    Must "5.1" Both Plain data_with_cookie_echo_is_acknowledged_at_once:
        "DATA behind COOKIE ECHO is acknowledged at once (§5.1.5 step 7)";
    Must "5.1" VirtualTime Plain first_data_is_acknowledged_at_once:
        "the first DATA chunk of an association is acknowledged at once";
    Should "5.1, 6.3" VirtualTime Plain init_is_repeated_with_doubling:
        "INIT is sent again after RTO.Initial, then after twice as long each time, Max.Init.Retransmits times";
    Must "5.1.4" VirtualTime Plain cookie_echo_is_repeated_with_doubling:
        "COOKIE ECHO is sent again when T1-cookie expires, Max.Init.Retransmits times at most";
    Should "5.1" VirtualTime Plain init_uses_all_addresses:
        "INIT is sent again to the other addresses of the peer";
    Should "5.1" Both Plain abort_refuses_what_lacks_the_cookie:
        "an INIT ACK that is refused is answered by ABORT with its initiate tag";
    Must "5.1.1" Both Plain streams_are_no_more_than_the_peer_allows:
        "a message for a stream beyond the peer's inbound streams is not sent";
    Must "5.1.2 (A)" Both Plain source_is_the_only_address_without_a_list:
        "without addresses in INIT the source is the only destination: from another address a packet is out of the blue";
    Must "5.1.2 (C)" VirtualTime Heartbeats listed_addresses_are_destinations:
        "the addresses listed in INIT are destinations of the association, and are verified";
    Should "5.1.2" Both Plain addresses_of_another_family_are_no_error:
        "addresses of a family that is not used are ignored without an error";
    Should "5.1.2" Both Plain supported_address_types_do_not_hinder:
        "an INIT over IPv4 that supports IPv6 alone is answered without an error";
    Must "5.1.5 (2)" Both Plain changed_cookie_is_dropped:
        "a cookie that fails its MAC is dropped silently, with the DATA behind it";
    Must "5.1.5 (3)" Both Plain cookie_with_another_tag_is_dropped:
        "a cookie in a packet with another tag is dropped silently";
    Must "5.1.5 (3)" Both Plain cookie_from_another_port_is_dropped:
        "a cookie in a packet from another port is dropped silently";
    Must "5.1.5 (4)" VirtualTime Plain stale_cookie_is_reported:
        "a cookie older than its life is answered by ERROR with Stale Cookie, and makes no association";
    Must "5.3.1" Both Plain tags_differ_from_one_association_to_the_next:
        "each association has a new tag that is not 0, and a new initial TSN";
    Must "5.4" VirtualTime Plain unverified_address_gets_heartbeats_only:
        "a listed address gets nothing but HEARTBEATs with a nonce until one is answered";
    Must "5.4" VirtualTime Plain wrong_nonce_confirms_nothing:
        "a HEARTBEAT ACK with another nonce confirms no address";
    Should "5.4" VirtualTime Plain unverified_address_is_probed_once_a_round:
        "no more than HB.Max.Burst HEARTBEATs in an RTO go to unverified addresses";
}

fn init_ack_goes_to_where_init_came_from(peer: &mut Peer) -> Verdict {
    peer.from = 1;
    let heard = peer.init(&[])?;
    same("the destination", heard.to, 1)?;
    same("the tag", heard.tag, peer.tag)
}

fn init_leaves_no_state(peer: &mut Peer) -> Verdict {
    peer.init(&[])?;
    peer.silence(100_000)?;
    peer.is_gone()
}

fn nothing_but_cookie_echo_before_cookie_ack(peer: &mut Peer) -> Verdict {
    peer.be_echoed()?;
    peer.silence(500)?;
    peer.say(&[Chunk::new(COOKIE_ACK, [])])?;
    peer.lives()
}

fn data_may_stand_behind_cookie_echo(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    peer.silence(500)?;
    peer.init_ack(&[])?;
    let heard = peer.hear("COOKIE_ECHO DATA")?;
    same("the TSN", chunk(&heard, DATA)?.u32(0), peer.their_tsn)
}

fn cookie_echo_is_answered_by_cookie_ack(peer: &mut Peer) -> Verdict {
    peer.init(&[])?;
    let echo = peer.cookie_echo();
    peer.say(&[echo])?;
    let heard = peer.hear("COOKIE_ACK")?;
    same("the tag", heard.tag, peer.tag)?;
    peer.lives()
}

fn data_with_cookie_echo_is_acknowledged_at_once(peer: &mut Peer) -> Verdict {
    peer.init(&[])?;
    let (echo, first) = (peer.cookie_echo(), peer.next_data(0, 0, b"first"));
    peer.say(&[echo, first])?;
    let chunks = peer.gather(&[COOKIE_ACK, SACK])?;
    same("the first chunk", chunks.first().map(|chunk| chunk.kind), Some(COOKIE_ACK))?;
    same("the cumulative TSN", chunks.last().map(|chunk| chunk.u32(0)), Some(peer.tsn.wrapping_sub(1)))
}

fn first_data_is_acknowledged_at_once(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let first = peer.next_data(0, 0, b"first");
    peer.say(&[first])?;
    peer.hear("SACK").map(drop)
}

fn init_is_repeated_with_doubling(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
        peer.hear_after(wait * 1000, "INIT")?;
    }
    peer.silence(200_000)
}

fn cookie_echo_is_repeated_with_doubling(peer: &mut Peer) -> Verdict {
    peer.be_echoed()?;
    for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
        let heard = peer.hear_after(wait * 1000, "COOKIE_ECHO")?;
        same("the cookie", chunk(&heard, COOKIE_ECHO)?.value.as_slice(), b"cookie")?;
    }
    peer.silence(200_000)
}

fn init_uses_all_addresses(peer: &mut Peer) -> Verdict {
    peer.call(Call::ConnectToBoth)?;
    let first = peer.hear("INIT")?;
    let second = peer.hear_within(3000, "INIT")?;
    same("the two destinations", (first.to, second.to), (0, 1))
}

fn abort_refuses_what_lacks_the_cookie(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    let ack = init(INIT_ACK, peer.tag, 100_000, (10, 10), 1, &[]);
    peer.say(&[ack])?;
    let heard = peer.hear("ABORT")?;
    same("the tag", heard.tag, peer.tag)?;
    same("the T bit", chunk(&heard, ABORT)?.flags & 1, 0)
}

fn streams_are_no_more_than_the_peer_allows(peer: &mut Peer) -> Verdict {
    let init = init(INIT, peer.tag, peer.a_rwnd, (10, 2), peer.tsn, &[]);
    peer.say_tagged(0, &[init])?;
    let heard = peer.hear("INIT_ACK")?;
    let ack = chunk(&heard, INIT_ACK)?;
    (peer.their_tag, peer.their_tsn) = (ack.u32(0), ack.u32(12));
    let echo = Chunk::new(COOKIE_ECHO, ack.item(16, 7).unwrap_or_default());
    peer.say(&[echo])?;
    peer.hear("COOKIE_ACK")?;
    peer.call(Call::Send { stream: 1, octets: 5 })?;
    let heard = peer.hear("DATA")?;
    same("the stream", chunk(&heard, DATA)?.u16(4), 1)?;
    holds("a message for stream 2 is refused", peer.call(Call::Send { stream: 2, octets: 5 }).is_err())
}

fn source_is_the_only_address_without_a_list(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.from = 1;
    peer.say(&[heartbeat(b"x")])?;
    peer.from = 0;
    peer.say(&[heartbeat(b"marker")])?;
    // Whatever the stack says to the first, it is not an answer within the association.
    let mut heard = peer.gather_with(HEARTBEAT_ACK)?;
    let answer = heard.pop().is_some_and(|ack| ack.value.windows(6).any(|octets| octets == b"marker"));
    holds("the HEARTBEAT from elsewhere is not answered", answer)?;
    holds("nothing but ABORT comes", heard.iter().all(|chunk| chunk.kind == ABORT))
}

fn listed_addresses_are_destinations(peer: &mut Peer) -> Verdict {
    peer.init(&both_addresses())?;
    let echo = peer.cookie_echo();
    peer.say(&[echo])?;
    peer.hear("COOKIE_ACK")?;
    let probe = peer.hear_within(2000, "HEARTBEAT")?;
    same("the destination", probe.to, 1)
}

fn addresses_of_another_family_are_no_error(peer: &mut Peer) -> Verdict {
    let heard = peer.init(&item(6, &[0xfd; 16]))?;
    same("a report", chunk(&heard, INIT_ACK)?.item(16, 8), None)
}

fn supported_address_types_do_not_hinder(peer: &mut Peer) -> Verdict {
    let heard = peer.init(&item(12, &[0, 6]))?;
    same("a report", chunk(&heard, INIT_ACK)?.item(16, 8), None)
}

fn changed_cookie_is_dropped(peer: &mut Peer) -> Verdict {
    peer.init(&[])?;
    for place in [0, peer.cookie.len() / 2, peer.cookie.len() - 1] {
        let mut cookie = peer.cookie.clone();
        cookie[place] ^= 1;
        let first = data(peer.tsn, 0, 0, b"first");
        peer.say(&[Chunk::new(COOKIE_ECHO, cookie), first])?;
        peer.silence(100)?;
    }
    let echo = peer.cookie_echo();
    peer.say(&[echo])?;
    peer.hear("COOKIE_ACK").map(drop)
}

fn cookie_with_another_tag_is_dropped(peer: &mut Peer) -> Verdict {
    peer.init(&[])?;
    let echo = peer.cookie_echo();
    peer.say_tagged(peer.their_tag ^ 1, core::slice::from_ref(&echo))?;
    peer.silence(100)?;
    peer.say(&[echo])?;
    peer.hear("COOKIE_ACK").map(drop)
}

fn cookie_from_another_port_is_dropped(peer: &mut Peer) -> Verdict {
    peer.init(&[])?;
    let echo = peer.cookie_echo();
    let octets = packet((peer.ports.0 + 1, peer.ports.1), peer.their_tag, core::slice::from_ref(&echo));
    peer.say_octets(&sealed(octets))?;
    peer.silence(100)?;
    peer.say(&[echo])?;
    peer.hear("COOKIE_ACK").map(drop)
}

fn stale_cookie_is_reported(peer: &mut Peer) -> Verdict {
    peer.init(&[])?;
    peer.silence(60_500)?;
    let (echo, first) = (peer.cookie_echo(), peer.next_data(0, 0, b"first"));
    peer.say(&[echo, first])?;
    let heard = peer.hear("ERROR")?;
    same("the tag", heard.tag, peer.tag)?;
    let cause = chunk(&heard, ERROR)?.item(0, 3).unwrap_or_default();
    let measure = cause.first_chunk().map(|octets| u32::from_be_bytes(*octets));
    let is_near = measure.is_some_and(|us| us == 0 || us.abs_diff(500_000) < 10_000);
    holds("the measure of staleness is 500,000 µs, or 0 for none", cause.len() == 4 && is_near)?;
    peer.is_gone()
}

fn tags_differ_from_one_association_to_the_next(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let before = (peer.their_tag, peer.their_tsn);
    peer.say(&[Chunk::new(ABORT, [])])?;
    peer.tag ^= 0xff;
    peer.establish()?;
    holds("the tags differ and are not 0", before.0 != peer.their_tag && peer.their_tag != 0)?;
    holds("the initial TSNs differ", before.1 != peer.their_tsn)
}

/// Opens an association with a peer that lists both of its addresses, from the first.
pub(super) fn establish_with_two_addresses(peer: &mut Peer) -> Verdict {
    peer.init(&both_addresses())?;
    let echo = peer.cookie_echo();
    peer.say(&[echo])?;
    peer.hear("COOKIE_ACK").map(drop)
}

fn unverified_address_gets_heartbeats_only(peer: &mut Peer) -> Verdict {
    establish_with_two_addresses(peer)?;
    let probe = peer.hear_within(2000, "HEARTBEAT")?;
    same("the destination", probe.to, 1)?;
    holds("it has a nonce", chunk(&probe, HEARTBEAT)?.value.len() >= 4 + 8)?;
    peer.from = 1;
    peer.say(&[heartbeat(b"x")])?;
    let answer = peer.hear("HEARTBEAT_ACK")?;
    same("the destination of the answer", answer.to, 1)?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    same("the destination of DATA", peer.hear("DATA")?.to, 0)
}

fn wrong_nonce_confirms_nothing(peer: &mut Peer) -> Verdict {
    establish_with_two_addresses(peer)?;
    let probe = peer.hear_within(2000, "HEARTBEAT")?;
    let mut value = chunk(&probe, HEARTBEAT)?.value.clone();
    value.iter_mut().skip(4).for_each(|octet| *octet ^= 0x55);
    peer.say(&[Chunk::new(HEARTBEAT_ACK, value)])?;
    same("the destination of the next probe", peer.hear_within(4000, "HEARTBEAT")?.to, 1)
}

fn unverified_address_is_probed_once_a_round(peer: &mut Peer) -> Verdict {
    establish_with_two_addresses(peer)?;
    peer.hear_within(2000, "HEARTBEAT")?;
    peer.silence(990)
}

/// Returns the list of both of the script's addresses.
pub(super) fn both_addresses() -> Vec<u8> {
    [item(5, &[10, 99, 0, 1]), item(5, &[10, 99, 0, 2])].concat()
}
