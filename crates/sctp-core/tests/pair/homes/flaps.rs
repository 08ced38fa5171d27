//! Links that come and go at random: nothing is lost, nothing comes twice, nothing stalls.

use std::time::Duration;

use sctp_core::{AssociationState, Profile};

use crate::dice::Dice;
use crate::net::{End, Pair, Setup, Sniffing, millis, ms, ordered};

/// One schedule, made of its seed: which links are up in each of twenty steps. At the end all are.
fn flap(seed: u64) -> u64 {
    let mut dice = Dice::new(seed);
    let homes = 2 + dice.index(3);
    let names = |host: u8| -> Vec<String> { (0..homes).map(|home| format!("10.0.{home}.{host}")).collect() };
    let (left, right) = (names(1), names(2));
    let [left, right] = [&left, &right].map(|names| names.iter().map(String::as_str).collect::<Vec<_>>());
    let mut setup = Setup::new(Profile::ALL[dice.index(2)]).homes(&left, &right).configure(|config| {
        config.attempts.association = 100;
        config.attempts.init = 100;
        config.rto.max = ms(5000);
    });
    setup.seed = seed;
    let mut pair = setup.build();
    for end in [End::Left, End::Right] {
        pair.with(end, |side, _| side.sniffing = Sniffing::Off);
    }
    pair.connect_to(1 + dice.index(homes));
    let mut sent = [0, 0];
    for _ in 0..20 {
        for link in 0..homes {
            if dice.below(2) == 0 { pair.cut_link(link) } else { pair.mend_link(link) }
        }
        for (end, count) in [End::Left, End::Right].into_iter().zip(&mut sent) {
            if pair.state(end) == Some(AssociationState::Established) {
                for _ in 0..dice.below(8) {
                    pair.send(end, ordered(0, *count, 100));
                    *count += 1;
                }
            }
        }
        pair.run_ms(10 + dice.below(1500));
    }
    pair.mend();
    settle(&mut pair, sent, seed);
    pair.world.trace_hash()
}

/// Everything arrives once and in order, within a bound that the largest RTO gives.
fn settle(pair: &mut Pair, sent: [usize; 2], seed: u64) {
    let mended_at = pair.now();
    let received = |pair: &Pair| [End::Right, End::Left].map(|end| pair.side(end).received.len());
    while received(pair) != sent {
        assert!(
            pair.now().since(mended_at) < SETTLES_WITHIN,
            "seed {seed}: {:?} of {sent:?} arrived, {} ms after all links were up again",
            received(pair),
            millis(pair.now()) - millis(mended_at)
        );
        pair.run_ms(50);
    }
    for end in [End::Left, End::Right] {
        for (number, payload) in pair.payloads(end).into_iter().enumerate() {
            assert_eq!(payload, [number.to_le_bytes()[0]; 100], "seed {seed}");
        }
    }
    pair.run_ms(20_000);
    assert_eq!(received(pair), sent, "seed {seed}: nothing comes twice");
    for end in [End::Left, End::Right] {
        let flight: usize = pair.statistics(end).paths.iter().map(|path| path.flight_bytes).sum();
        assert_eq!(flight, 0, "seed {seed}");
    }
}

/// Every path that is tried in vain costs RTO.Max once more, and the handshake may have to begin again.
const SETTLES_WITHIN: Duration = Duration::from_secs(60);

/// How many schedules: `HEADWAY_FLAPS`, otherwise as many as take a second or two.
fn schedules() -> u64 {
    let text = std::env::var("HEADWAY_FLAPS").unwrap_or_else(|_| "60".to_owned());
    text.parse().unwrap_or_else(|_| panic!("HEADWAY_FLAPS is `{text}`; it must be a number"))
}

#[test]
fn random_flaps_lose_nothing_and_never_stall() {
    for seed in 0..schedules() {
        flap(seed);
    }
}

#[test]
fn the_same_flaps_give_the_same_run() {
    assert_eq!(flap(7), flap(7));
}
