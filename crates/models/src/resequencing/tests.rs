use super::*;

fn scenario(rate: f64, profile: Profile) -> Scenario {
    Scenario {
        rtt: Duration::from_millis(20),
        loss: Probability::new(0.01).unwrap(),
        rate: Rate::per_second(rate).unwrap(),
        processing: Duration::ZERO,
        profile,
        rto_min: None,
    }
}

fn streams(number: u32) -> Transport {
    Transport::Sctp { streams: NonZeroU32::new(number).unwrap() }
}

fn connections(number: u32) -> Transport {
    Transport::Tcp { connections: NonZeroU32::new(number).unwrap() }
}

const SIX: NonZeroU32 = NonZeroU32::new(6).unwrap();
const UDP: Transport = Transport::Udp { first_timeout: Duration::from_millis(500) };

fn mean_ms(scenario: &Scenario, transport: &Transport) -> f64 {
    response_time(scenario, transport).unwrap().mean.as_secs_f64() * 1e3
}

fn assert_close(ours: f64, reference: f64, tolerance: f64) {
    assert!((ours / reference - 1.0).abs() < tolerance, "{ours} is not near {reference}");
}

/// Integrates a CCDF: by trapezoids where it is linear in between, by rectangles where it is a step function.
fn mean_of(ccdf: &[CcdfPoint], is_step: bool) -> f64 {
    let integral: f64 = ccdf
        .windows(2)
        .map(|pair| {
            let height = if is_step {
                pair[0].probability
            } else {
                f64::midpoint(pair[0].probability, pair[1].probability)
            };
            height * (pair[1].response_ms - pair[0].response_ms)
        })
        .sum();
    ccdf[0].response_ms + integral
}

#[test]
fn rfc9260_means_agree_with_packet_simulation() {
    let scenario = scenario(100.0, Profile::Rfc9260);
    assert_close(mean_ms(&scenario, &streams(1)), 35.9, 0.02);
    assert_close(mean_ms(&scenario, &streams(6)), 23.35, 0.02);
    assert_close(mean_ms(&scenario, &Transport::SctpUnordered), 21.2, 0.02);
}

#[test]
fn the_mean_is_the_same_without_its_distribution() {
    let scenario = scenario(100.0, Profile::Rfc9260);
    for transport in [streams(6), Transport::SctpUnordered, connections(2), UDP] {
        let whole = response_time(&scenario, &transport).unwrap();
        assert_eq!(mean_response_time(&scenario, &transport).unwrap(), whole.mean, "{transport:?}");
    }
}

/// Kept from before sums left out the points without mass: mean in seconds, and how probable a wait of 2.1 round trips is.
#[test]
fn the_wait_is_what_it_was_when_every_point_was_summed() {
    // Round trip in ms, loss, messages a second.
    const SLOW: [f64; 3] = [115.0, 0.02, 10.0];
    const LOSSY: [f64; 3] = [300.0, 0.3, 200.0];
    for (transport, profile, [rtt_ms, loss, rate], mean_s, tail) in [
        (Transport::SctpUnordered, Profile::Signalling, SLOW, 0.004_087_998_317, 0.004_924_293_490),
        (Transport::SctpUnordered, Profile::Signalling, LOSSY, 0.153_051_806_906, 0.090_000_000_000),
        (streams(6), Profile::Signalling, SLOW, 0.004_121_874_209, 0.004_930_313_839),
        (streams(6), Profile::Signalling, LOSSY, 0.678_103_292_335, 0.481_385_697_136),
        (streams(6), Profile::Rfc9260, SLOW, 0.009_989_402_974, 0.018_218_386_767),
        (streams(6), Profile::Rfc9260, LOSSY, 37.702_055_533_022, 0.998_643_657_176),
        (connections(4), Profile::Signalling, SLOW, 0.007_139_365_468, 0.019_690_982_328),
        (connections(4), Profile::Signalling, LOSSY, 0.810_724_775_660, 0.673_224_094_265),
        (Transport::Quic { streams: SIX }, Profile::Signalling, SLOW, 0.003_352_501_181, 0.001_152_175_193),
        (Transport::Quic { streams: SIX }, Profile::Signalling, LOSSY, 0.630_029_492_525, 0.421_675_211_654),
    ] {
        let rtt = Duration::from_secs_f64(rtt_ms / 1e3);
        let loss = Probability::new(loss).unwrap();
        let scenario = Scenario { rtt, loss, ..scenario(rate, profile) };
        let waiting = one_way_waiting(&scenario, &transport).unwrap();
        assert_close(waiting.mean_s(), mean_s, 1e-9);
        assert_close(waiting.tail_at(2.1e-3 * rtt_ms), tail, 1e-9);
    }
}

#[test]
fn kernel_tcp_mean_is_near_the_measured_one() {
    assert_close(mean_ms(&scenario(100.0, Profile::Signalling), &connections(1)), 22.3, 0.04);
}

#[test]
fn without_loss_a_response_takes_the_round_trip_and_the_processing() {
    let lossless = Scenario {
        loss: Probability::ZERO,
        processing: Duration::from_micros(500),
        ..scenario(100.0, Profile::Signalling)
    };
    for transport in [streams(1), Transport::SctpUnordered, connections(4), UDP] {
        let prediction = response_time(&lossless, &transport).unwrap();
        assert_eq!(prediction.mean, Duration::from_micros(20_500));
        assert_eq!(prediction.one_way_extra, Duration::ZERO);
        assert_eq!(prediction.ccdf[0].probability, 0.0);
    }
}

