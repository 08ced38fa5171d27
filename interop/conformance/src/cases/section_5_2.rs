//! Cases of §5.2: INIT, INIT ACK, COOKIE ECHO and COOKIE ACK that come twice, late or unexpectedly.

use crate::packet::{ABORT, COOKIE_ACK, COOKIE_ECHO, Chunk, ERROR, INIT, INIT_ACK, SHUTDOWN_ACK, init, item};
use crate::script::{Peer, Verdict, chunk, holds, same};
use crate::wire::Call;

cases! {
    Must "5.2.1" Both Plain init_in_cookie_wait_is_answered_with_the_same_tag:
        "INIT in COOKIE-WAIT is answered by an INIT ACK with the parameters of the own INIT, its initiate tag unchanged";
    Must "5.2.1" Both Plain init_in_cookie_echoed_is_answered_with_the_same_tag:
        "INIT in COOKIE-ECHOED is answered by an INIT ACK with the initiate tag of the own INIT";
    Must "5.2.1" VirtualTime Plain init_in_cookie_wait_leaves_t1_alone:
        "T1-init goes on after that, and the own INIT is sent again";
    Must "5.2.1" Both Plain init_with_new_addresses_while_echoed_is_refused:
        "INIT in COOKIE-ECHOED that adds an address is answered by ABORT with Restart of an Association with New Addresses";
    Must "5.2.2" Both Plain unexpected_init_is_answered_with_a_new_tag:
        "INIT to an established association is answered by an INIT ACK to its tag, with a new initiate tag";
    Must "5.2.2" Both Plain unexpected_init_changes_nothing:
        "the association stays as it is";
    Must "5.2.2" Both Plain restart_with_new_addresses_is_refused:
        "INIT to an established association that adds an address is answered by ABORT with cause 11 and that address";
    Should "5.2.3" Both Plain unexpected_init_ack_is_dropped:
        "INIT ACK to an established association is dropped";
    Must "5.2.4 (A)" Both Plain restart_gives_a_fresh_association:
        "a peer that restarted gets a COOKIE ACK, and TSNs begin anew on both sides";
    Must "5.2.4 (A)" Both Plain restart_while_shut_down_is_refused:
        "in SHUTDOWN-ACK-SENT a restart is answered by SHUTDOWN ACK and ERROR with Cookie Received While Shutting Down";
    Must "5.2.4 (B)" Both Plain crossing_with_a_new_tag_of_the_peer_is_joined:
        "a cookie with our tag and a new tag of the peer establishes, and the new tag is used from then on";
    Should "5.2.4 (C)" Both Plain late_cookie_is_dropped:
        "a cookie with another tag of ours, the peer's tag and no tie-tags is dropped silently";
    Should "5.2.4 (D)" Both Plain cookie_that_comes_twice_is_acknowledged_again:
        "a cookie with both tags is answered by COOKIE ACK again, and the association goes on";
    Must "5.2.4 (3)" VirtualTime Plain cookie_of_the_same_association_never_gets_stale:
        "a cookie with both tags counts also when its life is over";
    Should "5.2.5" Both Plain cookie_ack_is_dropped_when_established:
        "COOKIE ACK in any other state than COOKIE-ECHOED is dropped silently";
    Should "5.2.6" Both Plain stale_cookie_error_is_dropped_when_established:
        "ERROR with Stale Cookie is dropped in any other state than COOKIE-ECHOED";
    Should "5.2.6" VirtualTime Plain stale_cookie_error_leads_to_a_new_init:
        "ERROR with Stale Cookie in COOKIE-ECHOED leads to a new INIT, whose Cookie Preservative asks for at most a second more than the round trip, or to the end";
}

fn init_in_cookie_wait_is_answered_with_the_same_tag(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    crossing(peer)
}

fn init_in_cookie_echoed_is_answered_with_the_same_tag(peer: &mut Peer) -> Verdict {
    peer.be_echoed()?;
    crossing(peer)
}

/// Says an INIT of the peer while the stack opens the association.
fn crossing(peer: &mut Peer) -> Verdict {
    let (tag, tsn) = (peer.their_tag, peer.their_tsn);
    let heard = peer.init(&[])?;
    same("the tag", heard.tag, peer.tag)?;
    same("the initiate tag", peer.their_tag, tag)?;
    same("the initial TSN", peer.their_tsn, tsn)
}

fn init_in_cookie_wait_leaves_t1_alone(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    peer.silence(500)?;
    peer.init(&[])?;
    peer.hear_after(500, "INIT").map(drop)
}

/// Says an INIT that lists an address nobody knows, and expects the ABORT that names it.
fn with_a_new_address(peer: &mut Peer) -> Verdict {
    let stranger = item(5, &[10, 99, 0, 77]);
    let init = init(INIT, 0x2222_2222, 100_000, (10, 10), 5, &stranger);
    peer.say_tagged(0, &[init])?;
    let heard = peer.hear("ABORT")?;
    same("the tag", heard.tag, 0x2222_2222)?;
    same("the cause", chunk(&heard, ABORT)?.item(0, 11), Some(stranger))
}

