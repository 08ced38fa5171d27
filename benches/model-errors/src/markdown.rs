//! Tables as documents show them.

/// A table and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The document it stands in.
    pub document: &'static str,
    /// What the marks around it call it.
    pub name: &'static str,
    /// The table.
    pub markdown: String,
}

impl Table {
    /// A table with these headings and rows.
    pub(crate) fn new(
        document: &'static str,
        name: &'static str,
        headings: &[&str],
        rows: impl Iterator<Item = Vec<String>>,
    ) -> Self {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let headings: Vec<String> = headings.iter().map(|heading| (*heading).to_owned()).collect();
        let rule = format!("|{}\n", "---|".repeat(headings.len()));
        let rows: String = rows.map(|row| line(&row)).collect();
        Self { document, name, markdown: line(&headings) + &rule + &rows }
    }
}

/// A share as a percentage with one decimal, two below one per cent.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 1.0 { format!("{percent:.2} %") } else { format!("{percent:.1} %") }
}

/// A relative error with its sign.
pub(crate) fn signed_percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}
