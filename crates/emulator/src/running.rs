//! The emulator as its user holds it: options, and the handle of the running thread.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use netem::Impairments;
use nix::sys::eventfd::{EfdFlags, EventFd};

use super::capture::CaptureFile;
use super::device::DeviceKind;
use super::engine::{Engine, WiredLink};
use super::error::EmulatorError;
use super::link::{Direction, LinkState};
use super::report::EmulatorReport;

/// The options of an emulator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EmulatorOptions {
    /// Write packets to a file. Default: no.
    pub capture: Option<CaptureFile>,
    /// Wake up that long before a packet is due and spin. Default 60 µs, about what a sleeping thread needs to run
    /// again: on a virtual machine packets are then late by 5 µs in the median, with 0 by 58 µs. 0 saves up to
    /// 60 µs of processor time per packet.
    pub wake_early: Duration,
    /// The scheduling of the emulator's thread. Default: before all ordinary threads, if permitted.
    pub scheduling: Scheduling,
    /// Whether packets that do not arrive whole are kept for the report. Default no: memory grows with their number.
    pub keeps_lost_packets: bool,
}

impl Default for EmulatorOptions {
    fn default() -> Self {
        Self {
            capture: None,
            wake_early: Duration::from_micros(60),
            scheduling: Scheduling::RealTimeIfPermitted,
            keeps_lost_packets: false,
        }
    }
}

/// The scheduling of the emulator's thread by the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheduling {
    /// `SCHED_FIFO` with the lowest priority, where root rights and a second processor allow it: other programs then
    /// hardly make packets late. [`EmulatorReport::is_real_time`] tells whether it was granted.
    RealTimeIfPermitted,
    /// The thread is scheduled as any other.
    Ordinary,
}

/// The emulator at work. Dropped, it ends; packets in flight are lost.
#[derive(Debug)]
pub struct RunningEmulator {
    thread: Option<JoinHandle<Result<EmulatorReport, EmulatorError>>>,
    control: StopHandle,
}

impl RunningEmulator {
    pub(super) fn start(
        wired: Vec<WiredLink>,
        device_kind: DeviceKind,
        options: &EmulatorOptions,
    ) -> Result<Self, EmulatorError> {
        let wake = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC);
        let wake = Arc::new(wake.map_err(|errno| EmulatorError::Wait { errno })?);
        let (commands, inbox) = channel();
        let engine = Engine::new(wired, device_kind, options, inbox, Arc::clone(&wake))?;
        let thread = std::thread::Builder::new()
            .name("emulator".to_owned())
            .spawn(move || engine.run())
            .map_err(|source| EmulatorError::Thread { source })?;
        Ok(Self { thread: Some(thread), control: StopHandle { commands, wake } })
    }

    /// Ends the emulator and tells what happened. What was sent before is counted as offered; what has not come out yet is
    /// lost.
    ///
    /// # Errors
    /// When waiting for packets had failed.
    pub fn stop(mut self) -> Result<EmulatorReport, EmulatorError> {
        self.control.stop();
        self.join()
    }

    /// Waits until a [`StopHandle`] ends the emulator, and tells what happened.
    ///
    /// # Errors
    /// When waiting for packets had failed.
    pub fn wait(mut self) -> Result<EmulatorReport, EmulatorError> {
        self.join()
    }

    /// Changes what happens to packets of one direction from now on; numbering goes on.
    ///
    /// # Errors
    /// When the impairments are out of bounds, there is no such link, or the emulator has ended.
    pub fn set_impairments(
        &self,
        link: u8,
        direction: Direction,
        impairments: Impairments,
    ) -> Result<(), EmulatorError> {
        let (reply, answer) = channel();
        self.control.send(Command::SetImpairments { link, direction, impairments, reply });
        answer.recv().unwrap_or(Err(EmulatorError::Ended))
    }

    /// Lets a link carry packets or lose them all from now on, both ways.
    ///
    /// # Errors
    /// When there is no such link, or the emulator has ended.
    pub fn set_link_state(&self, link: u8, state: LinkState) -> Result<(), EmulatorError> {
        let (reply, answer) = channel();
        self.control.send(Command::SetLinkState { link, state, reply });
        answer.recv().unwrap_or(Err(EmulatorError::Ended))
    }

    /// Returns a handle that can end the emulator from anywhere, such as a signal handler's thread.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.control.clone()
    }

    fn join(&mut self) -> Result<EmulatorReport, EmulatorError> {
        let thread = self.thread.take().ok_or(EmulatorError::Ended)?;
        thread.join().map_err(|_| EmulatorError::Ended)?
    }
}

impl Drop for RunningEmulator {
    fn drop(&mut self) {
        self.control.stop();
    }
}

/// A handle that ends the emulator from any thread.
#[derive(Clone, Debug)]
pub struct StopHandle {
    commands: Sender<Command>,
    wake: Arc<EventFd>,
}

impl StopHandle {
    /// Ends the emulator; harmless when it has ended.
    pub fn stop(&self) {
        self.send(Command::Stop);
    }

    fn send(&self, command: Command) {
        // Both fail only when the emulator has ended, which whoever waits for an answer learns.
        let _ended = self.commands.send(command);
        let _ended = self.wake.write(1);
    }
}

/// A command for the emulator's thread.
#[derive(Debug)]
pub(super) enum Command {
    Stop,
    SetImpairments {
        link: u8,
        direction: Direction,
        impairments: Impairments,
        reply: Sender<Result<(), EmulatorError>>,
    },
    SetLinkState {
        link: u8,
        state: LinkState,
        reply: Sender<Result<(), EmulatorError>>,
    },
}
