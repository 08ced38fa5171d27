//! `headway compare` as a user sees it, in the simulator: table, JSON, report, exit status.
#![allow(clippy::unwrap_used, clippy::unreachable, reason = "tests")]

mod support;

use serde_json::{Value, json};
use support::{Folder, assert_contains, assert_fields, headway, json, keys, text};

/// 500 requests in virtual time.
const QUICK: &str = "compare --backend simulator --no-report --duration 5s";

#[test]
fn json_has_the_shape_of_the_contract() {
    let result = json(QUICK);
    let fields =
        "command commit headway host path reading runs schema settings skipped started unpredicted workload";
    assert_eq!(keys(&result).join(" "), fields);
    assert_eq!(
        result["command"].as_array().unwrap()[..3],
        ["compare", "--backend", "simulator"].map(Value::from)
    );
    let commit = result["commit"].as_str().unwrap();
    let is_hexadecimal = commit.len() == 12 && commit.bytes().all(|octet| octet.is_ascii_hexdigit());
    assert!(is_hexadecimal || commit == "unknown", "{commit}");
    let started = result["started"].as_str().unwrap();
    assert!(started.starts_with("20") && started.ends_with('Z') && started.len() == 20, "{started}");
    assert_eq!(result["headway"], env!("CARGO_PKG_VERSION"));
    let path = json!({"backend": "simulator", "rtt_ms": 20.0, "loss": 0.01, "delay_ms": null});
    assert_fields(&result["path"], &path);
    let workload = json!({"arrivals": "poisson", "interval_ms": 10.0, "message_bytes": 64, "duration_s": 5.0,
        "seed": 1, "late_sends": 0});
    assert_fields(&result["workload"], &workload);
    let ids = |list: &str| -> Vec<String> {
        result[list].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("runs"), ["tcp", "tcp:4", "sctp:1", "sctp:6", "sctp:unordered", "quic:6", "udp"]);
    assert_eq!(ids("skipped"), [""; 0]);
    let bbr = json(&format!("{QUICK} --tcp-congestion bbr --transport tcp:2,udp"));
    assert_eq!(bbr["skipped"][0]["id"], "tcp:2");
    assert!(bbr["skipped"][0]["because"].as_str().unwrap().contains("namespaces"));
}

#[test]
fn sctp_rows_have_all_their_fields() {
    let result = json(&format!("{QUICK} --rate 120 --transport sctp:6"));
    let run = &result["runs"][0];
    let fields = [
        "blocking",
        "connections",
        "failed",
        "id",
        "late",
        "ordered",
        "packets",
        "predicted",
        "profile",
        "requests",
        "response_ms",
        "responses",
        "streams",
        "transport",
    ];
    assert_eq!(keys(run), fields);
    let expected = json!({"transport": "sctp", "streams": 6, "connections": 1, "ordered": true,
        "profile": "signalling", "failed": 0});
    assert_fields(run, &expected);
    assert_eq!(run["requests"], run["responses"]);
    assert_eq!(keys(&run["response_ms"]), ["ci95", "max", "mean", "p50", "p90", "p99", "p999", "unanswered"]);
    assert_eq!(
        keys(&run["late"]["losses"]),
        ["by_others_loss", "by_own_loss", "others_loss_ms", "without_loss"]
    );
    assert!(run["response_ms"]["p99"].is_number(), "about 6 of 600 are beyond");
    assert_eq!(run["response_ms"]["p999"], Value::Null, "fewer than five samples beyond it");
    assert_eq!(run["response_ms"]["ci95"].as_array().unwrap().len(), 2);
    assert_eq!(keys(&run["blocking"]), ["mean_blocked_ms", "messages_blocked"]);
    assert_eq!(keys(&run["predicted"]), ["model_ms", "study", "study_ms"]);
    assert_eq!(run["predicted"]["study"], "S4 (1),(4)-(7)");
    let sent = |direction: &str| run["packets"][direction]["sent"].as_u64().unwrap();
    assert!(sent("request") >= 500 && sent("response") >= 500);
    assert!(run["packets"]["request"]["dropped"].as_u64().unwrap() > 0);
}

