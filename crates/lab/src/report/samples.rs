//! The file `samples.csv`: every request as a line.

use std::io::{self, Write};

use crate::compare::{RawOutcome, RawRun};
use crate::statistics::milliseconds;
use crate::summary::offset_s;

/// Writes `run,number,intended_s,sent_s,response_ms,blocked_ms`; times count from the start of the run.
///
/// The run is the transport's id, from the second repetition on followed by `#2`, `#3`, … A field without a value is
/// empty: `sent_s` if the transport never took the request, `response_ms` if it was not answered, `blocked_ms` where
/// blocking cannot be seen.
///
/// # Errors
///
/// Those of the writer.
pub fn samples_csv(raw: &RawOutcome, to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "run,number,intended_s,sent_s,response_ms,blocked_ms")?;
    for run in &raw.runs {
        let name = run_name(run);
        for sample in &run.samples {
            let intended = offset_s(run, sample.intended);
            let sent = field(sample.sent.map(|sent| offset_s(run, sent)), 9);
            let response = field(sample.response.map(milliseconds), 6);
            let blocked = field(sample.blocked.map(milliseconds), 6);
            writeln!(to, "{name},{},{intended:.9},{sent},{response},{blocked}", sample.number)?;
        }
    }
    to.flush()
}

fn run_name(run: &RawRun) -> String {
    match run.repetition {
        0 => run.transport.to_string(),
        repetition => format!("{}#{}", run.transport, repetition + 1),
    }
}

fn field(value: Option<f64>, decimals: usize) -> String {
    value.map(|value| format!("{value:.decimals$}")).unwrap_or_default()
}
