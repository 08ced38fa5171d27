//! What is written about the events is what the code says.

use sctp_core::trace::EVENTS;

/// A row of the table in `docs/events.md` for every kind of event, in the order of the list, and no other row.
#[test]
fn events_are_documented_as_they_are_listed() {
    let document = include_str!("../../../docs/events.md");
    let documented: Vec<&str> = document.lines().filter(|line| line.starts_with("| `")).collect();
    let listed: Vec<String> = EVENTS
        .iter()
        .map(|kind| {
            let fields: Vec<String> = kind.fields.iter().map(|field| format!("`{field}`")).collect();
            format!("| `{}` | {} | {} | {} |", kind.name, fields.join(", "), kind.source, kind.meaning)
        })
        .collect();
    assert_eq!(documented, listed);
}
