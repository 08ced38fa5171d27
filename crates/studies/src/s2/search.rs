//! The search for what the study does not publish: which settings give its mean delays.

use std::fmt::Write as _;

use super::net::run;
use super::settings::Choice;
use super::{CELLS, Published, seed};
use crate::effort::Effort;
use crate::error::StudyError;
use lab::mean;
use lab::plan::spread;
use lab::simulation::Halving;
use lab::simulation::SimulationError;

/// A setting, and what it gives for the three cells without competing flows.
#[derive(Clone, Debug)]
struct Tried {
    choice: Choice,
    /// Mean delay and paired difference in ms.
    cells: Vec<[f64; 2]>,
}

impl Tried {
    /// Returns the mean square of the logarithms of ours over published: 0.04 is a fifth off everywhere.
    fn distance(&self) -> f64 {
        let cells = self.cells.iter().zip(&CELLS);
        cells.map(|([ours, _], cell)| (ours / cell.sctp_ms).ln().powi(2)).sum::<f64>() / 3.0
    }

    fn is_within_bars(&self) -> bool {
        let near =
            |([_, ours], cell): (&[f64; 2], &Published)| (ours - (cell.tcp_ms - cell.sctp_ms)).abs() <= 1.0;
        self.cells.iter().zip(&CELLS).all(near)
    }
}

/// Tries the whole grid with the seeds of `effort`, the nearest ones again with as many as the pages have, and tells them. The
/// competing windows are tried with the nearest one whose differences are within the bars.
pub(crate) fn search(effort: &Effort) -> Result<String, StudyError> {
    let tried = try_all(effort, grid())?;
    let mut text = told(&tried, effort.seeds);
    let closer = Effort { seeds: CLOSER_SEEDS, ..effort.clone() };
    let again = try_all(&closer, distinct(tried))?;
    text.push_str(&told(&again, closer.seeds));
    if let Some(nearest) = again.iter().find(|one| one.is_within_bars()) {
        text.push_str(&competing(effort, &nearest.choice)?);
    }
    Ok(text)
}

