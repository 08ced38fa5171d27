use std::path::{Path, PathBuf};
use std::{fs, process};

use super::check;
use crate::sources::Sources;

/// A repository with a crate of a workspace of its own, in a folder that goes when it is dropped.
struct Repository(PathBuf);

impl Repository {
    /// Makes it in a folder of its own, with a crate whose lock file names `locked` and whose manifest uses `used`.
    fn new(name: &str, used: &str, locked: &str) -> Self {
        let root = std::env::temp_dir().join(format!("headway-locks-{name}-{}", process::id()));
        let package = |name: &str| {
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n")
        };
        let lock = "version = 4\n\n[[package]]\nname = \"inner\"\nversion = \"0.1.0\"\n";
        for (path, text) in [
            ("Cargo.lock", "not looked at".to_owned()),
            ("inner/src/lib.rs", String::new()),
            ("inner/Cargo.toml", package("inner")),
            ("outer/src/lib.rs", String::new()),
            ("outer/Cargo.toml", format!("{}[dependencies]\n{used}", package("outer"))),
            (
                "outer/Cargo.lock",
                format!("{lock}\n[[package]]\nname = \"outer\"\nversion = \"0.1.0\"\n{locked}"),
            ),
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(root)
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn a_lock_file_that_agrees_is_not_found() {
    let inner = "inner = { path = \"../inner\" }\n";
    let repository = Repository::new("new", inner, "dependencies = [\n \"inner\",\n]\n");
    assert_eq!(check(&repository.0, &Sources::load(&repository.0)).unwrap(), []);
}

#[test]
fn a_lock_file_without_a_new_dependency_is_found_and_the_command_that_mends_it_named() {
    let repository = Repository::new("old", "inner = { path = \"../inner\" }\n", "");
    let found = check(&repository.0, &Sources::load(&repository.0)).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, Path::new("outer/Cargo.lock"));
    assert!(found[0].what.contains("older"), "{}", found[0].what);
    assert_eq!(found[0].remedy, "run `cargo update --workspace --manifest-path outer/Cargo.toml`");
}
