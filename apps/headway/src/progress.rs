//! Bars on the terminal while something runs that takes more than a second.

use std::io::IsTerminal;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use lab::plan::Progress as Count;

use crate::output::OutputArguments;

/// A bar, drawn by a thread of its own; gone when finished. Nothing is drawn in the first second, nor where nobody looks.
pub(crate) struct Bar {
    drawing: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Bar {
    /// Creates a bar for something that takes `expected`, or is of unknown length.
    pub(crate) fn of_time(output: &OutputArguments, expected: Option<Duration>) -> Self {
        Self::start(output, move |finished| {
            let started = Instant::now();
            let bar = time_bar(expected.map(|expected| expected.saturating_sub(PATIENCE)));
            until(finished, || advance(&bar, started.elapsed()));
            bar.finish_and_clear();
        })
    }

    /// Creates a bar over runs that are counted.
    pub(crate) fn of_runs(output: &OutputArguments, count: &Count) -> Self {
        let count = count.clone();
        Self::start(output, move |finished| {
            let bar = styled(ProgressBar::new(0), "{bar:40} {pos}/{len} runs, {eta} left");
            until(finished, || {
                let (done, all) = count.get();
                bar.set_length(u64::try_from(all).unwrap_or(u64::MAX));
                bar.set_position(u64::try_from(done).unwrap_or(u64::MAX));
            });
            bar.finish_and_clear();
        })
    }

    fn start(output: &OutputArguments, draw: impl FnOnce(&Receiver<()>) + Send + 'static) -> Self {
        if output.is_quiet() || !std::io::stderr().is_terminal() {
            return Self { drawing: None };
        }
        let (finish, finished) = mpsc::channel::<()>();
        let draw = move || {
            if finished.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                draw(&finished);
            }
        };
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(draw).ok();
        Self { drawing: thread.map(|thread| (finish, thread)) }
    }

    /// Takes the bar away before anything is printed.
    pub(crate) fn finish(self) {
        if let Some((finish, thread)) = self.drawing {
            drop(finish);
            // A bar that broke is no reason to lose the result.
            let _broken = thread.join();
        }
    }
}

fn until(finished: &Receiver<()>, draw: impl Fn()) {
    while finished.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        draw();
    }
}

fn time_bar(expected: Option<Duration>) -> ProgressBar {
    let bar = match expected {
        Some(expected) => styled(ProgressBar::new(millis(expected)), "{bar:40} {percent:>3} %  {msg}"),
        None => styled(ProgressBar::new_spinner(), "{spinner} {elapsed}  {msg}"),
    };
    bar.set_message(if expected.is_some() { "sending requests" } else { "simulating" });
    bar
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        // A plain bar is a bar.
        Err(_) => bar,
    }
}

fn advance(bar: &ProgressBar, elapsed: Duration) {
    match bar.length() {
        Some(length) if millis(elapsed) >= length => {
            bar.set_position(length);
            bar.set_message("waiting for the last responses");
        }
        Some(_) => bar.set_position(millis(elapsed)),
        None => bar.tick(),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The time that a run must take to be worth a bar.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);
