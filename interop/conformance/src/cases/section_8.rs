//! Cases of §8: peers and paths that fail, HEARTBEATs, packets out of the blue, verification tags.

use crate::packet::{
    ABORT, COOKIE_ACK, COOKIE_ECHO, Chunk, DATA, ERROR, HEARTBEAT, HEARTBEAT_ACK, INIT, INIT_ACK, REFLECTED,
    SACK, SHUTDOWN_ACK, SHUTDOWN_COMPLETE, data, heartbeat, init, item, shutdown,
};
use crate::script::{Peer, Verdict, chunk, same};
use crate::wire::Call;

cases! {
    Should "8.1" VirtualTime Plain peer_that_never_answers_is_given_up:
        "after Association.Max.Retrans consecutive retransmissions nothing is sent any more, and the association is gone";
    Must "8.1" VirtualTime Plain acknowledged_data_resets_the_error_counter:
        "each acknowledgment of DATA starts the count of errors anew";
    Should "8.1" VirtualTime Heartbeats unanswered_heartbeats_count:
        "unanswered HEARTBEATs on the path in use end the association, too";
    Should "8.2, 8.3" VirtualTime Heartbeats heartbeats_go_on_after_answers:
        "HEARTBEAT comes every HB.interval and RTO, with jitter of half an RTO, and again after its answer";
    Should "8.3" VirtualTime Heartbeats heartbeats_end_with_shutdown:
        "after SHUTDOWN no HEARTBEAT is sent";
    Must "8.3" Both Plain heartbeat_is_answered_at_once:
        "HEARTBEAT is answered at once in ESTABLISHED";
    Must "8.3" Both Plain heartbeat_is_answered_in_cookie_echoed:
        "HEARTBEAT is answered in COOKIE-ECHOED";
    Should "8.4 (2), 9.1" Both Plain abort_out_of_the_blue_is_dropped:
        "an ABORT out of the blue is dropped silently";
    Must "8.4 (3)" Both Plain refused_init_is_aborted_with_its_initiate_tag:
        "an ABORT for an INIT has its initiate tag and no T bit";
    Must "8.4 (4)" Both Plain foreign_cookie_echo_is_dropped:
        "a COOKIE ECHO without association is judged by its cookie, and dropped if that is none of ours";
    Should "8.4 (5)" Both Plain shutdown_ack_out_of_the_blue_is_completed:
        "a SHUTDOWN ACK out of the blue is answered by SHUTDOWN COMPLETE with its tag and the T bit";
    Should "8.4 (6)" Both Plain shutdown_complete_out_of_the_blue_is_dropped:
        "a SHUTDOWN COMPLETE out of the blue is dropped silently";
    Should "8.4 (7)" Both Plain cookie_ack_out_of_the_blue_is_dropped:
        "a COOKIE ACK out of the blue is dropped silently";
    Should "8.4 (7)" Both Plain stale_cookie_error_out_of_the_blue_is_dropped:
        "an ERROR with Stale Cookie out of the blue is dropped silently";
    Should "8.4 (8)" Both Plain anything_else_out_of_the_blue_is_aborted:
        "anything else out of the blue is answered by ABORT with its tag and the T bit";
    Must "8.5" Both Plain wrong_tag_is_dropped:
        "a packet with a wrong tag is dropped silently";
    Must "8.5" Both Plain reflected_tag_is_for_aborts_alone:
        "a packet with the peer's own tag is dropped, unless it has an ABORT or SHUTDOWN COMPLETE with the T bit";
    Must "8.5.1 (A)" Both Plain tag_zero_is_for_init_alone:
        "a packet with tag 0 that has anything but an INIT, or more than one, is dropped silently";
    Must "8.5.1 (B)" Both Plain abort_with_our_tag_is_believed:
        "an ABORT with our tag and no T bit ends the association, and is not answered";
    Must "8.5.1 (B)" Both Plain abort_with_the_reflected_tag_is_believed:
        "an ABORT with the peer's tag and the T bit ends the association";
    Must "8.5.1 (B)" Both Plain abort_with_a_wrong_tag_is_dropped_whole:
        "an ABORT whose tag does not fit its T bit is dropped with its whole packet";
    Must "8.5.1 (C)" Both Plain shutdown_complete_outside_its_state_is_ignored:
        "a SHUTDOWN COMPLETE in any other state than SHUTDOWN-ACK-SENT is ignored";
    Must "8.5.1 (C)" Both Plain shutdown_complete_with_a_wrong_tag_is_dropped:
        "a SHUTDOWN COMPLETE whose tag does not fit its T bit is dropped";
    Should "8.5.1 (E)" Both Plain shutdown_ack_while_opening_is_out_of_the_blue:
        "a SHUTDOWN ACK in COOKIE-WAIT is answered as out of the blue, and the attempt goes on";
    Should "8.5.1 (E)" Both Plain shutdown_ack_while_echoed_is_out_of_the_blue:
        "likewise in COOKIE-ECHOED";
}

