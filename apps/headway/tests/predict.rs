//! `headway predict` as a user sees it: text, JSON, exit status.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::process::{Command, Output};

use serde_json::Value;

fn headway(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_headway")).args(arguments.split_whitespace()).output().unwrap()
}

fn text(arguments: &str) -> String {
    let output = headway(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &str) -> Value {
    serde_json::from_str(&text(&format!("{arguments} --json -"))).unwrap()
}

/// Standard error of a wrong usage.
fn refusal(arguments: &str) -> String {
    let output = headway(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments}");
    assert!(output.stdout.is_empty(), "{arguments}");
    String::from_utf8(output.stderr).unwrap()
}

fn assert_number(value: &Value, expected: f64, tolerance: f64) {
    let number = value.as_f64().unwrap();
    assert!((number - expected).abs() <= tolerance, "{number} is not {expected}");
}

#[test]
fn published_table_stands_beside_the_computed_one() {
    let table = text("predict table --study S4");
    let columns = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        Some((words.get(2)?.parse::<f64>().ok()?, words.get(3)?.parse::<f64>().ok()?))
    };
    let rows: Vec<(f64, f64)> = table.lines().skip(1).filter_map(columns).collect();
    let computed = [40.500, 23.573, 40.500, 21.512, 40.500, 23.573, 30.862, 30.862];
    let published = [40.5, 23.5, 40.5, 21.5, 40.5, 23.5, 30.9, 30.9];
    assert_eq!(rows, computed.into_iter().zip(published).collect::<Vec<_>>());
    let rows = json("predict table");
    assert_number(&rows["rows"][3]["response_ms"], 21.512, 0.0005);
    assert_eq!(rows["rows"][3]["streams"], 1024);
}

#[test]
fn each_cell_of_the_published_table_is_a_command() {
    let cells = [
        ("--transport sctp --rate 1", 40.500),
        ("--transport sctp --rate 100", 23.573),
        ("--transport sctp --streams 1024 --interval 1s", 40.500),
        ("--transport sctp --streams 1024 --interval 10ms", 21.512),
        ("--transport tcp --rate 1", 40.500),
        ("--transport tcp --rate 100", 23.573),
        ("--transport udp --rate 1", 30.862),
        ("--transport udp", 30.862),
    ];
    for (arguments, expected) in cells {
        let answer = json(&format!("predict response-time {arguments}"));
        assert_number(&answer["response_ms"], expected, 0.005);
        assert!(answer["equation"].as_str().unwrap().starts_with("S4 "));
        assert!(answer.get("ccdf").is_none());
    }
}

#[test]
fn response_time_tells_how_it_was_derived() {
    let options = "predict response-time --transport sctp --rate 100";
    let answer = json(options);
    assert_number(&answer["one_way_extra_ms"], 1.5365, 0.001);
    assert_number(&answer["detection_ms"], 50.609, 0.001);
    assert_eq!(answer["sufficient_streams"], 6);
    assert_eq!(answer["equation"], "S4 (1),(4)-(7)");
    let text = text(options);
    assert!(text.contains("23.573 ms by S4 (1),(4)-(7)"), "{text}");
    assert!(text.contains("50.609 ms"), "{text}");
}

#[test]
fn study_s1_counts_missing_reports_without_their_loss() {
    let answer = json("predict response-time --transport sctp --rate 100 --study S1");
    assert_number(&answer["response_ms"], 23.5, 1e-6);
    assert_eq!(answer["sufficient_streams"], 5);
    let answer = json("predict response-time --transport tcp --connections 4 --rate 100 --study s1");
    assert_number(&answer["detection_ms"], 140.0, 1e-6);
    assert_eq!(answer["sufficient_streams"], Value::Null);
}

#[test]
fn model_gives_the_distribution_too() {
    let options = "predict response-time --rate 100 --processing 0s --study model --ccdf";
    let letter = json(&format!("{options} --transport sctp --profile rfc9260"));
    assert_number(&letter["response_ms"], 35.9, 0.72);
    let ccdf = letter["ccdf"].as_array().unwrap();
    assert_number(&ccdf[0][0], 20.0, 1e-6);
    let probabilities: Vec<f64> = ccdf.iter().map(|point| point[1].as_f64().unwrap()).collect();
    assert!(probabilities.is_sorted_by(|one, next| one >= next));
    assert!(*probabilities.last().unwrap() < 1e-6);
    let signalling = json(&format!("{options} --transport sctp"));
    assert!(signalling["response_ms"].as_f64() < letter["response_ms"].as_f64());
    let text = text(&format!("{options} --transport tcp"));
    assert!(text.contains("1% take longer than"), "{text}");
}

