//! Ctrl-C and `kill`: what happens then.

use std::io::{self, Write};
use std::sync::mpsc;

use tokio::signal::unix::{SignalKind, signal};

/// Exit status after an interrupt, as shells have it: 128 + SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;

/// Which signal asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM: `kill`, `timeout`.
    Terminate,
}

/// From now on Ctrl-C ends the program with status 130; nothing stays behind, as namespaces and devices have no
/// names and end with the process.
pub(crate) fn end_on_interrupt() {
    on_signal(|ending| {
        let status = match ending {
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
            let (Ok(mut interrupts), Ok(mut terminations)) =
                (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
            else {
                return;
            };
            let _nobody_waits = installed.send(());
            loop {
                tokio::select! {
                    _ = interrupts.recv() => act(Ending::Interrupt),
                    _ = terminations.recv() => act(Ending::Terminate),
                }
            }
        });
    };
    if std::thread::Builder::new().name("signals".to_owned()).spawn(watch).is_ok() {
        let _signals_act_as_by_default = is_installed.recv();
    }
}
