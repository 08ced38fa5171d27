//! Wrong usage: status 2, nothing on standard output, and a message that names the option, its value and the remedy.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use support::{assert_contains, refusal, text};

/// Commands that emulate a path, with what they need besides.
const EMULATING: [(&str, &str); 2] = [("compare --no-report", ""), ("emulate", "-- true")];

#[test]
fn durations_without_unit_are_refused() {
    for option in ["--rtt", "--delay", "--jitter", "--reverse-delay", "--reverse-jitter"] {
        for (command, rest) in EMULATING {
            let refused = refusal(&format!("{command} {option} 20 {rest}"));
            assert_contains(&refused, &[option, "'20'", "20ms"]);
            assert_contains(
                &refusal(&format!("{command} {option} -5ms {rest}")),
                &[option, "'-5ms'", "20ms"],
            );
        }
    }
    for option in ["--interval", "--duration", "--processing"] {
        assert_contains(&refusal(&format!("compare --no-report {option} 10")), &[option, "'10'", "10ms"]);
    }
}

#[test]
fn probabilities_that_lack_their_percent_sign_are_refused() {
    let options = ["loss", "reorder", "duplicate", "corrupt"];
    for option in options.iter().flat_map(|option| [format!("--{option}"), format!("--reverse-{option}")]) {
        for (command, rest) in EMULATING {
            let refused = refusal(&format!("{command} {option} 1 {rest}"));
            assert_contains(&refused, &[&option, "'1'", "did you mean 1%?"]);
            assert_contains(
                &refusal(&format!("{command} {option} -1 {rest}")),
                &[&option, "'-1'", "at least 0%"],
            );
        }
    }
}

#[test]
fn every_value_out_of_range_names_itself_and_the_remedy() {
    let cases: [(&str, &[&str]); 30] = [
        ("--loss ge:1%,2%,3%,4%,5%", &["--loss", "ge:p,r,h,k"]),
        ("--drop 0", &["--drop", "'0'", "from 1"]),
        ("--reverse-drop 3,x", &["--reverse-drop", "'x'", "3,17"]),
        ("--link-rate 1000", &["--link-rate", "'1000'", "1000kbit"]),
        ("--reverse-link-rate 0mbit", &["--reverse-link-rate", "at least 1bit"]),
        ("--queue fifty", &["--queue", "'fifty'", "50p"]),
        ("--queue 50 --link-rate 1mbit", &["--queue '50'", "50p"]),
        ("--queue 50p", &["--queue '50p'", "--link-rate 1.7mbit"]),
        ("--reverse-queue 64KiB", &["--reverse-queue '64KiB'", "--reverse-link-rate"]),
        ("--jitter 11ms", &["--jitter '11ms'", "at most 10ms"]),
        ("--jitter 5ms --reverse-delay 1ms --delay 10ms", &["--jitter '5ms'", "at most 1ms"]),
        ("--delay 2h", &["--delay '7200s'", "at most 1h"]),
        ("--rate 0", &["--rate", "'0'", "more than 0"]),
        ("--rate -5", &["--rate", "'-5'", "more than 0"]),
        ("--rate 2000000", &["--rate '2000000'", "at most --rate 1000000"]),
        ("--rate 1000000 --duration 1h", &["--rate '1000000'", "--duration 3600s", "at most"]),
        ("--duration 48h", &["--duration '172800s'", "at most 24h"]),
        ("--duration 0s", &["--duration", "longer than 0"]),
        ("--arrivals sometimes", &["--arrivals", "'sometimes'", "poisson, constant"]),
        ("--arrivals onoff:0s,1s", &["--arrivals", "onoff", "above zero"]),
        (
            "--arrivals trace:/no/such/file",
            &["--arrivals trace:/no/such/file", "a number of seconds in each line"],
        ),
        ("--message 19", &["--message", "'19'", "20 to 1048576"]),
        ("--message 100KiB", &["--message '102400'", "65507", "udp"]),
        ("--repeat 0", &["--repeat", "'0'", "1..=1000"]),
        ("--transport sctp", &["--transport", "sctp:6"]),
        ("--transport tcp:0", &["--transport", "tcp:0", "1 to 256"]),
        ("--transport udp,udp", &["--transport", "twice"]),
        ("--tcp-congestion nonesuch", &["--tcp-congestion", "'nonesuch'", "use "]),
        ("--processing 1h", &["--processing '3600s'", "at most 10s"]),
        ("--seed -1", &["--seed", "'-1'", "a whole number from 0"]),
    ];
    for (options, parts) in cases {
        assert_contains(&refusal(&format!("compare --no-report {options}")), parts);
    }
}