#[test]
fn simco_load_is_the_studys() {
    let answer =
        json("predict simco-load --opening-rate 33.333333333 --call-duration 180s --refresh 120s --rtt 20ms");
    assert_number(&answer["interval_ms"], 10.0, 0.001);
    assert_number(&answer["interval_exact_ms"], 9.82, 0.005);
    assert_number(&answer["transactions_per_s"], 100.0, 0.001);
    assert_number(&answer["calls"], 3000.0, 0.001);
    assert_eq!(answer["sufficient_streams"], 5);
}

#[test]
fn startup_lists_every_message() {
    let options = "predict startup --message 30000 --interval 33ms --rtt 200ms";
    let answer = json(options);
    let messages = answer["messages"].as_array().unwrap();
    assert_eq!(messages[0]["n"], 1);
    let worst = messages.iter().map(|message| message["transfer_ms"].as_f64().unwrap()).fold(0.0, f64::max);
    assert_number(&answer["penalty_ms"], worst - 100.0, 1e-6);
    assert_number(&answer["penalty_ms"], 1000.0, 100.0);
    let cut = "predict startup --message 10000 --interval 33ms --rtt 115ms";
    assert_number(&json(cut)["penalty_ms"], 262.0, 1e-6);
    assert_number(&json(&format!("{cut} --overbooking"))["penalty_ms"], 262.0, 1e-6);
    assert!(text(options).starts_with("Start-up penalty 9"));
}

#[test]
fn tcp_connections_follow_rate_and_round_trip() {
    let answer = json("predict tcp-connections --rate 1000 --rtt 20ms");
    assert_number(&answer["optimal_connections"], 5.7735, 0.0001);
    assert_eq!(answer["connections"], 6);
}

#[test]
fn values_without_unit_are_refused_with_a_remedy() {
    let refused = refusal("predict response-time --transport sctp --rate 100 --rtt 20");
    for part in ["--rtt", "'20'", "20ms"] {
        assert!(refused.contains(part), "{refused}");
    }
    let refused = refusal("predict response-time --transport sctp --interval 10 --rtt 20ms");
    assert!(refused.contains("--interval") && refused.contains("10ms"), "{refused}");
    for (loss, remedy) in
        [("1", "did you mean 1%?"), ("5", "did you mean 5%?"), ("100%", "less than 1"), ("-1", "at least 0")]
    {
        let refused = refusal(&format!("predict response-time --transport sctp --rate 100 --loss {loss}"));
        assert!(refused.contains("--loss") && refused.contains(remedy), "{refused}");
    }
}

#[test]
fn combinations_without_meaning_are_refused() {
    let cases = [
        ("--transport sctp", "--rate"),
        ("--transport sctp --rate 100 --interval 10ms", "--interval"),
        ("--transport tcp --rate 100 --streams 6", "--streams 6"),
        ("--transport sctp --rate 100 --connections 6", "--connections 6"),
        ("--transport sctp --rate 100 --first-timeout 1s", "--first-timeout 1s"),
        ("--transport udp --study S1", "--study S1"),
        ("--transport sctp --rate 100 --ccdf", "--study model"),
        ("--transport sctp --rate 100 --profile rfc9260", "--profile rfc9260"),
        ("--transport udp --loss 30%", "--loss '30%'"),
        ("--transport sctp --rate 100 --streams 0", "--streams"),
        ("--transport sctp --rate 0", "--rate"),
        ("--transport carrier-pigeon --rate 1", "--transport"),
    ];
    for (arguments, part) in cases {
        let refused = refusal(&format!("predict response-time {arguments}"));
        assert!(refused.contains(part), "{arguments}: {refused}");
    }
    assert!(refusal("predict startup --message 0 --interval 1ms").contains("--message"));
    assert!(refusal("predict startup --message 10 --interval 1ms --mtu 48").contains("at least 49"));
}

