//! `headway demo handover`: an association that follows its host from network to network, watched.

mod hosts;
mod network;
mod page;
mod record;
mod scene;
mod view;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use clap::Args;
use lab::report::{self, Room};
use lab::{Origin, StopSignal};

use crate::arguments::{UsageError, format_duration, parse_positive_duration, parse_seed};
use crate::failure::{CommandError, Failure, Interrupted};
use crate::origin::origin;
use crate::output::{Output, OutputArguments, check_file};
use crate::rights::Rights;
use crate::{interrupt, terminal};
use hosts::{Happening, Told};
use page::Answer;
use record::Record;
use scene::{Cue, Scene, SceneError, Script};

/// Frames of a video reach a mobile host, which goes from network to network with its association
///
/// The mobile host has two interfaces: network 1, a mobile network with a round trip of 200 ms, and network 2, a WLAN with 30 ms, which its
/// policy prefers. On a terminal the keys 1 and 2 switch an interface off and on, as `ip link set` does, and q ends; without one, or with
/// --plain, the WLAN comes, goes and comes back by itself. Both hosts are network namespaces, made without root rights where the
/// kernel allows it; nothing stays behind.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  headway demo handover --html handover.html")]
pub(crate) struct Arguments {
    /// Write a page with a picture to this file: the delay of each frame, the network it came by, and the movements
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// How long it goes on: 12s by default without a terminal, until q is pressed on one
    #[arg(long, value_name = "DURATION", value_parser = parse_positive_duration)]
    duration: Option<Duration>,
    /// Print what happens in lines, and let the networks come and go by themselves, on a terminal, too
    #[arg(long)]
    plain: bool,
    /// Seed of the sizes of frames
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    seed: u64,
    #[command(flatten)]
    output: OutputArguments,
}

/// The reason why the demonstration did not run, or not well.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    #[error("cannot make networks here: {0}")]
    Refused(String),
    #[error("the demonstration failed: {0}")]
    Scene(String),
    #[error("the terminal cannot be drawn on: {0}; --plain prints lines instead")]
    Terminal(io::Error),
    #[error("--html '{}' cannot be written: {error}; name a file in a writable folder", path.display())]
    Html { path: PathBuf, error: io::Error },
}

impl CommandError for DemoError {}

impl From<SceneError> for DemoError {
    fn from(error: SceneError) -> Self {
        Self::Scene(error.to_string())
    }
}

impl Arguments {
    fn html_error(&self, error: io::Error) -> DemoError {
        DemoError::Html { path: self.html.clone().unwrap_or_default(), error }
    }

    /// Returns how long it goes on; `None` for as long as somebody watches.
    fn length(&self, is_watched: bool) -> Result<Option<Duration>, UsageError> {
        let duration = self.duration.or((!is_watched).then_some(USUAL_LENGTH));
        match duration {
            Some(duration) if !(SHORTEST..=LONGEST).contains(&duration) => {
                let because = "the networks need time to come and go";
                Err(UsageError::value(
                    "--duration",
                    format_duration(duration),
                    because,
                    "write from 1s to 1h",
                ))
            }
            other => Ok(other),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, rights: Rights) -> Result<(), Failure> {
    let is_watched = !arguments.plain
        && !arguments.output.is_quiet()
        && !arguments.output.is_json_printed()
        && io::stdout().is_terminal()
        && io::stdin().is_terminal();
    let length = arguments.length(is_watched)?;
    let output = arguments.output.open()?;
    if let Some(path) = &arguments.html {
        check_file(path).map_err(|error| arguments.html_error(error))?;
    }
    let _granted = rights.permission().map_err(DemoError::Refused)?;
    let origin = origin();
    let stop = StopSignal::default();
    interrupt::stop_on_interrupt(&stop);
    let scene = Scene::begin(arguments.seed).map_err(DemoError::from)?;
    let mut record = Record::default();
    if is_watched {
        view::watch(&scene, &mut record, length, &stop).map_err(DemoError::Terminal)?;
    } else {
        listen(&scene, &mut record, length.unwrap_or(USUAL_LENGTH), &output, &stop)?;
    }
    conclude(arguments, &output, &record, &origin)?;
    scene.finish().map_err(DemoError::from)?;
    if stop.is_raised() { Err(Interrupted("").into()) } else { Ok(()) }
}

/// Prints what happens, by the script, until both hosts have ended.
fn listen(
    scene: &Scene,
    record: &mut Record,
    length: Duration,
    output: &Output,
    stop: &StopSignal,
) -> Result<(), Failure> {
    let mut script = Script::new(length);
    let mut is_ending = false;
    loop {
        match scene.told.recv_timeout(TICK) {
            Ok(told) => {
                is_ending |= end_if_over(scene, &told);
                let at = told.at.as_secs_f64();
                for line in record.take_in(told) {
                    output.tell(&format!("{at:7.3} s  {line}\n"))?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        if is_ending {
            continue;
        }
        match script.next(scene.elapsed(), record) {
            Cue::Switch(network, state) => scene.switch(network, state),
            Cue::Wait if !stop.is_raised() => {}
            Cue::Wait | Cue::End => {
                is_ending = true;
                scene.end();
            }
        }
    }
}

/// Lets the other host end, too, when one has; returns whether that is so.
fn end_if_over(scene: &Scene, told: &Told) -> bool {
    let is_over = matches!(told.what, Happening::Over);
    if is_over {
        scene.end();
    }
    is_over
}

/// Says how it went: as text, as JSON, and as a page.
fn conclude(arguments: &Arguments, output: &Output, record: &Record, origin: &Origin) -> Result<(), Failure> {
    let answer = Answer::new(record, origin);
    let page = page::page(record, origin);
    let room = Room { columns: terminal::columns(), all: "--json" };
    let mut words = page.clone();
    words.tables.retain(|table| table.title != page::LOG);
    output.write(&format!("\n{}", report::text(&words, room)), &answer)?;
    if let Some(path) = &arguments.html {
        let html = report::lone_html(page::TITLE, &page).map_err(io::Error::other);
        let written = html.and_then(|html| std::fs::write(path, html));
        written.map_err(|error| arguments.html_error(error))?;
    }
    Ok(())
}

const USUAL_LENGTH: Duration = Duration::from_secs(12);
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(3600);
const TICK: Duration = Duration::from_millis(20);
