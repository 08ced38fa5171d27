//! The emulator's thread: reads, decides, waits to the microsecond, writes.

use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant as WallInstant};

use netem::Impairments;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use tun_rs::SyncDevice;
use virtual_time::Instant;

use super::capture::Capture;
use super::error::EmulatorError;
use super::lane::Lane;
use super::link::{Direction, EmulatedLink};
use super::report::{EmulatorReport, LinkReport};

/// How the emulator runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EmulatorOptions {
    /// Write what each direction was offered and delivered to this pcapng file. Default: no.
    pub capture: Option<PathBuf>,
    /// Wake up that long before a packet is due and spin. Default 60 µs, about what a sleeping thread needs to run
    /// again: on a virtual machine packets are then late by 5 µs in the median, with 0 by 58 µs. 0 saves up to
    /// 60 µs of processor time per packet.
    pub wake_early: Duration,
}

impl Default for EmulatorOptions {
    fn default() -> Self {
        Self { capture: None, wake_early: Duration::from_micros(60) }
    }
}

/// A link with the devices at its ends.
pub(super) struct WiredLink {
    pub(super) link: EmulatedLink,
    pub(super) client: SyncDevice,
    pub(super) server: SyncDevice,
}

/// The emulator at work. Dropped, it ends; packets in flight are lost.
#[derive(Debug)]
pub struct RunningEmulator {
    thread: Option<JoinHandle<Result<EmulatorReport, EmulatorError>>>,
    control: StopHandle,
}

impl RunningEmulator {
    pub(super) fn start(wired: Vec<WiredLink>, options: &EmulatorOptions) -> Result<Self, EmulatorError> {
        let wake = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC);
        let wake = Arc::new(wake.map_err(|errno| EmulatorError::Wait { errno })?);
        let (commands, inbox) = channel();
        let engine = Engine::new(wired, options, inbox, Arc::clone(&wake))?;
        let thread = std::thread::Builder::new()
            .name("emulator".to_owned())
            .spawn(move || engine.run())
            .map_err(|source| EmulatorError::Thread { source })?;
        Ok(Self { thread: Some(thread), control: StopHandle { commands, wake } })
    }

    /// Ends the emulator and tells what happened.
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

    /// A handle that can end the emulator from anywhere, such as a signal handler's thread.
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

/// Ends the emulator.
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

#[derive(Debug)]
enum Command {
    Stop,
    SetImpairments {
        link: u8,
        direction: Direction,
        impairments: Impairments,
        reply: Sender<Result<(), EmulatorError>>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    GoOn,
    Stop,
}

/// Lane `n` reads from device `n`; the devices of a link are neighbours, the client's first.
struct Engine {
    epoch: WallInstant,
    wake_early: Duration,
    links: Vec<EmulatedLink>,
    devices: Vec<Port>,
    lanes: Vec<Lane>,
    capture: Option<Capture>,
    inbox: Receiver<Command>,
    wake: Arc<EventFd>,
    news: News,
    buffer: Vec<u8>,
}

/// Whether commands may have come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum News {
    None,
    Some,
}

/// A device; one that fails is no longer listened to.
struct Port {
    device: SyncDevice,
    state: PortState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PortState {
    Idle,
    Readable,
    Gone,
}

impl Engine {
    fn new(
        wired: Vec<WiredLink>,
        options: &EmulatorOptions,
        inbox: Receiver<Command>,
        wake: Arc<EventFd>,
    ) -> Result<Self, EmulatorError> {
        let (mut links, mut devices, mut lanes) = (Vec::new(), Vec::new(), Vec::new());
        for WiredLink { link, client, server } in wired {
            for (direction, device) in [(Direction::Request, client), (Direction::Response, server)] {
                lanes.push(Lane::new(&link, direction).map_err(|reason| {
                    EmulatorError::InvalidImpairments { link: link.index, direction, reason }
                })?);
                devices.push(Port { device, state: PortState::Idle });
            }
            links.push(link);
        }
        let names: Vec<_> = lanes.iter().map(|lane| (lane.index, lane.direction)).collect();
        let capture = options.capture.as_ref().map(|path| Capture::create(path, &names)).transpose()?;
        let wake_early = options.wake_early;
        let buffer = vec![0; LARGEST_PACKET];
        let epoch = WallInstant::now();
        let news = News::Some;
        Ok(Self { epoch, wake_early, links, devices, lanes, capture, inbox, wake, news, buffer })
    }

