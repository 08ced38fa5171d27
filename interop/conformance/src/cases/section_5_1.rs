//! Cases of §5, continued: addresses, collisions and late chunks while an association opens or restarts.

use sctp_core::Event;

use super::section_5::both_addresses;
use crate::packet::{ABORT, COOKIE_ACK, COOKIE_ECHO, Chunk, ERROR, HEARTBEAT, INIT, INIT_ACK, init, item};
use crate::script::{Peer, Verdict, chunk, holds, same};
use crate::wire::Call;

cases! {
    Must "3.3.3, 5.1.2 (A)" VirtualTime Plain init_ack_without_addresses_leaves_its_source_alone:
        "after an INIT ACK without addresses its source is the only destination, whatever the user named";
    Should "5.1" VirtualTime Plain cookie_echo_uses_all_addresses:
        "COOKIE ECHO is sent again to the other addresses of the peer";
    Must "5.4" VirtualTime Plain cookie_echo_to_an_unconfirmed_address_has_a_heartbeat:
        "COOKIE ECHO goes to an unconfirmed address with a HEARTBEAT beside it, or not at all";
    Must "5.4" Both Plain cookie_ack_to_an_unconfirmed_address_has_a_heartbeat:
        "COOKIE ACK goes to an unconfirmed address with a HEARTBEAT beside it, or not at all";
    Should "5.1" Both Plain refused_init_says_why:
        "the ABORT for an INIT with an invalid value has Invalid Mandatory Parameter";
    Must "5.1.2 (B)" Both Plain refusal_goes_to_the_source:
        "the ABORT for a host name goes to where the packet came from";
    Must "5.1.5 (1)" VirtualTime Plain cookie_of_a_forgotten_key_is_dropped:
        "a cookie whose key has been replaced is dropped silently";
    Must "5.2.1" Both Plain init_of_a_stranger_in_cookie_wait_gets_no_tag:
        "in COOKIE-WAIT an address that the user did not name never gets the tag of the own INIT";
    Should "5.2.1" Both Plain init_in_cookie_wait_is_answered_where_it_came_from:
        "in COOKIE-WAIT INIT ACK goes to the source of INIT, if the user named it";
    Must "5.2.1" Both Plain init_in_cookie_wait_is_answered_with_the_own_parameters:
        "that INIT ACK has the window, the inbound streams and the TSN of the own INIT";
    Should "5.2.2" Both Plain unexpected_init_is_answered_with_the_streams_of_the_association:
        "INIT ACK to an established association has its streams";
    Must "5.2.4 (3)" VirtualTime Plain stale_cookie_of_a_restart_is_reported:
        "a stale cookie with other tags is answered by ERROR with Stale Cookie, and changes nothing";
    Should "5.2.4" Both Plain cookie_with_no_tag_that_matches_is_dropped:
        "a cookie with two other tags and no tie-tags is dropped silently";
    Must "5.2.4 (A)" Both Plain restart_resets_the_congestion_window:
        "after a restart the first flight is the initial window again";
    Should "5.2.4 (A)" VirtualTime Plain user_is_told_of_a_restart:
        "the user is told of a restart, and not that communication is lost";
    Must "5.2.4 (B)" VirtualTime Plain crossing_stops_the_timers:
        "a cookie that establishes a crossing stops T1-init and T1-cookie";
    Should "5.2.4 (C)" VirtualTime Plain late_cookie_leaves_t1_running:
        "a late cookie leaves T1-cookie running";
    Should "5.2.4 (D)" VirtualTime Plain cookie_with_both_tags_establishes_while_echoed:
        "a cookie with both tags establishes in COOKIE-ECHOED, stops T1-cookie and is answered by COOKIE ACK";
    Should "5.2.5" Both Plain cookie_ack_is_dropped_while_waiting:
        "COOKIE ACK in COOKIE-WAIT is dropped silently";
    Should "5.2.6" Both Plain stale_cookie_error_is_dropped_while_waiting:
        "ERROR with Stale Cookie in COOKIE-WAIT is dropped silently";
}

fn cookie_echo_uses_all_addresses(peer: &mut Peer) -> Verdict {
    peer.call(Call::ConnectToBoth)?;
    let heard = peer.hear("INIT")?;
    peer.their_tag = chunk(&heard, INIT)?.u32(0);
    peer.init_ack(&both_addresses())?;
    let first = peer.hear("COOKIE_ECHO")?;
    let second = peer.hear_within(3000, "COOKIE_ECHO")?;
    same("the two destinations", (first.to, second.to), (0, 1))
}

