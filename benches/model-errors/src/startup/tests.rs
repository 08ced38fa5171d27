use super::*;
use crate::document;

fn stated(bytes: u32, rtt_ms: f64) -> Row {
    let is_it = |cell: &&Cell| cell.message_bytes.get() == bytes && (cell.rtt_ms - rtt_ms).abs() < 1e-9;
    let cells = grid();
    row(cells.iter().rev().find(is_it).unwrap()).unwrap()
}

/// S5's own errors against its measurement are 2.9 to 9.5 %.
#[test]
fn the_five_cells_of_the_study_are_predicted_within_three_per_cent() {
    let cells: Vec<Cell> = grid().into_iter().filter(|cell| cell.published_error.is_some()).collect();
    assert_eq!(cells.len(), 5);
    for cell in cells {
        let row = row(&cell).unwrap();
        assert!(row.overbooking.mean_relative <= 0.03, "{row:?}");
        assert!((row.overbooking.penalty_ms - row.simulated_penalty_ms).abs() < 0.1, "{row:?}");
    }
}

#[test]
fn every_cell_of_the_grid_is_predicted_within_one_per_cent() {
    for cell in grid().iter().filter(|cell| cell.published_error.is_none()) {
        let row = row(cell).unwrap();
        assert!(row.overbooking.mean_relative <= 0.01, "{row:?}");
    }
}

#[test]
fn video_frames_over_a_long_path_wait_for_nearly_a_second() {
    let row = stated(30_000, 200.0);
    assert!((row.simulated_penalty_ms / 1000.0 - 1.0).abs() < 0.1, "{row:?}");
    assert!((row.overbooking.penalty_ms / row.simulated_penalty_ms - 1.0).abs() < 0.001, "{row:?}");
}

/// No reading of the rules gives both stated points: docs/startup.md.
#[test]
fn no_reading_gives_almost_500_ms_and_near_a_second() {
    for reading in readings().unwrap() {
        let is_near_one_second = (reading.large_ms / 1000.0 - 1.0).abs() < 0.15;
        let is_almost_500 = (420.0..520.0).contains(&reading.small_ms);
        assert!(!(is_near_one_second && is_almost_500), "{reading:?}");
    }
}

#[test]
fn documented_numbers_are_what_the_simulation_gives() {
    let documented = document::read_results(&document::root()).unwrap();
    assert_eq!(documented.startup.len(), grid().len());
    for documented in &documented.startup {
        let now = row(&documented.cell).unwrap();
        let pairs = [
            (documented.simulated_penalty_ms, now.simulated_penalty_ms),
            (documented.overbooking.penalty_ms, now.overbooking.penalty_ms),
            (documented.within_window.penalty_ms, now.within_window.penalty_ms),
        ];
        for (before, now) in pairs {
            assert!((before - now).abs() < 0.05, "{documented:?} {now:?}");
        }
    }
}
