use core::time::Duration;

use netem::Impairments;

use crate::compare::{CompareConfig, CompareError, RawOutcome, RawRun, Traffic, run_compare};
use crate::plan::Plan;
use crate::simulation::{FlowOutcome, Watch, simulate};
use crate::{BackendChoice, Comparison, Conditions, Simulator, Workload};

/// A video of ten seconds over a path of 20 ms there and 70 ms back.
fn config(transports: &str) -> CompareConfig {
    let path = |ms| Impairments { delay: Duration::from_millis(ms), ..Impairments::default() };
    CompareConfig {
        request_path: path(20),
        response_path: path(70),
        transports: transports.parse().unwrap(),
        workload: Workload::VIDEO,
        backend: BackendChoice::Simulator,
        traffic: Traffic { duration: Duration::from_secs(10), ..Traffic::usual(Workload::VIDEO) },
        ..CompareConfig::default()
    }
}

fn raw(config: &CompareConfig) -> RawOutcome {
    run_compare(config, &mut Simulator, &mut Simulator).unwrap()
}

fn late(run: &RawRun) -> u64 {
    run.frames.unwrap().late
}

#[test]
fn delays_are_those_of_the_way_there_over_every_transport() {
    let config = config("tcp,tcp:4,sctp:1,sctp:6,sctp:unordered,quic:2");
    for run in raw(&config).runs {
        assert_eq!((&run.ended_early, run.counters.strange, run.samples.len()), (&None, 0, 300));
        let delays = run.samples.iter().map(|sample| sample.response.unwrap());
        // The last packets of a long frame wait for the window's round trips at first; a frame of one packet waits for none.
        let shortest = delays.min().unwrap();
        assert_eq!(shortest.as_millis(), 20, "{}", run.transport);
    }
}

#[test]
fn a_deadline_below_the_delay_makes_every_frame_late_and_a_long_one_none() {
    let with = |deadline| {
        let mut config = config("sctp:1");
        config.traffic.deadline = Some(deadline);
        config
    };
    let run = raw(&with(Duration::from_millis(19))).runs.remove(0);
    assert_eq!(late(&run), 300);
    let run = raw(&with(Duration::from_secs(5))).runs.remove(0);
    assert_eq!(late(&run), 0);
}

#[test]
fn losses_make_frames_late_where_order_makes_them_wait_and_the_page_says_so() {
    let mut config = config("sctp:1,sctp:unordered");
    config.request_path.loss = "3%".parse().unwrap();
    config.traffic.deadline = Some(Duration::from_millis(100));
    let raw = raw(&config);
    let [ordered, free] = [0, 1].map(|index| late(&raw.runs[index]));
    assert!(ordered > free && free > 0, "{ordered} and {free}");
    let comparison =
        Comparison::new(&config, &raw, Conditions::of_this_host(), |_| Err("no model".to_owned()));
    let frames = comparison.result.runs[0].counts.frames.unwrap();
    assert_eq!((frames.late, frames.lost, frames.deadline_ms), (ordered, 0, 100.0));
    let [page, _] = crate::report::comparison(&comparison);
    assert!(page.reading[0].starts_with("Frames that were not there 100 ms after they were due: over "));
    assert_eq!(page.tables[1].rows[0][1..3], [ordered.to_string(), "0".to_owned()]);
}

#[test]
fn datagrams_do_not_carry_it_and_other_workloads_have_no_deadline() {
    let skipped = raw(&config("udp,tcp")).skipped;
    assert_eq!(skipped[0].because, "frames are longer than datagrams: not over udp");
    let deadline = Duration::from_millis(5);
    let traffic = Traffic { deadline: Some(deadline), ..Traffic::default() };
    let echo = CompareConfig { traffic, ..CompareConfig::default() };
    assert_eq!(echo.validate(), Err(CompareError::NoDeadline { deadline, workload: Workload::ECHO }));
    let mut long = config("tcp");
    long.traffic.message_bytes = "200000".parse().unwrap();
    assert!(matches!(long.validate(), Err(CompareError::LongestMessage { mean: 200_000, .. })));
}

fn planned(text: &str) -> Result<FlowOutcome, String> {
    let plan = Plan::parse(text).map_err(|error| error.to_string())?;
    Ok(simulate(&plan.cells[0].scenario, 1, &Watch::default()).unwrap().flows.remove(0))
}

#[test]
fn a_plan_needs_no_more_than_its_name_and_equal_seeds_are_equal() {
    let [once, again] = [planned(PLAN), planned(PLAN)].map(Result::unwrap);
    assert_eq!((once.messages, once.completed, &once.failure), (300, 300, &None));
    assert_eq!(once.counts.frames.unwrap().deadline, Duration::from_millis(150));
    assert_eq!((once.counts.frames, once.transport), (again.counts.frames, again.transport));
}

#[test]
fn what_makes_no_sense_is_refused_by_its_key() {
    let refused = |from: &str, to: &str| planned(&PLAN.replace(from, to)).unwrap_err();
    let deadline = refused("\"video\"", "\"echo\"\nrate = 30\ndeadline = \"1s\"");
    assert!(deadline.contains("`flows.video.deadline`: 1s: messages of echo have no deadline"), "{deadline}");
    let long = refused("\"video\"", "\"video\"\nmessage = 200000");
    assert!(long.contains("`flows.video.message`"), "{long}");
}

const PLAN: &str = r#"
title = "a video"
hosts = ["camera", "screen"]
[links.wan]
between = ["camera", "screen"]
delay = "100ms"
loss = "1%"
[flows.video]
from = "camera"
to = "screen"
transport = "sctp:6"
workload = "video"
[stop]
duration = "10s"
"#;
