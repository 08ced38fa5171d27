//! Applications that never ask for events.

use sctp_core::{AssociationError, Event, SendError};
use sctp_wire::{Cause, ChunkBuf, TagOrigin};

use crate::by_hand::Hand;
use crate::net::{End, LEFT_PORT, Listening, Pair, Reading, Setup, is_up, ms, ordered};

const SEND_BYTES: usize = 100_000;
/// What failed messages hold at most: an octet in the send buffer costs more than one here if messages are small.
const KEPT_BYTES: usize = 3 * SEND_BYTES;

/// A right end with a peer, whose application has heard that the association is up and asks no more.
fn unheard(setup: Setup) -> (Pair, Hand) {
    let mut pair = setup.build();
    let mut peer = Hand::new(LEFT_PORT, 5);
    peer.establish(&mut pair);
    assert_eq!(pair.count(End::Right, is_up), 1);
    pair.with(End::Right, |side, _| {
        side.listening = Listening::Off;
        side.events.clear();
    });
    (pair, peer)
}

/// What the right end has to say after all.
fn told(pair: &mut Pair) -> Vec<Event> {
    pair.with(End::Right, |side, _| side.listening = Listening::On);
    pair.side(End::Right).events.iter().map(|(_, event)| event.clone()).collect()
}

fn contexts(events: &[Event]) -> Vec<u64> {
    let failed = events.iter().filter_map(|event| {
        let Event::SendFailed { message, .. } = event else { return None };
        Some(message.context)
    });
    failed.collect()
}

/// A peer without a window, and messages that are worth 20 ms: 10 MB of payload.
#[test]
fn robustness_28_messages_that_expired_are_kept_as_far_as_a_full_send_buffer_goes() {
    let mut setup = Setup::signalling();
    let buffers = &mut setup.server.association.buffers;
    (buffers.send_bytes, buffers.message_bytes) = (SEND_BYTES, 4000);
    let (mut pair, peer) = unheard(setup);
    peer.sack(&mut pair, 0, 0, &[]);
    for context in 0..10_000 {
        pair.send(End::Right, ordered(0, 1, 1000).with_lifetime(ms(20)).with_context(context));
        pair.run_ms(1);
    }
    pair.run_ms(30);
    let statistics = pair.statistics(End::Right);
    let (dropped, given_up) = (statistics.events.failures_dropped, statistics.sender.abandoned.lifetime);
    let failed = contexts(&told(&mut pair));
    assert!((SEND_BYTES / 1064..=KEPT_BYTES / 1000).contains(&failed.len()), "{}", failed.len());
    assert_eq!(dropped + failed.len() as u64, given_up.unsent);
    assert_eq!(failed, (10_000 - failed.len() as u64..10_000).collect::<Vec<_>>(), "the newest are kept");
}

/// What the peer says is cut before it is made readable, in number and in octets.
#[test]
fn robustness_28_errors_of_the_peer_are_kept_in_part() {
    let (mut pair, peer) = unheard(Setup::signalling());
    for number in 0..1000_u32 {
        let reason = [&number.to_be_bytes()[..], &[1; 1200]].concat();
        let error = ChunkBuf::error(&[Cause::UserInitiatedAbort(&reason)]).unwrap();
        peer.tell(&mut pair, |writer| writer.raw(&error).unwrap());
    }
    assert_eq!(pair.statistics(End::Right).events.notices_dropped, 1000 - 64);
    let events = told(&mut pair);
    let octets: usize = events
        .iter()
        .map(|event| if let Event::RemoteError(error) = event { error.text.len() } else { 0 })
        .sum();
    assert_eq!(events.len(), 64);
    assert!((64..=32_768).contains(&octets), "{octets}");
}

#[test]
fn robustness_28_reason_of_an_abort_is_kept_in_part() {
    let (mut pair, peer) = unheard(Setup::signalling());
    let reason = [0xff; 1300];
    let abort = ChunkBuf::abort(TagOrigin::Receiver, &[Cause::UserInitiatedAbort(&reason)]).unwrap();
    peer.tell(&mut pair, |writer| writer.raw(&abort).unwrap());
    let _ = told(&mut pair);
    match &pair.endings(End::Right)[..] {
        [Err(AssociationError::AbortedByPeer(error))] => {
            assert_eq!((error.cause, error.text.ends_with('…')), (Some(12), true));
            assert!(error.text.len() <= 256, "{}", error.text.len());
        }
        other => panic!("{other:?}"),
    }
}

/// A peer that begins anew again and again, each time with a full send buffer and unread messages on this side.
#[test]
fn robustness_29_restarts_leave_nothing_behind_but_what_is_unread_within_its_bound() {
    let mut setup = Setup::signalling();
    let buffers = &mut setup.server.association.buffers;
    (buffers.send_bytes, buffers.message_bytes, buffers.receive_bytes) = (SEND_BYTES, 4000, SEND_BYTES);
    let (mut pair, mut peer) = unheard(setup);
    pair.with(End::Right, |side, _| side.reading = Reading::Paused);
    let mut accepted = 0;
    for restart in 1..=200 {
        let refused = loop {
            match pair.try_send(End::Right, ordered(0, 1, 1000).with_context(accepted)) {
                Ok(()) => accepted += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, SendError::BufferFull(_)));
        (0..120).for_each(|_| peer.data(&mut pair, 0, 1000));
        peer = Hand::new(LEFT_PORT, 5 + restart);
        peer.establish(&mut pair);
        pair.run_ms(1);
    }
    let side = pair.side(End::Right);
    assert_eq!(side.endpoint.association_count(), 1);
    let held = side.endpoint.association(side.id.unwrap()).unwrap();
    assert_eq!(held.buffered_bytes(), 0);
    assert!(held.receive_memory_bytes() <= 3 * SEND_BYTES, "{}", held.receive_memory_bytes());
    let events = told(&mut pair);
    let failed = contexts(&events);
    assert!(failed.len() <= KEPT_BYTES / 1000, "{}", failed.len());
    assert_eq!(failed.last(), Some(&(accepted - 1)));
    let restarts = events.iter().filter(|event| matches!(event, Event::Restart { .. })).count();
    assert_eq!(restarts, 1, "the last one stands for all");
    assert_eq!(pair.statistics(End::Right).association.restarts, 200);
}