#[test]
fn json_goes_to_a_file_beside_the_text() {
    let path = std::env::temp_dir().join(format!("headway-predict-{}.json", std::process::id()));
    let shown = path.display();
    let printed = text(&format!("predict tcp-connections --rate 1000 --json {shown}"));
    assert!(printed.contains("5.774 connections"), "{printed}");
    assert_eq!(text(&format!("predict tcp-connections --rate 1000 --quiet --json {shown}")), "");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_number(&written["optimal_connections"], 5.7735, 0.0001);
}

#[test]
fn a_file_that_cannot_be_written_fails_the_run() {
    let output = headway("predict table --json /nonexistent/folder/file.json");
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("--json '/nonexistent/folder/file.json'"), "{message}");
}

#[test]
fn every_example_of_the_help_works() {
    for command in ["response-time", "simco-load", "startup", "tcp-connections", "table", "throughput"] {
        let help = text(&format!("predict {command} --help"));
        // What does not fit on a line goes on behind a backslash, as a shell reads it.
        let joined = help.replace("\\\n", " ");
        let examples: Vec<&str> =
            joined.lines().filter_map(|line| line.trim().strip_prefix("headway ")).collect();
        assert!(!examples.is_empty(), "{help}");
        assert!(help.lines().all(|line| !line.contains("  headway ") || line.len() <= 80), "{help}");
        for example in examples {
            text(example);
        }
        assert!(text(&format!("predict {command} --version")).contains(env!("CARGO_PKG_VERSION")));
    }
}

#[test]
fn throughput_by_each_formula() {
    let rate = |options: &str| json(&format!("predict throughput --rtt 100ms --loss 1% {options}"));
    // docs/models.md: by hand for PFTK; √1.5/0.1/0.1 = 122.474; CUBIC is Reno-friendly here.
    assert_number(&rate("")["packets_per_s"], 98.829, 0.001);
    assert_number(&rate("--packets-per-ack 2")["packets_per_s"], 69.524, 0.001);
    assert_number(&rate("--model square-root")["packets_per_s"], 122.474, 0.001);
    assert_number(&rate("--model cubic")["window_packets"], 12.247, 0.001);
    assert_eq!(rate("--model cubic")["equation"], "RFC 9438 §4.3, Reno-friendly");
    let tfrc = "predict throughput --model rfc5348 --rtt 200ms --loss 2% --segment 1000";
    assert_number(&json(tfrc)["bytes_per_s"], 36_624.5, 0.1);
    assert!(text(tfrc).starts_with("0.293 Mbit/s by RFC 5348 §3.1"));
    assert_number(
        &json("predict throughput --loss 0% --rtt 100ms --window 50")["packets_per_s"],
        500.0,
        1e-6,
    );
}

#[test]
fn throughput_without_limit_or_with_nonsense_is_refused() {
    assert!(refusal("predict throughput --loss 0%").contains("--window 64"));
    assert!(refusal("predict throughput --rtt 0ms").contains("round-trip time"));
    assert!(refusal("predict throughput --segment 0").contains("--segment '0'"));
}

#[test]
fn losses_in_bursts_are_predicted_by_the_model_only() {
    let options = "predict response-time --transport sctp --rate 100 --processing 0ms --study model";
    let scattered = json(&format!("{options} --loss 1%"));
    // With equal losses in both states the channel does not matter.
    let equal = json(&format!("{options} --loss ge:20%,40%,99%,99%"));
    let mean = scattered["response_ms"].as_f64().unwrap();
    assert_number(&equal["response_ms"], mean, 0.01 * mean);
    let bursts = json(&format!("{options} --loss ge:0.202%,20% --ccdf"));
    assert_eq!(bursts["equation"], "the resequencing model with losses in bursts");
    assert!(bursts["ccdf"].as_array().unwrap().len() > 10);
    assert!(
        text(&format!("{options} --loss ge:0.202%,20%"))
            .contains("of the packets in each direction, in bursts")
    );
    for wrong in [
        "--transport sctp --rate 100 --loss ge:1%,20%",
        "--transport tcp --rate 100 --study model --loss ge:1%,20%",
    ] {
        assert!(refusal(&format!("predict response-time {wrong}")).contains("--loss in bursts"), "{wrong}");
    }
    let in_time = json(&format!("{options} --loss bursts:990ms,10ms"));
    assert_eq!(in_time["equation"], bursts["equation"]);
    assert!(refusal(&format!("{options} --loss bursts:990ms")).contains("bursts:990ms,10ms"));
    assert!(refusal(&format!("{options} --loss ge:2")).contains("ge:0.25%,25%"));
}
