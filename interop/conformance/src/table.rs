//! `docs/conformance.md`: section, requirement, case and result, from what the cases give.

use crate::case::{Case, Over, Strength, all};
use crate::virtual_time::VirtualWire;

/// Runs all cases in virtual time and writes the page.
#[must_use]
pub fn page() -> String {
    let cases = all();
    let rows: Vec<String> = cases.iter().map(row).collect();
    let both = cases.iter().filter(|case| case.over == Over::Both).count();
    let (total, timed) = (cases.len(), cases.len() - both);
    format!(
        "{HEAD}\n{total} cases: {both} over both wires, {timed} in virtual time alone, because times decide them.\n\n{COLUMNS}{}\n",
        rows.join("\n")
    )
}

fn row(case: &Case) -> String {
    let strength = match case.strength {
        Strength::Must => "must",
        Strength::Should => "should",
    };
    let over = match case.over {
        Over::Both => "virtual time, raw IP",
        Over::VirtualTime => "virtual time",
    };
    let Case { section, requirement, name, .. } = case;
    format!("| {section} | {strength} | {requirement} | `{name}` | {over} | {} |", result(case))
}

/// What a run in virtual time gives.
fn result(case: &Case) -> &'static str {
    let run = VirtualWire::new(case.settings).map(|wire| case.run(Box::new(wire)));
    if matches!(run, Ok(Ok(()))) { "passes" } else { "fails" }
}

const HEAD: &str = "\
# RFC 9260, packet by packet

Written by `cargo xtask conformance-table` from what the cases give; `cargo xtask check` compares it. Each row is a sentence
of §§3, 5, 6, 8 or 9 of RFC 9260 that an observer outside can check, in our words, and a script in
[interop/conformance](../interop/conformance/src/cases): a peer that says a packet, and hears what has to come. The same scripts
run over the core in virtual time and over protocol 132, in a network namespace, against a process with the stack that ships.
`cargo run -p conformance -- run NAME` runs one and prints its packets.
";
const COLUMNS: &str = "\
| § | | requirement | case | over | result |
|---|---|---|---|---|---|
";
