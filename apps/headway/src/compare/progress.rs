//! A bar on the terminal while something runs that takes more than a second.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::OutputArguments;

/// The bar; gone when finished.
pub(crate) struct Progress {
    drawing: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Starts a bar for something that takes `expected`, or is of unknown length; none where nobody looks.
    pub(crate) fn start(output: &OutputArguments, expected: Option<Duration>) -> Self {
        if output.is_quiet() || !std::io::stderr().is_terminal() {
            return Self { drawing: None };
        }
        let (finish, finished) = mpsc::channel::<()>();
        let draw = move || {
            if finished.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let started = Instant::now();
            let bar = bar(expected.map(|expected| expected.saturating_sub(PATIENCE)));
            while finished.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                advance(&bar, started.elapsed());
            }
            bar.finish_and_clear();
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

fn bar(expected: Option<Duration>) -> ProgressBar {
    let (bar, template) = match expected {
        Some(expected) => (ProgressBar::new(millis(expected)), "{bar:40} {percent:>3} %  {msg}"),
        None => (ProgressBar::new_spinner(), "{spinner} {elapsed}  {msg}"),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(if expected.is_some() { "sending requests" } else { "simulating" });
    bar
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

/// What is over sooner needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);
