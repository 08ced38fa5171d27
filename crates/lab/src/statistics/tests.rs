use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

fn millis(values: impl IntoIterator<Item = u64>) -> Vec<Duration> {
    values.into_iter().map(Duration::from_millis).collect()
}

fn of(values: impl IntoIterator<Item = u64>) -> Distribution {
    Distribution::of_runs(&[millis(values)], 0)
}

#[test]
fn percentiles_are_nearest_ranks() {
    let times = of((1..=1000).rev());
    assert_eq!(times.quantile(0.5), Some(500.0));
    assert_eq!(times.quantile(0.9), Some(900.0));
    assert_eq!(times.quantile(0.99), Some(990.0));
    assert_eq!(times.max(), Some(1000.0));
    assert_eq!(times.mean(), Some(500.5));
}

#[test]
fn a_percentile_needs_five_responses_beyond_it() {
    assert_eq!(of(1..=499).quantile(0.99), None); // rank 495, four beyond
    assert_eq!(of(1..=500).quantile(0.99), Some(495.0));
    assert_eq!(of(1..=4999).quantile(0.999), None);
    let late = of(1..=5000).quantile(0.999).unwrap();
    assert!((late / 4995.0 - 1.0).abs() < 1e-3, "{late}");
    assert_eq!(of(1..=9).quantile(0.5), None);
    assert_eq!(of(1..=10).quantile(0.5), Some(5.0));
}

#[test]
fn to_a_percentile_what_is_not_answered_is_longer_than_everything() {
    let times = Distribution::of_runs(&[millis(1..=700)], 300);
    assert_eq!(times.quantile(0.5), Some(500.0));
    assert_eq!(times.quantile(0.9), None);
    assert_eq!((times.max(), times.unanswered()), (Some(700.0), 300));
}

#[test]
fn nothing_answered_means_no_numbers() {
    let times = of([]);
    assert_eq!((times.mean(), times.max(), times.ci95()), (None, None, None));
    assert_eq!(times.quantile(0.5), None);
    assert!(times.ccdf().is_empty());
}

#[test]
fn ten_batches_make_an_interval_and_nine_do_not() {
    assert_eq!(of((0..159).map(|n| 20 + n % 7)).ci95(), None);
    assert!(of((0..160).map(|n| 20 + n % 7)).ci95().is_some());
}

#[test]
fn batches_do_not_span_runs_and_ten_runs_speak_for_themselves() {
    let run = millis((0..95).map(|n| 20 + n % 7)); // five batches of 16 and a rest
    assert_eq!(Distribution::of_runs(std::slice::from_ref(&run), 0).ci95(), None);
    assert!(Distribution::of_runs(&[run.clone(), run], 0).ci95().is_some());
    let short = millis((0..15).map(|n| 20 + n));
    assert_eq!(Distribution::of_runs(&vec![short.clone(); 9], 0).ci95(), None);
    assert_eq!(Distribution::of_runs(&vec![short; 10], 0).ci95(), Some([27.0, 27.0]));
}

/// The half-width of ten batch means 1…10 is t(0.975, 9) · 3.0277/√10 = 2.2622 · 0.9574.
#[test]
fn the_interval_is_students() {
    let values: Vec<f64> = (1..=10).map(f64::from).collect();
    assert!((half_width(&values).unwrap() - 2.1659).abs() < 1e-3);
}

#[test]
fn the_interval_covers_the_true_mean_of_correlated_responses_about_95_times_in_100() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
    let mut covered = 0;
    for _ in 0..400 {
        // One in fifty losses delays five responses by 100 ms: the mean is 20 + 10 ms.
        let losses: Vec<bool> = (0..3004).map(|_| rng.random_bool(0.02)).collect();
        let delayed =
            losses.windows(5).map(|near| near.iter().map(|lost| 100 * u64::from(*lost)).sum::<u64>());
        let [low, high] = of(delayed.map(|extra| 20 + extra)).ci95().unwrap();
        covered += u32::from(low <= 30.0 && 30.0 <= high);
    }
    assert!((360..=396).contains(&covered), "{covered} of 400");
}

#[test]
fn the_complementary_distribution_steps_at_each_value_and_keeps_the_unanswered() {
    assert_eq!(of([20, 20, 30, 90]).ccdf(), [(20.0, 0.5), (30.0, 0.25), (90.0, 0.0)]);
    let with_one_lost = Distribution::of_runs(&[millis([20, 20, 30, 90])], 1);
    assert_eq!(with_one_lost.ccdf().last(), Some(&(90.0, 0.2)));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn percentiles_ascend_and_stay_within_the_range(values in proptest::collection::vec(0u64..100_000, 1..2000)) {
        let times = of(values.clone());
        let wanted = [0.5, 0.9, 0.99, 0.999];
        let found: Vec<f64> = wanted.into_iter().filter_map(|wanted| times.quantile(wanted)).collect();
        prop_assert!(found.is_sorted());
        prop_assert!(found.iter().all(|value| *value <= times.max().unwrap()));
        prop_assert!(times.ccdf().is_sorted_by(|a, b| a.0 < b.0 && a.1 > b.1));
    }
}
