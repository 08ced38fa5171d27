use core::time::Duration;

use super::*;
use crate::compare::{Blocking, CompareConfig, Prediction, Skipped};
use crate::conditions::Conditions;
use crate::testing::{answered, outcome, run};

/// Responses in 20 ms but for every fiftieth, which takes `slow` ms.
fn with_tail(count: u64, slow: u64) -> Vec<Option<Duration>> {
    (0..count).map(|n| Some(Duration::from_millis(if n % 50 == 7 { slow } else { 20 }))).collect()
}

fn compare(raw: &RawOutcome) -> Comparison {
    let prediction =
        Prediction { model_ms: 21.0, study_ms: None, study: None, ccdf: vec![(20.0, 1.0), (60.0, 0.01)] };
    Comparison::new(&CompareConfig::default(), raw, Conditions::default(), |_| Ok(prediction.clone()))
}

fn table(comparison: &Comparison) -> String {
    text(&self::comparison(comparison)[0], Room::UNBOUNDED)
}

fn sentences(raw: &RawOutcome) -> Vec<String> {
    reading(&compare(raw).result)
}

#[test]
fn the_table_has_a_row_per_transport_and_says_what_went_wrong() {
    let mut raw = outcome(vec![run("sctp:6", &with_tail(1000, 70)), run("udp", &[None, None])]);
    raw.runs[0].blocking = Some(Blocking { messages_blocked: 12, total: Duration::from_millis(109) });
    raw.runs[0].counters.late_sends = 3;
    raw.skipped = vec![Skipped { id: "tcp".to_owned(), because: "no kernel".to_owned() }];
    let table = table(&compare(&raw));
    assert!(
        table.starts_with(
            "RTT 20 ms, loss 1 % · echo, poisson arrivals every 10 ms, 64 octets, 20 s, seed 1\n"
        )
    );
    assert!(table.contains("backend simulator"));
    let row = |id: &str| {
        table.lines().find(|line| line.trim().starts_with(id)).unwrap().split_whitespace().collect()
    };
    let cells: Vec<&str> = row("sctp:6 ");
    assert_eq!(
        cells,
        "sctp:6 1000/1000 ≤ 2.0 % ≤ 2.0 % 21.0 ±0.3 20.0 20.0 70.0 – 70.0 12 × 9.08 21.0 +0.0 –"
            .split(' ')
            .collect::<Vec<_>>()
    );
    let cells: Vec<&str> = row("udp ");
    assert_eq!(
        cells,
        "udp 0/2 ≤ 100.0 % ≤ 100.0 % – (2 unanswered) – – – – – – 21.0 – –".split(' ').collect::<Vec<_>>()
    );
    assert!(table.contains("2 of 2 requests not answered"));
    assert!(table.contains("tcp was not run: no kernel"));
    assert!(table.contains("3 requests left more than 1 ms late"));
}

#[test]
fn every_request_is_a_line_of_the_samples() {
    let mut raw = outcome(vec![run("sctp:6", &answered(2)), run("tcp", &[None])]);
    raw.runs[0].samples[1].blocked = Some(Duration::from_micros(1500));
    raw.runs[1].samples[0].sent = None;
    raw.runs[1].repetition = 1;
    let mut text = Vec::new();
    samples_csv(&raw, &mut text).unwrap();
    let lines = [
        "run,number,intended_s,sent_s,response_ms,blocked_ms",
        "sctp:6,0,0.000000000,0.000005000,20.000000,",
        "sctp:6,1,0.010000000,0.010005000,21.000000,1.500000",
        "tcp#2,0,0.000000000,,,",
    ];
    assert_eq!(String::from_utf8(text).unwrap(), lines.join("\n") + "\n");
}

/// As [`with_tail`], where every hundredth lost a packet of its own.
fn lossy(id: &str, slow: u64) -> crate::compare::RawRun {
    let mut run = run(id, &with_tail(1000, slow));
    run.own_losses = Ok((0..1000).filter(|number| number % 100 == 7).collect());
    // Those that lost nothing come while those that did still wait.
    for sample in run.samples.iter_mut().filter(|sample| sample.number.0 % 100 == 57) {
        sample.intended = sample.intended - Duration::from_millis(450);
    }
    run
}

#[test]
fn the_reading_leads_with_who_waits_for_somebody_elses_loss() {
    let sentences = sentences(&outcome(vec![lossy("tcp", 210), lossy("sctp:6", 20)]));
    let expected = [
        "Over one TCP connection, 1.0 % of the requests were delayed by somebody else's lost packet, 1.90 s all together; over \
         SCTP with 6 streams, none.",
        "Late because of losses of their own: 1.0 % and 0.0 % over one TCP connection and SCTP with 6 streams.",
        "Beyond the 20.0 ms of the path, a request took 3.8 ms in the mean over one TCP connection and 0.0 ms over SCTP \
         with 6 streams; the 95 % confidence intervals do not overlap.",
    ];
    assert_eq!(sentences[..3], expected);
}