fn init_with_new_addresses_while_echoed_is_refused(peer: &mut Peer) -> Verdict {
    peer.be_echoed()?;
    with_a_new_address(peer)?;
    peer.say(&[Chunk::new(COOKIE_ACK, [])])?;
    peer.lives()
}

fn unexpected_init_is_answered_with_a_new_tag(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let before = peer.their_tag;
    peer.tag = 0x2222_2222;
    let heard = peer.init(&[])?;
    same("the tag", heard.tag, 0x2222_2222)?;
    holds("the initiate tag is new", peer.their_tag != before)
}

fn unexpected_init_changes_nothing(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let (ours, theirs) = (peer.tag, peer.their_tag);
    peer.tag = 0x2222_2222;
    peer.init(&[])?;
    (peer.tag, peer.their_tag) = (ours, theirs);
    peer.lives()
}

fn restart_with_new_addresses_is_refused(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    with_a_new_address(peer)?;
    peer.lives()
}

fn unexpected_init_ack_is_dropped(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let ack = init(INIT_ACK, 5, 100_000, (10, 10), 1, &item(7, b"cookie"));
    peer.say(&[ack])?;
    peer.no_answer()
}

fn restart_gives_a_fresh_association(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.begin_data()?;
    (peer.tag, peer.tsn) = (0x2222_2222, 70_000);
    peer.establish()?;
    peer.begin_data()?;
    peer.call(Call::Send { stream: 0, octets: 5 })?;
    let heard = peer.hear("DATA")?;
    same("the tag", heard.tag, 0x2222_2222)?;
    let sent = chunk(&heard, 0)?;
    same("TSN and SSN", (sent.u32(0), sent.u16(6)), (peer.their_tsn, 0))
}

fn restart_while_shut_down_is_refused(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let (ours, theirs, their_tsn) = (peer.tag, peer.their_tag, peer.their_tsn);
    peer.tag = 0x2222_2222;
    peer.init(&[])?;
    let (new, echo) = (peer.their_tag, peer.cookie_echo());
    peer.their_tag = theirs;
    peer.say(&[crate::packet::shutdown(their_tsn.wrapping_sub(1))])?;
    same("the tag", peer.hear("SHUTDOWN_ACK")?.tag, ours)?;
    peer.say_tagged(new, &[echo])?;
    let chunks = peer.gather(&[SHUTDOWN_ACK, ERROR])?;
    let cause = chunks.iter().find_map(|chunk| chunk.item(0, 10));
    same("the cause", cause, Some(Vec::new()))
}

fn crossing_with_a_new_tag_of_the_peer_is_joined(peer: &mut Peer) -> Verdict {
    peer.be_echoed()?;
    peer.tag = 0x2222_2222;
    peer.init(&[])?;
    let echo = peer.cookie_echo();
    peer.say(&[echo])?;
    let heard = peer.hear("COOKIE_ACK")?;
    same("the tag", heard.tag, 0x2222_2222)?;
    peer.say(&[crate::packet::heartbeat(b"x")])?;
    same("the tag of what follows", peer.hear("HEARTBEAT_ACK")?.tag, 0x2222_2222)
}

fn late_cookie_is_dropped(peer: &mut Peer) -> Verdict {
    // A cookie from before the stack opened an association by itself.
    peer.init(&[])?;
    let (old, tag) = (peer.cookie_echo(), peer.their_tag);
    peer.be_echoed()?;
    peer.say_tagged(tag, &[old])?;
    peer.silence(100)?;
    peer.say(&[Chunk::new(COOKIE_ACK, [])])?;
    peer.lives()
}

fn cookie_that_comes_twice_is_acknowledged_again(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let echo = peer.cookie_echo();
    peer.say(&[echo])?;
    peer.hear("COOKIE_ACK")?;
    peer.begin_data()
}

fn cookie_of_the_same_association_never_gets_stale(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.silence(61_000)?;
    let echo = peer.cookie_echo();
    peer.say(&[echo])?;
    peer.hear("COOKIE_ACK").map(drop)
}

fn cookie_ack_is_dropped_when_established(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.say(&[Chunk::new(COOKIE_ACK, [])])?;
    peer.no_answer()
}

fn stale_cookie_error_is_dropped_when_established(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.say(&[Chunk::new(ERROR, item(3, &[0; 4]))])?;
    peer.no_answer()
}

fn stale_cookie_error_leads_to_a_new_init(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    peer.silence(100)?;
    peer.init_ack(&[])?;
    same("the cookie", chunk(&peer.hear("COOKIE_ECHO")?, COOKIE_ECHO)?.value.as_slice(), b"cookie")?;
    peer.silence(100)?;
    peer.say(&[Chunk::new(ERROR, item(3, &500_000_u32.to_be_bytes()))])?;
    let heard = peer.hear("INIT")?;
    let preservative = chunk(&heard, INIT)?.item(16, 9);
    let wanted_ms =
        preservative.and_then(|octets| octets.first_chunk().map(|octets| u32::from_be_bytes(*octets)));
    holds("at most a second more than the round trip is asked for", wanted_ms.is_none_or(|ms| ms <= 1100))
}
