//! Other transports over the same network and with the same arrivals: a TCP of its own, and the SCTP that ships.

use super::{JUDGED_FROM, Published, mean_of};
use crate::cells::Ran;
use crate::effort::Effort;
use crate::error::StudyError;
use lab::plan::Plan;
use lab::report::Table;

/// Makes a table with one row per cell and transport; `unordered` is the mean delay of the study's rules by
/// seed.
pub(super) fn table(
    effort: &Effort,
    cells: &[Published],
    unordered: &[Vec<f64>],
    buffer: u32,
) -> Result<Table, StudyError> {
    let effort = Effort { seeds: effort.seeds.min(MOST_SEEDS), first_seed: JUDGED_FROM, ..effort.clone() };
    let mut rows = Vec::new();
    for (transport, profile, name) in TRANSPORTS {
        let text = PLAN
            .replace("transport = \"tcp\"", &format!("transport = \"{transport}\""))
            .replace("profile = \"ns2-sack\"", &format!("profile = \"{profile}\""))
            .replace("queue = \"4p\"", &format!("queue = \"{buffer}p\""));
        let mut plan = Plan::parse(&text).map_err(|error| StudyError::Plan { page: "S2", error })?;
        plan.cells.retain(|cell| {
            cell.factors.iter().any(|(_, level)| cells.iter().any(|cell| level.as_str() == Some(cell.case)))
        });
        let ran = effort.run_plan("S2", plan)?;
        for (cell, unordered) in cells.iter().zip(unordered) {
            rows.push(row(ran.get(&[crate::cells::text("case", cell.case)])?, cell, name, unordered));
        }
    }
    let head = [
        "cell",
        "transport",
        "mean ms",
        "less study's unordered",
        "median",
        "95 %",
        "99 %",
        "messages blocked",
    ];
    Ok(Table::new(
        "Other transports, each in runs of its own with the arrivals of the same seeds and rates",
        &head,
        rows,
    ))
}

fn row(ran: &Ran, cell: &Published, name: &str, unordered: &[f64]) -> Vec<String> {
    let Some(flow) = ran.tally.flows.first() else { return Vec::new() };
    let ours = flow.delivered.means();
    let differences: Vec<f64> = ours.iter().zip(unordered).map(|(ours, study)| ours - study).collect();
    let quantile =
        |share| flow.delivered.quantile(share).map_or_else(|| "–".to_owned(), |ms| format!("{ms:.0}"));
    let blocked = flow.by_seed(|seed| {
        seed.transport.blocked.map(|(messages, _)| messages as f64 / seed.completed as f64 * 100.0)
    });
    vec![
        cell.name.to_owned(),
        name.to_owned(),
        mean_of(&ours, |mean| format!("{mean:.1}")),
        mean_of(&differences, |mean| format!("{mean:+.1}{}", super::plus_minus(&differences))),
        quantile(0.5),
        quantile(0.95),
        quantile(0.99),
        mean_of(&blocked, |mean| format!("{mean:.1} %")),
    ]
}

/// Enough beside the thirty of the study's own rules.
const MOST_SEEDS: u64 = 10;
/// The transports by their names in plans and in the table.
const TRANSPORTS: [(&str, &str, &str); 3] = [
    ("tcp", "ns2-sack", "TCP SACK (ns2-sack)"),
    ("sctp:unordered", "signalling", "SCTP that ships, unordered"),
    ("sctp:1", "signalling", "SCTP that ships, one stream"),
];
const PLAN: &str = include_str!("../../../../plans/studies/s2-transports.toml");
