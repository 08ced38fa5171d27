//! Ten packets at first beside RFC 9260's three: what it does to flows that share the path, and to a flow over a lossy one.
//!
//! Runs are compared seed by seed. What is said of a cell is a mean with its standard error.

use std::time::Duration;

use sctp_core::InitialWindow;

use crate::bottleneck::{Cell, Obstacle, Outcome, to_f64};
use crate::flow::{Algorithm, Kind, Messages};

pub(crate) fn print() {
    print_shared();
    print_newcomers();
    print_lossy();
}

/// The cells that `cargo test -p netsim --test fairness` has bars for.
fn print_shared() {
    println!(
        "| window | bottleneck at 20 ms | flows | SCTP/TCP with three | with ten | change | worst Jain with three, ten |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (algorithm, obstacle, flows) in [
        (Algorithm::Halving, Obstacle::Queue(50), 1),
        (Algorithm::Halving, Obstacle::Queue(50), 2),
        (Algorithm::Halving, Obstacle::Loss(0.01), 2),
        (Algorithm::Cubic, Obstacle::Queue(50), 1),
        (Algorithm::Cubic, Obstacle::Queue(50), 2),
        (Algorithm::Cubic, Obstacle::Queue(10), 2),
        (Algorithm::Cubic, Obstacle::Loss(0.01), 2),
    ] {
        let cell = Cell::shared(algorithm, Duration::from_millis(20), obstacle, flows);
        let [three, ten] = WINDOWS.map(|initial_window| {
            let cell = Cell { initial_window, ..cell };
            (1..=SHARED_RUNS).map(|seed| cell.run(seed, MEASURED)).collect::<Vec<Outcome>>()
        });
        let ratios = |outcomes: &[Outcome]| -> Vec<f64> {
            outcomes.iter().map(|outcome| (total(&outcome.sctp) / total(&outcome.tcp)).ln()).collect()
        };
        let jain = |outcomes: &[Outcome]| outcomes.iter().map(Outcome::jain).fold(1.0, f64::min);
        let [before, after] = [&three, &ten].map(|outcomes| ratios(outcomes));
        println!(
            "| {algorithm:?} | {obstacle:?} | {flows} + {flows} | {} | {} | {} | {:.3}, {:.3} |",
            Mean::of(&before).factor(),
            Mean::of(&after).factor(),
            Mean::of(&differences(&after, &before)).factor(),
            jain(&three),
            jain(&ten),
        );
    }
}

/// What two TCPs that stand keep in the two seconds after others have come, who are TCPs themselves or SCTP.
fn print_newcomers() {
    println!();
    println!(
        "| bottleneck | RTT | newcomers | TCPs keep beside TCP | beside three packets | beside ten | of what they keep beside TCP: three | ten |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for obstacle in [Obstacle::Queue(50), Obstacle::Queue(10)] {
        for millis in [20, 100] {
            for count in [1, 8] {
                let cell = Cell::shared(Algorithm::Cubic, Duration::from_millis(millis), obstacle, 2);
                let kept = |kind, initial_window| -> Vec<f64> {
                    let newcomers = Some((kind, count));
                    let cell = Cell { flows: [0, 2], newcomers, initial_window, ..cell };
                    (1..=NEWCOMER_RUNS).map(|seed| total(&cell.run(seed, ARRIVAL).tcp) / 1e6).collect()
                };
                let beside_tcp = kept(Kind::Tcp, InitialWindow::Rfc9260);
                let [three, ten] = WINDOWS.map(|window| kept(Kind::Sctp, window));
                let of_tcp = |kept: &[f64]| Mean::of(&differences(kept, &beside_tcp)).over(&beside_tcp);
                println!(
                    "| {obstacle:?} | {millis} ms | {count} | {} | {} | {} | {} | {} |",
                    Mean::of(&beside_tcp).plain(),
                    Mean::of(&three).plain(),
                    Mean::of(&ten).plain(),
                    of_tcp(&three),
                    of_tcp(&ten),
                );
            }
        }
    }
}

/// What a flow carries over a lossy path, and what that is of TCP's: the cells of the test.
fn print_lossy() {
    println!();
    println!("| loss | messages | three, MB/s | ten | change | of RFC 9438's TCP | of Linux's |");
    println!("|---|---|---|---|---|---|---|");
    for loss in [0.01, 0.001] {
        let runs = |algorithm, messages, window: Option<InitialWindow>| -> Vec<f64> {
            let cell = Cell::alone(algorithm, messages, loss);
            let cell = Cell { initial_window: window.unwrap_or(cell.initial_window), ..cell };
            let rate = |outcome: Outcome| (total(&outcome.sctp) + total(&outcome.tcp)) / 8e6;
            (1..=LOSSY_RUNS).map(|seed| rate(cell.run(seed, LOSSY))).collect()
        };
        let tcps = [Algorithm::Cubic, Algorithm::Linux].map(|algorithm| runs(algorithm, None, None));
        for messages in [Messages::Of1200, Messages::Of1200Filled] {
            let [three, ten] = WINDOWS.map(|window| runs(Algorithm::Cubic, Some(messages), Some(window)));
            let of_tcp = tcps.each_ref().map(|tcp| Mean::of(&ten).by(&Mean::of(tcp)));
            println!(
                "| {} % | {messages:?} | {} | {} | {} | {} | {} |",
                loss * 100.0,
                Mean::of(&three).plain(),
                Mean::of(&ten).plain(),
                Mean::of(&differences(&ten, &three)).over(&three),
                of_tcp[0],
                of_tcp[1],
            );
        }
    }
}

/// A mean and its standard error.
struct Mean {
    mean: f64,
    error: f64,
}

impl Mean {
    fn of(values: &[f64]) -> Self {
        let count = to_f64(u64::try_from(values.len()).unwrap());
        let mean = total(values) / count;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        Self { mean, error: (squares / (count - 1.0) / count).sqrt() }
    }

    fn plain(&self) -> String {
        format!("{:.3} ± {:.3}", self.mean, self.error)
    }

    /// What a mean of logarithms says of their numbers.
    fn factor(&self) -> String {
        let factor = self.mean.exp();
        format!("{factor:.3} ± {:.3}", factor * self.error)
    }

    /// The factor that a mean difference is to what it is added to.
    fn over(&self, base: &[f64]) -> String {
        let base = Self::of(base).mean;
        format!("{:.3} ± {:.3}", 1.0 + self.mean / base, self.error / base)
    }

    /// A ratio of two means that have nothing to do with each other.
    fn by(&self, base: &Self) -> String {
        let ratio = self.mean / base.mean;
        let error = ratio * (self.error / self.mean).hypot(base.error / base.mean);
        format!("{ratio:.3} ± {error:.3}")
    }
}

fn total(values: &[f64]) -> f64 {
    values.iter().sum()
}

fn differences(values: &[f64], from: &[f64]) -> Vec<f64> {
    values.iter().zip(from).map(|(value, from)| value - from).collect()
}

const WINDOWS: [InitialWindow; 2] = [InitialWindow::Rfc9260, InitialWindow::TenPackets];
const SHARED_RUNS: u64 = 100;
const MEASURED: Duration = Duration::from_secs(20);
const NEWCOMER_RUNS: u64 = 200;
const ARRIVAL: Duration = Duration::from_secs(2);
const LOSSY_RUNS: u64 = 400;
const LOSSY: Duration = Duration::from_secs(10);
