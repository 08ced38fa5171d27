//! `headway predict table`: a study's published table beside what its formulas give.

use std::fmt::Write;
use std::time::Duration;

use clap::{Args, ValueEnum};
use models::studies::s4::{self, PublishedTransport};
use models::studies::{Conditions, Flow, s1};
use models::{Probability, Rate};
use serde::Serialize;

use super::{PredictError, ms};
use crate::failure::Failure;
use crate::output::OutputArguments;

/// A study's published table of response times, recomputed
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  headway predict table --study S4")]
pub(super) struct Arguments {
    /// The study whose table is recomputed
    #[arg(long, value_enum, default_value = "S4", ignore_case = true)]
    study: TabledStudy,
    #[command(flatten)]
    output: OutputArguments,
}

/// The studies with a table of predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TabledStudy {
    /// Transport protocols for firewall control (2007)
    #[value(name = "S4")]
    S4,
}

#[derive(Debug, Serialize)]
struct Answer {
    study: &'static str,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    transport: &'static str,
    streams: Option<u32>,
    rate_per_s: f64,
    response_ms: f64,
    published_ms: f64,
    /// What the formula of S1 gives, which has another detection delay; none for UDP.
    s1_response_ms: Option<f64>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let output = arguments.output.open()?;
    let answer = match arguments.study {
        TabledStudy::S4 => Answer { study: "S4", rows: s4_rows()? },
    };
    Ok(output.write(&text(&answer), &answer)?)
}

fn s4_rows() -> Result<Vec<Row>, PredictError> {
    let row = |cell: &s4::PublishedCell| {
        let (transport, streams) = match cell.transport {
            PublishedTransport::Sctp(streams) => ("sctp", Some(streams.get())),
            PublishedTransport::Tcp => ("tcp", None),
            PublishedTransport::Udp => ("udp", None),
        };
        Ok(Row {
            transport,
            streams,
            rate_per_s: cell.rate_per_second,
            response_ms: ms(s4::recompute(cell)?),
            published_ms: cell.response_ms,
            s1_response_ms: by_s1(cell)?,
        })
    };
    s4::published_table().iter().map(row).collect()
}

fn by_s1(cell: &s4::PublishedCell) -> Result<Option<f64>, PredictError> {
    let flow = match cell.transport {
        PublishedTransport::Sctp(streams) => Flow::Streams(streams),
        PublishedTransport::Tcp => Flow::ONE_CONNECTION,
        PublishedTransport::Udp => return Ok(None),
    };
    let conditions = Conditions {
        rtt: Duration::from_millis(20),
        loss: Probability::ONE_PERCENT,
        rate: Rate::per_second(cell.rate_per_second)?,
        rto: Duration::from_secs(1),
        processing: Duration::from_micros(500),
    };
    Ok(Some(ms(s1::response_time(&conditions, flow)?.response_time)))
}

fn text(answer: &Answer) -> String {
    let mut text = format!(
        "{}: RTT 20 ms, loss 1%, RTO 1 s, first timeout of UDP 500 ms, processing 0.5 ms\n\n\
         {:<12} {:>8} {:>12} {:>14}\n",
        answer.study, "transport", "per s", "computed ms", "published ms",
    );
    for row in &answer.rows {
        let name =
            row.streams.map_or(row.transport.to_owned(), |streams| format!("{}:{streams}", row.transport));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{name:<12} {:>8} {:>12.3} {:>14.1}",
            row.rate_per_s, row.response_ms, row.published_ms
        );
    }
    let is_another = |row: &&Row| (row.response_ms - row.published_ms).abs() > HALF_A_DIGIT;
    for row in answer.rows.iter().filter(is_another) {
        if let Some(s1) = row.s1_response_ms {
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "\nThe printed {:.1} ms of {} does not follow from the study's own (4) and (7): it is S1's {s1:.3} ms, without 1/(1 − p)².",
                row.published_ms, row.transport
            );
        }
    }
    text
}

/// Half of the last digit that is printed.
const HALF_A_DIGIT: f64 = 0.05;