    fn run(mut self) -> Result<EmulatorReport, EmulatorError> {
        // The kernel otherwise adds up to 50 µs to every wait. Refused, packets are late by that, and counted.
        let _late = prctl::set_timerslack(1);
        while self.obey() == Flow::GoOn {
            for lane in 0..self.lanes.len() {
                self.take_in(lane);
            }
            for lane in 0..self.lanes.len() {
                self.deliver(lane);
            }
            self.wait()?;
        }
        Ok(self.report())
    }

    /// Reads what waits at the lane's entrance, at most a batch.
    fn take_in(&mut self, lane: usize) {
        if self.devices[lane].state != PortState::Readable {
            return;
        }
        self.devices[lane].state = PortState::Idle;
        for _ in 0..READ_BATCH {
            let length = match self.devices[lane].device.recv(&mut self.buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.devices[lane].state = PortState::Gone;
                    return;
                }
            };
            let now = self.now();
            let packet = &self.buffer[..length];
            let verdict = self.lanes[lane].offer(now, packet);
            if let Some(capture) = &mut self.capture {
                capture.offered(lane, now, packet, verdict);
            }
        }
    }

    /// Writes what is due at the lane's exit.
    fn deliver(&mut self, lane: usize) {
        let exit = lane ^ 1;
        loop {
            let now = self.now();
            let Some((delivery, number)) = self.lanes[lane].poll_deliver(now) else { return };
            let outcome = self.devices[exit].device.send(&delivery.packet);
            let now = self.now();
            match outcome {
                Ok(_) => self.lanes[lane].written(now, &delivery),
                Err(_) => self.lanes[lane].refused(),
            }
            if let Some(capture) = &mut self.capture {
                capture.delivered(lane, now, &delivery.packet, number);
            }
        }
    }

    /// Waits for a packet, for a command, or until shortly before the next packet is due.
    fn wait(&mut self) -> Result<(), EmulatorError> {
        let due = self.lanes.iter().filter_map(Lane::poll_timeout).min();
        let timeout = due.map(|due| TimeSpec::from_duration((due - self.wake_early).since(self.now())));
        let open = |port: &Port| port.state != PortState::Gone;
        let listening = self.devices.iter().filter(|port| open(port)).map(|port| port.device.as_fd());
        let mut waiting: Vec<PollFd<'_>> = std::iter::once(self.wake.as_fd())
            .chain(listening)
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
            .collect();
        match ppoll(&mut waiting, timeout, None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(EmulatorError::Wait { errno }),
        }
        let mut readable = waiting.iter().map(|fd| fd.any().unwrap_or(true));
        let is_woken = readable.next().unwrap_or(true);
        let readable: Vec<bool> = readable.collect();
        self.news = if is_woken { News::Some } else { News::None };
        for (port, is_readable) in self.devices.iter_mut().filter(|port| open(port)).zip(readable) {
            port.state = if is_readable { PortState::Readable } else { PortState::Idle };
        }
        Ok(())
    }

    /// Does as told since the last time.
    fn obey(&mut self) -> Flow {
        if self.news == News::None {
            return Flow::GoOn;
        }
        let _counted_in_the_inbox = self.wake.read();
        while let Ok(command) = self.inbox.try_recv() {
            match command {
                Command::Stop => return Flow::Stop,
                Command::SetImpairments { link, direction, impairments, reply } => {
                    let _nobody_waits = reply.send(self.set_impairments(link, direction, &impairments));
                }
            }
        }
        Flow::GoOn
    }

    fn set_impairments(
        &mut self,
        link: u8,
        direction: Direction,
        impairments: &Impairments,
    ) -> Result<(), EmulatorError> {
        let mut lanes = self.lanes.iter_mut();
        let lane = lanes.find(|lane| lane.index == link && lane.direction == direction);
        lane.ok_or(EmulatorError::UnknownLink { link })?
            .set_impairments(impairments)
            .map_err(|reason| EmulatorError::InvalidImpairments { link, direction, reason })
    }

    fn report(self) -> EmulatorReport {
        let duration_s = self.epoch.elapsed().as_secs_f64();
        let links = self.links.iter().zip(self.lanes.chunks_exact(2));
        let links = links.map(|(link, lanes)| LinkReport {
            index: link.index,
            seed: link.seed,
            request: lanes[0].report(),
            response: lanes[1].report(),
        });
        EmulatorReport {
            duration_s,
            links: links.collect(),
            capture_error: self.capture.and_then(Capture::finish),
        }
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Packets read from one device before the others have their turn.
const READ_BATCH: usize = 64;
const LARGEST_PACKET: usize = 65_536;
