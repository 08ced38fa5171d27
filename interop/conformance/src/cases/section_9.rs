//! Cases of §9: the end of an association.

use sctp_core::Event;

use crate::packet::{
    ABORT, Chunk, DATA, INIT, SACK, SHUTDOWN, SHUTDOWN_ACK, SHUTDOWN_COMPLETE, data, init, sack, shutdown,
};
use crate::script::{Peer, Verdict, chunk, holds, same};
use crate::wire::Call;

cases! {
    Must "9.1" Both Plain user_abort_says_why:
        "an abort sends ABORT with the peer's tag, no DATA, and User-Initiated Abort with the user's reason";
    Must "9.1" Both Plain abort_is_never_answered:
        "a packet with an ABORT is not answered, and the association is gone";
    Must "9.2" Both Plain shutdown_waits_for_acknowledgments:
        "SHUTDOWN goes out when all data is acknowledged, and not before; it tells the cumulative TSN received";
    Must "9.2" VirtualTime Plain data_is_sent_again_while_shutdown_is_pending:
        "in SHUTDOWN-PENDING lost data is sent again";
    Must "9.2" VirtualTime Plain shutdown_is_sent_again:
        "SHUTDOWN is sent again when T2-shutdown expires, with the latest cumulative TSN";
    Should "9.2" VirtualTime Plain shutdown_is_given_up:
        "SHUTDOWN is sent again Association.Max.Retrans times at most, or until T5-shutdown-guard expires after five times RTO.Max with an ABORT";
    Must "9.2" Both Plain data_in_shutdown_sent_is_answered_by_shutdown:
        "in SHUTDOWN-SENT each packet with DATA is answered at once by SHUTDOWN with its TSN";
    Must "9.2" Both Plain gap_in_shutdown_sent_brings_a_sack_too:
        "in SHUTDOWN-SENT a gap is reported by a SACK besides";
    Must "9.2" Both Plain shutdown_is_answered_by_shutdown_ack:
        "SHUTDOWN is answered by SHUTDOWN ACK if nothing is outstanding";
    Must "9.2" Both Plain shutdown_acknowledges_data:
        "the cumulative TSN of SHUTDOWN acknowledges data";
    Must "9.2" VirtualTime Plain outstanding_data_goes_on_after_shutdown:
        "with data outstanding SHUTDOWN is not answered by SHUTDOWN ACK before that is acknowledged; it is sent again if it is lost";
    Must "9.2" VirtualTime Plain shutdown_ack_is_sent_again:
        "SHUTDOWN ACK is sent again when T2-shutdown expires";
    Should "9.2" VirtualTime Plain shutdown_ack_is_given_up_after_ten:
        "SHUTDOWN ACK is sent again Association.Max.Retrans times, whatever T5 says, and then the association is gone";
    Must "9.2" Both Plain repeated_shutdown_is_answered_again:
        "a SHUTDOWN that comes again is answered by SHUTDOWN ACK again";
    Must "9.2" Both Plain shutdown_ack_is_answered_by_shutdown_complete:
        "SHUTDOWN ACK is answered by SHUTDOWN COMPLETE with the peer's tag and no T bit, and the association is gone";
    Must "9.2" Both Plain shutdown_complete_ends_the_association:
        "SHUTDOWN COMPLETE in SHUTDOWN-ACK-SENT ends the association";
    Should "9.2" Both Plain init_in_shutdown_ack_sent_brings_shutdown_ack:
        "INIT in SHUTDOWN-ACK-SENT is dropped, and SHUTDOWN ACK is sent again";
    Should "9.2" Both Plain shutdowns_that_cross_are_acknowledged:
        "SHUTDOWN in SHUTDOWN-SENT is answered by SHUTDOWN ACK";
    Must "9.2" Both Plain shutdown_acks_that_cross_are_completed:
        "SHUTDOWN ACK in SHUTDOWN-ACK-SENT is answered by SHUTDOWN COMPLETE, and the association is gone";
    Should "9.2" Both Plain shutdown_while_opening_is_dropped:
        "SHUTDOWN in COOKIE-WAIT and COOKIE-ECHOED is dropped silently";
    Should "9.2" Both Plain nothing_new_is_taken_after_shutdown:
        "after SHUTDOWN was asked for no new message is taken from the user";
    Must "9.2" Both Plain nothing_new_is_taken_after_the_peers_shutdown:
        "after SHUTDOWN has come no new message is taken from the user";
    Must "9.2" Both Plain shutdown_of_the_user_is_ignored_after_the_peers:
        "in SHUTDOWN-RECEIVED the user's shutdown is ignored, and another SHUTDOWN is processed";
    Should "9.2" VirtualTime Plain any_packet_restarts_t2:
        "in SHUTDOWN-SENT any packet of the peer restarts T2-shutdown, once for each SHUTDOWN";
    Must "9.2" VirtualTime Plain data_in_shutdown_sent_restarts_t2:
        "in SHUTDOWN-SENT the SHUTDOWN for DATA restarts T2-shutdown";
    Must "9.2" Both Plain duplicate_in_shutdown_sent_brings_a_sack_too:
        "in SHUTDOWN-SENT a duplicate is reported by a SACK besides";
    Must "9.2" VirtualTime Plain end_of_a_shutdown_stops_t2:
        "after SHUTDOWN COMPLETE, sent or received, nothing is sent again";
    Should "9.2" VirtualTime Plain user_is_told_that_a_shutdown_failed:
        "when SHUTDOWN or SHUTDOWN ACK is given up the user is told";
    Should "9" Both Plain leaving_service_ends_associations:
        "a user that leaves service ends the association: SHUTDOWN or ABORT goes out";
    Should "9.2" VirtualTime Plain nothing_new_is_taken_while_shutdown_is_pending:
        "in SHUTDOWN-PENDING no new message is taken from the user";
    Should "9.2" Both Plain nothing_new_is_taken_in_shutdown_ack_sent:
        "nor in SHUTDOWN-ACK-SENT";
    Must "9.2" VirtualTime Plain shutdown_again_tells_what_came_since:
        "SHUTDOWN that is sent again tells the DATA that came since the first";
    Should "9.2" VirtualTime Plain shutdowns_that_cross_restart_t2:
        "T2-shutdown starts anew when SHUTDOWN is answered in SHUTDOWN-SENT";
    Should "9.1" VirtualTime Plain user_is_told_why_the_peer_aborted:
        "the user is told of an ABORT, with the reason that the peer's user gave";
}

