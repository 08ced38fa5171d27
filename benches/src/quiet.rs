//! Whether the machine has time for a measurement: what is timed beside other work says what the other work was.

use std::fmt::Display;
use std::process::ExitCode;

/// Prints a table of times, with the load in front, unless other work would spoil it; errors go to standard error.
///
/// The machine is too busy when more than one process wanted to run in the mean of the last minute, a compiler that has just
/// ended included. With `HEADWAY_BUSY_ANYWAY` in the environment the table is printed all the same, and says under which load.
pub fn when_quiet<E: Display>(print: impl FnOnce() -> Result<(), E>) -> ExitCode {
    let loads = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let is_meant = std::env::var_os(BUSY_ANYWAY).is_some();
    let outcome = admit(&loads, is_meant).and_then(|line| {
        println!("{line}");
        print().map_err(|error| error.to_string())
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Gives the line about the load that stands above a table, or says why there is none.
fn admit(loads: &str, is_meant: bool) -> Result<String, String> {
    let Some(load) = loads.split_whitespace().next().and_then(|load| load.parse::<f64>().ok()) else {
        return Ok("load in the last minute: unknown".to_owned());
    };
    if load > MOST_LOAD && !is_meant {
        return Err(format!(
            "load {load} in the last minute: above {MOST_LOAD} a table of times says how busy the machine is; wait until other work has ended, or set {BUSY_ANYWAY}=1 for a table that says so"
        ));
    }
    Ok(format!("load in the last minute: {load}"))
}

/// The most processes that may have wanted to run in the mean of the last minute.
const MOST_LOAD: f64 = 1.0;

/// The environment variable that lets a table be printed whatever the load is.
const BUSY_ANYWAY: &str = "HEADWAY_BUSY_ANYWAY";

#[cfg(test)]
mod tests {
    use super::admit;

    #[test]
    fn busy_machine_is_refused_with_its_load_unless_that_is_meant() {
        assert_eq!(admit("0.98 2.50 3.00 1/80 4711", false).unwrap(), "load in the last minute: 0.98");
        let refused = admit("2.62 2.18 1.97 3/80 4711", false).unwrap_err();
        assert!(
            refused.starts_with("load 2.62 in the last minute") && refused.contains("HEADWAY_BUSY_ANYWAY=1")
        );
        assert_eq!(admit("2.62 2.18 1.97 3/80 4711", true).unwrap(), "load in the last minute: 2.62");
    }

    #[test]
    fn system_that_tells_no_load_is_no_reason_to_refuse() {
        assert_eq!(admit("", false).unwrap(), "load in the last minute: unknown");
    }
}