#[test]
fn unknown_names_are_refused_with_those_known() {
    let cases: [(&str, &[&str]); 6] = [
        ("--transport carrier-pigeon", &["--transport", "carrier-pigeon", "tcp:N, sctp:N"]),
        (
            "--profile fast",
            &[
                "--profile",
                "fast",
                "rfc9260, signalling, signalling-redundant, studies, webrtc, linux-2.6.15 or linux-2.6.16",
            ],
        ),
        ("--backend cloud", &["--backend", "cloud", "namespaces or simulator"]),
        ("--workload tea", &["--workload", "tea", "echo"]),
        (
            "--workload voice",
            &[
                "--workload",
                "voice",
                "with response times: use echo, simco, sip, sip-invite, sip-simco or video",
            ],
        ),
        (
            "--workload bulk",
            &[
                "--workload 'bulk'",
                "no response times",
                "use echo, simco, sip, sip-invite, sip-simco or video",
            ],
        ),
    ];
    for (options, parts) in cases {
        assert_contains(&refusal(&format!("compare --no-report {options}")), parts);
    }
}

#[test]
fn load_of_which_an_echo_server_answers_nothing_is_refused() {
    for workload in ["sip", "sip-invite", "sip-simco", "simco", "video"] {
        let option = format!("--workload '{workload}'");
        let parts = [option.as_str(), "answers nothing else", "use echo", "headway compare"];
        assert_contains(
            &refusal(&format!("load --to 127.0.0.1:5000 --no-report --workload {workload}")),
            &parts,
        );
    }
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    let cases: [(&str, &[&str]); 4] = [
        ("compare --rate 100 --interval 10ms", &["--rate", "--interval"]),
        ("compare --rtt 20ms --delay 10ms", &["--rtt", "--delay"]),
        ("compare --rtt 20ms --reverse-delay 10ms", &["--rtt", "--reverse-delay"]),
        ("compare --out here --no-report", &["--out", "--no-report"]),
    ];
    for (arguments, parts) in cases {
        assert_contains(&refusal(arguments), parts);
    }
}

#[test]
fn addresses_that_cannot_be_used_are_refused() {
    let cases: [(&str, &[&str]); 6] = [
        ("load --to ip:[::1]:5000 127.0.0.1:5000", &["--to", "ip:[::1]:5000", "before none"]),
        ("echo --listen ip:[::1]:5000 --encap-port 9", &["--encap-port", "no UDP ports"]),
        ("echo --listen 127.0.0.1:5 127.0.0.2:6", &["--listen", "same port"]),
        ("load --to ::1:5000", &["--to", "'::1:5000'", "[::1]:5000"]),
        ("load --to 127.0.0.1:5000 --encap-port any", &["--encap-port", "'any'", "9899"]),
        ("load --to 127.0.0.1:5000 --encap-port 9000", &["--encap-port '9000'", "--sequential"]),
    ];
    for (arguments, parts) in cases {
        assert_contains(&refusal(arguments), parts);
    }
    assert_contains(&refusal("load"), &["--to"]);
    assert_contains(
        &refusal("echo --listen 127.0.0.1:5000 --transport smoke"),
        &["--transport", "'smoke'", "sctp"],
    );
}

#[test]
fn emulate_needs_something_to_emulate_for() {
    assert_contains(&refusal("emulate"), &["--between", "COMMAND"]);
    assert_contains(&refusal("emulate --link 256 -- true"), &["--link", "'256'", "1..=255"]);
    assert_contains(&refusal("emulate --between one"), &["--between", "2 values required"]);
    assert_contains(&refusal("emulate --between one two -- true"), &["--between", "COMMAND"]);
}

#[test]
fn help_has_an_example_and_every_command_its_version() {
    for command in ["compare", "load", "echo", "emulate", "completions", "man"] {
        let help = text(&format!("{command} --help"));
        let example = help.lines().skip_while(|line| !line.starts_with("Example:")).nth(1).unwrap();
        assert!(example.trim().starts_with(&format!("headway {command} ")), "{example}");
        assert_contains(&text(&format!("{command} --version")), &[env!("CARGO_PKG_VERSION")]);
    }
    let help = text("compare --help");
    text(
        help.lines()
            .skip_while(|line| !line.starts_with("Example:"))
            .nth(1)
            .unwrap()
            .trim()
            .strip_prefix("headway ")
            .unwrap(),
    );
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&format!("completions {shell}"));
        assert_contains(&script, &["compare", "emulate", "reverse-loss"]);
    }
    let folder = support::Folder::new("man");
    text(&format!("man {}", folder.path().display()));
    assert_contains(&folder.read("headway-compare.1"), &["reverse", "transport", "Example"]);
    assert!(folder.path().join("headway-predict-response-time.1").exists());
}

/// A shell offers files where a file is wanted, values where they are known, and nothing otherwise.
#[test]
fn completion_offers_no_files_for_values() {
    let script = text("completions bash");
    let mut options = script.split("--rtt)").skip(1);
    let of_rtt = options.next().unwrap().split(";;").next().unwrap();
    assert!(!of_rtt.contains("compgen -f"), "{of_rtt}");
    let of_json = script.split("--json)").nth(1).unwrap().split(";;").next().unwrap();
    assert!(of_json.contains("compgen -f"), "{of_json}");
}

/// Help is wrapped at the width of the terminal; where there is none, at 100 columns.
#[test]
fn help_is_wrapped() {
    for command in ["compare", "emulate", "perf client"] {
        let help = text(&format!("{command} --help"));
        let widest = help.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 100, "{command}: {widest}");
    }
}