fn nothing_new_is_taken_after_the_peers_shutdown(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    peer.hear("DATA")?;
    peer.say(&[shutdown(peer.their_tsn.wrapping_sub(1))])?;
    peer.lives()?;
    let refused = peer.call(Call::Send { stream: 0, octets: 10 }).is_err();
    holds("the user's message is refused", refused)
}

fn shutdown_of_the_user_is_ignored_after_the_peers(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    peer.hear("DATA")?;
    peer.say(&[shutdown(peer.their_tsn.wrapping_sub(1))])?;
    peer.lives()?;
    peer.call(Call::Shutdown)?;
    peer.silence(500)?;
    peer.say(&[shutdown(peer.their_tsn)])?;
    peer.hear("SHUTDOWN_ACK").map(drop)
}

fn any_packet_restarts_t2(peer: &mut Peer) -> Verdict {
    peer.be_shut_down()?;
    let heartbeat_ack = || Chunk::new(crate::packet::HEARTBEAT_ACK, crate::packet::item(1, b"x"));
    peer.silence(900)?;
    peer.say(&[heartbeat_ack()])?;
    // Packets that keep coming do not put off the next SHUTDOWN for ever: the first may have been lost.
    peer.silence(900)?;
    peer.say(&[heartbeat_ack()])?;
    peer.hear_after(100, "SHUTDOWN").map(drop)
}

fn data_in_shutdown_sent_restarts_t2(peer: &mut Peer) -> Verdict {
    peer.be_shut_down()?;
    peer.silence(900)?;
    let late = peer.next_data(0, 0, b"late");
    peer.say(&[late])?;
    peer.gather_with(SHUTDOWN)?;
    peer.hear_after(1000, "SHUTDOWN").map(drop)
}