/// Tries each choice; returns the nearest to the published means first.
fn try_all(effort: &Effort, choices: Vec<Choice>) -> Result<Vec<Tried>, StudyError> {
    let seeds = usize::try_from(effort.seeds).unwrap_or(1);
    effort.options.progress.expect(choices.len() * 3 * seeds);
    let runs = spread(&effort.options, choices.len() * 3 * seeds, |index| {
        let (choice, rest) = (&choices[index / (3 * seeds)], index % (3 * seeds));
        let outcome = run(&choice.of(&CELLS[rest / seeds]), seed(rest % seeds), effort)?;
        let of = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let one_way = &outcome.one_way;
        Ok::<_, SimulationError>([of(one_way.unordered.moments().mean()), of(one_way.difference.mean())])
    })?;
    if effort.options.stop.is_raised() {
        return Err(StudyError::Interrupted);
    }
    let figure = |runs: &[[f64; 2]], position: usize| {
        mean(&runs.iter().map(|run| run[position]).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    let of_setting = |(choice, runs): (Choice, &[[f64; 2]])| Tried {
        choice,
        cells: runs.chunks(seeds).map(|runs| [figure(runs, 0), figure(runs, 1)]).collect(),
    };
    let mut tried: Vec<Tried> = choices.into_iter().zip(runs.chunks(3 * seeds)).map(of_setting).collect();
    tried.sort_by(|a, b| a.distance().total_cmp(&b.distance()));
    Ok(tried)
}

/// Returns the choices that give different figures: caps that are never reached do not count.
fn distinct(tried: Vec<Tried>) -> Vec<Choice> {
    let mut kept: Vec<Tried> = Vec::new();
    for one in tried {
        if kept.last().is_none_or(|last| last.cells != one.cells) {
            kept.push(one);
        }
    }
    kept.into_iter().take(NEAREST).map(|one| one.choice).collect()
}

/// Returns a sentence on the windows of the competing flows for the other two cells, under one choice of the
/// rest.
fn competing(effort: &Effort, choice: &Choice) -> Result<String, StudyError> {
    let seeds = usize::try_from(effort.seeds).unwrap_or(1);
    let cells = &CELLS[3..];
    effort.options.progress.expect(CAPS.len() * cells.len() * seeds);
    let runs = spread(&effort.options, CAPS.len() * cells.len() * seeds, |index| {
        let (cap, rest) = (CAPS[index / (cells.len() * seeds)], index % (cells.len() * seeds));
        let choice = Choice { competing_cap: cap, ..choice.clone() };
        let outcome = run(&choice.of(&cells[rest / seeds]), seed(rest % seeds), effort)?;
        let of = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let one_way = &outcome.one_way;
        Ok::<_, SimulationError>([of(one_way.unordered.moments().mean()), of(one_way.difference.mean())])
    })?;
    let mut text = format!(
        "competing windows, with buffer {}, headers {}; published means 757.2 and 589.1 ms, order costs 1.8 and 3.0 %\n",
        choice.buffer, choice.headers
    );
    for (cap, runs) in CAPS.iter().zip(runs.chunks(cells.len() * seeds)) {
        let figures = runs.chunks(seeds).map(|runs| {
            let mean = |position: usize| {
                mean(&runs.iter().map(|run| run[position]).collect::<Vec<_>>()).unwrap_or(f64::NAN)
            };
            format!("{:8.1} ({:.2}, {:.2} %)", mean(0), mean(1), mean(1) / mean(0) * 100.0)
        });
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    window {cap:5}  {}", figures.collect::<Vec<_>>().join(" "));
    }
    Ok(text)
}

fn told(tried: &[Tried], seeds: u64) -> String {
    let mut text = format!(
        "{} settings, {seeds} seeds; published means 397.4, 455.9 and 840.8 ms, differences 3.4, 3.4 and 4.0 ms\n",
        tried.len()
    );
    for (rank, one) in tried.iter().take(NEAREST).enumerate() {
        let cells: Vec<String> =
            one.cells.iter().map(|[mean, difference]| format!("{mean:7.1} ({difference:.2})")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:2}. distance {:.3}  {} {}  buffer {} headers {} cap {} {:?}",
            rank + 1,
            one.distance(),
            cells.join(" "),
            if one.is_within_bars() { "differences within 1 ms" } else { "" },
            one.choice.buffer,
            one.choice.headers,
            one.choice.cap,
            one.choice.halving
        );
    }
    text
}

fn grid() -> Vec<Choice> {
    let mut grid = Vec::new();
    for buffer in 4..=9 {
        for headers in [40, 52, 60] {
            for cap in [32.0, 48.0, 64.0, 65_535.0] {
                for halving in [Halving::FlightOnce, Halving::WindowOnce, Halving::EachLoss] {
                    let name = String::new();
                    grid.push(Choice { name, buffer, headers, cap, competing_cap: 50.0, halving });
                }
            }
        }
    }
    grid
}

/// Windows of the competing flows, in packets.
const CAPS: [f64; 8] = [8.0, 12.0, 16.0, 20.0, 24.0, 32.0, 50.0, 65_535.0];
/// How many are told, and tried again.
const NEAREST: usize = 20;
/// The number of seeds for a closer look: as many as the pages have.
const CLOSER_SEEDS: u64 = 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_the_plan_are_points_of_the_grid() {
        let grid = grid();
        for choice in super::super::settings::choices().expect("a plan of ours") {
            let point = Choice { name: String::new(), competing_cap: 50.0, ..choice };
            assert!(grid.contains(&point), "{point:?}");
        }
    }

    #[test]
    fn choices_with_the_same_figures_are_tried_again_once() {
        let figures = |ms: f64| vec![[ms, 3.0]; 3];
        let choices = grid().into_iter().take(4).zip([400.0, 400.0, 400.0, 500.0]);
        let tried: Vec<Tried> = choices.map(|(choice, ms)| Tried { choice, cells: figures(ms) }).collect();
        let expected = vec![tried[0].choice.clone(), tried[3].choice.clone()];
        assert_eq!(distinct(tried), expected);
    }

    #[test]
    fn the_distance_is_zero_where_ours_is_what_was_published() {
        let exact = CELLS.iter().take(3).map(|cell| [cell.sctp_ms, cell.tcp_ms - cell.sctp_ms]).collect();
        let mut tried = Tried { choice: grid().remove(0), cells: exact };
        assert!(tried.distance() < 1e-12 && tried.is_within_bars());
        tried.cells[1] = [2.0 * 455.9, 5.0];
        assert!((tried.distance() - 2.0_f64.ln().powi(2) / 3.0).abs() < 1e-12 && !tried.is_within_bars());
    }
}