#[test]
fn udp_rows_count_retransmissions_and_have_no_streams() {
    let result = json(&format!("{QUICK} --transport udp,sctp:unordered"));
    let udp = &result["runs"][0];
    for null in ["streams", "connections", "blocking", "profile"] {
        assert_eq!(udp[null], Value::Null, "{null}");
    }
    assert_eq!(udp["ordered"], false);
    assert!(udp["retransmissions"].as_u64().unwrap() > 0);
    let unordered = &result["runs"][1];
    assert_fields(unordered, &json!({"ordered": false, "streams": 1}));
    assert!(unordered.get("retransmissions").is_none());
}

#[test]
fn same_seed_gives_the_same_and_another_seed_another_result() {
    let first = measured(&json(QUICK));
    assert_eq!(first, measured(&json(&format!("{QUICK} --seed 1"))));
    assert_ne!(first, measured(&json(&format!("{QUICK} --seed 2"))));
}

#[test]
fn options_reach_the_run() {
    let result = json(&format!(
        "{QUICK} --transport sctp:1 --rtt 50ms --loss 0 --reverse-loss 5% --drop 7,9 --rate 50 --message 4KiB \
         --arrivals constant --repeat 2 --profile rfc9260 --processing 3ms --seed 9"
    ));
    assert_fields(&result["path"], &json!({"rtt_ms": 50.0, "loss": 0.0}));
    assert_contains(result["path"]["impairments"]["request"].as_str().unwrap(), &["7,9", "delay 25ms"]);
    assert_contains(result["path"]["impairments"]["response"].as_str().unwrap(), &["loss 5 %", "delay 25ms"]);
    let workload = json!({"interval_ms": 20.0, "message_bytes": 4096, "arrivals": "constant", "seed": 9});
    assert_fields(&result["workload"], &workload);
    let run = &result["runs"][0];
    assert_fields(run, &json!({"requests": 500, "profile": "rfc9260"}));
    assert_eq!(run["packets"]["request"]["dropped"], 4, "two listed ones in each repetition");
    assert!(run["response_ms"]["p50"].as_f64().unwrap() >= 53.0);
    assert_eq!(run["predicted"], Value::Null, "no model covers losses that differ by direction");
}

#[test]
fn way_back_is_as_the_way_there_unless_told_otherwise() {
    let result =
        json(&format!("{QUICK} --transport udp --delay 7ms --jitter 2ms --reverse-delay 9ms --loss 0"));
    assert_eq!(result["path"]["rtt_ms"], 16.0);
    assert_eq!(result["path"]["impairments"]["request"], "delay 7ms, jitter 2ms");
    assert_eq!(result["path"]["impairments"]["response"], "delay 9ms, jitter 2ms");
}

#[test]
fn table_stands_above_closing_words() {
    let table = text(QUICK);
    assert_contains(&table, &["RTT 20 ms, loss 1 %", "backend simulator", "sctp:unordered", "tcp:4"]);
    let other = text(&format!("{QUICK} --tcp-congestion bbr"));
    assert_contains(
        &other,
        &[
            "tcp was not run: the simulator's TCP has no `bbr`: use reno, cubic or bbr3, or the namespaces backend",
        ],
    );
    let words = table.rsplit_once("\n\n").unwrap().1;
    assert!(words.starts_with("Over one TCP connection, "), "{words}");
    assert_contains(
        words,
        &["delayed by somebody else's lost packet", "losses of their own", "Beyond the 20.0 ms"],
    );
    assert!(!table.contains("Report:"));
    assert_eq!(text(&format!("{QUICK} --quiet")), "");
}

