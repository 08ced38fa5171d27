//! Chunks changed on their way, with the right tag and checksum: what an attacker on the path can do, and what a peer with
//! broken memory does. Nothing panics, memory and answers stay within their bounds, and when it is over an association
//! works or has ended with a reason.

use core::time::Duration;

use sctp_core::{AssociationState, Delivery, Extensions, Message, Offer, Profile, Reliability, StreamId};

use crate::dice::{Dice, seeds};
use crate::net::{End, Pair, Setup, Sniffing};
use crate::replay::Forger;

fn run(seed: u64) {
    play(seed, [seed, seed * 2 + 1, seed * 2 + 2].map(Dice::new));
}

/// An association with all or some extensions, its packets forged for a while: what its users do, and how each end's packets
/// are changed, the dice say.
pub(crate) fn play(seed: u64, [mut dice, left, right]: [Dice; 3]) {
    let offer = |dice: &mut Dice| [Offer::On, Offer::On, Offer::Off][dice.index(3)];
    let mut setup =
        Setup::new(Profile::ALL[dice.index(Profile::ALL.len())]).two_homes().configure(|config| {
            config.extensions = Extensions::NONE;
            config.buffers.receive_bytes = 20_000;
            config.buffers.send_bytes = 20_000;
            config.buffers.message_bytes = 8000;
            // A forged SACK may acknowledge what never arrived: the peer answers HEARTBEATs from then on and acknowledges
            // nothing, which RFC 9260 §8.1 sets no limit to.
            config.attempts.persist = Some(Duration::from_secs(120));
        });
    for config in [&mut setup.client, &mut setup.server.association] {
        config.extensions.interleaving = offer(&mut dice);
        config.extensions.partial_reliability = offer(&mut dice);
        config.extensions.reconfiguration = offer(&mut dice);
    }
    setup.seed = seed;
    let mut pair = setup.build();
    let percent = 1 + dice.below(25);
    for (end, dice) in [(End::Left, left), (End::Right, right)] {
        pair.with(end, |side, _| {
            side.sniffing = Sniffing::Off;
            side.forger = Some(Forger::new(dice, percent));
        });
    }
    pair.connect_to(2);
    for _ in 0..60 {
        chat(&mut pair, &mut dice);
        let before = [End::Left, End::Right].map(|end| pair.offered(end));
        pair.run_ms(1 + dice.below(400));
        let sent = [End::Left, End::Right].map(|end| pair.offered(end)).iter().sum::<u64>();
        assert!(sent - before.iter().sum::<u64>() < MOST_PACKETS_A_STEP, "seed {seed}: packets without end");
        check_memory(&pair, seed);
    }
    works_or_is_over(&mut pair, seed);
}

/// A few messages from either end.
fn chat(pair: &mut Pair, dice: &mut Dice) {
    for end in [End::Left, End::Right] {
        let message = Message::new(
            StreamId::new(u16::try_from(dice.below(4)).unwrap()),
            [Delivery::Ordered, Delivery::Unordered][dice.index(2)],
            vec![9; 1 + dice.index(4000)],
        );
        let reliability = [Reliability::Reliable, Reliability::Retransmissions(1)][dice.index(2)];
        pair.with(end, |side, now| {
            // Refused where the association is over or the buffer full.
            side.id.map(|id| side.endpoint.send(now, id, Message { reliability, ..message }).is_ok())
        });
    }
}

fn check_memory(pair: &Pair, seed: u64) {
    for end in [End::Left, End::Right] {
        let side = pair.side(end);
        let Some(association) = side.id.and_then(|id| side.endpoint.association(id)) else { continue };
        let (held, buffered) = (association.receive_memory_bytes(), association.send_memory_bytes());
        assert!(held <= 3 * 28_000, "seed {seed}: {held} octets are held for reading");
        assert!(buffered <= 28_000 * 9 / 8, "seed {seed}: {buffered} octets are held for sending");
    }
}

/// From now on nothing is forged: a message arrives, or the association ends and says why.
fn works_or_is_over(pair: &mut Pair, seed: u64) {
    for end in [End::Left, End::Right] {
        pair.with(end, |side, _| side.forger = None);
    }
    for (end, other) in [(End::Left, End::Right), (End::Right, End::Left)] {
        let heard = pair.side(other).received.len();
        // Forged packets may keep one from ever coming about.
        let was_none = pair.side(end).id.is_none();
        let is_over = |pair: &Pair| {
            let is_closed = pair.state(end).is_none_or(|state| state == AssociationState::Closed);
            was_none || is_closed && !pair.endings(end).is_empty()
        };
        let mut tries = 0;
        while pair.side(other).received.len() == heard && !is_over(pair) {
            let message = Message::new(StreamId::new(0), Delivery::Unordered, vec![1; 10]);
            pair.with(end, |side, now| side.id.map(|id| side.endpoint.send(now, id, message).is_ok()));
            pair.run_ms(1000);
            tries += 1;
            assert!(tries < 1500, "seed {seed}: {end:?} is {:?}, and nothing arrives", pair.state(end));
        }
    }
}

/// Packets that both ends may send in 400 ms: a window of each, and their acknowledgments.
const MOST_PACKETS_A_STEP: u64 = 2000;

/// Associations that did neither once, and why.
#[test]
fn forged_associations_that_stalled_once_do_not() {
    // What a forged SACK had acknowledged never arrived.
    [7811].into_iter().for_each(run);
}

#[test]
fn robustness_41_forged_chunks_leave_an_association_that_works_or_says_why_it_ended() {
    seeds(200).for_each(run);
}

#[test]
fn forged_packets_have_the_right_checksum() {
    let octets =
        crate::by_hand::with_tag(1, 2, 3, |writer| writer.heartbeat(b"something to change").unwrap());
    let mut forged = octets.clone();
    Forger::new(Dice::new(1), 100).forge(&mut forged);
    assert_ne!(forged, octets);
    assert!(sctp_wire::Packet::decode(&forged, sctp_wire::Checksum::Verify).is_ok());
}
