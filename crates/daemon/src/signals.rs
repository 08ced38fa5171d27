//! The signals of an operator.

use std::fmt::Display;
use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// The wish of an operator, who has sent a signal to a daemon.
#[derive(Debug)]
pub enum Control<S> {
    /// The settings are read again (SIGHUP): these are the settings from now on.
    Reload(Box<S>),
    /// The daemon is to end (SIGTERM, SIGINT).
    Stop,
}

/// Listens to signals from now on, in a task of its own. A configuration with a fault is in the log, and changes nothing.
///
/// # Errors
///
/// The signals cannot be listened to.
pub fn controls<S: Send + 'static, E: Display>(
    read: impl Fn() -> Result<S, E> + Send + 'static,
) -> io::Result<mpsc::Receiver<Control<S>>> {
    let (sender, controls) = mpsc::channel(1);
    let (mut hangup, mut terminate, mut interrupt) =
        (signal(SignalKind::hangup())?, signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::spawn(async move {
        loop {
            let control = tokio::select! {
                _ = hangup.recv() => match read() {
                    Ok(settings) => Control::Reload(Box::new(settings)),
                    Err(error) => {
                        tracing::error!("the configuration stays as it was: {error}");
                        continue;
                    }
                },
                _ = terminate.recv() => Control::Stop,
                _ = interrupt.recv() => Control::Stop,
            };
            if sender.send(control).await.is_err() {
                return;
            }
        }
    });
    Ok(controls)
}
