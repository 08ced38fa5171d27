use std::path::Path;

use super::check;
use crate::sources::{Source, Sources};

fn found(channel: &str, manifest: &str) -> usize {
    let toolchain = format!("[toolchain]\nchannel = \"{channel}\"\n");
    let files = [("rust-toolchain.toml", toolchain.as_str()), ("Cargo.toml", manifest)];
    let files = files.iter().map(|(path, text)| Source::new(Path::new(path), (*text).to_owned())).collect();
    check(&Sources { files }).len()
}

#[test]
fn another_version_than_the_toolchains_is_found() {
    for manifest in ["[workspace.package]\nrust-version = \"1.95\"\n", "[package]\nrust-version = \"1.95\"\n"]
    {
        assert_eq!(found("1.95.0", manifest), 0, "{manifest}");
        assert_eq!(found("1.9.0", manifest), 1, "{manifest}");
        assert_eq!(found("1.96.1", manifest), 1, "{manifest}");
    }
}

#[test]
fn an_inherited_version_is_looked_at_where_it_is_written() {
    assert_eq!(found("1.95.0", "[package]\nrust-version.workspace = true\n"), 0);
    assert_eq!(found("1.95.0", "[package]\nname = \"x\"\n"), 0);
}

#[test]
fn an_older_version_is_promised_only_where_it_is_checked() {
    let library = |oldest: &str| {
        format!("[package]\nrust-version = \"1.93\"\n[workspace.metadata]\noldest-rust = \"{oldest}\"\n")
    };
    assert_eq!(found("1.95.0", &library("1.93")), 0);
    assert_eq!(found("1.95.0", &library("1.94")), 1);
}
