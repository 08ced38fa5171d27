use std::path::PathBuf;
use std::process::Command;

use super::{Standing, baseline, check, git, moved, said, standing, write};
use crate::sources::Sources;

/// A repository with one commit, whose manifest names no commit that there is.
struct Repository(PathBuf);

impl Repository {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("headway-api-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let repository = Self(root);
        repository.run(&["init", "--quiet"]);
        let manifest = format!("[workspace.metadata]\napi-baseline = \"{}\"\n", "0".repeat(40));
        repository.commit("Cargo.toml", &manifest);
        repository
    }

    fn run(&self, arguments: &[&str]) -> String {
        let identity = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"];
        let output =
            Command::new("git").current_dir(&self.0).args(identity).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        said(&output)
    }

    fn commit(&self, file: &str, text: &str) -> String {
        std::fs::write(self.0.join(file), text).unwrap();
        self.run(&["add", "."]);
        self.run(&["commit", "--quiet", "-m", file]);
        self.run(&["rev-parse", "HEAD"])
    }

    /// Moves the baseline; what is wrong with that, or nothing.
    fn move_baseline(&self) -> Vec<String> {
        let findings = write(&self.0, &Sources::load(&self.0)).unwrap();
        findings.into_iter().map(|finding| finding.what).collect()
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        // The folder of a test may stay where it cannot be removed.
        let _removed = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn baseline_moves_to_a_commit_and_again_once_the_changelog_says_why() {
    let repository = Repository::new("moves");
    let first = repository.run(&["rev-parse", "HEAD"]);
    assert_eq!(repository.move_baseline(), Vec::<String>::new());
    assert_eq!(baseline(&Sources::load(&repository.0)), Some(first));
    assert_eq!(repository.move_baseline().len(), 1, "not committed");
    repository.run(&["commit", "--quiet", "-a", "-m", "baseline"]);
    repository.commit("lib.rs", "pub fn other() {}");
    let refused = repository.move_baseline();
    assert!(refused[0].starts_with("nothing was said since"), "{refused:?}");
    let second = repository.commit("CHANGELOG.md", "* `other` instead of `one`.");
    assert_eq!(repository.move_baseline(), Vec::<String>::new());
    assert_eq!(baseline(&Sources::load(&repository.0)), Some(second));
}

#[test]
fn commits_that_are_missing_or_on_another_line_of_history_are_told_apart() {
    let repository = Repository::new("standing");
    let ask = |commit: &str| standing(commit, |arguments| git(&repository.0, arguments)).unwrap();
    let first = repository.run(&["rev-parse", "HEAD"]);
    let left = repository.commit("left", "");
    repository.run(&["reset", "--quiet", "--hard", &first]);
    repository.commit("right", "");
    assert_eq!(ask(&first), Standing::Known);
    assert_eq!(ask(&left), Standing::Elsewhere);
    assert_eq!(ask(&"0".repeat(40)), Standing::Missing);
}

#[test]
fn history_without_the_baseline_is_an_error_and_not_passed_over() {
    let repository = Repository::new("missing");
    let found = check(&repository.0, &Sources::load(&repository.0)).unwrap();
    assert_eq!(found.len(), 1);
    let what = &found[0].what;
    assert!(what.contains("this clone does not hold") || what.contains("is not installed"), "{what}");
}

#[test]
fn only_the_line_of_the_baseline_is_written_anew() {
    let manifest = "[workspace.metadata]\noldest-rust = \"1.93\"\napi-baseline = \"a\"\n\n[profile.dev]\n";
    let expected = manifest.replace("\"a\"", "\"b\"");
    assert_eq!(moved(manifest, "b").as_deref(), Some(&*expected));
    assert_eq!(moved("[workspace.metadata]\n", "b"), None);
    assert_eq!(baseline(&Sources { files: Vec::new() }), None);
}