fn duplicate_in_shutdown_sent_brings_a_sack_too(peer: &mut Peer) -> Verdict {
    peer.be_shut_down()?;
    let late = peer.next_data(0, 0, b"late");
    peer.say(core::slice::from_ref(&late))?;
    peer.gather_with(SHUTDOWN)?;
    peer.say(&[late])?;
    let chunks = peer.gather(&[SACK, SHUTDOWN])?;
    let duplicates = chunks.iter().find(|chunk| chunk.kind == SACK).map(|chunk| chunk.u16(10));
    same("the number of duplicates", duplicates, Some(1))
}

fn end_of_a_shutdown_stops_t2(peer: &mut Peer) -> Verdict {
    peer.be_shut_down()?;
    peer.say(&[Chunk::new(SHUTDOWN_ACK, [])])?;
    peer.hear("SHUTDOWN_COMPLETE")?;
    peer.silence(400_000)?;
    peer.shut_down()?;
    peer.say(&[Chunk::new(SHUTDOWN_COMPLETE, [])])?;
    peer.silence(400_000)
}

/// Lets everything run out, and looks whether the user is told of a failure.
fn told_of_a_failure(peer: &mut Peer) -> Verdict {
    while let Some(heard) = peer.hear_later(61_000) {
        heard?;
    }
    let is_lost = |event: &Event| matches!(event, Event::CommunicationLost(_));
    holds("the user is told", peer.events().iter().any(is_lost))
}

fn user_is_told_that_a_shutdown_failed(peer: &mut Peer) -> Verdict {
    peer.be_shut_down()?;
    told_of_a_failure(peer)?;
    peer.shut_down()?;
    told_of_a_failure(peer)
}

fn user_is_told_why_the_peer_aborted(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.say(&[Chunk::new(ABORT, crate::packet::item(12, b"because"))])?;
    let told = peer.events();
    let lost = told.iter().find(|event| matches!(event, Event::CommunicationLost(_)));
    holds("the user is told the reason", lost.is_some_and(|event| format!("{event:?}").contains("because")))
}

fn user_abort_says_why(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Abort)?;
    let heard = peer.hear("ABORT")?;
    same("the tag", heard.tag, peer.tag)?;
    let abort = chunk(&heard, ABORT)?;
    same("T and the cause", (abort.flags & 1, abort.item(0, 12)), (0, Some(b"enough".to_vec())))?;
    peer.is_gone()
}

fn abort_is_never_answered(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let first = data(peer.tsn, 0, 0, b"x").flagged(crate::packet::WHOLE | crate::packet::IMMEDIATE);
    peer.say(&[first, Chunk::new(ABORT, [])])?;
    peer.silence(300)?;
    peer.is_gone()
}

fn shutdown_waits_for_acknowledgments(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.begin_data()?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    peer.hear("DATA")?;
    peer.call(Call::Shutdown)?;
    peer.silence(500)?;
    peer.say(&[peer.sack(1)])?;
    let heard = peer.hear("SHUTDOWN")?;
    same("the cumulative TSN", chunk(&heard, SHUTDOWN)?.u32(0), peer.tsn.wrapping_sub(1))
}

fn data_is_sent_again_while_shutdown_is_pending(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    peer.hear("DATA")?;
    peer.call(Call::Shutdown)?;
    peer.hear_after(1000, "DATA")?;
    peer.say(&[peer.sack(1)])?;
    peer.hear("SHUTDOWN").map(drop)
}

fn shutdown_is_sent_again(peer: &mut Peer) -> Verdict {
    peer.be_shut_down()?;
    for wait in [1, 2, 4] {
        let heard = peer.hear_after(wait * 1000, "SHUTDOWN")?;
        same("the cumulative TSN", chunk(&heard, SHUTDOWN)?.u32(0), peer.tsn.wrapping_sub(1))?;
    }
    Ok(())
}

