//! `headway simulate`: what it prints, what it refuses, and that runs repeat.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn simulate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_headway")).arg("simulate").args(arguments).output().unwrap()
}

fn plans() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans")
}

fn result(arguments: &[&str]) -> Value {
    let output = simulate(&[arguments, &["--json", "-"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

const SMALL: &str = r#"title = "small"
hosts = ["client", "server"]
[links.wan]
between = ["client", "server"]
delay = "10ms"
loss = "1%"
[flows.requests]
from = "client"
to = "server"
transport = "sctp:1"
interval = "10ms"
[stop]
messages = 300
[factors]
"flows.requests.transport" = ["sctp:1", "tcp:2", "udp"]
"#;

fn written(name: &str, text: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_plan_gives_cells_with_metrics_and_what_it_took() {
    let path = written("cells.toml", SMALL);
    let result = result(&[&path, "--seeds", "2"]);
    assert_eq!((result["plan"].as_str(), result["seeds"].as_array().unwrap().len()), (Some("small"), 2));
    let cells = result["cells"].as_array().unwrap();
    let transports: Vec<_> =
        cells.iter().map(|cell| cell["factors"]["flows.requests.transport"].clone()).collect();
    assert_eq!(transports, ["sctp:1", "tcp:2", "udp"]);
    for cell in cells {
        let response = &cell["metrics"]["response_ms"];
        assert!(
            response["mean"].as_f64().unwrap() >= 20.0 && response["p50"].as_f64().unwrap() >= 20.0,
            "{cell}"
        );
        assert_eq!((&cell["metrics"]["messages"], &cell["metrics"]["failed"]), (&600.into(), &0.into()));
    }
    assert!(result["run"]["events"].as_u64().unwrap() >= result["run"]["packets"].as_u64().unwrap());
    assert!(result["run"]["packets_per_s"].as_f64().unwrap() > 0.0);
}

/// Delays that are all equal have equal quantiles, and no quantile lies above the largest delay.
#[test]
fn quantiles_are_those_of_the_delays_not_the_edges_of_intervals() {
    let plan = SMALL.replace("10ms\"\nloss = \"1%\"", "40ms\"\nloss = \"0%\"");
    let lossless = result(&[&written("lossless.toml", &plan), "--seeds", "4"]);
    let lossy = plan.replace("\"0%\"", "\"1%\"");
    let lossy = result(&[&written("lossy.toml", &lossy), "--seeds", "4"]);
    for cell in lossless["cells"].as_array().unwrap().iter().chain(lossy["cells"].as_array().unwrap()) {
        let response = &cell["metrics"]["response_ms"];
        let of = |name: &str| response[name].as_f64().unwrap();
        assert_eq!(format!("{:.2}", of("p50")), "80.00", "{cell}");
        assert!(of("p99") <= of("max") && of("p95") <= of("p99"), "{cell}");
    }
}

#[test]
fn a_run_is_a_function_of_plan_and_seed_on_any_number_of_cores() {
    let path = written("repeat.toml", SMALL);
    let runs = [["--jobs", "1"], ["--jobs", "3"]].map(|jobs| {
        let mut result = result(&[&[path.as_str(), "--seeds", "3"][..], &jobs].concat());
        result.as_object_mut().unwrap().remove("run");
        result
    });
    assert_eq!(runs[0], runs[1]);
    let other = result(&[&path, "--seeds", "3", "--seed", "4"]);
    assert_ne!(runs[0]["trace_hash"], other["trace_hash"]);
}

#[test]
fn check_names_line_and_key() {
    let path = written("wrong.toml", &SMALL.replace("\"1%\"", "1"));
    let output = simulate(&[&path, "--check"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("line 6, `links.wan.loss`") && text.contains("1%"), "{text}");
}

#[test]
fn all_plans_of_the_repository_pass_the_check() {
    let mut count = 0;
    let folders = [plans(), plans().join("studies")];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml")) {
        let output = simulate(&[path.to_str().unwrap(), "--check"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        count += 1;
    }
    assert!(count >= 3);
}

#[test]
fn a_folder_gets_json_and_csv() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulated");
    let path = written("folder.toml", SMALL);
    result(&[&path, "--seeds", "1", "--out", folder.to_str().unwrap()]);
    let csv = std::fs::read_to_string(folder.join("cells.csv")).unwrap();
    assert!(csv.starts_with("flows.requests.transport,flow,figure,value\nsctp:1,,"), "{csv}");
    let json = std::fs::read_to_string(folder.join("results.json")).unwrap();
    assert!(serde_json::from_str::<Value>(&json).is_ok());
}

#[test]
fn two_results_of_a_plan_are_laid_side_by_side_in_one_page() {
    let folder = |name: &str| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).to_str().unwrap().to_owned();
    let (plan, [one, other, out]) = (written("beside.toml", SMALL), ["one", "other", "beside"].map(folder));
    result(&[&plan, "--seeds", "1", "--out", &one]);
    result(&[&plan, "--seeds", "1", "--seed", "2", "--out", &other]);
    let arguments = ["diff", &one, &other, "--json", "-", "--out", &out];
    let output = Command::new(env!("CARGO_BIN_EXE_headway")).args(arguments).output().unwrap();
    let difference: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ids: Vec<_> = difference["transports"].as_array().unwrap().iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, ["sctp:1", "tcp:2", "udp"]);
    assert_eq!(difference["conditions"][0]["name"], "seeds");
    let html = |folder: &str, name: &str| std::fs::read_to_string(Path::new(folder).join(name)).unwrap();
    for page in [html(&one, "report.html"), html(&out, "difference.html")] {
        assert!(page.contains("<svg") && page.contains("sctp:1") && !page.contains("<script"), "{page}");
    }
}

/// Where namespaces are refused, that is said, and why.
#[test]
fn the_same_plan_runs_on_real_packets() {
    let folder = std::env::temp_dir().join(format!("headway-world-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("plan.toml");
    let text = SMALL.replace("interval = \"10ms\"", "interval = \"2ms\"").replace("= 300", "= 100");
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    let output = simulate(&[path, "--world", "namespaces", "--seeds", "1", "--json", "-"]);
    let virtual_time = result(&[path, "--seeds", "1"]);
    std::fs::remove_dir_all(&folder).unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    if error.contains("--world 'namespaces' is refused") {
        assert_eq!(output.status.code(), Some(1));
        return;
    }
    assert!(output.status.success(), "{error}");
    let real: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&real["world"], &virtual_time["world"]), (&"namespaces".into(), &"simulator".into()));
    assert!(real["trace_hash"].is_null() && virtual_time["trace_hash"].is_string());
    for (real, simulated) in std::iter::zip(cells(&real), cells(&virtual_time)) {
        assert_eq!(real["factors"], simulated["factors"]);
        for figure in ["messages", "completed", "failed"] {
            assert_eq!(real["metrics"][figure], simulated["metrics"][figure], "{figure}");
        }
        let least = real["metrics"]["response_ms"]["p50"].as_f64().unwrap();
        assert!(least >= 20.0, "both delays of the link are in it: {least}");
        assert!(real["links"]["wan"]["there"]["sent"].as_u64() >= Some(100));
    }
    // Nobody counts what the kernel's TCP sends again.
    assert!(cells(&real)[1]["metrics"]["retransmissions"].is_null());
}

fn cells(result: &Value) -> &[Value] {
    result["cells"].as_array().unwrap()
}

#[test]
fn what_namespaces_do_not_have_is_named_by_its_key() {
    let plan = plans().join("bottleneck.toml");
    let output = simulate(&[plan.to_str().unwrap(), "--world", "namespaces"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    let is_named = ["--world 'namespaces'", "routers: ", "simulator"].iter().all(|part| error.contains(part));
    assert!(is_named || error.contains("is refused"), "{error}");
}
