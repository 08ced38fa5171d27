//! Tells the program which commit it is built from.

use std::process::Command;

fn main() {
    // Sources without a repository may lie within another project's.
    let is_ours = git(&["rev-parse", "--show-prefix"]).is_some_and(|prefix| prefix == "apps/headway/");
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).filter(|_| is_ours);
    println!("cargo:rustc-env=HEADWAY_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    println!("cargo:rerun-if-changed=build.rs");
    // The first changes with a checkout, the second with a commit as well.
    let parts = ["HEAD", "logs/HEAD"].into_iter().filter_map(|part| git(&["rev-parse", "--git-path", part]));
    for path in parts.filter(|path| std::path::Path::new(path).exists()) {
        println!("cargo:rerun-if-changed={path}");
    }
}

/// What git says; `None` outside a repository, or without git.
fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