fn shutdown_is_given_up(peer: &mut Peer) -> Verdict {
    peer.be_shut_down()?;
    let mut again = 0;
    while let Some(heard) = peer.hear_later(61_000) {
        let heard = heard?;
        if heard.kinds() == "SHUTDOWN" {
            again += 1;
        } else {
            same("what comes at last", heard.kinds().as_str(), "ABORT")?;
            holds("it comes after five times RTO.Max", peer.now_ms().abs_diff(300_000) < 1000)?;
        }
    }
    holds("it was sent again ten times at most", (1..=10).contains(&again))?;
    peer.is_gone()
}

fn data_in_shutdown_sent_is_answered_by_shutdown(peer: &mut Peer) -> Verdict {
    peer.be_shut_down()?;
    for ssn in 0..3 {
        let late = peer.next_data(0, ssn, b"late");
        peer.say(&[late])?;
        let chunks = peer.gather_with(SHUTDOWN)?;
        let acknowledged = chunks.iter().find(|chunk| chunk.kind == SHUTDOWN).map(|chunk| chunk.u32(0));
        same("the cumulative TSN", acknowledged, Some(peer.tsn.wrapping_sub(1)))?;
    }
    Ok(())
}

fn gap_in_shutdown_sent_brings_a_sack_too(peer: &mut Peer) -> Verdict {
    peer.be_shut_down()?;
    peer.say(&[data(peer.tsn.wrapping_add(1), 0, 1, b"late")])?;
    let chunks = peer.gather(&[SACK, SHUTDOWN])?;
    let gaps = chunks.iter().find(|chunk| chunk.kind == SACK).map(|chunk| (chunk.u16(8), chunk.u16(12)));
    same("gap ack blocks, and the start of the first", gaps, Some((1, 2)))
}

fn shutdown_is_answered_by_shutdown_ack(peer: &mut Peer) -> Verdict {
    let heard = peer.shut_down()?;
    same("the tag", heard.tag, peer.tag)
}

fn shutdown_acknowledges_data(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    peer.hear("DATA")?;
    peer.say(&[shutdown(peer.their_tsn)])?;
    peer.hear("SHUTDOWN_ACK").map(drop)
}

fn outstanding_data_goes_on_after_shutdown(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    peer.hear("DATA")?;
    peer.say(&[shutdown(peer.their_tsn.wrapping_sub(1))])?;
    let again = peer.hear_within(1000, "DATA")?;
    same("the TSN", chunk(&again, DATA)?.u32(0), peer.their_tsn)?;
    peer.say(&[sack(peer.their_tsn, peer.a_rwnd, &[])])?;
    peer.hear("SHUTDOWN_ACK").map(drop)
}

fn shutdown_ack_is_sent_again(peer: &mut Peer) -> Verdict {
    peer.shut_down()?;
    for wait in [1, 2, 4] {
        peer.hear_after(wait * 1000, "SHUTDOWN_ACK")?;
    }
    Ok(())
}

fn shutdown_ack_is_given_up_after_ten(peer: &mut Peer) -> Verdict {
    peer.shut_down()?;
    for _ in 0..10 {
        peer.hear_within(60_000, "SHUTDOWN_ACK")?;
    }
    while let Some(heard) = peer.hear_later(61_000) {
        same("what comes at last", heard?.kinds().as_str(), "ABORT")?;
    }
    peer.is_gone()
}

fn repeated_shutdown_is_answered_again(peer: &mut Peer) -> Verdict {
    peer.shut_down()?;
    peer.say(&[shutdown(peer.their_tsn.wrapping_sub(1))])?;
    same("the tag", peer.hear("SHUTDOWN_ACK")?.tag, peer.tag)
}

fn shutdown_ack_is_answered_by_shutdown_complete(peer: &mut Peer) -> Verdict {
    peer.be_shut_down()?;
    peer.say(&[Chunk::new(SHUTDOWN_ACK, [])])?;
    let heard = peer.hear("SHUTDOWN_COMPLETE")?;
    same("the tag and T", (heard.tag, chunk(&heard, SHUTDOWN_COMPLETE)?.flags & 1), (peer.tag, 0))?;
    peer.is_gone()
}

