//! The page of the differences between two results.

use super::plan::{figure, means};
use crate::difference::{
    ConditionDifference, DifferenceVerdict, ResultDifference, Saved, TransportDifference, in_common,
};
use crate::numbers::{beside_unanswered, plain_or_dash, tenths};
use crate::page::{Mark, Page, Table};

/// Returns the conditions that differ, the means of both, a table of what both results have, and what stands in one alone.
#[must_use]
pub fn difference(first: &Saved, second: &Saved) -> Page {
    let difference = ResultDifference::new(first, second);
    let condition = |condition: &ConditionDifference| {
        let [first, second] = &condition.values;
        format!("{}: {first} → {second}", condition.name)
    };
    let same = Some(in_common(first, second)).filter(|same| !same.is_empty());
    let whose = if difference.conditions.is_empty() { "the same conditions" } else { "both" };
    let same = same.map(|same| format!("{whose}: {}", same.join(", ")));
    let rows: Vec<_> = difference.transports.iter().map(|transport| cells(transport).to_vec()).collect();
    let names = if first.world == second.world {
        ["first", "second"]
    } else {
        [first, second].map(|saved| &*saved.world)
    };
    let sides = [(first, names[0], Mark::Points), (second, names[1], Mark::Measured)];
    let alone = [("first", &difference.only_first), ("second", &difference.only_second)];
    let alone = alone.into_iter().filter(|(_, ids)| !ids.is_empty());
    let alone = alone.map(|(which, ids)| format!("only in the {which}: {}", ids.join(", ")));
    let kinds = format!("each row of the first is a {}, of the second a {}", first.of, second.of);
    let nothing = rows.is_empty().then(|| format!("no row stands in both: {kinds}"));
    let mut table = Table::new("Second beside first, in ms", &HEADINGS, rows);
    table.head[0] = first.of.to_owned();
    Page {
        id: "difference".to_owned(),
        conditions: difference.conditions.iter().map(condition).chain(same).collect(),
        figures: figure(&first.axis, difference.transports.len()).into_iter().collect(),
        series: sides.into_iter().flat_map(|(side, name, mark)| means(first, side, name, mark)).collect(),
        tables: vec![table.without_empty()],
        notes: nothing.into_iter().chain(alone).collect(),
        ..Page::default()
    }
}

fn cells(transport: &TransportDifference) -> [String; HEADINGS.len()] {
    let pair = |values: [Option<f64>; 2]| values.map(plain_or_dash).join(" → ");
    let mean = [0, 1]
        .map(|side| beside_unanswered(plain_or_dash(transport.mean_ms[side]), transport.unanswered[side]));
    let by = transport.difference_ms.zip(transport.ci95);
    let by =
        by.map_or_else(|| "–".to_owned(), |(by, [low, high])| format!("{by:+.2} ±{:.2}", (high - low) / 2.0));
    let losses =
        transport.by_others_loss.map(|share| share.map_or_else(|| "–".to_owned(), tenths)).join(" → ");
    let has_losses = transport.by_others_loss != [None; 2];
    let verdict = match transport.verdict {
        DifferenceVerdict::Shorter => "shorter",
        DifferenceVerdict::Longer => "longer",
        DifferenceVerdict::None => "no difference beyond the intervals",
        DifferenceVerdict::Unknown => "too few requests to tell",
    };
    [
        transport.id.clone(),
        mean.join(" → "),
        by,
        pair(transport.p50),
        pair(transport.p90),
        pair(transport.p99),
        if has_losses { losses } else { String::new() },
        verdict.to_owned(),
    ]
}

const HEADINGS: [&str; 8] =
    ["", "mean", "difference ±95 %", "p50", "p90", "p99", "others' loss", "second mean"];