/// Expects a packet to the confirmed address 0, or one with a HEARTBEAT with a nonce beside it.
fn confirmed_or_probed(heard: &crate::packet::Heard) -> Verdict {
    let is_probed = heard.chunk(HEARTBEAT).is_some_and(|heartbeat| heartbeat.value.len() >= 4 + 8);
    holds("the address is confirmed, or a HEARTBEAT goes with it", heard.to == 0 || is_probed)
}

fn cookie_echo_to_an_unconfirmed_address_has_a_heartbeat(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    peer.init_ack(&both_addresses())?;
    peer.hear("COOKIE_ECHO")?;
    for _ in 0..5 {
        let heard = peer.hear_later(60_000).ok_or_else(|| crate::script::Mismatch::new("nothing came"))??;
        if heard.chunk(COOKIE_ECHO).is_some() {
            confirmed_or_probed(&heard)?;
        }
    }
    Ok(())
}

fn cookie_ack_to_an_unconfirmed_address_has_a_heartbeat(peer: &mut Peer) -> Verdict {
    peer.init(&both_addresses())?;
    let echo = peer.cookie_echo();
    peer.from = 1;
    peer.say(&[echo])?;
    let heard = peer.hear_soon().ok_or_else(|| crate::script::Mismatch::new("nothing came"))??;
    chunk(&heard, COOKIE_ACK)?;
    confirmed_or_probed(&heard)
}

fn refused_init_says_why(peer: &mut Peer) -> Verdict {
    for (window, streams) in [(1499, (10, 10)), (100_000, (0, 10)), (100_000, (10, 0))] {
        peer.say_tagged(0, &[init(INIT, peer.tag, window, streams, 1, &[])])?;
        let heard = peer.hear("ABORT")?;
        same("the cause", chunk(&heard, ABORT)?.items(0), vec![(7, Vec::new())])?;
    }
    Ok(())
}

fn refusal_goes_to_the_source(peer: &mut Peer) -> Verdict {
    peer.from = 1;
    let init = peer.init_chunk(&[both_addresses(), item(11, b"host\0")].concat());
    peer.say_tagged(0, &[init])?;
    same("the destination", peer.hear("ABORT")?.to, 1)
}

fn cookie_of_a_forgotten_key_is_dropped(peer: &mut Peer) -> Verdict {
    peer.init(&[])?;
    peer.silence(3 * 24 * 3_600_000)?;
    let echo = peer.cookie_echo();
    peer.say(&[echo])?;
    peer.silence(100)
}

fn init_of_a_stranger_in_cookie_wait_gets_no_tag(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    peer.from = 1;
    let init = peer.init_chunk(&both_addresses());
    peer.say_tagged(0, &[init])?;
    peer.from = 0;
    peer.init_ack(&[])?;
    let heard = peer.gather_with(COOKIE_ECHO)?;
    let tells = |chunk: &Chunk| chunk.kind == INIT_ACK && chunk.u32(0) == peer.their_tag;
    holds("the tag of the own INIT stays unknown", !heard.iter().any(tells))
}

fn init_in_cookie_wait_is_answered_where_it_came_from(peer: &mut Peer) -> Verdict {
    peer.call(Call::ConnectToBoth)?;
    peer.hear("INIT")?;
    peer.from = 1;
    same("the destination", peer.init(&both_addresses())?.to, 1)
}

fn init_in_cookie_wait_is_answered_with_the_own_parameters(peer: &mut Peer) -> Verdict {
    let heard = peer.be_called()?;
    let own = chunk(&heard, INIT)?.clone();
    let heard = peer.init(&[])?;
    let ack = chunk(&heard, INIT_ACK)?;
    let told = |chunk: &Chunk| (chunk.u32(0), chunk.u32(4), chunk.u16(10), chunk.u32(12));
    same("tag, window, inbound streams and TSN", told(ack), told(&own))
}

fn unexpected_init_is_answered_with_the_streams_of_the_association(peer: &mut Peer) -> Verdict {
    let first = peer.init(&[])?;
    let echo = peer.cookie_echo();
    peer.say(&[echo])?;
    peer.hear("COOKIE_ACK")?;
    peer.tag = 0x2222_2222;
    let second = peer.init(&[])?;
    let streams = |ack: &Chunk| (ack.u16(8), ack.u16(10));
    same("the streams", streams(chunk(&second, INIT_ACK)?), streams(chunk(&first, INIT_ACK)?))
}

