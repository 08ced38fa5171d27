//! Ctrl-C and `kill`: what happens then.

use std::io::{self, Write};
use std::sync::mpsc;

use lab::StopSignal;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Exit status after an interrupt, as shells have it: 128 + SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;

/// The signal that asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// SIGINT, which Ctrl-C sends.
    Interrupt,
    /// SIGTERM: `kill`, `timeout`.
    Terminate,
}

/// Lets Ctrl-C raise `stop` from now on, so that what was measured is still printed; the second one ends the
/// program at once, and so does SIGTERM. Nothing stays behind: namespaces and devices have no names and end
/// with the process.
pub(crate) fn stop_on_interrupt(stop: &StopSignal) {
    let stop = stop.clone();
    on_signal(move |ending| {
        let status = match ending {
            Ending::Interrupt if !stop.is_raised() => return stop.raise(),
            Ending::Interrupt => i32::from(INTERRUPTED),
            Ending::Terminate => 143,
        };
        // If standard error is gone, the exit status still tells.
        let _ = writeln!(io::stderr(), "\ninterrupted: nothing was written");
        std::process::exit(status);
    });
}

/// Calls `act` for every SIGINT and SIGTERM, on a thread of its own. Programs started later are not affected.
///
/// Without the means for it (no thread, no descriptors left) signals act as by default: they end the program.
pub(crate) fn on_signal(mut act: impl FnMut(Ending) + Send + 'static) {
    let (installed, is_installed) = mpsc::channel();
    let watch = move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let Ok(mut signals) = Signals::new() else { return };
            let _nobody_waits = installed.send(());
            loop {
                act(signals.next().await);
            }
        });
    };
    if std::thread::Builder::new().name("signals".to_owned()).spawn(watch).is_ok() {
        let _signals_act_as_by_default = is_installed.recv();
    }
}

/// SIGINT and SIGTERM from now on, for a task.
pub(crate) struct Signals {
    interrupts: Signal,
    terminations: Signal,
}

impl Signals {
    /// Listens for signals. Must be called in a tokio runtime.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupts: signal(SignalKind::interrupt())?,
            terminations: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Ending {
        tokio::select! {
            _ = self.interrupts.recv() => Ending::Interrupt,
            _ = self.terminations.recv() => Ending::Terminate,
        }
    }
}
