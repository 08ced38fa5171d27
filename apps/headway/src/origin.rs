//! The origin of a result, by which it can be produced again: which program runs, how, and since when.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lab::Origin;

/// Returns the origin of what this process finds, which begins now.
pub(crate) fn origin() -> Origin {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Origin {
        commit: env!("HEADWAY_COMMIT").to_owned(),
        command: std::env::args_os().skip(1).map(|part| part.to_string_lossy().into_owned()).collect(),
        started: utc(since_1970),
    }
}

/// Returns a time in UTC, such as `2026-11-23T03:00:00Z`.
fn utc(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (day, second) = (seconds / DAY_S, seconds % DAY_S);
    let (mut year, mut left) = (1970, day);
    while left >= days_of_year(year) {
        left -= days_of_year(year);
        year += 1;
    }
    let mut month = 1;
    while left >= days_of_month(year, month) {
        left -= days_of_month(year, month);
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", left + 1)
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn days_of_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

const fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

const DAY_S: u64 = 24 * 3600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_763_865_296, "2025-11-23T02:34:56Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(Duration::from_secs(seconds)), date);
        }
    }
}
