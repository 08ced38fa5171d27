use super::*;
use crate::sources::Source;

const TABLES: &str = "\
| feature | client, Linux | server, Linux |
|---|---|---|
| handshake | passes (IPv4) | passes |
| streams | not tested | fails |

| feature | client, usrsctp |
|---|---|
| handshake | passes |
";

fn sources(toml: &str, readme: &str) -> Sources {
    let files = [
        (SOURCE, toml),
        (INTEROP, TABLES),
        (README, readme),
        ("crates/a/tests/b.rs", "#[test] fn peers_meet() {}"),
    ];
    Sources { files: files.map(|(path, text)| Source::new(Path::new(path), text.to_owned())).into() }
}

fn rfc(rest: &str) -> String {
    format!("[[rfc]]\nnumber = 9260\ntitle = \"SCTP\"\n{rest}")
}

#[test]
fn peers_are_those_that_passed_in_any_table() {
    assert_eq!(Vec::from_iter(peers(TABLES, "handshake")), ["Linux", "usrsctp"]);
    assert!(peers(TABLES, "streams").is_empty());
}

#[test]
fn table_is_written_and_then_found_to_be_right() {
    let toml = rfc("tests = [\"peers_meet\"]\ninterop = [\"handshake\"]\n");
    let before = sources(&toml, &format!("# Head\n{BEGIN}{END}rest\n"));
    assert_eq!(check(&before).len(), 1);
    let readme = rewritten(&before).unwrap();
    assert!(readme.contains("| SCTP | done | 1 | Linux, usrsctp |"), "{readme}");
    assert!(readme.starts_with("# Head\n") && readme.ends_with("rest\n"));
    assert_eq!(check(&sources(&toml, &readme)), []);
}

#[test]
fn what_does_not_exist_is_found() {
    let toml = rfc("tests = [\"peers_part\"]\ninterop = [\"streams\"]\n");
    let whats: Vec<String> = check(&sources(&toml, BEGIN)).into_iter().map(|finding| finding.what).collect();
    assert!(whats[0].contains("`peers_part`") && whats[1].contains("`streams`"), "{whats:?}");
    let nothing = sources(&rfc("tests = []\n"), BEGIN);
    assert!(check(&nothing)[0].what.contains("no test shows it"));
}
