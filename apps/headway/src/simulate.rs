//! `headway simulate`: a plan in virtual time, or on real packets.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use lab::plan::{Plan, PlanError, PlanWorld, RunOptions, SimulationResult, write_plan_report};
use lab::report::Room;
use lab::simulation::SimulationError;
use lab::{Conditions, StopSignal, report};
use serde::Serialize;

use crate::arguments::parse_seed;
use crate::campaign::{Handover, PYTHON};
use crate::failure::{CommandError, Failure, FolderError, Interrupted};
use crate::interrupt;
use crate::origin::origin;
use crate::output::{Output, OutputArguments, OutputError, check_folder};
use crate::progress::Bar;
use crate::rights::Rights;
use crate::terminal;

/// A plan in the simulator: hosts, routers, links, flows, every combination of levels with every seed
///
/// Virtual time; a run is a function of the plan and its seed. docs/plans.md says what a plan can say; the folder plans/ has
/// some.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  headway simulate plans/response-time.toml --seeds 3 --out results")]
pub(crate) struct Arguments {
    /// The plan, a TOML file
    #[arg(value_name = "PLAN.toml")]
    plan: PathBuf,
    /// The world to run in: simulator (virtual time), or namespaces (real packets, kernel TCP and our SCTP;
    /// plans of two hosts and one link)
    #[arg(long, value_name = "NAME", default_value = "simulator")]
    world: PlanWorld,
    /// Read the plan and say what is wrong with it, with line and key, and run nothing
    #[arg(long)]
    check: bool,
    /// Run every cell with so many seeds, from --seed on, instead of those of the plan
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    seeds: Option<u64>,
    /// The first seed of --seeds
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed, requires = "seeds")]
    seed: u64,
    /// Runs at the same time [default: one per core; in namespaces as many as send 5000 messages a second together]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Folder for report.html, results.json and cells.csv
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write a row for each run into the Parquet dataset in this folder, and go on with what is there: a campaign on
    /// this machine (headway campaign)
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "world", "check"])]
    store: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

/// The reason why a plan was not run to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SimulateError {
    #[error("--world 'namespaces' is refused: {0}; or use --world simulator")]
    Refused(String),
    #[error("the plan cannot be run with --world '{}': {error}", world.name())]
    Run { world: PlanWorld, error: SimulationError },
    #[error("not a full success: flows ended early; see \"because\" in the result")]
    Flows,
}

impl CommandError for SimulateError {}

/// The reason why a file is no plan.
#[derive(Debug, thiserror::Error)]
enum PlanFileError {
    #[error("PLAN '{}' cannot be read: {error}; name a TOML file", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("{}: {error}", path.display())]
    Plan { path: PathBuf, error: PlanError },
}

impl CommandError for PlanFileError {
    fn exit_status(&self) -> u8 {
        2
    }
}

/// The result of `--check`.
#[derive(Debug, Serialize)]
struct Checked {
    headway: &'static str,
    plan: String,
    cells: usize,
    runs: usize,
}

pub(crate) fn run(arguments: &Arguments, rights: Rights) -> Result<(), Failure> {
    if let Some(store) = &arguments.store {
        return arguments.handover(store).run();
    }
    let plan = arguments.read()?;
    let output = arguments.output.open()?;
    if arguments.check {
        return Ok(report_check(&output, &plan)?);
    }
    if let Some(folder) = &arguments.out {
        check_folder(folder).map_err(|error| FolderError { path: folder.clone(), error })?;
    }
    if arguments.wants_namespaces() {
        rights.permission().map_err(SimulateError::Refused)?;
    }
    let origin = origin();
    let stop = StopSignal::default();
    interrupt::stop_on_interrupt(&stop);
    let jobs = arguments.jobs.map(usize::from);
    let options = RunOptions { world: arguments.world, stop, jobs, ..RunOptions::default() };
    options.progress.expect(plan.cells.len() * plan.seeds.len());
    let bar = Bar::of_runs(&arguments.output, &options.progress);
    let outcome = plan.run(&options);
    bar.finish();
    let outcome = outcome.map_err(|error| SimulateError::Run { world: arguments.world, error })?;
    let result = SimulationResult::new(&plan, &outcome);
    let page = report::plan(&result, &Conditions { origin, ..Conditions::of_this_host() });
    let written = arguments.out.as_ref().map(|folder| {
        let written = report::html(&page.title, &[&page]).map_err(io::Error::other);
        let written = written.and_then(|html| std::fs::write(folder.join("report.html"), html));
        let written = written.and_then(|()| write_plan_report(folder, &result));
        written.map_err(|error| FolderError { path: folder.clone(), error })
    });
    let room = Room { columns: terminal::columns(), all: "--json" };
    output.write(&report::text(&page, room), &result)?;
    written.transpose()?;
    if options.stop.is_raised() {
        return Err(Interrupted(": these are the runs until then").into());
    }
    if result.cells.iter().any(|cell| cell.metrics.contains_key("because")) {
        Err(SimulateError::Flows.into())
    } else {
        Ok(())
    }
}

impl Arguments {
    /// Returns whether network namespaces are needed.
    pub(crate) fn wants_namespaces(&self) -> bool {
        !self.check && self.world == PlanWorld::Namespaces
    }

    /// Returns what a campaign on this machine is asked for.
    fn handover<'a>(&'a self, store: &'a Path) -> Handover<'a> {
        Handover {
            plan: &self.plan,
            store,
            scheduler: None,
            seeds: self.seeds.map(|count| (self.seed, count)),
            jobs: self.jobs,
            python: Path::new(PYTHON),
            output: &self.output,
        }
    }

    fn read(&self) -> Result<Plan, PlanFileError> {
        let text = std::fs::read_to_string(&self.plan);
        let text = text.map_err(|error| PlanFileError::Unreadable { path: self.plan.clone(), error })?;
        let mut plan =
            Plan::parse(&text).map_err(|error| PlanFileError::Plan { path: self.plan.clone(), error })?;
        if let Some(count) = self.seeds {
            plan.seeds = (self.seed..self.seed.saturating_add(count)).collect();
        }
        Ok(plan)
    }
}

fn report_check(output: &Output, plan: &Plan) -> Result<(), OutputError> {
    let (cells, runs) = (plan.cells.len(), plan.cells.len() * plan.seeds.len());
    let text = format!("{}: {cells} cells, {runs} runs, nothing wrong\n", plan.title);
    let checked = Checked { headway: env!("CARGO_PKG_VERSION"), plan: plan.title.clone(), cells, runs };
    output.write(&text, &checked)
}
