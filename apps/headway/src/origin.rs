//! The origin of a result, by which it can be produced again: which program runs, how, and since when.

use lab::Origin;
use time::OffsetDateTime;

/// Returns the origin of what this process finds, which begins now.
pub(crate) fn origin() -> Origin {
    Origin {
        commit: env!("HEADWAY_COMMIT").to_owned(),
        command: std::env::args_os().skip(1).map(|part| part.to_string_lossy().into_owned()).collect(),
        started: utc(OffsetDateTime::now_utc()),
    }
}

/// Returns a time in UTC, such as `2026-11-23T03:00:00Z`.
fn utc(time: OffsetDateTime) -> String {
    let (date, (hour, minute, second)) = (time.date(), time.to_hms());
    format!("{date}T{hour:02}:{minute:02}:{second:02}Z")
}

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
            assert_eq!(utc(OffsetDateTime::from_unix_timestamp(seconds).unwrap()), date);
        }
    }
}
