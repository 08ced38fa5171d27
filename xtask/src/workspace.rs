//! The knowledge of cargo about the workspace: members, their direct dependencies, their whole dependency
//! trees.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// The workspace as `cargo metadata` describes it.
pub(crate) struct Workspace {
    /// The repository's folder.
    pub(crate) root: PathBuf,
    /// The members of the workspace.
    pub(crate) members: Vec<Member>,
}

/// One crate of ours.
#[derive(Clone, Debug, Default)]
pub(crate) struct Member {
    /// The package's name.
    pub(crate) name: String,
    /// The folder of the crate, relative to the repository.
    pub(crate) folder: PathBuf,
    /// Names of direct normal and build dependencies, development dependencies left out.
    pub(crate) uses: Vec<String>,
    /// Root files of the library and binaries, relative to the repository.
    pub(crate) roots: Vec<PathBuf>,
}

/// A crate in a dependency tree, as `name version`.
pub(crate) type Tree = BTreeSet<String>;

/// The reason why the workspace could not be looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkspaceError {
    /// `cargo metadata` failed.
    #[error("cargo metadata: {0}")]
    Metadata(#[from] cargo_metadata::Error),
    /// A program could not be started.
    #[error("could not start `{program}`: {source}")]
    Start {
        /// The program that was to be started.
        program: String,
        /// The error that the operating system returned.
        source: io::Error,
    },
    /// A program of the workspace failed.
    #[error("`{program}` failed: {message}")]
    Failed {
        /// The program that failed.
        program: String,
        /// The lines that it printed.
        message: String,
    },
    /// `cargo tree` failed.
    #[error("cargo tree -p {package}: {message}")]
    Tree {
        /// The package asked for.
        package: String,
        /// The message of cargo.
        message: String,
    },
}

impl Workspace {
    /// Asks cargo about the workspace of the current folder.
    pub(crate) fn load() -> Result<Self, WorkspaceError> {
        let metadata = MetadataCommand::new().no_deps().exec()?;
        let root = metadata.workspace_root.as_std_path().to_owned();
        let members = metadata.packages.iter().map(|package| Member::new(package, &root)).collect();
        Ok(Self { root, members })
    }

    /// Returns all crates that `package` needs at run time with its default features, itself left out;
    /// procedural macros and what only they need are not counted.
    pub(crate) fn normal_tree(&self, package: &str) -> Result<Tree, WorkspaceError> {
        let output = Command::new("cargo")
            .current_dir(&self.root)
            .args(["tree", "--package", package, "--edges", "normal,no-proc-macro", "--prefix", "none"])
            .output()
            .map_err(|source| WorkspaceError::Start { program: "cargo tree".to_owned(), source })?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(WorkspaceError::Tree { package: package.to_owned(), message });
        }
        Ok(parse_tree(&String::from_utf8_lossy(&output.stdout)))
    }
}

impl Member {
    fn new(package: &Package, root: &Path) -> Self {
        let relative = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_owned();
        let folder = package.manifest_path.parent().map_or(Path::new(""), |folder| folder.as_std_path());
        let ships = |target: &&cargo_metadata::Target| {
            target.is_bin() || target.is_lib() || target.is_cdylib() || target.is_staticlib()
        };
        Self {
            name: package.name.to_string(),
            folder: relative(folder),
            uses: package
                .dependencies
                .iter()
                .filter(|dependency| dependency.kind != DependencyKind::Development)
                .map(|dependency| dependency.name.clone())
                .collect(),
            roots: package
                .targets
                .iter()
                .filter(ships)
                .map(|target| relative(target.src_path.as_std_path()))
                .collect(),
        }
    }

    /// Returns the member's Cargo.toml, relative to the repository.
    pub(crate) fn manifest(&self) -> PathBuf {
        self.folder.join("Cargo.toml")
    }
}

/// Reads `cargo tree --prefix none`: the first line is the package itself, the others `name vVERSION …`.
fn parse_tree(text: &str) -> Tree {
    let names = |line: &str| {
        let mut words = line.split_whitespace();
        Some(format!("{} {}", words.next()?, words.next()?))
    };
    text.lines().skip(1).filter_map(names).collect()
}

/// Returns the name in a `name version` line.
pub(crate) fn crate_name(entry: &str) -> &str {
    entry.split(' ').next().unwrap_or(entry)
}

#[cfg(test)]
mod tests;