#[test]
fn the_reading_claims_no_difference_where_there_is_none() {
    let told = |runs| sentences(&outcome(runs));
    let same = told(vec![lossy("tcp", 71), lossy("sctp:6", 70)]);
    assert!(same[2].ends_with("so that it takes a longer run to be sure of a difference."), "{}", same[2]);
    let alone = told(vec![lossy("sctp:1", 70)]);
    assert!(alone[0].ends_with("lost packet, 500 ms all together."), "{}", alone[0]);
    let tcp_best = told(vec![lossy("tcp", 70), lossy("udp", 520)]);
    assert!(tcp_best[0].ends_with("; over no other transport were they fewer."), "{}", tcp_best[0]);
    let mut fast = run("tcp", &vec![Some(Duration::from_millis(20)); 100]);
    fast.own_losses = Ok([3].into());
    assert!(told(vec![fast])[0].ends_with("no request was late: all were answered within 21.0 ms."));
}

#[test]
fn where_losses_cannot_be_told_apart_the_late_ones_stand_alone() {
    let raw = outcome(vec![run("tcp", &with_tail(1000, 210)), run("sctp:6", &with_tail(1000, 70))]);
    assert_eq!(
        sentences(&raw)[0],
        "Over one TCP connection, 2.0 % of the requests took longer than 21.0 ms; over SCTP with 6 streams, 2.0 %. Whose \
         losses delayed them cannot be told: a test."
    );
    let result = compare(&raw).result;
    assert_eq!(result.reading, reading(&result), "JSON, report and terminal say the same");
    assert!(super::reading(&compare(&outcome(vec![run("tcp", &[])])).result).len() <= 1);
}

#[test]
fn what_is_not_answered_comes_first_and_stands_in_the_cell_of_the_mean() {
    let mut responses = with_tail(1000, 70);
    responses[600..].fill(None);
    let raw = outcome(vec![run("tcp", &responses), run("sctp:6", &with_tail(1000, 70))]);
    let comparison = compare(&raw);
    let result = &comparison.result;
    let words = closing_words(result);
    assert!(words[0].starts_with("One TCP connection: 400 of 1000 requests not answered"), "{}", words[0]);
    assert!(words[1..].iter().all(|sentence| !sentence.contains("TCP")), "{words:?}");
    let row = table(&comparison).lines().find(|line| line.trim().starts_with("tcp")).unwrap().to_owned();
    assert!(row.contains("(400 unanswered)") && row.contains("∞"), "{row}");
    assert_eq!((result.runs[0].response_ms.unanswered, result.runs[0].response_ms.p90), (400, None));
}

#[test]
fn the_reading_explains_blocking_models_and_failures() {
    let mut raw = outcome(vec![
        run("sctp:1", &with_tail(1000, 70)),
        run("sctp:6", &with_tail(1000, 70)),
        run("udp", &[None]),
    ]);
    raw.runs[0].blocking = Some(Blocking { messages_blocked: 204, total: Duration::from_millis(4080) });
    raw.runs[1].blocking = Some(Blocking { messages_blocked: 1, total: Duration::from_millis(9) });
    let text = sentences(&raw).join("\n");
    assert!(text.contains(
        "Over SCTP with one stream, 204 messages had to wait for an earlier one, 20.0 ms in the mean"
    ));
    assert!(text.contains("over SCTP with 6 streams, 1 message. That is head-of-line blocking."));
    assert!(text.contains("The models' means are within 5 % of the measured ones for 2 of 2 transports."));
    assert!(text.contains("UDP with SIP-like retransmission: 1 of 1 requests not answered"));
}

#[test]
fn the_report_is_one_file_that_loads_nothing_and_cannot_be_broken_out_of() {
    let mut raw = outcome(vec![run("sctp:6", &with_tail(1000, 70)), run("udp", &[None])]);
    raw.skipped = vec![Skipped { id: "tcp".to_owned(), because: "</p><b>no</b>".to_owned() }];
    let [result, over_time] = comparison(&compare(&raw));
    let html = html("a <test>", &[&result, &over_time]).unwrap();
    for what in ["<link", "src=", "@import", "url(", "</p><b>no", "<script", "<test>"] {
        assert!(!html.contains(what), "{what}");
    }
    for what in ["In plain words", "sctp:6", "delay 10ms, loss 1 %", "class=\"missing\""] {
        assert!(html.contains(what), "{what}");
    }
}

#[test]
fn the_figures_in_the_report_are_the_measured_ones() {
    let [result, over_time] = comparison(&compare(&outcome(vec![run("sctp:6", &with_tail(1000, 70))])));
    let points = |page: &Page, name: &str| {
        page.series.iter().find(|series| series.name == name).unwrap().points.clone()
    };
    assert_eq!(points(&result, "sctp:6"), [[0.0, 100.0], [20.0, 2.0], [70.0, 0.0]]);
    assert_eq!(points(&result, "model, sctp:6"), [[20.0, 100.0], [60.0, 1.0]]);
    let dots = points(&over_time, "sctp:6");
    assert_eq!((dots.len(), dots[7].as_slice()), (1000, [0.07, 70.0].as_slice()));
}

