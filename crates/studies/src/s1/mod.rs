//! S1: head-of-line blocking in TCP and SCTP. Its hosts were Linux 2.6.15 and Solaris 10.

mod distribution;
mod tcp;
mod traces;

pub(super) use distribution::{distribution, fig6};
pub(super) use tcp::{fig5, fig8, fig9};
pub(super) use traces::{fig1, fig2};

use core::num::NonZeroU32;

use models::studies::{Flow, s1};

use crate::cells::{Cells, Ran, number, text};
use crate::effort::Effort;
use crate::error::StudyError;
use crate::response::{
    answered, conditions, curve, curves, flow, legend, model_ms, model_over_loss, model_over_rate, offsets,
    percent_more, several,
};
use lab::report::{Axis, Criterion, Estimate, Evidence, Figure, Page, Table};

/// Makes figure 4 of S1: response time of SCTP over loss, for several numbers of streams.
pub(super) fn fig4(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("S1-fig4", LOSS)?;
    let others = effort.run("S1-fig4", PROFILES)?;
    let mut page = Page { conditions: vec![PATH.to_owned(), LINUX_2615.to_owned()], ..Page::default() };
    let title = "S1 Fig 4: mean response time over loss";
    page.figures.push(Figure::new("fig4", title, loss_axis(), response_axis()));
    page.series = curves(&cells, ["loss", "transport"], "fig4", 100.0, legend)?;
    for transport in TRANSPORTS {
        page.series.push(model_over_loss("fig4", transport, 0.1)?);
    }
    let title = "The same with other rules: the model's own, Linux 2.6.16, RFC 9260, and ours";
    page.figures.push(Figure::new("profiles", title, loss_axis(), response_axis()));
    for (profile, name) in RULES {
        for transport in ["sctp:1", "sctp:6"] {
            let cells = others.all(&[text("profile", profile), text("transport", transport)])?;
            let name = format!("{name}, {}", legend(transport));
            page.series.extend(curve(&cells, "loss", "profiles", 100.0, &name)?);
        }
    }
    page.series.push(model_over_loss("profiles", "sctp:1", 0.08)?);
    fig4_statements(&mut page, &cells, &others)?;
    page.tables.push(rules(&cells, &others)?);
    page.tables.push(over_loss(&cells)?);
    page.notes.push(NO_LINUX.to_owned());
    Ok(page)
}

fn fig4_statements(page: &mut Page, cells: &Cells, others: &Cells) -> Result<(), StudyError> {
    let model = |cell: &Ran| model_ms(cell.number("loss")?, 100.0, flow(cell.level("transport")?));
    let low = |cells: &[&'_ Ran]| -> Result<Evidence, StudyError> {
        let is_low = |cell: &&&Ran| cell.number("loss").is_ok_and(|loss| loss < 0.0101);
        offsets(&cells.iter().filter(is_low).copied().collect::<Vec<_>>(), "loss", model)
    };
    for transport in TRANSPORTS {
        let statement = format!("{}: simulation and model agree up to 1 % loss", legend(transport));
        page.statements
            .push(AS_THE_MODEL.judge(statement, low(&cells.all(&[text("transport", transport)])?)?));
    }
    for transport in ["sctp:1", "sctp:6"] {
        let chosen = others.all(&[text("profile", "studies"), text("transport", transport)])?;
        let statement = format!("{}, by the model's own rule: they agree up to 1 % loss", legend(transport));
        page.statements.push(AS_THE_MODEL.judge(statement, low(&chosen)?));
    }
    let one = cells.all(&[text("transport", "sctp:1")])?;
    let is_high = |cell: &&Ran| cell.number("loss").is_ok_and(|loss| loss > 0.0199);
    let high: Vec<&Ran> = one.into_iter().filter(is_high).collect();
    let statement = "the measured values lie above the model for p > 1 %, one stream";
    page.statements.push(ABOVE.judge(statement, offsets(&high, "loss", model)?));
    let at = |transport| cells.get(&[number("loss", 0.02), text("transport", transport)]);
    let gain = percent_more(at("sctp:1")?, at("sctp:6")?);
    page.statements
        .push(VISIBLE.judge("the gain of N > 1 is visible from p = 2 %: one stream beside six", gain));
    Ok(())
}