#[test]
fn report_is_complete_and_self_contained() {
    let folder = Folder::new("compare-report");
    let out = folder.path().display();
    let options = "compare --backend simulator --duration 2s --transport sctp:1,udp --repeat 2";
    let printed = text(&format!("{options} --out {out}"));
    assert_contains(&printed, &["Report: ", "report.html"]);
    let result: Value = serde_json::from_str(&folder.read("results.json")).unwrap();
    assert_eq!(measured(&result), measured(&json(&format!("{options} --no-report"))));
    let html = folder.read("report.html");
    assert_contains(
        &html,
        &["headway compare --backend simulator", "commit ", result["started"].as_str().unwrap()],
    );
    for outside in ["src=\"http", "href=\"http", "src='http", "@import", "url(http"] {
        assert!(!html.contains(outside), "{outside}");
    }
    let samples = folder.read("samples.csv");
    assert_eq!(samples.lines().next().unwrap(), "run,number,intended_s,sent_s,response_ms,blocked_ms");
    let requests: u64 =
        result["runs"].as_array().unwrap().iter().map(|run| run["requests"].as_u64().unwrap()).sum();
    assert_eq!(u64::try_from(samples.lines().count() - 1).unwrap(), requests);
    assert!(samples.lines().any(|line| line.starts_with("sctp:1#2,")));
    assert!(samples.lines().any(|line| line.starts_with("udp,0,") && line.ends_with(',')));
}

/// A result without what differs from run to run: command line and date.
fn measured(result: &Value) -> Value {
    let mut result = result.clone();
    let fields = result.as_object_mut().unwrap();
    for name in ["command", "started"] {
        assert!(fields.remove(name).is_some());
    }
    result
}

#[test]
fn an_earlier_report_is_kept_unless_told_otherwise() {
    let folder = Folder::new("compare-kept");
    let out = folder.path().join("report");
    let compare = |options: &str| {
        let options = format!("compare --backend simulator --duration 1s --transport udp {options}");
        text(&format!("{options} --out {}", out.display()))
    };
    let seed = |name: &str| -> Value {
        let result: Value = serde_json::from_str(&folder.read(&format!("{name}/results.json"))).unwrap();
        result["workload"]["seed"].clone()
    };
    assert!(!compare("--seed 1").contains("The one that was there"));
    std::fs::write(out.join("notes"), "mine").unwrap();
    assert_contains(&compare("--seed 2"), &["The one that was there: ", "report.1/report.html"]);
    compare("--seed 3");
    assert_eq!([seed("report.1"), seed("report.2"), seed("report")], [1, 2, 3].map(Value::from));
    compare("--seed 4 --force");
    assert_eq!((seed("report"), folder.path().join("report.3").exists()), (4.into(), false));
    assert_eq!(folder.read("report/notes"), "mine");
    assert!(folder.path().join("report.1/report.html").exists());
}

/// As a person sees it: `script` gives the program a terminal.
#[test]
fn tables_fit_the_terminal() {
    let shown = |columns: u32, option: &str| {
        let command = format!("stty cols {columns}; {} {QUICK} {option}", env!("CARGO_BIN_EXE_headway"));
        let mut script = std::process::Command::new("script");
        let script = script.args(["-qec", &command, "/dev/null"]).stdin(std::process::Stdio::null());
        String::from_utf8(script.output().unwrap().stdout).unwrap()
    };
    let narrow = shown(80, "");
    let widest = |text: &str| {
        let rows = text.lines().filter(|line| line.starts_with('─') || line.contains("sctp:"));
        rows.map(|line| line.trim_end().chars().count()).max().unwrap()
    };
    assert!(widest(&narrow) <= 80, "{narrow}");
    assert_contains(&narrow, &["p90", "left out", "--wide"]);
    let wide = shown(80, "--wide");
    assert!(widest(&wide) > 80 && wide.contains("S4 (1),(4)-(7)"), "{wide}");
}

