//! A process of one end: what it prints within a time, what processor time it took; ended with its owner.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// Why a run brought no figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// The stack was not built.
    NotThere,
    /// Its process ended, or said nothing in time.
    Silent,
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotThere => "not there",
            Self::Silent => "gave no answer in time",
        })
    }
}

/// A process whose output is read line by line.
#[derive(Debug)]
pub struct Running {
    process: Child,
    lines: Receiver<String>,
    patience: Duration,
}

impl Running {
    /// Starts it; `patience` is how long each line may take.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start(mut command: Command, patience: Duration) -> Self {
        let mut process =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("taskset is there");
        let output = process.stdout.take().expect("it is a pipe");
        let (said, lines) = mpsc::channel();
        // Ends with the process.
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.map(|line| said.send(line)).find(Result::is_err)
        });
        Self { process, lines, patience }
    }

    /// The next line.
    ///
    /// # Errors
    /// If none comes in time.
    pub fn line(&self) -> Result<String, Absence> {
        self.lines.recv_timeout(self.patience).map_err(|_| Absence::Silent)
    }

    /// Processor time of all its threads so far.
    #[must_use]
    pub fn processor_ns(&self) -> f64 {
        let tasks =
            std::fs::read_dir(format!("/proc/{}/task", self.process.id())).into_iter().flatten().flatten();
        let times = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok());
        times.filter_map(|text| text.split(' ').next()?.parse::<f64>().ok()).sum()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
