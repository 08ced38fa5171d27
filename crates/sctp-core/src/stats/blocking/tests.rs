use proptest::prelude::*;

use super::*;

#[test]
fn an_empty_histogram_takes_no_memory_and_has_no_quantile() {
    let histogram = BlockingHistogram::default();
    assert_eq!(histogram.buckets.capacity(), 0);
    assert_eq!(histogram.quantile(0.5), None);
}

#[test]
fn quantiles_are_the_upper_ends_of_the_buckets() {
    let mut histogram = BlockingHistogram::default();
    for millis in 1..=100 {
        histogram.record(Duration::from_millis(millis));
    }
    let median = histogram.quantile(0.5).unwrap();
    assert!(median > Duration::from_millis(50) && median < Duration::from_micros(56_250), "{median:?}");
    assert!(histogram.quantile(0.0) <= histogram.quantile(1.0));
    assert_eq!((histogram.count(), histogram.sum()), (100, Duration::from_millis(5050)));
}

#[test]
fn what_did_not_wait_is_not_counted() {
    let mut statistics = BlockingStatistics::default();
    statistics.record(StreamId::new(1), Duration::ZERO);
    assert_eq!(statistics, BlockingStatistics::default());
}

#[test]
fn the_longest_values_share_the_last_of_200_buckets() {
    let mut histogram = BlockingHistogram::default();
    histogram.record(Duration::MAX);
    histogram.record(Duration::from_secs(134));
    assert_eq!(histogram.buckets.len(), 200);
    assert_eq!(histogram.iter().collect::<Vec<_>>(), [(Duration::from_micros(1 << 27), 2)]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_value_lies_in_its_bucket_and_the_bucket_is_an_eighth_wide(micros in 0..=LONGEST_MICROS) {
        let bucket = u32::try_from(bucket_of(micros)).unwrap();
        let value = Duration::from_micros(micros);
        let upper = upper_end(bucket);
        let lower = bucket.checked_sub(1).map_or(Duration::ZERO, upper_end);
        prop_assert!(lower <= value && value < upper);
        prop_assert!(upper - lower <= (value / 8).max(Duration::from_micros(1)));
    }
}
