//! The numbers of a page as CSV.

use crate::page::{Page, Table};

/// Returns every point of every series: figure, series, coordinates, interval.
#[must_use]
pub fn series(page: &Page) -> String {
    let mut text = String::from("figure,series,x,y,z,low,high\n");
    for series in &page.series {
        for (index, point) in series.points.iter().enumerate() {
            let [x, y, z] = [0, 1, 2].map(|place| shown(point.get(place).copied()));
            let [low, high] = bounds(series.ci95.get(index).copied().flatten());
            text += &format!("{},\"{}\",{x},{y},{z},{low},{high}\n", series.figure, series.name);
        }
    }
    text
}

/// Returns the statements with their verdicts.
#[must_use]
pub fn statements(page: &Page) -> String {
    let mut text =
        String::from("statement,published,ours,unit,low,high,criterion,verdict,because,evidence\n");
    for statement in &page.statements {
        let [low, high] = bounds(statement.ci95());
        let (published, ours) = (shown(statement.published()), shown(statement.ours()));
        let [text_of, unit, criterion, because] =
            [statement.text(), statement.unit(), statement.criterion(), statement.because()]
                .map(str::to_owned);
        let (verdict, evidence) =
            (statement.verdict().name().to_owned(), statement.evidence().unwrap_or_default().to_owned());
        text += &line(&[text_of, published, ours, unit, low, high, criterion, verdict, because, evidence]);
    }
    text
}

/// Returns a table as it stands, as CSV.
#[must_use]
pub fn table(table: &Table) -> String {
    core::iter::once(&table.head).chain(&table.rows).map(|row| line(row)).collect()
}

fn shown(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn bounds(ci95: Option<[f64; 2]>) -> [String; 2] {
    [0, 1].map(|side| shown(ci95.map(|bounds| bounds[side])))
}

/// Writes each value in quotes, those within doubled (RFC 4180 §2).
fn line(values: &[String]) -> String {
    let quoted = values.iter().map(|value| format!("\"{}\"", value.replace('"', "\"\"")));
    quoted.collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Criterion, Estimate};

    #[test]
    fn statements_and_tables_are_csv_whatever_is_in_them() {
        let mut page = Page::default();
        let criterion = Criterion::within(40.0, 0.03, "ms");
        page.statements.push(criterion.judge("a \"mean\", of four", Estimate::exact(41.0)));
        let text = statements(&page);
        let expected = "\"a \"\"mean\"\", of four\",\"40\",\"41\",\"ms\",\"41\",\"41\",\"within 3 %\",\"reproduced\",\"+2.5 ± 0.0 % off\",\"\"";
        assert_eq!(text.lines().nth(1), Some(expected));
        let rows = vec![vec!["SCTP, 1 stream".to_owned(), "40.5".to_owned()]];
        assert_eq!(
            table(&Table::new("S4", &["transport", "ms"], rows)),
            "\"transport\",\"ms\"\n\"SCTP, 1 stream\",\"40.5\"\n"
        );
    }
}