#[test]
fn more_streams_never_hurt_and_end_at_unordered() {
    for profile in [Profile::Rfc9260, Profile::Signalling] {
        let scenario = scenario(300.0, profile);
        let means: Vec<f64> = [1, 2, 3, 6, 12, 64, 1024].map(|n| mean_ms(&scenario, &streams(n))).to_vec();
        assert!(means.is_sorted_by(|fewer, more| *fewer >= more - 1e-5), "{profile:?} {means:?}");
        assert_close(means[6], mean_ms(&scenario, &Transport::SctpUnordered), 1e-3);
    }
}

#[test]
fn signalling_profile_recovers_sooner_than_the_letter_of_the_rfc() {
    for rate in [1.0, 10.0, 100.0, 1000.0] {
        let soon = response_time(&scenario(rate, Profile::Signalling), &streams(1)).unwrap();
        let late = response_time(&scenario(rate, Profile::Rfc9260), &streams(1)).unwrap();
        assert!(soon.mean < late.mean, "{rate}");
    }
}

#[test]
fn lone_packets_wait_for_the_timer_or_the_probe() {
    // One message in 1000 s: nothing later reveals the loss.
    let detection = |profile, transport: Transport| {
        response_time(&scenario(0.001, profile), &transport).unwrap().detection.as_secs_f64() * 1e3
    };
    assert_close(detection(Profile::Rfc9260, streams(1)), 1000.0, 1e-3);
    assert_close(detection(Profile::Signalling, streams(1)), 40.0, 1e-3);
    assert_close(detection(Profile::Signalling, connections(1)), 220.0, 1e-3);
}

#[test]
fn retransmissions_lost_again_double_the_timer() {
    // Alone on the path: 1 s, then 2 s, 4 s … with probabilities p, p², p³ …
    let p = 0.01;
    let expected: f64 = (0..10).map(|attempt| f64::powi(p, attempt + 1) * f64::powi(2.0, attempt)).sum();
    let prediction = response_time(&scenario(0.001, Profile::Rfc9260), &Transport::SctpUnordered).unwrap();
    assert_close(prediction.one_way_extra.as_secs_f64(), expected, 1e-3);
}

#[test]
fn distribution_has_the_mean() {
    for transport in [streams(1), streams(6), Transport::SctpUnordered, connections(4)] {
        for profile in [Profile::Rfc9260, Profile::Signalling] {
            let prediction = response_time(&scenario(100.0, profile), &transport).unwrap();
            assert_close(mean_of(&prediction.ccdf, false), prediction.mean.as_secs_f64() * 1e3, 1e-3);
            assert!(prediction.ccdf.is_sorted_by(|one, next| one.response_ms < next.response_ms));
            assert!(prediction.ccdf.is_sorted_by(|one, next| one.probability >= next.probability));
        }
    }
}

#[test]
fn udp_is_the_studys_with_a_distribution() {
    let prediction = response_time(&scenario(100.0, Profile::Signalling), &UDP).unwrap();
    assert_close(prediction.mean.as_secs_f64(), 0.030_362, 1e-4);
    assert_close(mean_of(&prediction.ccdf, true), 30.362, 1e-3);
    assert_close(prediction.ccdf[0].probability, 0.0199, 1e-9);
    assert_close(prediction.ccdf[1].response_ms, 520.0, 1e-9);
}

#[test]
fn the_slope_of_the_mean_changes_at_its_bends_and_not_between() {
    for profile in [Profile::Signalling, Profile::Rfc9260] {
        let mean = |rtt_ms| {
            let rtt = Duration::from_secs_f64(rtt_ms / 1e3);
            let scenario = Scenario { rtt, loss: Probability::new(0.05).unwrap(), ..scenario(2.0, profile) };
            mean_ms(&scenario, &Transport::SctpUnordered) / rtt_ms
        };
        let bend = |rtt_ms: f64| {
            let [before, here, after] = [0.96, 1.0, 1.04].map(|factor| mean(factor * rtt_ms));
            (before + after - 2.0 * here).abs()
        };
        let bends = bends(&Transport::SctpUnordered, profile, None);
        for at in bends {
            let at_ms = at.as_secs_f64() * 1e3;
            assert!(bend(at_ms) > 3.0 * bend(0.85 * at_ms), "{profile:?} {at:?}");
            assert!(bend(at_ms) > 3.0 * bend(1.2 * at_ms), "{profile:?} {at:?}");
        }
    }
}

#[test]
fn sufficient_streams_are_the_fewest() {
    let scenario = scenario(100.0, Profile::Signalling);
    let enough = sufficient_streams(&scenario).unwrap().get();
    let unordered = mean_ms(&scenario, &Transport::SctpUnordered);
    assert!(mean_ms(&scenario, &streams(enough)) <= 1.01 * unordered);
    assert!(mean_ms(&scenario, &streams(enough - 1)) > 1.01 * unordered);
}

#[test]
fn extremes_have_finite_answers() {
    let base = scenario(100.0, Profile::Signalling);
    let loss = Probability::new(0.9).unwrap();
    let rate = Rate::per_second(1e5).unwrap();
    let variants = [
        Scenario { rtt: Duration::ZERO, ..base },
        Scenario { rtt: Duration::from_secs(3), ..base },
        Scenario { rate, ..base },
        Scenario { loss, profile: Profile::Rfc9260, ..base },
        Scenario { rto_min: Some(Duration::ZERO), ..base },
    ];
    for scenario in variants {
        for transport in [streams(1), streams(u32::MAX), connections(7)] {
            let prediction = response_time(&scenario, &transport).unwrap();
            assert!(prediction.mean >= scenario.rtt, "{scenario:?} {transport:?}");
            assert!(prediction.ccdf.iter().all(|point| point.probability.is_finite()));
        }
    }
}
