//! The emulator's thread: reads, decides, waits to the microsecond, writes.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant as WallInstant};

use netem::Impairments;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use thread_priority::unix::{
    RealtimeThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
};
use thread_priority::{ThreadPriority, ThreadPriorityValue};
use virtual_time::Instant;

use super::capture::Capture;
use super::device::DeviceKind;
use super::device::{Device, QUEUE_PACKETS};
use super::error::EmulatorError;
use super::lane::Lane;
use super::link::{Direction, EmulatedLink, LinkState};
use super::report::{EmulatorReport, LinkReport};
use super::running::{Command, EmulatorOptions, Scheduling};

/// A link with the devices at its ends.
pub(super) struct WiredLink {
    pub(super) link: EmulatedLink,
    pub(super) client: Device,
    pub(super) server: Device,
}

/// Whether the emulator was told to end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    GoOn,
    Stop,
}

/// Lane `n` reads from device `n`; the devices of a link are neighbours, the client's first.
pub(super) struct Engine {
    epoch: WallInstant,
    wake_early: Duration,
    scheduling: Scheduling,
    device_kind: DeviceKind,
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
    device: Device,
    state: PortState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PortState {
    Idle,
    Readable,
    Gone,
}

impl Engine {
    pub(super) fn new(
        wired: Vec<WiredLink>,
        device_kind: DeviceKind,
        options: &EmulatorOptions,
        inbox: Receiver<Command>,
        wake: Arc<EventFd>,
    ) -> Result<Self, EmulatorError> {
        let (mut links, mut devices, mut lanes) = (Vec::new(), Vec::new(), Vec::new());
        for WiredLink { link, client, server } in wired {
            for (direction, device) in [(Direction::Request, client), (Direction::Response, server)] {
                lanes.push(Lane::new(&link, direction, options.keeps_lost_packets).map_err(|reason| {
                    EmulatorError::InvalidImpairments { link: link.index, direction, reason }
                })?);
                devices.push(Port { device, state: PortState::Idle });
            }
            links.push(link);
        }
        let names: Vec<_> = lanes.iter().map(|lane| (lane.index, lane.direction)).collect();
        let epoch = WallInstant::now();
        let capture =
            options.capture.as_ref().map(|file| Capture::create(file, &names, epoch)).transpose()?;
        let EmulatorOptions { wake_early, scheduling, .. } = *options;
        let buffer = vec![0; LARGEST_PACKET];
        let news = News::Some;
        Ok(Self {
            epoch,
            wake_early,
            scheduling,
            device_kind,
            links,
            devices,
            lanes,
            capture,
            inbox,
            wake,
            news,
            buffer,
        })
    }

    pub(super) fn run(mut self) -> Result<EmulatorReport, EmulatorError> {
        // The kernel otherwise adds up to 50 µs to every wait. Refused, packets are late by that, and counted.
        let _late = prctl::set_timerslack(1);
        let is_real_time = match self.scheduling {
            Scheduling::RealTimeIfPermitted => become_real_time(),
            Scheduling::Ordinary => false,
        };
        while self.obey() == Flow::GoOn {
            for lane in 0..self.lanes.len() {
                self.take_in(lane);
            }
            for lane in 0..self.lanes.len() {
                self.deliver(lane);
            }
            self.wait()?;
        }
        // What was sent before the end was offered, though it is not delivered any more.
        for lane in 0..self.lanes.len() {
            self.read(lane, QUEUE_PACKETS);
        }
        Ok(self.report(is_real_time))
    }

    /// Reads what waits at the lane's entrance, at most a batch.
    fn take_in(&mut self, lane: usize) {
        if self.devices[lane].state == PortState::Readable {
            self.devices[lane].state = PortState::Idle;
            self.read(lane, READ_BATCH);
        }
    }

    /// Reads at most so many packets at the lane's entrance.
    fn read(&mut self, lane: usize, at_most: usize) {
        if self.devices[lane].state == PortState::Gone {
            return;
        }
        for _ in 0..at_most {
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
                Ok(()) => self.lanes[lane].written(now, &delivery),
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

    /// Carries out the commands that came since the last time, and returns whether to go on.
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
                Command::SetLinkState { link, state, reply } => {
                    let _nobody_waits = reply.send(self.set_link_state(link, state));
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

    fn set_link_state(&mut self, link: u8, state: LinkState) -> Result<(), EmulatorError> {
        if !self.links.iter().any(|known| known.index == link) {
            return Err(EmulatorError::UnknownLink { link });
        }
        self.lanes.iter_mut().filter(|lane| lane.index == link).for_each(|lane| lane.state = state);
        Ok(())
    }

    fn report(mut self, is_real_time: bool) -> EmulatorReport {
        let duration_s = self.epoch.elapsed().as_secs_f64();
        let lanes = self.lanes.iter_mut().zip(&self.devices);
        let mut directions = lanes.map(|(lane, port)| lane.report(port.device.missed()));
        let links = self.links.iter().map_while(|link| Some((link, directions.next()?, directions.next()?)));
        let links = links.map(|(link, request, response)| LinkReport {
            index: link.index,
            seed: link.seed,
            request,
            response,
        });
        EmulatorReport {
            duration_s,
            is_real_time,
            device: self.device_kind,
            links: links.collect(),
            capture_error: self.capture.and_then(Capture::finish),
        }
    }

    fn now(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Puts the calling thread before all ordinary ones; whether that was granted. Never with a single processor, which
/// it could take for itself.
fn become_real_time() -> bool {
    let has_company = std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
    let lowest = ThreadPriorityValue::try_from(1).map(ThreadPriority::Crossplatform);
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    has_company
        && lowest
            .is_ok_and(|lowest| set_thread_priority_and_policy(thread_native_id(), lowest, policy).is_ok())
}

/// Packets read from one device before the others have their turn.
const READ_BATCH: usize = 64;
const LARGEST_PACKET: usize = 65_536;
