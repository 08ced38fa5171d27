use super::*;

#[test]
fn thinning_keeps_the_ends_and_every_visible_step() {
    let steps: Vec<(f64, f64)> =
        (1..=100_000u32).map(|n| (20.0 + f64::from(n) * 1e-4, 1.0 - f64::from(n) / 100_000.0)).collect();
    let thin = thin_ccdf(&steps);
    assert_eq!((thin[0], thin[1].0), ((0.0, 1.0), steps[0].0));
    assert_eq!(thin.last(), steps.last());
    assert!((200..4000).contains(&thin.len()), "{} points", thin.len());
    assert!(thin.is_sorted_by(|a, b| a.0 < b.0 && a.1 >= b.1));
}

#[test]
fn thinning_a_scatter_keeps_the_longest_responses() {
    let points: Vec<(f64, f64)> =
        (0..50_000u32).map(|n| (f64::from(n) * 0.01, if n == 31_234 { 900.0 } else { 20.0 })).collect();
    let thin = thin_scatter(points.clone());
    assert!(thin.len() <= MOST_POINTS);
    assert!(thin.contains(&points[31_234]));
    assert_eq!(thin_scatter(points[..3000].to_vec()).len(), 3000);
}
