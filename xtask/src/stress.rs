//! One test, many rounds, on a machine that is busy: `cargo xtask stress PACKAGE TEST`.
//!
//! A test that passes on a quiet machine and fails on a busy one costs everybody time. Here it runs beside loops that
//! take every core twice, beside processes that come and go, and its own processes are stopped and continued at any
//! moment, so that every wait of its may be interrupted, late, or both.
//!
//! | module | owns |
//! |---|---|
//! | `load` | the busy loops and the processes that come and go |
//! | `processes` | which processes belong to a test, and stopping and continuing them |

mod load;
mod processes;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use cargo_metadata::Message;

use self::load::Load;
use self::processes::Interrupter;
use crate::finding::print_line;

/// The options of a stress run: what to run, how often and beside what.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Options {
    /// The package the test belongs to
    package: String,
    /// A part of the names of the tests; they run together, as `cargo test` runs them
    test: String,
    /// How often they run
    #[arg(long, default_value_t = 100)]
    rounds: u32,
    /// Loops that do nothing but keep a core busy [default: two for each core]
    #[arg(long)]
    loops: Option<usize>,
    /// Seconds after which a round that still runs has failed
    #[arg(long, default_value_t = 300)]
    limit: u64,
    /// Run the tests as built with --release
    #[arg(long)]
    release: bool,
}

/// The reason why there were no rounds.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StressError {
    /// A program could not be started or spoken with.
    #[error("`{program}`: {source}")]
    Run {
        /// The program that was to be started.
        program: String,
        /// The error that the operating system returned.
        source: io::Error,
    },
    /// The tests do not compile.
    #[error("`cargo test --no-run --package {0}` failed; what it says is above")]
    Build(String),
    /// No test matches the name.
    #[error(
        "no test of {package} has `{test}` in its name; `cargo test -p {package} -- --list` names all of them"
    )]
    NoTest {
        /// The package looked at.
        package: String,
        /// The name that was looked for.
        test: String,
    },
}

/// A program with at least one of the tests.
#[derive(Debug)]
struct Binary {
    program: PathBuf,
    /// The package's folder: cargo starts tests there.
    folder: PathBuf,
}

/// How a round failed.
enum Failure {
    Status(ExitStatus),
    TooLong,
}

/// Runs the rounds and prints those that failed with what they said; how many those were.
pub(crate) fn run(options: &Options) -> Result<usize, StressError> {
    let binaries = binaries(options)?;
    let loops = options.loops.unwrap_or_else(|| 2 * load::cores());
    let (rounds, names) = (options.rounds, binaries.len());
    print_line(&format!("{rounds} rounds of {names} program(s) beside {loops} busy loops"));
    let load = Load::start(loops);
    let said = std::env::temp_dir().join(format!("headway-stress-{}", std::process::id()));
    let (mut failed, start) = (Vec::new(), Instant::now());
    for round in 1..=rounds {
        for binary in &binaries {
            let Some(failure) = once(options, binary, round, &said)? else { continue };
            let how = match failure {
                Failure::Status(status) => status.to_string(),
                Failure::TooLong => format!("still running after {} s", options.limit),
            };
            let text = fs::read(&said).unwrap_or_default();
            print_line(&format!("--- round {round} failed: {how}\n{}", String::from_utf8_lossy(&text)));
            failed.push(round);
        }
    }
    failed.dedup();
    drop(load);
    // Nothing to clear where no round came to write.
    let _absent = fs::remove_file(&said);
    let seconds = start.elapsed().as_secs_f64();
    let which = failed.iter().map(|round| format!(" {round}")).collect::<String>();
    let colon = if failed.is_empty() { "" } else { ":" };
    print_line(&format!("{} of {rounds} rounds failed{colon}{which} ({seconds:.1} s)", failed.len()));
    Ok(failed.len())
}

/// Runs a binary once; what it says goes to the file `said`.
fn once(options: &Options, binary: &Binary, round: u32, said: &Path) -> Result<Option<Failure>, StressError> {
    let failed = |source| StressError::Run { program: binary.program.display().to_string(), source };
    let output = File::create(said).map_err(failed)?;
    let mut child = Command::new(&binary.program)
        .arg(&options.test)
        .current_dir(&binary.folder)
        .env("CARGO_MANIFEST_DIR", &binary.folder)
        .stdin(Stdio::null())
        .stdout(output.try_clone().map_err(failed)?)
        .stderr(output)
        .spawn()
        .map_err(failed)?;
    let deadline = Instant::now() + Duration::from_secs(options.limit);
    let mut interrupter = Interrupter::new(child.id(), round);
    loop {
        // The child is asked first: a process that has been waited for is never signalled.
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok((!status.success()).then_some(Failure::Status(status)));
        }
        if Instant::now() > deadline {
            interrupter.kill();
            child.wait().map_err(failed)?;
            return Ok(Some(Failure::TooLong));
        }
        interrupter.turn();
    }
}

/// Builds the tests of the package and finds the programs that have one of those asked for.
fn binaries(options: &Options) -> Result<Vec<Binary>, StressError> {
    let mut command = Command::new("cargo");
    command.args(["test", "--no-run", "--message-format=json-render-diagnostics", "--package"]);
    command.arg(&options.package).stdout(Stdio::piped()).stderr(Stdio::inherit());
    if options.release {
        command.arg("--release");
    }
    let cargo = |source| StressError::Run { program: "cargo".to_owned(), source };
    let output = command.output().map_err(cargo)?;
    if !output.status.success() {
        return Err(StressError::Build(options.package.clone()));
    }
    let mut found = Vec::new();
    for (program, folder) in programs(&output.stdout) {
        let failed = |source| StressError::Run { program: program.display().to_string(), source };
        let list = Command::new(&program).args(["--list", "--format", "terse", &options.test]).output();
        if names_a_test(&String::from_utf8_lossy(&list.map_err(failed)?.stdout)) {
            found.push(Binary { program, folder });
        }
    }
    if found.is_empty() {
        let (package, test) = (options.package.clone(), options.test.clone());
        return Err(StressError::NoTest { package, test });
    }
    Ok(found)
}

/// Returns the test programs in what cargo says while it builds, with the folder of their package.
fn programs(json: &[u8]) -> BTreeMap<PathBuf, PathBuf> {
    let program = |message: io::Result<Message>| {
        let Ok(Message::CompilerArtifact(artifact)) = message else { return None };
        let folder = artifact.manifest_path.parent()?.as_std_path().to_owned();
        let is_test = artifact.profile.test;
        artifact.executable.filter(|_| is_test).map(|program| (program.into_std_path_buf(), folder))
    };
    Message::parse_stream(json).filter_map(program).collect()
}

/// Returns whether the terse list of a test program, with a filter, has an entry.
fn names_a_test(list: &str) -> bool {
    list.lines().any(|line| line.ends_with(": test"))
}

#[cfg(test)]
mod tests;
