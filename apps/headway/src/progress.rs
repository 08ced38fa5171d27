//! A bar over runs that are counted.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use lab::plan::Progress as Count;

use crate::output::OutputArguments;

/// The bar; gone when finished. Nothing is drawn in the first second, nor where nobody looks.
pub(crate) struct RunsBar {
    drawing: Option<(Sender<()>, JoinHandle<()>)>,
}

impl RunsBar {
    pub(crate) fn start(output: &OutputArguments, count: &Count) -> Self {
        if output.is_quiet() || !std::io::stderr().is_terminal() {
            return Self { drawing: None };
        }
        let (finish, finished) = mpsc::channel::<()>();
        let count = count.clone();
        let draw = move || {
            if finished.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::new(0);
            if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {eta} left") {
                bar.set_style(style);
            }
            while finished.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let (done, all) = count.get();
                bar.set_length(u64::try_from(all).unwrap_or(u64::MAX));
                bar.set_position(u64::try_from(done).unwrap_or(u64::MAX));
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

const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(200);
