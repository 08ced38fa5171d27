use super::*;

const LEAST: &str = "[listen]\ntcp = [\"127.0.0.1:7626\"]\n[anonymous]\n";

fn refusal(text: &str) -> String {
    Settings::parse(text, Path::new(".")).unwrap_err().to_string()
}

#[test]
fn the_least_configuration_is_a_firewall_in_memory() {
    let settings = Settings::parse(LEAST, Path::new(".")).unwrap();
    assert_eq!(settings.filter, FilterSettings::Memory);
    assert_eq!(settings.listen.tcp, ["127.0.0.1:7626".parse().unwrap()]);
    assert!(settings.metrics.is_none() && settings.audit.is_none());
}

#[test]
fn the_example_in_the_repository_is_a_configuration() {
    let folder = tempfile_folder();
    std::fs::write(folder.join("b2bua.key"), "00".repeat(32)).unwrap();
    std::fs::write(folder.join("operator.key"), "11".repeat(32)).unwrap();
    let settings = Settings::parse(include_str!("../../dist/simco-middlebox.toml"), &folder).unwrap();
    assert_eq!(settings.middlebox.agents.known.len(), 2);
    assert!(matches!(settings.filter, FilterSettings::Nftables { config, .. } if config.inside == ["eth1"]));
    assert_eq!(settings.listen.sctp.unwrap().encapsulation_port, Some(9899));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn every_key_is_in_the_example() {
    let (source, example) = (include_str!("file.rs"), include_str!("../../dist/simco-middlebox.toml"));
    let key = |line: &'static str| Some(line.trim().strip_prefix("pub(super) ")?.split_once(':')?.0);
    // What is flattened has no key.
    for key in source.lines().filter_map(key).filter(|key| *key != "policy") {
        let mut words = example.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        assert!(words.any(|word| word == key), "{key}");
    }
}

fn tempfile_folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("simco-middlebox-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn what_is_out_of_bounds_is_named_with_value_and_bound() {
    let cases = [
        ("[service]\nlongest_lifetime_s = 0\n", "service.longest_lifetime_s = 0: at least 1 is needed"),
        ("[limits]\nsessions = 0\n", "limits.sessions = 0: at least 1 is needed"),
        ("[limits]\noutbox_bytes = 5\n", "limits.outbox_bytes = 5: at least 65536 is needed"),
        (
            "[filter]\nkind = \"nftables\"\n",
            "filter.inside = []: name the interfaces of the protected network",
        ),
        (
            "[filter]\ninside = [\"eth1\"]\n",
            "filter.kind = (nothing): with filter.inside, \"nftables\" is needed; without it no packet is touched",
        ),
        (
            "[filter]\nkind = \"memory\"\ntable = \"x\"\n",
            "filter.kind = memory: touches no packet, but there is filter.table",
        ),
        (
            "[filter]\nkind = \"nftables\"\ninside = [\"lo\"]\nmark = 0\n",
            "filter.mark = 0: at least one bit is needed",
        ),
        ("[service]\nprotocols = [\"udq\"]\n", "service.protocols = udq: udp, tcp, sctp"),
        (
            "[realms]\ninternal = [\"10.0.0.0/33\"]\n",
            "realms.internal = 10.0.0.0/33: an address and a prefix length",
        ),
        (
            "[service]\nkind = \"traditional-nat\"\n",
            "service.outside = (nothing): service.kind needs this pool",
        ),
        (
            "[service]\nkind = \"traditional-nat\"\noutside = { addresses = [\"192.0.2.1\"], first_port = 9, last_port = 8 }\n",
            "service.outside.last_port = 8: at least 9 is needed",
        ),
        (
            "[service]\nkind = \"traditional-nat\"\noutside = { addresses = [\"127.0.0.1\"] }\n",
            "listen.tcp = 127.0.0.1:7626: service.outside gives this port out",
        ),
        (
            "[agents.alice]\nkey_file = \"/nonexistent\"\n",
            "agents.alice.key_file = /nonexistent: No such file",
        ),
    ];
    for (text, expected) in cases {
        let found = refusal(&format!("{LEAST}{text}"));
        assert!(found.starts_with(expected), "{text:?}: {found}");
    }
}

#[test]
fn an_interface_that_is_not_there_is_refused_unless_it_may_come_later() {
    let settings = |extra: &str| {
        let filter = format!("[filter]\nkind = \"nftables\"\ninside = [\"lo\", \"eht1\"]\n{extra}");
        Settings::parse(&format!("{LEAST}{filter}"), Path::new(".")).unwrap().filter
    };
    let refused = settings("").check_interfaces().unwrap_err().to_string();
    assert!(refused.starts_with("filter.inside = \"eht1\": there is no such interface"), "{refused}");
    settings("inside_may_come_later = true\n").check_interfaces().unwrap();
}

#[test]
fn unknown_keys_are_refused_with_their_place() {
    let found = refusal(&format!("{LEAST}[limits]\nsession_limit = 5\n"));
    assert!(found.contains("session_limit") && found.contains("line 5"), "{found}");
    let found = refusal(&format!("{LEAST}may_fly = true\n"));
    assert!(found.contains("may_fly"), "{found}");
}

#[test]
fn a_middlebox_nobody_can_reach_is_refused() {
    assert!(refusal("[listen]\n[anonymous]\n").starts_with("listen.tcp = []"));
    assert!(refusal("[listen]\ntcp = [\"127.0.0.1:7626\"]\n").starts_with("agents = {}"));
    let without_burst = format!("{LEAST}request_burst = 5\n");
    assert!(
        refusal(&without_burst).starts_with("anonymous.request_burst = 5: only with requests_per_second")
    );
}