fn peer_that_never_answers_is_given_up(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    peer.hear("DATA")?;
    for _ in 0..10 {
        peer.hear_within(60_000, "DATA")?;
    }
    // What says that it gives up may be an ABORT.
    while let Some(heard) = peer.hear_later(60_000) {
        same("what comes", heard?.kinds().as_str(), "ABORT")?;
    }
    peer.is_gone()
}

fn acknowledged_data_resets_the_error_counter(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for sent in 1..=4 {
        peer.call(Call::Send { stream: 0, octets: 10 })?;
        peer.hear("DATA")?;
        for _ in 0..6 {
            peer.hear_within(60_000, "DATA")?;
        }
        peer.say(&[peer.sack(sent)])?;
    }
    peer.lives()
}

fn unanswered_heartbeats_count(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for _ in 0..11 {
        peer.hear_within(130_000, "HEARTBEAT")?;
    }
    while let Some(heard) = peer.hear_later(130_000) {
        same("what comes", heard?.kinds().as_str(), "ABORT")?;
    }
    peer.is_gone()
}

fn heartbeats_go_on_after_answers(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for _ in 0..20 {
        peer.silence(30_499)?;
        let heard = peer.hear_within(1001, "HEARTBEAT")?;
        let value = chunk(&heard, HEARTBEAT)?.value.clone();
        peer.say(&[Chunk::new(HEARTBEAT_ACK, value)])?;
    }
    Ok(())
}

fn heartbeats_end_with_shutdown(peer: &mut Peer) -> Verdict {
    peer.be_shut_down()?;
    while peer.now_ms() < 40_000 {
        peer.hear_within(40_000, "SHUTDOWN")?;
    }
    Ok(())
}

fn heartbeat_is_answered_at_once(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.lives()
}

fn heartbeat_is_answered_in_cookie_echoed(peer: &mut Peer) -> Verdict {
    peer.be_echoed()?;
    peer.lives()
}

/// Says chunks to a stack without association, and expects no answer; to a last one there is.
fn dropped_out_of_the_blue(peer: &mut Peer, chunks: &[Chunk]) -> Verdict {
    peer.their_tag = 0x7777_7777;
    peer.say(chunks)?;
    peer.silence(100)?;
    peer.is_gone()
}

fn abort_out_of_the_blue_is_dropped(peer: &mut Peer) -> Verdict {
    dropped_out_of_the_blue(peer, &[data(1, 0, 0, b"x"), Chunk::new(ABORT, [])])
}

fn refused_init_is_aborted_with_its_initiate_tag(peer: &mut Peer) -> Verdict {
    peer.say_tagged(0, &[init(INIT, 0x3333_3333, 100_000, (0, 1), 1, &[])])?;
    let heard = peer.hear("ABORT")?;
    same("the tag and T", (heard.tag, chunk(&heard, ABORT)?.flags & 1), (0x3333_3333, 0))
}

fn foreign_cookie_echo_is_dropped(peer: &mut Peer) -> Verdict {
    dropped_out_of_the_blue(peer, &[Chunk::new(COOKIE_ECHO, [0xcc; 200])])
}

/// Says SHUTDOWN ACK, and expects the SHUTDOWN COMPLETE that reflects its tag.
fn completed(peer: &mut Peer, tag: u32) -> Verdict {
    peer.say_tagged(tag, &[Chunk::new(SHUTDOWN_ACK, [])])?;
    let heard = peer.hear("SHUTDOWN_COMPLETE")?;
    same("the tag and T", (heard.tag, chunk(&heard, SHUTDOWN_COMPLETE)?.flags & 1), (tag, REFLECTED))
}

fn shutdown_ack_out_of_the_blue_is_completed(peer: &mut Peer) -> Verdict {
    completed(peer, 0x7777_7777)
}

fn shutdown_complete_out_of_the_blue_is_dropped(peer: &mut Peer) -> Verdict {
    dropped_out_of_the_blue(peer, &[Chunk::new(SHUTDOWN_COMPLETE, [])])
}

fn cookie_ack_out_of_the_blue_is_dropped(peer: &mut Peer) -> Verdict {
    dropped_out_of_the_blue(peer, &[Chunk::new(COOKIE_ACK, [])])
}