/// Makes the table of the response time of one and of six streams under each rule of fast retransmission.
fn rules(cells: &Cells, others: &Cells) -> Result<Table, StudyError> {
    let transports = ["sctp:1", "sctp:6"];
    let row = |name: &str, profile: Option<&str>| {
        let mut row = vec![name.to_owned()];
        for transport in transports {
            let key = [
                number("loss", 0.01),
                text("transport", transport),
                text("profile", profile.unwrap_or_default()),
            ];
            let cell = match profile {
                Some(_) => others.get(&key)?,
                None => cells.get(&key[..2])?,
            };
            row.push(cell.mean().map_or_else(|| "–".to_owned(), |mean| mean.to_string()));
        }
        Ok::<_, StudyError>(row)
    };
    let mut rows = vec![row("Linux 2.6.15, S1's host: four reports, repeated", None)?];
    for (profile, name) in RULES {
        rows.push(row(name, Some(profile))?);
    }
    let model = |transport| model_ms(0.01, 100.0, flow(transport)).map(|ms| format!("{ms:.2}"));
    rows.push(vec!["model S1 (1)–(5)".to_owned(), model("sctp:1")?, model("sctp:6")?]);
    Ok(Table::new(
        "Mean response time in ms at 1 % loss, by rule",
        &["rule", "one stream", "six streams"],
        rows,
    ))
}

/// Makes figure 7 of S1: SCTP over the rate.
pub(super) fn fig7(effort: &Effort) -> Result<Page, StudyError> {
    let cells = effort.run("S1-fig7", RATE)?;
    let title = "S1 Fig 7: mean response time of SCTP over the rate, 1 % loss";
    let mut page = rate_page(&cells, "fig7", title, LINUX_2615)?;
    for transport in ["sctp:1", "sctp:64"] {
        page.series.push(model_over_rate("fig7", transport, 10_000.0)?);
    }
    regions(&mut page, &cells)?;
    let statement = "the model: fast retransmission beats the timer from α = 3/RTO on, 3 a second";
    page.statements.push(ALPHA.judge(statement, alpha()?));
    let at = |transport, rate| cells.get(&[text("transport", transport), number("case", rate)]);
    let statement =
        "with enough streams the response time stays near the round-trip time up to 2000 messages a second";
    page.statements.push(NEAR_RTT.judge(statement, at("sctp:unordered", 2000.0)?.evidence()));
    let model = |cell: &Ran| model_ms(0.01, cell.number("case")?, flow("sctp:1"));
    let second = [at("sctp:1", 10.0)?, at("sctp:1", 20.0)?, at("sctp:1", 50.0)?, at("sctp:1", 100.0)?];
    let statement = "second region: one stream is close to the model up to about 100 messages a second";
    page.statements.push(CLOSE.judge(statement, offsets(&second, "case", model)?));
    page.tables.push(answered(&cells, &["case", "transport"])?);
    Ok(page)
}

/// Returns the rate from which on the model's first term, fast retransmission, is the least of (1).
fn alpha() -> Result<Option<Estimate>, StudyError> {
    let is_fast = |rate: f64| {
        let delay =
            s1::detection_delay(&conditions(0.01, rate)?, Flow::Streams(NonZeroU32::MIN))?.as_secs_f64();
        Ok::<_, StudyError>((delay - (0.02 + 3.0 / rate)).abs() < 1e-6)
    };
    for step in 100..1000_u32 {
        let rate = f64::from(step) / 100.0;
        if is_fast(rate)? {
            return Ok(Some(Estimate::exact(rate)));
        }
    }
    Ok(None)
}

/// Adds the regions of one stream over the rate.
pub(super) fn regions(page: &mut Page, cells: &Cells) -> Result<(), StudyError> {
    let at = |transport, rate| cells.get(&[text("transport", transport), number("case", rate)]);
    let one = |rate| at("sctp:1", rate);
    let slow = percent_more(one(1.0)?, one(20.0)?);
    page.statements.push(
        SLOW.judge("first region, below α = 3/RTO: the timer rules, and a request takes much longer", slow),
    );
    let rising = several(&[("1 a second", one(1.0)?), ("2", one(2.0)?), ("3", one(3.0)?)]);
    page.statements
        .push(RISES.judge("first region: with one stream the response time rises with the rate", rising));
    let statement = "first region: with many streams it does not rise";
    page.statements.push(SAME.judge(statement, percent_more(at("sctp:64", 3.0)?, at("sctp:64", 1.0)?)));
    let falling = several(&[("3 a second", one(3.0)?), ("10", one(10.0)?), ("100", one(100.0)?)]);
    let statement =
        "the knee is at α = 3/RTO: beyond it fast retransmission repairs losses, sooner and sooner";
    page.statements.push(FALLS.judge(statement, falling));
    Ok(())
}