fn shutdown_complete_ends_the_association(peer: &mut Peer) -> Verdict {
    peer.shut_down()?;
    peer.say(&[Chunk::new(SHUTDOWN_COMPLETE, [])])?;
    peer.silence(100)?;
    peer.is_gone()
}

fn init_in_shutdown_ack_sent_brings_shutdown_ack(peer: &mut Peer) -> Verdict {
    peer.shut_down()?;
    peer.say_tagged(0, &[init(INIT, 0x2222_2222, 100_000, (10, 10), 1, &[])])?;
    same("the tag", peer.hear("SHUTDOWN_ACK")?.tag, peer.tag)
}

fn shutdowns_that_cross_are_acknowledged(peer: &mut Peer) -> Verdict {
    peer.be_shut_down()?;
    peer.say(&[shutdown(peer.their_tsn.wrapping_sub(1))])?;
    peer.hear("SHUTDOWN_ACK").map(drop)
}

fn shutdown_acks_that_cross_are_completed(peer: &mut Peer) -> Verdict {
    shutdowns_that_cross_are_acknowledged(peer)?;
    peer.say(&[Chunk::new(SHUTDOWN_ACK, [])])?;
    let heard = peer.hear("SHUTDOWN_COMPLETE")?;
    same("T", chunk(&heard, SHUTDOWN_COMPLETE)?.flags & 1, 0)?;
    peer.is_gone()
}

fn shutdown_while_opening_is_dropped(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    peer.say(&[shutdown(peer.their_tsn.wrapping_sub(1))])?;
    peer.silence(100)?;
    peer.init_ack(&[])?;
    peer.hear("COOKIE_ECHO")?;
    peer.say(&[shutdown(peer.their_tsn.wrapping_sub(1))])?;
    peer.silence(100)?;
    peer.say(&[Chunk::new(crate::packet::COOKIE_ACK, [])])?;
    peer.lives()
}

fn nothing_new_is_taken_after_shutdown(peer: &mut Peer) -> Verdict {
    peer.be_shut_down()?;
    let refused = peer.call(Call::Send { stream: 0, octets: 10 }).is_err();
    holds("the user's message is refused", refused)
}

fn leaving_service_ends_associations(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Leave)?;
    let Some(heard) = peer.hear_soon() else { return holds("the peer is told", false) };
    let heard = heard?;
    same("the tag", heard.tag, peer.tag)?;
    holds("it is told the end", heard.chunk(SHUTDOWN).or(heard.chunk(ABORT)).is_some())
}

fn nothing_new_is_taken_while_shutdown_is_pending(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    peer.hear("DATA")?;
    peer.call(Call::Shutdown)?;
    let refused = peer.call(Call::Send { stream: 0, octets: 10 }).is_err();
    holds("the user's message is refused", refused)
}

fn nothing_new_is_taken_in_shutdown_ack_sent(peer: &mut Peer) -> Verdict {
    peer.shut_down()?;
    let refused = peer.call(Call::Send { stream: 0, octets: 10 }).is_err();
    holds("the user's message is refused", refused)
}

fn shutdown_again_tells_what_came_since(peer: &mut Peer) -> Verdict {
    peer.be_shut_down()?;
    let late = peer.next_data(0, 0, b"late");
    peer.say(&[late])?;
    peer.gather_with(SHUTDOWN)?;
    let again = peer.hear_within(60_000, "SHUTDOWN")?;
    same("the cumulative TSN", chunk(&again, SHUTDOWN)?.u32(0), peer.tsn.wrapping_sub(1))
}

fn shutdowns_that_cross_restart_t2(peer: &mut Peer) -> Verdict {
    peer.be_shut_down()?;
    peer.silence(900)?;
    peer.say(&[shutdown(peer.their_tsn.wrapping_sub(1))])?;
    peer.hear("SHUTDOWN_ACK")?;
    peer.hear_after(1000, "SHUTDOWN_ACK").map(drop)
}
