//! `headway campaign`, and `headway simulate --store`: both are handed over to the Python package (docs/decisions/0066).

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;

use crate::arguments::parse_seed;
use crate::failure::{CommandError, Failure};
use crate::output::OutputArguments;

/// A plan with many seeds, on processes of this machine or on a Dask cluster, into a dataset that is resumed
///
/// What the folder of --store has is not run again; docs/campaigns.md. Done by the Python package headway.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  headway campaign plans/response-time.toml --store results --scheduler tcp://192.0.2.1:8786"
)]
pub(crate) struct Arguments {
    /// The plan, a TOML file
    #[arg(value_name = "PLAN.toml")]
    plan: PathBuf,
    /// Folder of the Parquet dataset: made if need be, and gone on with
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// A Dask scheduler to run on [default: processes of this machine]
    #[arg(long, value_name = "ADDRESS")]
    scheduler: Option<String>,
    /// Run every cell with so many seeds, from --seed on, instead of those of the plan
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: Option<u64>,
    /// The first seed of --seeds
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed, requires = "seeds")]
    seed: u64,
    /// Processes on this machine [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// The Python that has the package headway
    #[arg(long, value_name = "PROGRAM", default_value = PYTHON)]
    python: PathBuf,
    #[command(flatten)]
    output: OutputArguments,
}

/// What the Python package is asked for.
pub(crate) struct Handover<'a> {
    pub(crate) plan: &'a Path,
    pub(crate) store: &'a Path,
    pub(crate) scheduler: Option<&'a str>,
    /// The first seed, and how many.
    pub(crate) seeds: Option<(u64, u64)>,
    pub(crate) jobs: Option<u16>,
    pub(crate) python: &'a Path,
    pub(crate) output: &'a OutputArguments,
}

/// The reason why nothing was handed over.
#[derive(Debug, thiserror::Error)]
enum HandoverError {
    #[error("--python '{}' cannot be run: {error}; name a Python of version 3.10 or newer", python.display())]
    Python { python: PathBuf, error: io::Error },
    #[error("campaigns need the Python package headway, which {} does not have ({because}): {} -m pip install './bindings/python[dask]' in the repository, \
             or name another one by --python", python.display(), python.display())]
    Package { python: PathBuf, because: String },
}

impl CommandError for HandoverError {}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let handover = Handover {
        plan: &arguments.plan,
        store: &arguments.store,
        scheduler: arguments.scheduler.as_deref(),
        seeds: arguments.seeds.map(|count| (arguments.seed, count)),
        jobs: arguments.jobs,
        python: &arguments.python,
        output: &arguments.output,
    };
    handover.run()
}

impl Handover<'_> {
    /// Becomes the Python package, whose exit statuses are those of this program; returns only if there is none.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        self.check()?;
        let error = Command::new(self.python).args(["-m", MODULE]).args(self.arguments()).exec();
        Err(HandoverError::Python { python: self.python.to_owned(), error }.into())
    }

    fn check(&self) -> Result<(), HandoverError> {
        let mut import = Command::new(self.python);
        import.args(["-c", &format!("import {MODULE}._store")]).stdin(Stdio::null());
        let tried = import.output();
        let tried = tried.map_err(|error| HandoverError::Python { python: self.python.to_owned(), error })?;
        if tried.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&tried.stderr);
        let because = said.lines().last().unwrap_or("it says nothing").to_owned();
        Err(HandoverError::Package { python: self.python.to_owned(), because })
    }

    fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec![self.plan.into(), "--store".into(), self.store.into()];
        let mut option = |name: &str, value: Option<OsString>| {
            if let Some(value) = value {
                arguments.extend([name.into(), value]);
            }
        };
        option("--scheduler", self.scheduler.map(Into::into));
        option("--seed", self.seeds.map(|(first, _)| first.to_string().into()));
        option("--seeds", self.seeds.map(|(_, count)| count.to_string().into()));
        option("--jobs", self.jobs.map(|jobs| jobs.to_string().into()));
        arguments.extend(self.output.handed_over());
        arguments
    }
}

/// The Python that most systems have.
pub(crate) const PYTHON: &str = "python3";
const MODULE: &str = "headway.campaign";
