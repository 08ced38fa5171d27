//! The waiting for work that runs long, while the interpreter goes on.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use lab::StopSignal;
use pyo3::exceptions::PyRuntimeError;
use pyo3::{PyErr, PyResult, Python};

/// Returns what some work gives that is done on a thread of its own, without the interpreter's lock. The caller looks up ten
/// times a second and at the end, for an interrupt and by `look`; an error of either raises the signal, by which the work
/// should end soon.
pub(crate) fn wait_for<T: Send + 'static>(
    py: Python<'_>,
    stop: &StopSignal,
    look: impl Fn() -> PyResult<()>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (tell, told) = mpsc::channel();
    let worker = thread::spawn(move || {
        // After an interrupt nobody listens any more.
        let _unheard = tell.send(work());
    });
    let outcome = watch(py, &Mutex::new(told), look);
    stop.raise();
    // How it ended is known by what it told.
    let _ended = py.detach(|| worker.join());
    outcome
}

fn watch<T: Send>(py: Python<'_>, told: &Mutex<Receiver<T>>, look: impl Fn() -> PyResult<()>) -> PyResult<T> {
    loop {
        let outcome = py.detach(|| told.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(TICK));
        if matches!(outcome, Err(RecvTimeoutError::Disconnected)) {
            return Err(broken_off());
        }
        look()?;
        py.check_signals()?;
        if let Ok(outcome) = outcome {
            return Ok(outcome);
        }
    }
}

/// Returns the error for work that panicked: nothing of it crosses but the news.
fn broken_off() -> PyErr {
    PyRuntimeError::new_err(
        "a computation broke off: this is a fault of headway; please report it with what was asked",
    )
}

/// How often an interrupt is looked for.
const TICK: Duration = Duration::from_millis(100);