fn stale_cookie_of_a_restart_is_reported(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let (ours, theirs) = (peer.tag, peer.their_tag);
    peer.tag = 0x2222_2222;
    peer.init(&[])?;
    let (new, echo) = (peer.their_tag, peer.cookie_echo());
    (peer.tag, peer.their_tag) = (ours, theirs);
    peer.silence(61_000)?;
    peer.say_tagged(new, &[echo])?;
    let heard = peer.hear("ERROR")?;
    same("the length of the measure", chunk(&heard, ERROR)?.item(0, 3).map(|cause| cause.len()), Some(4))?;
    peer.lives()
}

fn cookie_with_no_tag_that_matches_is_dropped(peer: &mut Peer) -> Verdict {
    peer.init(&[])?;
    let (old, tag) = (peer.cookie_echo(), peer.their_tag);
    peer.tag = 0x2222_2222;
    peer.establish()?;
    peer.say_tagged(tag, &[old])?;
    peer.no_answer()
}

fn restart_resets_the_congestion_window(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 40_000 })?;
    let (mut sent, mut octets) = (0, 0);
    while octets < 40_000 {
        octets += chunk(&peer.hear("DATA")?, crate::packet::DATA)?.value.len() - 12;
        sent += 1;
        peer.say(&[peer.sack(sent)])?;
    }
    peer.tag = 0x2222_2222;
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 40_000 })?;
    let mut flight = 0;
    while let Some(heard) = peer.hear_any() {
        flight += chunk(&heard?, crate::packet::DATA)?.value.len();
    }
    holds("the flight is the initial window and a packet at most", flight <= 4404 + 1480)
}

fn user_is_told_of_a_restart(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.tag = 0x2222_2222;
    peer.establish()?;
    let told = peer.events();
    let restarts = told.iter().filter(|event| matches!(event, Event::Restart { .. })).count();
    let ends = told.iter().filter(|event| matches!(event, Event::CommunicationLost(_))).count();
    same("what is told", (restarts, ends), (1, 0))
}

fn crossing_stops_the_timers(peer: &mut Peer) -> Verdict {
    peer.be_echoed()?;
    peer.tag = 0x2222_2222;
    peer.init(&[])?;
    let echo = peer.cookie_echo();
    peer.say(&[echo])?;
    peer.hear("COOKIE_ACK")?;
    peer.silence(100_000)
}

fn late_cookie_leaves_t1_running(peer: &mut Peer) -> Verdict {
    peer.init(&[])?;
    let (old, tag) = (peer.cookie_echo(), peer.their_tag);
    peer.be_echoed()?;
    peer.silence(500)?;
    peer.say_tagged(tag, &[old])?;
    peer.hear_after(500, "COOKIE_ECHO").map(drop)
}

fn cookie_with_both_tags_establishes_while_echoed(peer: &mut Peer) -> Verdict {
    peer.be_echoed()?;
    peer.init(&[])?;
    let echo = peer.cookie_echo();
    peer.say(&[echo])?;
    peer.hear("COOKIE_ACK")?;
    peer.silence(100_000)?;
    peer.begin_data()
}

fn cookie_ack_is_dropped_while_waiting(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    peer.say(&[Chunk::new(COOKIE_ACK, [])])?;
    peer.silence(100)?;
    peer.init_ack(&[])?;
    peer.hear("COOKIE_ECHO").map(drop)
}

fn stale_cookie_error_is_dropped_while_waiting(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    peer.say(&[Chunk::new(ERROR, item(3, &[0; 4]))])?;
    peer.silence(100)?;
    peer.init_ack(&[])?;
    peer.hear("COOKIE_ECHO").map(drop)
}

fn init_ack_without_addresses_leaves_its_source_alone(peer: &mut Peer) -> Verdict {
    peer.call(Call::ConnectToBoth)?;
    let heard = peer.hear("INIT")?;
    peer.their_tag = chunk(&heard, INIT)?.u32(0);
    peer.init_ack(&[])?;
    peer.hear("COOKIE_ECHO")?;
    peer.say(&[Chunk::new(COOKIE_ACK, [])])?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    for _ in 0..4 {
        same("the destination", peer.hear_within(60_000, "DATA")?.to, 0)?;
    }
    Ok(())
}