/// Creates a page with one curve per transport over the rate.
pub(super) fn rate_page(cells: &Cells, figure: &str, title: &str, rules: &str) -> Result<Page, StudyError> {
    let mut page = Page { conditions: vec![PATH.to_owned(), rules.to_owned()], ..Page::default() };
    let abscissa = Axis::log("messages per second").between(1.0, 10_000.0);
    page.figures.push(Figure::new(figure, title, abscissa, response_axis().between(0.0, 120.0)));
    page.series = curves(cells, ["case", "transport"], figure, 1.0, legend)?;
    Ok(page)
}

fn over_loss(cells: &Cells) -> Result<Table, StudyError> {
    let row = |cell: &Ran| {
        let transport = cell.level("transport")?;
        let model = model_ms(cell.number("loss")?, 100.0, flow(transport))?;
        let (mean, (answered, all)) = (cell.mean(), cell.answered());
        let shown = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
        Ok(vec![
            legend(transport),
            cell.level("loss")?.to_owned(),
            shown(mean.map(|mean| format!("{:.2}", mean.value()))),
            shown(mean.and_then(Estimate::half_width).map(|half| format!("{half:.2}"))),
            format!("{model:.2}"),
            shown(mean.map(|mean| format!("{:+.1}", (mean.value() / model - 1.0) * 100.0))),
            format!("{answered} of {all}"),
        ])
    };
    let head = ["transport", "loss", "simulated", "±", "model S1 (1)–(5)", "difference in %", "answered"];
    let rows = cells.iter().map(row).collect::<Result<_, StudyError>>()?;
    Ok(Table::new("Mean response times in ms", &head, rows))
}

pub(super) fn loss_axis() -> Axis {
    Axis::linear("packet loss in %")
}

pub(super) fn response_axis() -> Axis {
    Axis::linear("mean response time in ms")
}

/// Criteria of the statements on SCTP, fixed before any run.
pub(super) const AS_THE_MODEL: Criterion = Criterion::each([-3.0, 3.0], "%");
const ABOVE: Criterion = Criterion::each([0.0, f64::INFINITY], "%");
const VISIBLE: Criterion = Criterion::more_than(5.0, "%");
const NEAR_RTT: Criterion = Criterion::less_than(25.0, "ms");
const CLOSE: Criterion = Criterion::each([-10.0, 10.0], "%");
const SLOW: Criterion = Criterion::more_than(40.0, "%");
const RISES: Criterion = Criterion::rising(0.0, "ms");
const FALLS: Criterion = Criterion::falling(0.0, "ms");
const SAME: Criterion = Criterion::equivalent([-5.0, 5.0], "%");
const ALPHA: Criterion = Criterion::within(3.0, 0.05, "a second");

const PATH: &str =
    "64-octet requests, echoed; 10 ms each way, independent loss both ways, 100 Mbit/s, 0.5 ms of processing";
const LINUX_2615: &str = "SCTP as the study's host, Linux 2.6.15, recovered (profile linux-2.6.15): four missing reports, and again after four more, \
                          RTO.Min 1 s, delayed acknowledgments";
pub(super) const TCP_2006: &str = "TCP as in Linux 2.6 (profile linux-2006): SACK, NewReno, initial window of 3 segments, timeout 200 ms above the \
                                   round trip; solaris-10: 500 ms above it";
const NO_LINUX: &str = "The model takes three reports, and three more for a chunk that is lost again. No Linux had that rule: up to 2.6.15 it was four reports, repeated; from \
                        2.6.16-rc3 on three, once per chunk. Where the simulation agrees with the model by the model's own rule alone, the formulas are right, \
                        and why the measurement agreed with them is not known.";
const RULES: [(&str, &str); 4] = [
    ("studies", "the model's own: three reports, repeated"),
    ("linux-2.6.16", "Linux 2.6.16, S4's host: three reports, once"),
    ("rfc9260", "RFC 9260"),
    ("signalling", "ours"),
];
const TRANSPORTS: [&str; 5] = ["sctp:1", "sctp:2", "sctp:3", "sctp:6", "sctp:unordered"];
const LOSS: &str = include_str!("../../../../plans/studies/s1-loss.toml");
const PROFILES: &str = include_str!("../../../../plans/studies/s1-loss-profiles.toml");
pub(super) const RATE: &str = include_str!("../../../../plans/studies/s1-rate.toml");

#[cfg(test)]
mod tests;
