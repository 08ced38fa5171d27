use super::*;

fn cell(profile: Stack, streams: Option<u16>, burst_packets: Option<f64>) -> Cell {
    Cell { profile, rate: 100.0, streams, loss: 0.01, burst_packets, rtt_ms: 20.0 }
}

/// Response times within 5 % of the simulation, and nearer to it than the model that does not know of bursts. At 400 a second the window
/// does not shrink to one packet, for which the channel would stand still.
#[test]
fn bursts_of_losses_are_predicted_better_than_by_independent_losses() {
    let row = row(&Cell { rate: 400.0, ..cell(Stack::Signalling, Some(1), Some(5.0)) }, 40_000, 2).unwrap();
    let response = |mean_ms: f64| row.cell.rtt_ms + 2.0 * mean_ms;
    let error = |mean_ms: f64| (response(mean_ms) / response(row.simulated_ms) - 1.0).abs();
    assert!(error(row.model.mean_ms) < 0.05, "{row:?}");
    assert!((row.model.share / row.simulated_share - 1.0).abs() < 0.15, "{row:?}");
    assert!((row.independent.share / row.simulated_share - 1.0).abs() > 0.3, "{row:?}");
}

#[test]
fn independent_losses_are_predicted() {
    for streams in [Some(1), Some(6), None] {
        let row = row(&cell(Stack::Signalling, streams, None), 20_000, 2).unwrap();
        let response = |mean_ms: f64| row.cell.rtt_ms + 2.0 * mean_ms;
        assert!((response(row.model.mean_ms) / response(row.simulated_ms) - 1.0).abs() < 0.03, "{row:?}");
    }
}

#[test]
fn every_cell_is_documented() {
    let documented = crate::document::read_results(&crate::document::root()).unwrap();
    assert_eq!(documented.waiting.len(), 27);
    assert_eq!(documented.losses.len(), 36);
    assert!(
        documented
            .losses
            .iter()
            .chain(&documented.waiting)
            .all(|row| row.simulated_ms > 0.0 && row.uncertainty_ms > 0.0)
    );
}
