//! The directions of dependencies: which crate may use which. Not: what is inside a crate.
//!
//! ```text
//! above   apps, benches, interop, xtask
//! L4      studies
//! L3      lab, simco-agent, handover ─► sctp
//! L2      call-core, data-channel, netsim, emulator, sctp-io, nft-filter, interface-watch, daemon
//! L1      sctp-core, tcp-core, simco, sip, mobility, workload
//! L0      sctp-wire, congestion, netem, models ─► virtual-time
//! ```
//!
//! A normal or build dependency goes to a strictly lower [`rank`]; the two permitted steps within a layer are
//! ranks of their own. Development dependencies are free: a core's tests may drive it in a world above it.

use std::path::Path;

use crate::finding::Finding;
use crate::sources::{Rust, Source, Sources};
use crate::workspace::{Member, Tree, Workspace, WorkspaceError, crate_name};

/// Crates below `crates/`, lowest first. Equal ranks may not use each other.
const RANKS: [(&str, u8); 24] = [
    ("headway-virtual-time", 0),
    ("sctp-wire", 1),
    ("headway-congestion", 1),
    ("netem", 1),
    ("models", 1),
    ("sctp-core", HIGHEST_CORE),
    ("tcp-core", HIGHEST_CORE),
    ("simco", HIGHEST_CORE),
    ("sip", HIGHEST_CORE),
    ("mobility", HIGHEST_CORE),
    ("workload", HIGHEST_CORE),
    ("call-core", 3),
    ("data-channel", 3),
    ("netsim", 3),
    ("emulator", 3),
    ("sctp-io", 3),
    ("nft-filter", 3),
    ("interface-watch", 3),
    ("daemon", 3),
    ("headway-sctp", 4),
    ("lab", 5),
    ("simco-agent", 5),
    ("handover", 5),
    ("studies", 6),
];
/// Ranks up to this one are L0 and L1: no clock, no IO, no `unsafe`.
const HIGHEST_CORE: u8 = 2;
/// The rank of everything above L4.
const ABOVE: u8 = 7;
/// Folders whose crates stand above L4.
const FOLDERS_ABOVE: [&str; 7] = ["apps", "benches", "docs", "examples", "fuzz", "interop", "xtask"];

/// The applications' protocols: joined with SCTP by the apps, never by themselves.
const TRANSPORT_NEUTRAL: [&str; 5] = ["simco", "sip", "call-core", "mobility", "workload"];
const SCTP_CRATES: [&str; 4] = ["sctp-wire", "sctp-core", "sctp-io", "headway-sctp"];

/// Nowhere in a core's tree, however deep.
const NEVER_BELOW_CORES: [&str; 9] =
    ["tokio", "mio", "async-std", "smol", "socket2", "rustix", "nix", "quinn-udp", "tun-rs"];
/// The crates that no core uses directly (a library below it may ask the operating system for entropy).
const NEVER_BY_CORES: [&str; 2] = ["libc", "getrandom"];

/// How many crates a package may bring along: normal dependencies, each once, procedural macros not counted.
const BUDGETS: [(&str, usize); 4] = [("sctp-wire", 7), ("netem", 6), ("sctp-core", 27), ("headway-sctp", 60)];

/// The clippy.toml every core carries unchanged.
const CORE_CLIPPY: &str = "crates/virtual-time/clippy.toml";

/// Checks every member of the workspace.
pub(crate) fn check(workspace: &Workspace, sources: &Sources) -> Result<Vec<Finding>, WorkspaceError> {
    let mut findings = Vec::new();
    for member in &workspace.members {
        findings.extend(direction(member, &workspace.members));
        findings.extend(unsafe_code(member, sources));
        let is_core = rank(member).is_some_and(|rank| rank <= HIGHEST_CORE);
        if is_core {
            findings.extend(core_lints(member, sources));
        }
        if is_core || BUDGETS.iter().any(|(name, _)| *name == member.name) {
            let tree = workspace.normal_tree(&member.name)?;
            findings.extend(strangers(member, &tree, is_core));
            findings.extend(budget(member, &tree));
        }
    }
    Ok(findings)
}

/// Returns how high a member stands; `None` for a crate nobody has given a place.
fn rank(member: &Member) -> Option<u8> {
    if FOLDERS_ABOVE.iter().any(|folder| member.folder.starts_with(folder)) {
        return Some(ABOVE);
    }
    RANKS.iter().find(|(name, _)| *name == member.name).map(|(_, rank)| *rank)
}

