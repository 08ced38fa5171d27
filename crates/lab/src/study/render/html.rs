//! The HTML pages themselves.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::page::{Page, Statement, Verdict};
use super::scale::label;
use super::svg;

/// Returns the HTML of one study: all its pages one below the other.
#[must_use]
pub fn study_page(study: &str, pages: &[&Page]) -> String {
    let mut html = head(&format!("Headway: study {study} rebuilt"));
    put(
        &mut html,
        format_args!("<h1>{study} — {}</h1>\n<p><a href=\"index.html\">All studies</a></p>\n", source(study)),
    );
    for page in pages {
        section(&mut html, page);
    }
    html.push_str("</main></body></html>\n");
    html
}

/// Returns the HTML of the summary: one row per statement.
#[must_use]
pub fn summary_page(studies: &BTreeMap<&str, Vec<&Page>>) -> String {
    let mut html = head("Headway: the studies rebuilt");
    html.push_str("<h1>The studies rebuilt</h1>\n");
    let all = || studies.values().flatten().flat_map(|page| &page.statements);
    let with = |verdict| all().filter(|statement| statement.verdict == verdict).count();
    put(
        &mut html,
        format_args!(
            "<p>{} statements: {} reproduced, {} differ for a stated reason, {} not reproduced, {} undecided.</p>\n",
            all().count(),
            with(Verdict::Reproduced),
            with(Verdict::Differs),
            with(Verdict::NotReproduced),
            with(Verdict::Undecided)
        ),
    );
    for (study, pages) in studies {
        put(&mut html, format_args!("<h2><a href=\"{study}.html\">{study}</a> — {}</h2>\n", source(study)));
        for page in pages {
            put(
                &mut html,
                format_args!(
                    "<h3><a href=\"{study}.html#{0}\">{0}</a> {1}</h3>\n",
                    page.id,
                    escaped(&page.title)
                ),
            );
            statements(&mut html, &page.statements);
        }
    }
    html.push_str("</main></body></html>\n");
    html
}

fn section(html: &mut String, page: &Page) {
    put(
        html,
        format_args!(
            "<section id=\"{0}\"><h2>{0}: {1}</h2>\n<ul class=\"conditions\">",
            page.id,
            escaped(&page.title)
        ),
    );
    for condition in page.conditions.iter().chain([&page.effort]) {
        put(html, format_args!("<li>{}</li>", escaped(condition)));
    }
    html.push_str("</ul>\n");
    statements(html, &page.statements);
    for figure in &page.figures {
        let series: Vec<_> = page.series.iter().filter(|series| series.figure == figure.id).collect();
        put(html, format_args!("<figure><figcaption>{}</figcaption>\n", escaped(&figure.title)));
        html.push_str(&svg::figure(figure, &series));
        html.push_str("</figure>\n");
    }
    for table in &page.tables {
        put(html, format_args!("<h3>{}</h3>\n", escaped(&table.title)));
        rows(html, &table.head, &table.rows);
    }
    for what in &page.left_out {
        put(html, format_args!("<p>Left out: {}</p>\n", escaped(what)));
    }
    for note in &page.notes {
        put(html, format_args!("<p>{}</p>\n", escaped(note)));
    }
    html.push_str("</section>\n");
}

fn statements(html: &mut String, statements: &[Statement]) {
    if statements.is_empty() {
        return;
    }
    html.push_str("<table><thead><tr><th>statement</th><th>published</th><th>ours</th><th>95 %</th><th>verdict</th><th class=\"text\">because</th></tr></thead><tbody>\n");
    for statement in statements {
        let unit = &statement.unit;
        let value =
            |value: Option<f64>| value.map(|value| format!("{} {unit}", rounded(value))).unwrap_or_default();
        let ci95 = statement
            .ci95
            .map(|[low, high]| format!("{} … {}", rounded(low), rounded(high)))
            .unwrap_or_default();
        let verdict = statement.verdict.name();
        let class = match statement.verdict {
            Verdict::Reproduced => "yes",
            Verdict::NotReproduced => "no",
            Verdict::Differs | Verdict::Undecided => verdict,
        };
        put(
            html,
            format_args!(
                "<tr><th scope=\"row\">{}</th><td class=\"value\">{}</td><td class=\"value\">{}</td><td class=\"value\">{ci95}</td><td class=\"{class}\">{verdict}</td><td class=\"text\">{}</td></tr>\n",
                escaped(&statement.text),
                value(statement.published),
                value(statement.ours),
                escaped(&statement.because)
            ),
        );
    }
    html.push_str("</tbody></table>\n");
}

fn rows(html: &mut String, head: &[String], rows: &[Vec<String>]) {
    html.push_str("<table><thead><tr>");
    head.iter().for_each(|cell| put(html, format_args!("<th>{}</th>", escaped(cell))));
    html.push_str("</tr></thead><tbody>\n");
    for row in rows {
        html.push_str("<tr>");
        row.iter().for_each(|cell| put(html, format_args!("<td>{}</td>", escaped(cell))));
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table>\n");
}

/// Returns a value with four significant digits.
fn rounded(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return label(value);
    }
    let digits = 10_f64.powf(3.0 - value.abs().log10().floor());
    label((value * digits).round() / digits)
}

fn source(study: &str) -> &'static str {
    match study {
        "S1" => "Scharf, Kiesel: Head-of-line Blocking in TCP and SCTP, GLOBECOM 2006",
        "S2" => {
            "Camarillo, Kantola, Schulzrinne: Evaluation of Transport Protocols for SIP, IEEE Network 2003"
        }
        "S3" => "Copaciu, Dobrota, Blaga, Moraru: Performance Analysis of SCTP, 2004",
        "S4" => {
            "Kiesel, Scharf: Modeling and performance evaluation of transport protocols for firewall control, Computer Networks 2007"
        }
        "S5" => "Eklund, Grinnemo, Brunstrom and others: Delay Penalty during SCTP Handover, 2011",
        _ => "",
    }
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn head(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{}</title><style>{STYLE}</style></head><body><main>\n",
        escaped(title)
    )
}

fn put(text: &mut String, what: core::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = text.write_fmt(what);
}

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;margin:0;color:#111;background:#fff}main{max-width:80rem;margin:0 auto;padding:1.5rem}\
table{border-collapse:collapse;margin:.7rem 0;font-size:.88rem}th,td{border:1px solid #ccc;padding:.25rem .5rem;text-align:right;vertical-align:top}\
th[scope=row],.text,td:first-child,th:first-child,th.text{text-align:left}td.value{white-space:nowrap}thead th{background:#f2f2f2}.yes{background:#dff2df}.no{background:#f9d9d4}.differs{background:#fdf0cc}.undecided{background:#e6e6ee}\
figure{margin:1rem 0}figcaption{font-weight:600}svg{max-width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:#000}\
.conditions{color:#444;font-size:.88rem}section{border-top:2px solid #111;margin-top:2rem}";
