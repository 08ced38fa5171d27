//! Fig 6: the distribution of the response time at 1 % loss.

use super::TCP_2006;
use crate::cells::{Cells, Ran, text};
use crate::effort::Effort;
use crate::error::StudyError;
use lab::report::{Axis, Criterion, Estimate, Evidence, Figure, Mark, Page, Series};

/// Makes figure 6 of S1: the complementary distribution at 1 % loss.
pub(crate) fn fig6(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("S1-fig6", DISTRIBUTION)?;
    let mut page = distribution(&cells, "fig6", "S1 Fig 6: share of requests that take longer, at 1 % loss")?;
    page.conditions = vec![super::PATH.to_owned(), super::LINUX_2615.to_owned(), TCP_2006.to_owned()];
    let of = |case| cells.get(&[text("case", case)]);
    let coincide = of("sctp-6")?.quantile(0.99).zip(of("sctp-unordered")?.quantile(0.99));
    let apart = coincide.map(|(six, unordered)| six.beyond(unordered).scaled(100.0, 0.0));
    page.statements
        .push(COINCIDE.judge("six streams coincide with unordered delivery (99 % quantile)", apart));
    let mut along = Vec::new();
    for (case, name) in [("sctp-1", "N = 1"), ("sctp-2", "2"), ("sctp-3", "3"), ("sctp-6", "6")] {
        along.extend(of(case)?.quantile(0.98).map(|quantile| (name.to_owned(), quantile)));
    }
    let along = if along.len() == 4 {
        Evidence::Several(along)
    } else {
        Evidence::Missing("too few requests for a 98 % quantile".to_owned())
    };
    page.statements
        .push(APPROACH.judge("the curves approach unordered delivery as N grows (98 % quantile)", along));
    tcp(&mut page, &cells)?;
    let text = "a step at 30 ms, which the authors traced to two messages in one packet, one stream";
    page.statements.push(STEP.judge(text, step(of("sctp-1")?)).noting(SMEARED));
    Ok(page)
}

fn tcp(page: &mut Page, cells: &Cells) -> Result<(), StudyError> {
    let of = |case| cells.get(&[text("case", case)]);
    page.series.push(Series::published("fig6", "tcp-linux-2006", [(200.0, 0.01)]));
    let statement = "TCP on Linux: the 99 % quantile is about 200 ms";
    let judged = LINUX_TAIL.judge(statement, of("tcp-linux-2006")?.quantile(0.99));
    let apart = of("tcp-linux-2006-no-abc-apart")?.quantile(0.99);
    let cause = "a segment for each message and no byte counting";
    page.statements.push(LINUX_TAIL.explain(judged, cause, "S1-fig6/tcp-linux-2006-no-abc-apart", apart));
    let statement = "TCP on Solaris: a clear tail at its minimum timeout of about 500 ms";
    page.statements.push(SOLARIS_TAIL.judge(statement, of("tcp-solaris-10")?.percent_longer(500.0)));
    Ok(())
}

/// Returns by how many per cent of all requests more take 29 to 31 ms than what takes a little less and a little more lets expect.
fn step(cell: &Ran) -> Option<Estimate> {
    let [a, b, c, d] = [27.0, 29.0, 31.0, 33.0].map(|ms| cell.percent_longer(ms));
    let [a, b, c, d] = [a?, b?, c?, d?].map(Estimate::value);
    let (within, beside) = (b - c, (a - b + c - d) / 2.0);
    let half = Estimate::of_share((within + beside) / 100.0, cell.answered().0, 1.0)?.half_width()? * 100.0;
    let excess = within - beside;
    Some(Estimate::new(excess, Some([excess - half, excess + half])))
}

/// Creates a page with one complementary distribution per case.
pub(crate) fn distribution(cells: &Cells, figure: &str, title: &str) -> Result<Page, StudyError> {
    let mut page = Page::default();
    let abscissa = Axis::linear("response time in ms").between(0.0, 600.0);
    let ordinate = Axis::log("share of requests that take longer").between(1e-4, 1.0);
    page.figures.push(Figure::new(figure, title, abscissa, ordinate.clone()));
    let near = Axis::linear("response time in ms").between(15.0, 75.0);
    page.figures.push(Figure::new("near", "The same near the round-trip time", near, ordinate));
    for cell in cells.iter() {
        let Some(flow) = cell.tally.flows.first() else { continue };
        let steps = thinned(&flow.responses.ccdf());
        for figure in [figure, "near"] {
            page.series.push(Series::new(figure, cell.level("case")?, Mark::Steps, steps.clone()));
        }
    }
    page.tables.push(crate::response::answered(cells, &["case"])?);
    Ok(page)
}

/// Steps that can be told apart on paper.
fn thinned(steps: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for step in steps {
        let is_near = |last: &(f64, f64)| step.0 - last.0 < 0.25 && last.1 - step.1 < 0.005 && step.1 > 0.0;
        if !kept.last().is_some_and(is_near) {
            kept.push(*step);
        }
    }
    kept
}

/// Criteria of the statements, fixed before any run.
const COINCIDE: Criterion = Criterion::equivalent([-5.0, 5.0], "%");
const APPROACH: Criterion = Criterion::falling(0.0, "ms");
const LINUX_TAIL: Criterion = Criterion::within(200.0, 0.25, "ms");
const SOLARIS_TAIL: Criterion = Criterion::more_than(0.1, "%");
/// A step that a drawing shows, in per cent of all requests.
const STEP: Criterion = Criterion::more_than(0.1, "%");
const SMEARED: &str = "arrivals are Poisson, as the study's were; with arrivals at equal distances there is a step at every multiple of 10 ms, which \
                       is not what the study describes";
const DISTRIBUTION: &str = include_str!("../../../../plans/studies/s1-distribution.toml");