/// Dependencies among our own crates point down.
fn direction(member: &Member, members: &[Member]) -> Vec<Finding> {
    let manifest = member.manifest();
    let Some(own) = rank(member) else {
        let what = format!("`{}` has no layer", member.name);
        return vec![Finding::error(
            &manifest,
            1,
            what,
            "give it a place in RANKS in xtask/src/layers.rs and in ARCHITECTURE.md",
        )];
    };
    let uses_ours = |used: &&Member| member.uses.contains(&used.name);
    members
        .iter()
        .filter(uses_ours)
        .filter(|used| rank(used).is_some_and(|other| other >= own))
        .map(|used| {
            let what = format!("`{}` depends on `{}`, which is not below it", member.name, used.name);
            let remedy = "move what is shared into a lower crate, or turn the call into an outcome value";
            Finding::error(&manifest, 1, what, remedy)
        })
        .collect()
}

/// Returns a finding for each crate that must not be in a core's dependency tree.
fn strangers(member: &Member, tree: &Tree, is_core: bool) -> Vec<Finding> {
    let manifest = member.manifest();
    let mut findings = Vec::new();
    if is_core {
        for name in tree.iter().map(|entry| crate_name(entry)) {
            if NEVER_BELOW_CORES.contains(&name) {
                let what = format!("the core `{}` brings in `{name}`", member.name);
                let remedy =
                    format!("find the way with `cargo tree -p {} -i {name}` and cut it", member.name);
                findings.push(Finding::error(&manifest, 1, what, &remedy));
            }
        }
        for name in NEVER_BY_CORES.iter().filter(|name| member.uses.iter().any(|used| used == *name)) {
            let what = format!("the core `{}` uses `{name}`", member.name);
            findings.push(Finding::error(&manifest, 1, what, "let the driver pass in what the system knows"));
        }
    }
    if TRANSPORT_NEUTRAL.contains(&member.name.as_str()) {
        for name in tree.iter().map(|entry| crate_name(entry)).filter(|name| SCTP_CRATES.contains(name)) {
            let what = format!("`{}` depends on `{name}`", member.name);
            findings.push(Finding::error(&manifest, 1, what, "join the two in an app or in the lab"));
        }
    }
    findings
}

/// Returns a finding if a package brings along more crates than it may.
fn budget(member: &Member, tree: &Tree) -> Option<Finding> {
    let (_, most) = BUDGETS.iter().find(|(name, _)| *name == member.name)?;
    if tree.len() <= *most {
        return None;
    }
    let list = tree.iter().cloned().collect::<Vec<_>>().join(", ");
    let what = format!("`{}` brings along {} crates, {most} are allowed: {list}", member.name, tree.len());
    Some(Finding::error(
        &member.manifest(),
        1,
        what,
        "turn off default features or do without the newest one",
    ))
}

/// Returns a finding if a core lacks the lints that keep clocks, threads and sockets out.
fn core_lints(member: &Member, sources: &Sources) -> Option<Finding> {
    let path = member.folder.join("clippy.toml");
    let expected = sources.find(Path::new(CORE_CLIPPY)).map(|source| &source.text);
    let found = sources.find(&path).map(|source| &source.text);
    if found.is_some() && found == expected {
        return None;
    }
    let what = match found {
        Some(_) => format!("differs from {CORE_CLIPPY}"),
        None => "is missing, so nothing keeps clocks, threads and sockets out of this core".to_owned(),
    };
    Some(Finding::error(&path, 1, what, &format!("cp {CORE_CLIPPY} {}", path.display())))
}

/// Returns a finding for each crate root that does not forbid `unsafe`.
fn unsafe_code(member: &Member, sources: &Sources) -> Vec<Finding> {
    member
        .roots
        .iter()
        .filter(|root| !sources.find(root).is_some_and(forbids_unsafe))
        .map(|root| {
            let what = "the crate root does not forbid unsafe code".to_owned();
            Finding::error(root, 1, what, "write `#![forbid(unsafe_code)]` below the crate's documentation")
        })
        .collect()
}

fn forbids_unsafe(source: &Source) -> bool {
    let Rust::Parsed(file) = &source.rust else { return false };
    file.attrs.iter().any(|attribute| {
        let names_it = |list: syn::Path| list.is_ident("unsafe_code");
        attribute.path().is_ident("forbid") && attribute.parse_args::<syn::Path>().is_ok_and(names_it)
    })
}

#[cfg(test)]
mod tests;
