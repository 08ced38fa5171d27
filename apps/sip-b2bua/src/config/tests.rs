use std::path::Path;

use super::*;

const GOOD: &str = r#"
[listen]
udp = ["192.0.2.1:5060"]
tcp = ["192.0.2.1:5060"]
[[routes]]
to = "192.0.2.9:5060"
[[middleboxes]]
name = "edge"
addresses = ["192.0.2.254"]
internal = ["10.0.0.0/8"]
"#;

const NAT: &str = "[[middleboxes]]\nname = \"nat\"\nkind = \"nat\"\naddresses = [\"192.0.2.253\"]\ninternal = [\"10.0.0.0/8\"]\n";

fn error(text: &str) -> String {
    Settings::parse(text, Path::new(".")).unwrap_err().to_string()
}

#[test]
fn what_is_left_out_has_its_default() {
    let settings = Settings::parse(GOOD, Path::new(".")).unwrap();
    assert_eq!(settings.calls.firewall_patience, Duration::from_secs(2));
    assert_eq!((settings.calls.most_calls, settings.calls.calls_per_second), (50_000, 2_000));
    assert_eq!(settings.middleboxes[0].middlebox.addresses, ["192.0.2.254:7626".parse().unwrap()]);
    assert_eq!((settings.metrics, settings.records), (None, None));
}

#[test]
fn the_file_that_ships_is_valid() {
    let text = include_str!("../../dist/sip-b2bua.toml")
        .replace("key_file = \"b2bua.key\"", "")
        .replace("identity = \"b2bua\"", "");
    Settings::parse(&text, Path::new(".")).unwrap();
}

#[test]
fn every_error_names_key_value_and_bound() {
    let change = |from: &str, to: &str| error(&GOOD.replace(from, to));
    let add = |text: &str| error(&format!("{GOOD}{text}"));
    let cases = [
        (
            change("udp = [\"192.0.2.1:5060\"]", "udp = [\"0.0.0.0:5060\"]"),
            "listen.udp = 0.0.0.0:5060: peers are told",
        ),
        (change("\"192.0.2.9:5060\"", "\"192.0.2.9:0\""), "routes[0].to = 192.0.2.9:0: "),
        (
            change("\"192.0.2.9:5060\"", "\"[2001:db8::1]:5060\""),
            "routes[0].to = [2001:db8::1]:5060: listen.udp has no",
        ),
        (
            change("[\"10.0.0.0/8\"]", "[\"10.0.0.0\"]"),
            "middleboxes[0].internal = 10.0.0.0: an address and a prefix",
        ),
        (
            change("[listen]", "[listen]\ntls = [\"192.0.2.1:5061\"]"),
            "listen.tls = 192.0.2.1:5061: only with",
        ),
        (change("to =", "transport = \"tls\"\nto ="), "routes[0].to = 192.0.2.9:5060: listen.tls has no"),
        (
            add(&format!(
                "{NAT}{}",
                NAT.replace("\"nat\"", "\"far\"").replace("kind = \"far\"", "kind = \"nat\"")
            )),
            "middleboxes[2].internal = 10.0.0.0/8: translated by nat before",
        ),
        (change("to =", "tls_name = \"x\"\nto ="), "routes[0].tls_name = x: only with"),
        (add("[tls]\ncertificate = \"none\"\nkey = \"none\"\n"), "tls.certificate = ./none: "),
        (add("[authentication]\nrealm = \"a\\\"b\"\nusers = {}\n"), "authentication.realm = a\"b: "),
        (add("[authentication]\nrealm = \"x\"\nusers = {}\n"), "authentication.users = {}: name a user"),
        (
            add("[authentication]\nrealm = \"x\"\nusers = { a = \"\" }\n"),
            "authentication.users.a = \"\": a password",
        ),
        (change("192.0.2.9:5060", "192.0.2.9"), "routes[0].to = 192.0.2.9: an address with a port"),
        (change("192.0.2.9:5060", "example.org:x"), "routes[0].to = example.org:x: an address with a port"),
        (
            change("to = \"192.0.2.9:5060", "transport = \"sctp\"\nto = \"example.org"),
            "routes[0].to = example.org: listen.sctp has no",
        ),
        (add("[dns]\nservers = [\"0.0.0.0:53\"]\n"), "dns.servers = 0.0.0.0:53: "),
        (change("[\"10.0.0.0/8\"]", "[]"), "middleboxes[0].internal = []: name the networks"),
        (add("identity = \"x\"\n"), "middleboxes[0].identity = x: only with key_file"),
        (add("identity = \"x\"\nkey_file = \"none\"\n"), "middleboxes[0].key_file = ./none: "),
        (add("encapsulation_port = 9\n"), "middleboxes[0].encapsulation_port = 9: only with"),
        (add("lifetime_s = 1\n"), "middleboxes[0].lifetime_s = 1: at least 10"),
        (add("[calls]\nfirewall_patience_ms = 1\n"), "calls.firewall_patience_ms = 1: from 10 to 30000"),
        (add("[limits]\ncalls = 0\n"), "limits.calls = 0: at least 1"),
        (add("[limits]\nmessage_bytes = 10\n"), "limits.message_bytes = 10: from 1300"),
        (add("[calls]\nmay_speak_for_others = [\"x\"]\n"), "calls.may_speak_for_others = x: "),
    ];
    for (found, expected) in cases {
        assert!(found.starts_with(expected), "{found}");
    }
    assert!(change("[listen]", "[lissten]").contains("unknown field `lissten`"));
}

#[test]
fn what_nobody_could_call_or_reach_is_refused() {
    assert!(error("[listen]\n[[routes]]\nto = \"192.0.2.9:5060\"\n").starts_with("listen.udp = []"));
    assert!(error("[listen]\nudp = [\"192.0.2.1:5060\"]\n").starts_with("routes = []"));
    let two = GOOD.replace("udp = [\"192.0.2.1:5060\"]", "udp = [\"192.0.2.1:5060\", \"192.0.2.2:5060\"]");
    assert!(error(&two).contains("one address of each family"));
}

#[test]
fn translators_stand_in_a_row_or_one_on_each_side() {
    let far = NAT.replace("name = \"nat\"", "name = \"far\"").replace("10.0.0.0/8", "172.16.0.0/12");
    let settings = Settings::parse(&format!("{GOOD}{NAT}{far}"), Path::new(".")).unwrap();
    assert_eq!(settings.calls.translators, [1, 2].into());
}

#[test]
fn a_reload_says_what_needs_a_restart() {
    let old = Settings::parse(GOOD, Path::new(".")).unwrap();
    let new = GOOD.replace("192.0.2.254", "192.0.2.253").replace("tcp = [\"192.0.2.1:5060\"]", "");
    let new = Settings::parse(&new, Path::new(".")).unwrap();
    assert_eq!(old.needs_a_restart(&new), ["listen", "middleboxes"]);
    assert!(old.needs_a_restart(&old).is_empty());
}

#[test]
fn nobody_is_exempt_from_authentication_unless_named() {
    let text = format!("{GOOD}[authentication]\nrealm = \"r\"\nusers = {{ alice = \"secret\" }}\n");
    let settings = Settings::parse(&text, Path::new(".")).unwrap();
    assert_eq!(settings.calls.authentication.unwrap().exempt, []);
}
