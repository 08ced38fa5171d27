use super::*;

/// The grid's whole truth is in docs/models.md; here one cell of each, so that a change of TCP or model shows.
#[test]
fn reno_is_predicted_within_a_tenth_by_pftk() {
    let row = reno_row(&Cell { loss: 0.01, rtt_ms: 100, rto_ms: 1000 }, 3).unwrap();
    let pftk = row.models[1].by_events / row.segments_per_s - 1.0;
    assert!(pftk.abs() < 0.1, "{pftk} {row:?}");
}

#[test]
fn cubic_is_predicted_within_a_tenth() {
    let row = cubic_row(&Cell { loss: 0.001, rtt_ms: 100, rto_ms: 200 }, 3).unwrap();
    let error = row.models[0].by_events / row.segments_per_s - 1.0;
    assert!(error.abs() < 0.1, "{error} {row:?}");
}

#[test]
fn documented_rates_are_what_the_simulation_gives() {
    let documented = crate::document::read_results(&crate::document::root()).unwrap();
    let slow = documented.reno.iter().filter(|row| row.segments_per_s < 60.0);
    let rows: Vec<&Row> = slow.collect();
    assert!(!rows.is_empty());
    for documented in rows {
        let now = reno_row(&documented.cell, SEEDS).unwrap();
        assert!(
            (now.segments_per_s / documented.segments_per_s - 1.0).abs() < 0.01,
            "{documented:?} {now:?}"
        );
        assert_eq!(now.models.len(), documented.models.len());
    }
}
