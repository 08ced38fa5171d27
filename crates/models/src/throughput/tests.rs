use super::cubic::{CubicParameters, Region, mean_window};
use super::*;

fn flow(p: f64, rtt_ms: u64, rto_ms: u64) -> BulkFlow {
    BulkFlow {
        loss: Probability::new(p).unwrap(),
        rtt: Duration::from_millis(rtt_ms),
        rto: Duration::from_millis(rto_ms),
        ..BulkFlow::default()
    }
}

fn number(value: u32) -> NonZeroU32 {
    NonZeroU32::new(value).unwrap()
}

fn assert_close(ours: f64, expected: f64, tolerance: f64) {
    assert!((ours / expected - 1.0).abs() < tolerance, "{ours} is not near {expected}");
}

/// By hand for p = 1 %, b = 2: (2 + 2)/6 = 0.66667; √(8·0.99/0.06 + 0.44444) = 11.50845; E[W] = 12.17512.
/// Q̂ = 0.029701·(1 + 0.970299·(1 − 0.99^9.17512 = 0.088089))/(1 − 0.99^12.17512 = 0.115174) = 0.279922; f = 1.010204.
/// (99 + 12.17512 + 0.282749)/(0.1·13.17512 + 0.279922·1·1.010204/0.99) = 111.45787/1.603146 = 69.5245.
#[test]
fn full_model_by_hand() {
    let delayed = BulkFlow { packets_per_ack: number(2), ..flow(0.01, 100, 1000) };
    assert_close(pftk::rate(&delayed).unwrap().packets_per_s, 69.5245, 1e-5);
}

/// By hand with Wm = 8: Q̂ = 0.029701·(1 + 0.970299·(1 − 0.99^5 = 0.049010))/(1 − 0.99^8 = 0.077255) = 0.402735.
/// (99 + 8 + 0.406803)/(0.1·(2 + 12.375 + 2) + 0.406803·1.010204) = 107.406803/2.048454 = 52.4331.
#[test]
fn limited_window_by_hand() {
    let limited =
        BulkFlow { packets_per_ack: number(2), window_packets: Some(number(8)), ..flow(0.01, 100, 1000) };
    assert_close(pftk::rate(&limited).unwrap().packets_per_s, 52.4331, 1e-4);
}

/// By hand: √(2·0.02/3) = 0.115470, 3·√(0.0075) = 0.259808, 0.02·(1 + 32·0.0004) = 0.020256:
/// 1/(0.2·0.115470 + 0.8·0.259808·0.020256) = 1/0.0273041 = 36.6245.
#[test]
fn equation_of_rfc_5348_by_hand() {
    let ours = rfc5348::rate(&flow(0.02, 200, 800)).unwrap();
    assert_close(ours.packets_per_s, 36.6245, 1e-5);
    assert_close(ours.bytes_per_s(number(1460)), 36.6245 * 1460.0, 1e-5);
    assert_eq!(rfc5348::recommended_rto(Duration::from_millis(200)), Duration::from_millis(800));
    // Below 30 % the approximation of the report is the same equation.
    assert_close(
        pftk::approximate_rate(&flow(0.02, 200, 800)).unwrap().packets_per_s,
        ours.packets_per_s,
        1e-12,
    );
}

#[test]
fn all_reno_models_approach_the_square_root_law_for_few_losses() {
    let law = |flow: &BulkFlow| square_root(flow).unwrap().packets_per_s;
    for packets_per_ack in [number(1), number(2)] {
        let mut before = f64::INFINITY;
        for p in [1e-2, 1e-3, 1e-4, 1e-6, 1e-8] {
            let flow = BulkFlow { packets_per_ack, ..flow(p, 100, 1000) };
            let error = (pftk::rate(&flow).unwrap().packets_per_s / law(&flow) - 1.0).abs();
            assert!(error < before, "{p}: {error}");
            before = error;
        }
        let flow = BulkFlow { packets_per_ack, ..flow(1e-8, 100, 1000) };
        assert!(before < 2e-3, "{before}");
        assert_close(rfc5348::rate(&flow).unwrap().packets_per_s, law(&flow), 1e-3);
    }
}

