use core::time::Duration;

use super::super::{one_way_waiting as independent, response_time as independent_response};
use super::*;
use crate::quantity::{Probability, Rate};

fn scenario(rate: f64, profile: Profile, loss: f64) -> Scenario {
    Scenario {
        rtt: Duration::from_millis(20),
        loss: Probability::new(loss).unwrap(),
        rate: Rate::per_second(rate).unwrap(),
        processing: Duration::ZERO,
        profile,
        rto_min: None,
    }
}

fn number(value: u32) -> NonZeroU32 {
    NonZeroU32::new(value).unwrap()
}

fn mean_ms(scenario: &Scenario, channel: &GilbertElliott, dealing: Dealing) -> f64 {
    one_way_waiting(scenario, channel, dealing).unwrap().mean_s() * 1e3
}

const DEALINGS: [Dealing; 3] = [
    Dealing::RoundRobin(NonZeroU32::MIN),
    Dealing::RoundRobin(NonZeroU32::MIN.saturating_add(5)),
    Dealing::Unordered,
];

#[test]
fn with_equal_losses_the_channel_does_not_matter() {
    for profile in [Profile::Rfc9260, Profile::Signalling] {
        let scenario = scenario(100.0, profile, 0.01);
        for dealing in DEALINGS {
            let never = mean_ms(&scenario, &GilbertElliott::new(0.0, 1.0, 0.99, 0.99).unwrap(), dealing);
            for (p, r) in [(0.3, 0.7), (0.01, 0.02), (1.0, 1.0)] {
                let equal = GilbertElliott::new(p, r, 0.99, 0.99).unwrap();
                let ratio = mean_ms(&scenario, &equal, dealing) / never;
                assert!((ratio - 1.0).abs() < 1e-6, "{profile:?} {dealing:?} {p} {r}: {ratio}");
            }
        }
    }
}

#[test]
fn with_equal_losses_the_model_of_independent_losses_is_met() {
    for (profile, rate) in
        [(Profile::Rfc9260, 100.0), (Profile::Signalling, 100.0), (Profile::Signalling, 300.0)]
    {
        let scenario = scenario(rate, profile, 0.01);
        let equal = GilbertElliott::new(0.2, 0.4, 0.99, 0.99).unwrap();
        for transport in [
            Transport::Sctp { streams: number(1) },
            Transport::Sctp { streams: number(6) },
            Transport::SctpUnordered,
        ] {
            let bursts = response_time(&scenario, &equal, &transport).unwrap().mean.as_secs_f64();
            let alone = independent_response(&scenario, &transport).unwrap().mean.as_secs_f64();
            let ratio = bursts / alone;
            assert!((ratio - 1.0).abs() < 0.01, "{profile:?} {rate} {transport:?}: {ratio}");
        }
    }
}

/// A channel that forgets between two messages loses each by itself; one that outlasts many is one of long bursts.
#[test]
fn bursts_in_time_are_chains_to_messages_that_come_at_random() {
    let (millis, rate) = (Duration::from_millis, Rate::per_second(100.0).unwrap());
    let channel = GilbertElliott::in_time(millis(4950), millis(50), [0.0, 1.0], rate).unwrap();
    assert!((channel.mean_loss().value() - 0.01).abs() < 1e-12);
    // 50 ms are five messages; with the one that begins it a burst has six.
    assert!((channel.step(1, 0) - 0.99 / 5.95).abs() < 1e-3, "{}", channel.step(1, 0));
    let short = GilbertElliott::in_time(millis(1).mul_f64(0.99), millis(1) / 100, [0.0, 1.0], rate).unwrap();
    let scenario = scenario(100.0, Profile::Signalling, 0.01);
    let transport = Transport::Sctp { streams: number(1) };
    let bursts = response_time(&scenario, &short, &transport).unwrap().mean.as_secs_f64();
    let alone = independent_response(&scenario, &transport).unwrap().mean.as_secs_f64();
    assert!((bursts / alone - 1.0).abs() < 0.01, "{bursts} {alone}");
    assert!(GilbertElliott::in_time(millis(1), Duration::ZERO, [0.0, 1.0], rate).is_err());
}