#[test]
fn without_a_report_nothing_is_written() {
    let folder = Folder::new("compare-nothing");
    std::fs::create_dir(folder.path()).unwrap();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_headway"));
    let output = std::process::Command::new(program)
        .args(QUICK.split_whitespace())
        .current_dir(folder.path())
        .output();
    assert!(output.unwrap().status.success());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn failed_requests_are_explained_and_end_with_status_1() {
    // Every transmission of the first request is dropped.
    let drops: Vec<String> = (1..=40).map(|number| number.to_string()).collect();
    let options =
        format!("--transport udp --loss 0 --rate 0.1 --arrivals constant --drop {}", drops.join(","));
    let output = headway(&format!("{QUICK} {options} --json -"));
    assert_eq!(output.status.code(), Some(1));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = &result["runs"][0];
    assert_fields(run, &json!({"requests": 1, "responses": 0, "failed": 1}));
    assert_contains(run["because"].as_str().unwrap(), &["not answered", "32s"]);
    assert_eq!(run["response_ms"]["mean"], Value::Null);
    assert_contains(&String::from_utf8(output.stderr).unwrap(), &["udp"]);
}

#[test]
fn nothing_run_is_no_success() {
    let output = headway(&format!("{QUICK} --transport tcp --tcp-congestion bbr"));
    assert_eq!(output.status.code(), Some(1));
    assert_contains(&String::from_utf8(output.stderr).unwrap(), &["nothing was run", "namespaces"]);
}

#[test]
fn a_folder_that_cannot_be_made_is_known_before_anything_runs() {
    let output = headway("compare --backend simulator --duration 1s --out /proc/no/such");
    assert_eq!(output.status.code(), Some(1));
    assert_contains(&String::from_utf8(output.stderr).unwrap(), &["--out '/proc/no/such'", "--no-report"]);
    assert!(output.stdout.is_empty());
}

/// Nothing runs: the file of events, opened last, is not there.
#[test]
fn files_that_cannot_be_written_are_known_before_anything_runs() {
    let folder = Folder::new("compare-unwritable");
    std::fs::create_dir(folder.path()).unwrap();
    let here = folder.path().display();
    std::fs::write(folder.path().join("old.json"), "of before").unwrap();
    for (refused, status) in [("--json /proc/no/such", 1), ("--pcap /proc/no/such", 2)] {
        let output = headway(&format!("{QUICK} {refused} --events {here}/events"));
        assert_eq!(output.status.code(), Some(status));
        let option = refused.replace("/proc", "'/proc") + "'";
        assert_contains(&String::from_utf8(output.stderr).unwrap(), &[&option, "writable folder"]);
        assert!(output.stdout.is_empty() && !folder.path().join("events").exists());
    }
    for file in ["old.json", "new.json"] {
        support::refusal(&format!("{QUICK} --json {here}/{file} --pcap /proc/no/such"));
    }
    assert_eq!(folder.read("old.json"), "of before", "there is no result that could replace it");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// What was measured is shown, whatever becomes of the files.
#[test]
fn a_write_that_fails_later_takes_no_table_away() {
    let folder = Folder::new("compare-full");
    let out = folder.path().join("out");
    std::fs::create_dir_all(&out).unwrap();
    for file in ["run-udp.pcapng", "out/report.html"] {
        std::os::unix::fs::symlink("/dev/full", folder.path().join(file)).unwrap();
    }
    let (here, quick) = (folder.path().display(), "compare --backend simulator --duration 5s");
    for (options, said) in [
        ("--no-report --json /dev/full".to_owned(), "--json '/dev/full'"),
        ("--no-report --events /dev/full".to_owned(), "--events: "),
        (format!("--no-report --pcap {here}/run.pcapng"), "--pcap: "),
        (format!("--out {here}/out --force"), "--out '"),
    ] {
        let output = headway(&format!("{quick} --transport udp,sctp:1 {options}"));
        assert_eq!(output.status.code(), Some(1), "{options}");
        assert_contains(&String::from_utf8(output.stderr).unwrap(), &[said]);
        let table = String::from_utf8(output.stdout).unwrap();
        assert_contains(&table, &["sctp:1", "answered", "of the requests were delayed"]);
        assert!(!table.contains("Report:"));
    }
}

#[test]
fn two_results_stand_side_by_side_and_other_files_are_refused() {
    let folder = Folder::new("compare-diff");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let run = |name: &str, options: &str| {
        let options = format!("compare --backend simulator --duration 5s {options} --out {}", path(name));
        text(&format!("{options} --transport tcp,sctp:6"))
    };
    run("first", "--rtt 20ms");
    let beside = run("second", &format!("--rtt 60ms --with {}", path("first")));
    assert_contains(&beside, &["round trip: 20 ms → 60 ms", "longer"]);
    let difference = json(&format!("diff {} {}/results.json", path("first"), path("second")));
    assert_eq!(difference["transports"][1]["verdict"], "longer");
    let same = text(&format!("diff {} {}", path("first"), path("first")));
    assert_contains(&same, &["the same conditions", "no difference beyond the intervals"]);
    std::fs::write(folder.path().join("other.json"), "[1]").unwrap();
    let refused = headway(&format!("diff {} {}", path("first"), path("other.json")));
    assert_eq!(refused.status.code(), Some(2));
    assert_contains(&String::from_utf8(refused.stderr).unwrap(), &["is no result of headway compare"]);
}

#[test]
fn packets_are_captured_one_file_for_each_transport() {
    let folder = Folder::new("compare-pcap");
    std::fs::create_dir(folder.path()).unwrap();
    let file = folder.path().join("run.pcapng");
    text(&format!("{QUICK} --transport sctp:1,udp --pcap {}", file.display()));
    let sizes = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len());
    let sizes: Vec<u64> = sizes.collect();
    assert!(sizes.len() == 2 && sizes.iter().all(|size| *size > 10_000), "{sizes:?}");
}

/// Equal seeds write equal files, with the names of docs/events.md and the virtual time of the run.
#[test]
fn events_of_the_simulator_are_lines_of_json_that_repeat() {
    let folder = Folder::new("events");
    std::fs::create_dir(folder.path()).unwrap();
    let write = |name: &str| {
        let file = folder.path().join(name);
        text(&format!("{QUICK} --transport sctp:6 --events {}", file.display()));
        folder.read(name)
    };
    let events = write("first");
    assert_eq!(events, write("second"));
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = json!({"at_ns": 0, "association": 1, "transport": "sctp:6", "repetition": 0, "local_port": 7626,
        "peer_port": 7626, "event": "association_state", "from": "CLOSED", "to": "COOKIE-WAIT"});
    assert_fields(&events[0], &first);
    for name in ["chunk_lost", "recovery_begun", "cwnd_changed", "tail_loss_probe_sent"] {
        assert!(events.iter().any(|event| event["event"] == name), "{name}");
    }
}

#[test]
fn events_need_a_file_that_can_be_written() {
    let error = support::refusal(&format!("{QUICK} --events /nowhere/events.json"));
    assert_contains(&error, &["--events '/nowhere/events.json'", "writable folder"]);
}

#[test]
fn a_client_that_moves_is_told_of_in_table_and_numbers_and_udp_is_left_out() {
    let moving = "compare --backend simulator --no-report --workload video --duration 10s --rtt 200ms --loss 0 --transport tcp,sctp:1,quic:1,udp \
                  --handover at=4s,gap=500ms,rtt=30ms,rate=20mbit";
    let output = headway(&format!("{moving} --json -"));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["path"]["backend"], "simulator");
    assert_eq!(result["path"]["handover"], "at=4s,gap=500ms,rtt=30ms,loss=0,rate=20mbit,start_up=off");
    let runs = result["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3);
    for run in runs {
        let handover = &run["frames"]["handover"];
        assert_eq!((&handover["handovers"], &handover["not_recovered"]), (&json!(1), &json!(0)), "{run}");
        assert!(handover["gap_ms"].as_f64().unwrap() > 400.0, "{run}");
        assert!(handover["penalty_ms"].as_f64().unwrap() >= 0.0, "{run}");
    }
    assert_contains(
        &text(&moving.replace(",udp", "")),
        &["handover at=4s", "late frames", "recovery", "penalty"],
    );
}

#[test]
fn a_handover_that_cannot_be_is_refused_with_its_value() {
    for (options, told) in [
        ("at=30s,gap=1s,rtt=30ms", "--handover '31s'"),
        ("at=3s,rtt=30ms", "overlap=1s, or gap=500ms"),
        ("at=3s,gap=1s,rtt=fast", "rtt 'fast'"),
    ] {
        let error = support::refusal(&format!("compare --no-report --workload video --handover {options}"));
        assert!(error.contains(told), "{options}: {error}");
    }
}
