use super::*;

fn refusal(text: &str) -> String {
    Policies::parse(text).unwrap_err().to_string()
}

/// Key, value and bound, row by row.
#[test]
fn what_is_out_of_bounds_is_refused_with_key_value_and_bound() {
    let rows = [
        ("damping.reuse_ms = 6000", "damping.reuse_ms = 6000: at most suppress_ms, 5000, is possible"),
        ("damping.suppress_ms = 13000", "damping.suppress_ms = 13000: at most limit_ms, 12000, is possible"),
        ("damping.limit_ms = 0", "damping.limit_ms = 0: from 1 to 3600000 are possible"),
        ("applications.a.addresses = 1", "applications.a.addresses = 1: from 2 to 8 are possible"),
        ("applications.a.retry_ms = 99", "applications.a.retry_ms = 99: from 100 to 3600000 are possible"),
    ];
    for (text, expected) in rows {
        assert_eq!(refusal(text), expected);
    }
}

#[test]
fn rules_are_refused_with_their_place() {
    let rule = |lines: &str| refusal(&format!("[[applications.a.prefer]]\ninterface = \"e*\"\n{lines}"));
    let rows = [
        ("cost = 1001", "cost = 1001: from 0 to 1000 are possible"),
        ("min_signal_dbm = 1", "min_signal_dbm = 1: from -150 to 0 are possible"),
        ("signal_hysteresis_db = 3", "signal_hysteresis_db = 3: min_signal_dbm is needed, too"),
        ("max_rtt_ms = 0", "max_rtt_ms = 0: from 1 to 60000 are possible"),
        ("max_loss_permille = 1001", "max_loss_permille = 1001: from 0 to 1000 are possible"),
        ("quality_hysteresis_percent = 101", "quality_hysteresis_percent = 101: from 0 to 100 are possible"),
    ];
    for (lines, expected) in rows {
        assert_eq!(rule(lines), format!("applications.a.prefer[0].{expected}"));
    }
    let star = refusal("[[applications.a.prefer]]\ninterface = \"e*h\"");
    assert!(star.starts_with("applications.a.prefer[0].interface = \"e*h\": a name, or"), "{star}");
}

#[test]
fn unknown_keys_and_words_are_refused_by_name() {
    assert!(refusal("applications.a.address = 3").contains("unknown field `address`"));
    let word = refusal("applications.a.handover = \"soft\"");
    assert!(word.contains("soft") && word.contains("make-before-break"), "{word}");
}

#[test]
fn application_without_a_policy_has_that_of_default_and_else_the_built_in_one() {
    let policies =
        Policies::parse("applications.default.addresses = 2\napplications.a.addresses = 4").unwrap();
    let counts = ["a", "b"].map(|name| policies.application(name).addresses);
    assert_eq!(counts, [4, 2]);
    assert_eq!(Policies::parse("").unwrap().application("b"), Policy::default());
    assert_eq!(policies.names().collect::<Vec<_>>(), ["a", "default"]);
}

#[test]
fn pattern_is_a_name_or_a_beginning() {
    let fits = |pattern: &str, name: &str| Pattern::new(pattern).unwrap().fits(&name.parse().unwrap());
    assert!(fits("wlan*", "wlan0") && fits("*", "eth0") && fits("eth0", "eth0"));
    assert!(!fits("wlan*", "wwan0") && !fits("eth0", "eth01"));
    assert_eq!((Pattern::new(""), Pattern::new("**")), (None, None));
}

#[test]
fn policies_on_the_page_about_handover_are_what_they_say() {
    let page = include_str!("../../../../docs/handover.md");
    let (_, text) = page.split_once("```toml\n").unwrap();
    let (text, _) = text.split_once("```").unwrap();
    let policies = Policies::parse(text).unwrap();
    assert_eq!(policies.damping, Damping::default(), "the page shows the defaults");
    let video = policies.application("video");
    assert_eq!((video.prefer.len(), video.needs.default_route), (2, true));
}