#[test]
fn tails_fall_from_the_share_that_waits_to_nothing() {
    let channel = GilbertElliott::simple(Probability::new(0.02).unwrap(), 4.0).unwrap();
    for profile in [Profile::Rfc9260, Profile::Signalling] {
        let scenario = scenario(100.0, profile, 0.02);
        for dealing in DEALINGS {
            let waiting = one_way_waiting(&scenario, &channel, dealing).unwrap();
            let tail: Vec<f64> = (0..400).map(|i| waiting.tail_at(f64::from(i) / 100.0)).collect();
            assert!(
                tail.is_sorted_by(|before, after| *before >= after - 1e-9),
                "{profile:?} {dealing:?} {tail:?}"
            );
            assert!((0.02..0.2).contains(&tail[0]), "{profile:?} {dealing:?} {}", tail[0]);
        }
    }
}

/// What is lost together is repaired together: with the same loss, one ordered stream waits less often.
#[test]
fn bursts_block_fewer_messages_than_scattered_losses() {
    let scenario = scenario(100.0, Profile::Signalling, 0.01);
    let one = Transport::Sctp { streams: number(1) };
    let scattered = independent(&scenario, &one).unwrap().tail_at(0.001);
    let channel = GilbertElliott::simple(scenario.loss, 5.0).unwrap();
    let bursts = one_way_waiting(&scenario, &channel, Dealing::RoundRobin(number(1))).unwrap();
    assert!(bursts.tail_at(0.001) < 0.8 * scattered, "{} {scattered}", bursts.tail_at(0.001));
}

#[test]
fn more_streams_end_at_unordered() {
    let channel = GilbertElliott::simple(Probability::new(0.01).unwrap(), 5.0).unwrap();
    let scenario = scenario(200.0, Profile::Signalling, 0.01);
    let means: Vec<f64> =
        [1, 2, 6, 24, 96].map(|n| mean_ms(&scenario, &channel, Dealing::RoundRobin(number(n)))).to_vec();
    assert!(means.is_sorted_by(|fewer, more| *fewer >= more - 1e-6), "{means:?}");
    let unordered = mean_ms(&scenario, &channel, Dealing::Unordered);
    assert!((means[4] / unordered - 1.0).abs() < 0.01, "{means:?} {unordered}");
}

#[test]
fn channels_are_read_and_bounded() {
    let simple = GilbertElliott::simple(Probability::new(0.01).unwrap(), 5.0).unwrap();
    assert!((simple.mean_loss().value() - 0.01).abs() < 1e-12);
    let same: GilbertElliott = "1%,25%,50%,1".parse().unwrap();
    assert_eq!(same, GilbertElliott::new(0.01, 0.25, 0.5, 1.0).unwrap());
    assert_eq!("0.01".parse::<GilbertElliott>().unwrap(), GilbertElliott::new(0.01, 0.99, 0.0, 1.0).unwrap());
    for nonsense in ["", "x", "2", "0.1,0", "0.1,0.2,0,0", "0.1,0.2,0.3,0.4,0.5", "-1,0.5"] {
        assert!(nonsense.parse::<GilbertElliott>().is_err(), "{nonsense}");
    }
    assert!(GilbertElliott::simple(Probability::new(0.01).unwrap(), 0.5).is_err());
    assert!(GilbertElliott::simple(Probability::new(0.9).unwrap(), 2.0).is_err());
}

#[test]
fn what_is_not_modelled_says_so() {
    let channel = GilbertElliott::simple(Probability::new(0.01).unwrap(), 5.0).unwrap();
    let scenario = scenario(100.0, Profile::Signalling, 0.01);
    let tcp = Transport::Tcp { connections: number(1) };
    assert!(matches!(response_time(&scenario, &channel, &tcp), Err(ModelError::NotModelled { .. })));
    let many = Dealing::RoundRobin(number(1000));
    assert!(matches!(one_way_waiting(&scenario, &channel, many), Err(ModelError::TooMany { .. })));
    let random = Dealing::Random(number(2));
    assert!(matches!(one_way_waiting(&scenario, &channel, random), Err(ModelError::NotModelled { .. })));
}