#[test]
fn more_losses_longer_paths_and_smaller_windows_are_slower() {
    let models = [pftk::rate, pftk::approximate_rate, rfc5348::rate, square_root];
    for model in models {
        let rate = |flow: &BulkFlow| model(flow).unwrap().packets_per_s;
        let by_loss: Vec<f64> = (1..60).map(|i| rate(&flow(f64::from(i) / 100.0, 100, 1000))).collect();
        assert!(by_loss.is_sorted_by(|fewer, more| fewer > more), "{by_loss:?}");
        assert!(rate(&flow(0.01, 100, 1000)) > rate(&flow(0.01, 101, 1000)));
        let limited = BulkFlow { window_packets: Some(number(4)), ..flow(0.001, 100, 1000) };
        assert!(rate(&limited) <= 40.0 && rate(&limited) < rate(&flow(0.001, 100, 1000)));
    }
}

/// RFC 8312's and RFC 9438's tables of §5.1, C = 0.4: mean windows by loss rate, with Reno's taken as 1.2/√p there.
#[test]
fn published_windows_of_cubic() {
    let cubic = [(1e-4, 187.0), (1e-5, 1054.0), (1e-6, 5926.0), (1e-7, 33_325.0), (1e-8, 187_400.0)];
    let reno = [(1e-2, 12.0), (1e-3, 38.0)];
    let short_cubic = [(1e-7, 5926.0), (1e-8, 33_325.0)];
    let short_reno = [(1e-3, 38.0), (1e-4, 120.0), (1e-5, 379.0), (1e-6, 1200.0)];
    let rows = [
        (100, Region::Cubic, cubic.as_slice()),
        (100, Region::RenoFriendly, &reno),
        (10, Region::Cubic, &short_cubic),
        (10, Region::RenoFriendly, &short_reno),
    ];
    for (rtt_ms, region, cells) in rows {
        for &(p, published) in cells {
            let (rate, ours) = mean_window(&flow(p, rtt_ms, 1000), &CubicParameters::default()).unwrap();
            assert_eq!(ours, region, "{p} {rtt_ms}");
            // 1.2 stands for √1.5 = 1.2247, and windows are printed as whole numbers.
            assert_close(rate.window_packets, published, if region == Region::Cubic { 3e-3 } else { 0.032 });
        }
    }
    // C = 4 and 0.04 of the same tables.
    for (c, published) in [(4.0, 10_538.0), (0.04, 3332.0)] {
        let parameters = CubicParameters { c, ..CubicParameters::default() };
        let (rate, _) = mean_window(&flow(1e-6, 100, 1000), &parameters).unwrap();
        assert_close(rate.window_packets, published, 2e-3);
    }
}

#[test]
fn without_losses_only_a_window_limits() {
    let unlimited = flow(0.0, 100, 1000);
    let limited = BulkFlow { window_packets: Some(number(50)), ..unlimited };
    for model in [pftk::rate, pftk::approximate_rate, rfc5348::rate, square_root] {
        assert_eq!(model(&unlimited), Err(ModelError::Unlimited));
        assert_close(model(&limited).unwrap().packets_per_s, 500.0, 1e-12);
    }
    assert_eq!(mean_window(&unlimited, &CubicParameters::default()), Err(ModelError::Unlimited));
}

#[test]
fn nonsense_is_refused() {
    let no_path = flow(0.01, 0, 1000);
    for model in [pftk::rate, pftk::approximate_rate, rfc5348::rate, square_root] {
        assert!(matches!(model(&no_path), Err(ModelError::ZeroDuration { .. })));
    }
    for (c, beta) in
        [(0.0, 0.7), (f64::NAN, 0.7), (f64::INFINITY, 0.7), (0.4, 0.0), (0.4, 1.0), (0.4, f64::NAN)]
    {
        let refused = mean_window(&flow(0.01, 100, 1000), &CubicParameters { c, beta });
        assert!(matches!(refused, Err(ModelError::OutOfRange { .. })), "{c} {beta}");
    }
    let hopeless = flow(0.999_999, 100, 1000);
    assert!(pftk::rate(&hopeless).unwrap().packets_per_s > 0.0);
}
