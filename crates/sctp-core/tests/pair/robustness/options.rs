//! Whatever the options are: they are refused with a reason, or they work.

use core::time::Duration;

use sctp_core::{
    AssociationConfig, CongestionAlgorithm, Discovery, Nagle, Offer, Pacing, Profile, StreamScheduler,
};

use crate::dice::Dice;
use crate::net::{End, Setup, ms, ordered};

/// One of these numbers: small ones, large ones, and those around a bound.
fn any(dice: &mut Dice, values: &[usize]) -> usize {
    values[dice.index(values.len())]
}

fn any_u32(dice: &mut Dice) -> u32 {
    [0, 1, 2, 10, 1000, u32::MAX][dice.index(6)]
}

fn any_time(dice: &mut Dice) -> Duration {
    [0, 1, 20, 200, 500, 501, 1000, 60_000, 3_600_000, 3_600_001, 90_000_000].map(ms)[dice.index(11)]
}

fn any_config(dice: &mut Dice) -> AssociationConfig {
    let mut config = AssociationConfig::profile(Profile::ALL[dice.index(Profile::ALL.len())]);
    let offer = |dice: &mut Dice| [Offer::Off, Offer::On][dice.index(2)];
    config.extensions.partial_reliability = offer(dice);
    config.extensions.interleaving = offer(dice);
    config.extensions.authentication = offer(dice);
    config.extensions.dynamic_addresses = offer(dice);
    config.extensions.reconfiguration = offer(dice);
    // Two options in three keep their value, or hardly anything would be accepted.
    for _ in 0..1 + dice.below(6) {
        change_any(&mut config, dice);
    }
    config
}

fn change_any(config: &mut AssociationConfig, dice: &mut Dice) {
    let sizes = [0, 1, 575, 576, 1280, 1499, 1500, 9000, 65_535, 65_536, 1 << 20, usize::MAX];
    match dice.below(20) {
        0 => config.streams.outbound = u16::try_from(any(dice, &[0, 1, 65_535])).unwrap(),
        1 => config.streams.inbound = u16::try_from(any(dice, &[0, 1, 65_535])).unwrap(),
        2 => config.buffers.send_bytes = any(dice, &sizes),
        3 => config.buffers.receive_bytes = any(dice, &sizes),
        4 => config.buffers.message_bytes = any(dice, &sizes),
        5 => config.rto.initial = any_time(dice),
        6 => config.rto.min = any_time(dice),
        7 => config.rto.max = any_time(dice),
        8 => config.sack.delay = any_time(dice),
        9 => config.sack.every_packets = any_u32(dice),
        10 => config.heartbeat.interval = (dice.below(2) == 0).then(|| any_time(dice)),
        11 => config.heartbeat.max_burst = any_u32(dice),
        12 => config.attempts.path = any_u32(dice),
        13 => config.transmission.max_burst_packets = any_u32(dice),
        14 => config.path_mtu.bytes = any(dice, &sizes),
        15 => config.path_mtu.discovery = Discovery::On,
        16 => config.transmission.scheduler = StreamScheduler::WeightedFair,
        17 => config.congestion.algorithm = CongestionAlgorithm::Cubic,
        18 => config.congestion.pacing = Pacing::On,
        _ => config.transmission.nagle = Nagle::On,
    }
}

/// Connects, carries messages both ways and ends.
fn works(config: &AssociationConfig, seed: u64) {
    let mut setup = Setup::rfc9260().configure(|both| *both = config.clone());
    setup.server.receive_memory_bytes = config.buffers.receive_bytes.saturating_mul(2).max(512 << 20);
    // A timeout below the peer's delay of acknowledgments makes for needless ones: that is the user's choice.
    let mut setup = setup.configure(|both| (both.attempts.association, both.attempts.init) = (1000, 1000));
    setup.seed = seed;
    let mut pair = setup.build();
    pair.connect();
    pair.run_ms(2000);
    let len = config.buffers.message_bytes.min(5000);
    for number in 0..5 {
        pair.send(End::Left, ordered(0, number, len));
        pair.send(End::Right, ordered(0, number, len));
        pair.run_ms(4000);
    }
    pair.run_ms(60_000);
    for end in [End::Left, End::Right] {
        assert_eq!(pair.side(end).received.len(), 5, "seed {seed}, {end:?}: {config:?}");
    }
    pair.shutdown(End::Left);
    pair.run_ms(10_000);
    assert_eq!(pair.endings(End::Left), [Ok(())], "seed {seed}: {config:?}");
}

#[test]
fn robustness_22_options_are_refused_with_a_reason_or_work() {
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..300 {
        let config = any_config(&mut Dice::new(seed));
        match config.validate() {
            Ok(()) => {
                works(&config, seed);
                accepted += 1;
            }
            Err(error) => {
                assert!(error.to_string().len() > 20, "seed {seed}: {error}");
                refused += 1;
            }
        }
    }
    assert!(accepted > 50 && refused > 50, "{accepted} accepted, {refused} refused");
}