#[test]
fn every_thing_has_one_entry_in_the_legend_however_it_is_drawn() {
    let series = |name: &str, mark| Series::new("f", name, mark, [(1.0, 2.0)]);
    let [simulated, model, other] = [
        series("SCTP, N = 1", Mark::Points),
        series("model, SCTP, N = 1", Mark::Model),
        series("published, SCTP, N = 2", Mark::Published),
    ];
    let (entries, keys) = figure::legend(&percents(), &[&simulated, &model, &other]);
    let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["SCTP, N = 1", "SCTP, N = 2"]);
    assert_eq!(entries[0].signs.matches("<svg").count(), 2);
    assert_eq!(keys.iter().map(|(_, word)| &**word).collect::<Vec<_>>(), ["model", "published"]);
}

#[test]
fn the_darkest_shade_is_told_beside_the_title_and_not_in_the_drawing() {
    let points = [vec![1.0, 2.0, 578.4], vec![2.0, 2.0, 10.0]].to_vec();
    let heat = Series { points, ..Series::new("f", "penalty", Mark::Heat, []) };
    let keys = figure::legend(&percents(), &[&heat]).1;
    assert_eq!(keys.iter().map(|(_, word)| &**word).collect::<Vec<_>>(), ["578.4"]);
    let drawn = figure::figure(&percents(), &[&heat]);
    assert_eq!(drawn.matches("578.4").count(), drawn.matches("<title>578.4</title>").count());
}

/// A figure whose ordinates end at 100.
fn percents() -> Figure {
    Figure::new("f", "shares", Axis::linear("s"), Axis::linear("%").between(0.0, 100.0))
}

#[test]
fn what_lies_beyond_an_axis_is_shown_as_beyond_it() {
    let within = Series::new("f", "within", Mark::Points, [(1.0, 20.0), (2.0, 100.0)]);
    let beyond = Series::new("f", "beyond", Mark::Points, [(1.0, 20.0), (2.0, 500.0)]);
    let drawn = |series: &Series| figure::figure(&percents(), &[series]);
    assert!(!drawn(&within).contains("beyond the axis"), "the end of an axis is on it");
    assert!(drawn(&beyond).contains("<title>beyond: 500 at 2, beyond the axis</title>"));
    let keys = |series: &Series| figure::legend(&percents(), &[series]).1;
    assert!(keys(&within).is_empty());
    assert_eq!(keys(&beyond)[0].1, "beyond the axis");
    let line = drawn(&beyond).lines().find(|line| line.contains("class=\"line\"")).unwrap().to_owned();
    assert!(line.contains("M70.0 236.8L546.0 -1088.0"), "it leaves where it would: {line}");
}

#[test]
fn points_by_twos_are_joined_by_arrows() {
    let arrows = Series::new("f", "on its way", Mark::Arrows, [(1.0, 0.0), (2.0, 100.0), (2.0, 0.0)]);
    let other = Series::new("f", "other", Mark::Points, [(3.0, 50.0)]);
    let drawn = figure::figure(&percents(), &[&arrows, &other]);
    let line = drawn.lines().find(|line| line.contains("class=\"line\"")).unwrap();
    assert!(line.contains("M70.0 292.0L308.0 16.0M308.0 16.0l"), "{line}");
    assert_eq!(line.matches('L').count(), 1, "a point without a second has no arrow: {line}");
}

#[test]
fn all_three_files_are_written() {
    let raw = outcome(vec![run("tcp", &answered(20))]);
    let directory = std::env::temp_dir().join(format!("headway-report-test-{}", std::process::id()));
    write(&directory, &compare(&raw), &raw).unwrap();
    for file in ["report.html", "results.json", "samples.csv"] {
        assert!(std::fs::metadata(directory.join(file)).unwrap().len() > 100, "{file}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_table_fits_the_terminal_and_names_what_it_lacks() {
    let raw = outcome(vec![run("sctp:6", &answered(500)), run("tcp:4", &answered(500))]);
    let [page, _over_time] = comparison(&compare(&raw));
    assert!(page.tables[0].is_numeric(2), "bounds are numbers, too: {:?}", page.tables[0].rows);
    let whole = text(&page, Room::UNBOUNDED);
    let within = |width| text(&page, Room { columns: Some(width), all: "--wide" });
    let widest = |text: &str| {
        let lines = text.lines().filter(|line| line.starts_with('─'));
        lines.map(|line| line.chars().count()).max().unwrap()
    };
    assert_eq!(within(widest(&whole)), whole);
    for width in [120, 100, 80, 72] {
        let narrow = within(width);
        assert!(widest(&narrow) <= width, "{width}:\n{narrow}");
        assert!(narrow.contains("p90") && narrow.contains("mean") && narrow.contains("others"));
        assert_eq!(narrow.contains("--wide"), narrow != whole, "{narrow}");
    }
    assert!(within(1).contains("p90"), "never less than what matters");
}
