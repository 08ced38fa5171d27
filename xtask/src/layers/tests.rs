use std::path::Path;

use super::{budget, core_lints, direction, forbids_unsafe, rank, strangers, unsafe_code};
use crate::sources::{Source, Sources};
use crate::workspace::Member;

fn member(name: &str, uses: &[&str]) -> Member {
    Member {
        name: name.to_owned(),
        folder: Path::new("crates").join(name),
        uses: uses.iter().map(|&used| used.to_owned()).collect(),
        roots: vec![Path::new("crates").join(name).join("src/lib.rs")],
    }
}

fn whats(findings: &[crate::finding::Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.what.as_str()).collect()
}

#[test]
fn dependency_on_a_lower_layer_is_fine() {
    let members = [
        member("headway-virtual-time", &[]),
        member("netem", &["headway-virtual-time"]),
        member("headway-sctp", &["sctp-core"]),
    ];
    assert!(members.iter().all(|each| direction(each, &members).is_empty()));
}

#[test]
fn dependency_upwards_is_found() {
    let members = [member("sctp-core", &[]), member("sctp-wire", &["sctp-core"])];
    let findings = direction(&members[1], &members);
    assert_eq!(whats(&findings), ["`sctp-wire` depends on `sctp-core`, which is not below it"]);
}

#[test]
fn dependency_within_a_layer_is_found_but_for_lab_on_sctp() {
    let members = [
        member("workload", &["simco"]),
        member("simco", &[]),
        member("lab", &["headway-sctp"]),
        member("headway-sctp", &[]),
    ];
    assert_eq!(direction(&members[0], &members).len(), 1);
    assert!(direction(&members[2], &members).is_empty());
}

#[test]
fn crate_without_a_layer_is_found() {
    let members = [member("helpers", &[])];
    assert_eq!(whats(&direction(&members[0], &members)), ["`helpers` has no layer"]);
}

#[test]
fn apps_stand_above_whatever_they_are_called() {
    let app = Member { folder: "apps/headway".into(), ..member("headway", &[]) };
    assert!(rank(&app) > rank(&member("lab", &[])));
}

#[test]
fn runtime_deep_below_a_core_is_found() {
    let tree = ["bytes 1.0".to_owned(), "mio 1.0".to_owned()].into();
    let findings = strangers(&member("sctp-core", &["bytes"]), &tree, true);
    assert_eq!(whats(&findings), ["the core `sctp-core` brings in `mio`"]);
    assert!(strangers(&member("headway-sctp", &["tokio"]), &tree, false).is_empty());
}

#[test]
fn libc_counts_only_where_a_core_names_it_itself() {
    let tree = ["libc 0.2".to_owned()].into();
    assert!(strangers(&member("netem", &[]), &tree, true).is_empty());
    assert_eq!(strangers(&member("netem", &["libc"]), &tree, true).len(), 1);
}

#[test]
fn simco_never_reaches_sctp_although_the_wire_is_below_it() {
    let tree = ["sctp-wire v0.1.0".to_owned()].into();
    let findings = strangers(&member("simco", &["sctp-wire"]), &tree, true);
    assert_eq!(whats(&findings), ["`simco` depends on `sctp-wire`"]);
}

#[test]
fn budget_is_the_last_permitted_number() {
    let tree = |n: u32| (0..n).map(|i| format!("stranger-{i} v1.0.0")).collect();
    assert!(budget(&member("sctp-wire", &[]), &tree(7)).is_none());
    assert!(budget(&member("sctp-wire", &[]), &tree(8)).is_some());
    assert!(budget(&member("lab", &[]), &tree(500)).is_none());
}

#[test]
fn core_with_other_lints_than_the_rest_is_found() {
    let file = |path: &str, text: &str| Source::new(Path::new(path), text.to_owned());
    let own = "crates/netem/clippy.toml";
    let common = || file(super::CORE_CLIPPY, "a = 1");
    let verdict = |files: Vec<Source>| core_lints(&member("netem", &[]), &Sources { files }).is_none();
    assert!(verdict(vec![common(), file(own, "a = 1")]));
    assert!(!verdict(vec![common(), file(own, "a = 2")]));
    assert!(!verdict(vec![common()]));
}

#[test]
fn unsafe_must_be_forbidden() {
    let root = |name: &str, text: &str| {
        Source::new(&Path::new("crates").join(name).join("src/lib.rs"), text.to_owned())
    };
    assert!(forbids_unsafe(&root("lab", "//! Docs.\n#![forbid(unsafe_code)]\n")));
    let sources = Sources { files: vec![root("lab", "#![deny(unsafe_code)]"), root("sctp-io", "")] };
    assert_eq!(unsafe_code(&member("lab", &[]), &sources).len(), 1);
    assert_eq!(unsafe_code(&member("sctp-io", &[]), &sources).len(), 1);
}