fn stale_cookie_error_out_of_the_blue_is_dropped(peer: &mut Peer) -> Verdict {
    dropped_out_of_the_blue(peer, &[Chunk::new(ERROR, item(3, &[0; 4]))])
}

fn anything_else_out_of_the_blue_is_aborted(peer: &mut Peer) -> Verdict {
    peer.their_tag = 0x7777_7777;
    let ack = init(INIT_ACK, 5, 100_000, (10, 10), 1, &item(7, b"cookie"));
    let sack = Chunk::new(SACK, [0; 12]);
    for chunks in
        [vec![data(1, 0, 0, b"x")], vec![sack], vec![shutdown(1)], vec![ack], vec![Chunk::new(ERROR, [])]]
    {
        peer.say(&chunks)?;
        let heard = peer.hear("ABORT")?;
        same("the tag and T", (heard.tag, chunk(&heard, ABORT)?.flags & 1), (0x7777_7777, REFLECTED))?;
        peer.silence(100)?;
    }
    Ok(())
}

fn wrong_tag_is_dropped(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    for chunks in [
        vec![heartbeat(b"x")],
        vec![data(peer.tsn, 0, 0, b"x")],
        vec![shutdown(1)],
        vec![Chunk::new(SHUTDOWN_ACK, [])],
    ] {
        peer.say_tagged(peer.their_tag ^ 1, &chunks)?;
        peer.no_answer()?;
    }
    Ok(())
}

fn reflected_tag_is_for_aborts_alone(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.say_tagged(peer.tag, &[heartbeat(b"x")])?;
    peer.no_answer()
}

fn tag_zero_is_for_init_alone(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.say_tagged(0, &[heartbeat(b"x")])?;
    peer.no_answer()?;
    let init = init(INIT, 0x3333_3333, 100_000, (10, 10), 1, &[]);
    peer.say_tagged(0, &[init, heartbeat(b"x")])?;
    peer.no_answer()
}

fn abort_with_our_tag_is_believed(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.say(&[Chunk::new(ABORT, [])])?;
    peer.silence(100)?;
    peer.is_gone()
}

fn abort_with_the_reflected_tag_is_believed(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.say_tagged(peer.tag, &[Chunk::new(ABORT, []).flagged(REFLECTED)])?;
    peer.silence(100)?;
    peer.is_gone()
}

fn abort_with_a_wrong_tag_is_dropped_whole(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let (plain, reflected) = (Chunk::new(ABORT, []), Chunk::new(ABORT, []).flagged(REFLECTED));
    for (tag, abort) in [(peer.their_tag, reflected), (peer.tag, plain.clone()), (peer.their_tag ^ 1, plain)]
    {
        peer.say_tagged(tag, &[heartbeat(b"before"), abort])?;
        peer.no_answer()?;
    }
    Ok(())
}

fn shutdown_complete_outside_its_state_is_ignored(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    peer.say(&[Chunk::new(SHUTDOWN_COMPLETE, [])])?;
    peer.no_answer()?;
    peer.call(Call::Send { stream: 0, octets: 5 })?;
    same("the TSN", chunk(&peer.hear("DATA")?, DATA)?.u32(0), peer.their_tsn)
}

fn shutdown_complete_with_a_wrong_tag_is_dropped(peer: &mut Peer) -> Verdict {
    peer.shut_down()?;
    let (plain, reflected) =
        (Chunk::new(SHUTDOWN_COMPLETE, []), Chunk::new(SHUTDOWN_COMPLETE, []).flagged(REFLECTED));
    for (tag, complete) in
        [(peer.their_tag, reflected), (peer.tag, plain.clone()), (peer.their_tag ^ 1, plain)]
    {
        peer.say_tagged(tag, &[complete])?;
    }
    // Still there: INIT brings SHUTDOWN ACK within the association.
    peer.say_tagged(0, &[init(INIT, 0x2222_2222, 100_000, (10, 10), 1, &[])])?;
    same("the tag", peer.hear("SHUTDOWN_ACK")?.tag, peer.tag)
}

fn shutdown_ack_while_opening_is_out_of_the_blue(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    completed(peer, peer.their_tag)?;
    peer.init_ack(&[])?;
    peer.hear("COOKIE_ECHO").map(drop)
}

fn shutdown_ack_while_echoed_is_out_of_the_blue(peer: &mut Peer) -> Verdict {
    peer.be_echoed()?;
    completed(peer, peer.their_tag)?;
    peer.say(&[Chunk::new(COOKIE_ACK, [])])?;
    peer.lives()
}
