//! Pages as text for the terminal.

use core::fmt::Write as _;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, TableStyle};

use crate::page::{Page, Statement, Table, Verdict};

/// The room that tables have.
#[derive(Clone, Copy, Debug)]
pub struct Room<'a> {
    /// Columns of the terminal; `None` where there is no bound.
    pub columns: Option<usize>,
    /// The remedy of a reader who wants all columns of a table.
    pub all: &'a str,
}

impl Room<'_> {
    /// The room of a file or a pipe, where lines may be as long as they like.
    pub const UNBOUNDED: Self = Self { columns: None, all: "" };
}

/// Returns a page as text: its tables as wide as there is room, of which what matters least is left out and named. Text around
/// a table is the terminal's to wrap.
#[must_use]
pub fn text(page: &Page, room: Room<'_>) -> String {
    let mut text = String::new();
    let title = Some(&page.title).filter(|title| !title.is_empty());
    for line in title.into_iter().chain(&page.conditions) {
        put(&mut text, format_args!("{line}"));
    }
    for statement in &page.statements {
        put(&mut text, format_args!("  {}", line(statement)));
    }
    for table in page.tables.iter().filter(|table| !table.rows.is_empty()) {
        let (drawn, left_out) = within(table, room.columns.unwrap_or(usize::MAX));
        put(&mut text, format_args!("{drawn}"));
        if !left_out.is_empty() {
            let names = left_out.join(", ");
            put(
                &mut text,
                format_args!("left out, for the terminal is narrow: {names} ({} shows all)", room.all),
            );
        }
    }
    page.notes.iter().for_each(|note| put(&mut text, format_args!("{note}")));
    for (number, sentence) in page.reading.iter().enumerate() {
        put(&mut text, format_args!("{}{sentence}", if number == 0 { "\n" } else { "" }));
    }
    text
}

/// Returns one line per statement of all pages, and how many had which verdict.
#[must_use]
pub fn verdicts(pages: &[Page]) -> String {
    let mut text = String::new();
    for page in pages {
        put(&mut text, format_args!("{}: {} ({}, {:.1} s)", page.id, page.title, page.effort, page.wall_s));
        page.statements.iter().for_each(|statement| put(&mut text, format_args!("  {}", line(statement))));
        page.left_out.iter().for_each(|what| put(&mut text, format_args!("  left out        {what}")));
    }
    let statements = || pages.iter().flat_map(|page| &page.statements);
    let with = |verdict| statements().filter(|statement| statement.verdict() == verdict).count();
    let counts = Verdict::ALL.map(|verdict| format!("{} {}", with(verdict), verdict.name()));
    put(&mut text, format_args!("{} statements: {}", statements().count(), counts.join(", ")));
    text
}

fn line(statement: &Statement) -> String {
    let verdict = match statement.verdict() {
        Verdict::NotReproduced => "NOT REPRODUCED",
        other @ (Verdict::Reproduced | Verdict::Explained | Verdict::Undecided) => other.name(),
    };
    let value =
        |name: &str, value: Option<f64>| value.map(|value| format!("{name} {value:.2} {}", statement.unit()));
    let values = [value("published", statement.published()), value("ours", statement.ours())];
    let values: Vec<String> = values.into_iter().flatten().collect();
    let values = if values.is_empty() { String::new() } else { format!(" [{}]", values.join(", ")) };
    let evidence = statement.evidence().map(|place| format!(" (evidence: {place})")).unwrap_or_default();
    format!(
        "{verdict:<14}  {}{values}, {}: {}{evidence}",
        statement.text(),
        statement.criterion(),
        statement.because()
    )
}

/// Returns the table with as many of its columns as fit, and the heads of those that do not.
fn within(table: &Table, width: usize) -> (String, Vec<&str>) {
    let is_narrow = |drawn: &str| drawn.lines().all(|line| line.chars().count() <= width);
    let draw = |count: usize| lined(table, &table.spare[..count]);
    let fits = (0..table.spare.len()).find(|count| is_narrow(&draw(*count))).unwrap_or(table.spare.len());
    let left_out = table.spare[..fits].iter().filter_map(|column| table.head.get(*column));
    (draw(fits), left_out.map(String::as_str).collect())
}

/// Draws a table with lines above, below and under its headings; numbers stand at the right.
fn lined(table: &Table, left_out: &[usize]) -> String {
    let shown: Vec<usize> = (0..table.head.len()).filter(|column| !left_out.contains(column)).collect();
    let of_row = |row: &Vec<String>| -> Vec<String> {
        shown.iter().map(|column| row.get(*column).cloned().unwrap_or_default()).collect()
    };
    let mut drawn = comfy_table::Table::new();
    drawn.load_style(LINES).set_content_arrangement(ContentArrangement::Disabled);
    drawn.set_header(of_row(&table.head));
    drawn.add_rows(table.rows.iter().map(of_row));
    for (place, _) in shown.iter().enumerate().filter(|(_, column)| table.is_numeric(**column)) {
        if let Some(column) = drawn.column_mut(place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    // Spaces at the ends of lines would wrap.
    drawn.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn put(text: &mut String, line: core::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

/// Lines above and below the heading and at the end; none between rows.
const LINES: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));
