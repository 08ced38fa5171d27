//! Sides and links, put together and set going.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use super::device::Device;
use super::device::DeviceKind;
use super::engine::WiredLink;
use super::error::{EmulatorError, SideError};
use super::link::{Direction, EmulatedLink, LinkEnd, SideLink};
use super::namespace;
use super::permission::preferred_kind;
use super::running::{EmulatorOptions, RunningEmulator};

/// Links whose ends are being attached to sides; [`World::start`] sets it going.
pub struct World {
    device_kind: DeviceKind,
    links: Vec<EmulatedLink>,
    devices: BTreeMap<LinkEnd, Device>,
    gates: Vec<Sender<()>>,
    parameters: Vec<(String, String)>,
}

impl World {
    /// Creates a world with these links, whose ends are still loose. They will end in TUN devices, or in pairs
    /// of virtual Ethernet devices where `/dev/net/tun` cannot be opened; see
    /// [`device_kind`](super::device_kind).
    ///
    /// # Errors
    /// When impairments are out of bounds, a link's index is 0 or used twice, or a kind of device is asked for that
    /// there is not.
    pub fn new(links: Vec<EmulatedLink>) -> Result<Self, EmulatorError> {
        for (at, link) in links.iter().enumerate() {
            let index = link.index;
            if index == 0 || links.iter().skip(at + 1).any(|other| other.index == index) {
                return Err(EmulatorError::InvalidLinkIndex { link: index });
            }
            for direction in [Direction::Request, Direction::Response] {
                link.impairments(direction)
                    .validate()
                    .map_err(|reason| EmulatorError::InvalidImpairments { link: index, direction, reason })?;
            }
        }
        Ok(Self {
            device_kind: preferred_kind()?,
            links,
            devices: BTreeMap::new(),
            gates: Vec::new(),
            parameters: Vec::new(),
        })
    }

    /// Sets a kernel parameter, such as `net.ipv4.tcp_congestion_control`, in the sides spawned from now on.
    pub fn set_kernel_parameter(&mut self, name: &str, value: &str) {
        self.parameters.push((name.to_owned(), value.to_owned()));
    }

    /// Runs `work` on a thread in a new network namespace, attached to `ends`, once the world is started.
    ///
    /// Sockets that it opens, threads that it spawns and commands that it runs live in that namespace. TCP there
    /// remembers nothing from one connection to the next (`net.ipv4.tcp_no_metrics_save`).
    ///
    /// # Errors
    /// When the namespace, a device or a kernel parameter is refused, or an end is unknown or taken.
    pub fn spawn_side<T, F>(
        &mut self,
        name: &str,
        ends: &[LinkEnd],
        work: F,
    ) -> Result<Side<T>, EmulatorError>
    where
        T: Send + 'static,
        F: FnOnce(SideContext) -> T + Send + 'static,
    {
        self.check(ends)?;
        let (gate, is_open) = channel::<()>();
        let (ready, prepared) = channel();
        let context =
            SideContext { name: name.to_owned(), links: ends.iter().copied().map(SideLink::from).collect() };
        let (kind, ends, parameters) = (self.device_kind, ends.to_vec(), self.parameters.clone());
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let devices = prepare_side(kind, &ends, &parameters);
            // Fails only when the world is gone, which the gate tells as well.
            let _gone = ready.send(devices);
            drop(ready);
            is_open.recv().map_err(|_| SideError::NotStarted)?;
            Ok(work(context))
        });
        let thread = thread.map_err(|source| EmulatorError::Thread { source })?;
        self.devices.extend(prepared.recv().map_err(|_| SideError::Panicked)??);
        self.gates.push(gate);
        Ok(Side { thread })
    }

    /// Attaches `ends` to the calling thread's network namespace.
    ///
    /// # Errors
    /// When a device is refused, or an end is unknown or taken.
    pub fn attach_here(&mut self, ends: &[LinkEnd]) -> Result<Vec<SideLink>, EmulatorError> {
        self.check(ends)?;
        self.devices.extend(open_all(self.device_kind, ends)?);
        Ok(ends.iter().copied().map(SideLink::from).collect())
    }

    /// Attaches `ends` to the existing network namespace at `path`, such as `/run/netns/NAME`.
    ///
    /// # Errors
    /// When the namespace or a device is refused, or an end is unknown or taken.
    pub fn attach_namespace(
        &mut self,
        path: &Path,
        ends: &[LinkEnd],
    ) -> Result<Vec<SideLink>, EmulatorError> {
        self.check(ends)?;
        let kind = self.device_kind;
        let devices = std::thread::scope(|scope| {
            let visitor = scope.spawn(|| namespace::enter(path).and_then(|()| open_all(kind, ends)));
            visitor.join().map_err(|_| EmulatorError::Side(SideError::Panicked))?
        })?;
        self.devices.extend(devices);
        Ok(ends.iter().copied().map(SideLink::from).collect())
    }

    /// Starts the emulator, then the work of all sides.
    ///
    /// # Errors
    /// When an end is attached to nothing, the capture file cannot be written, or a thread is refused.
    pub fn start(mut self, options: EmulatorOptions) -> Result<RunningEmulator, EmulatorError> {
        let mut wired = Vec::with_capacity(self.links.len());
        for link in std::mem::take(&mut self.links) {
            let client = self.take(LinkEnd::client(link.index))?;
            let server = self.take(LinkEnd::server(link.index))?;
            wired.push(WiredLink { link, client, server });
        }
        let emulator = RunningEmulator::start(wired, self.device_kind, &options)?;
        for gate in &self.gates {
            // A side that has panicked tells so when joined.
            let _panicked = gate.send(());
        }
        Ok(emulator)
    }

    fn check(&self, ends: &[LinkEnd]) -> Result<(), EmulatorError> {
        for (at, end) in ends.iter().enumerate() {
            if !self.links.iter().any(|link| link.index == end.link) {
                return Err(EmulatorError::UnknownLink { link: end.link });
            }
            if self.devices.contains_key(end) || ends.iter().skip(at + 1).any(|other| other == end) {
                return Err(EmulatorError::AttachedTwice { end: *end });
            }
        }
        Ok(())
    }

    fn take(&mut self, end: LinkEnd) -> Result<Device, EmulatorError> {
        self.devices.remove(&end).ok_or(EmulatorError::NotAttached { end })
    }
}

/// The surroundings of a side's work: its name and its links.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SideContext {
    /// The name of the side, for messages.
    pub name: String,
    /// The links it is attached to, in the order they were given.
    pub links: Vec<SideLink>,
}

/// A side at work, in a network namespace of its own.
#[derive(Debug)]
pub struct Side<T> {
    thread: JoinHandle<Result<T, SideError>>,
}

impl<T> Side<T> {
    /// Waits until the side's work is done.
    ///
    /// # Errors
    /// When the work panicked or was never begun.
    pub fn join(self) -> Result<T, SideError> {
        self.thread.join().map_err(|_| SideError::Panicked)?
    }

    /// Returns whether the side's work is done.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }
}

fn prepare_side(
    kind: DeviceKind,
    ends: &[LinkEnd],
    parameters: &[(String, String)],
) -> Result<Vec<(LinkEnd, Device)>, EmulatorError> {
    namespace::enter_new()?;
    // A container may forbid it; a fresh namespace remembers nothing to begin with.
    let _less_even = namespace::set_parameter("net.ipv4.tcp_no_metrics_save", "1");
    for (name, value) in parameters {
        namespace::set_parameter(name, value)?;
    }
    open_all(kind, ends)
}

fn open_all(kind: DeviceKind, ends: &[LinkEnd]) -> Result<Vec<(LinkEnd, Device)>, EmulatorError> {
    ends.iter().map(|end| Device::open(kind, *end).map(|device| (*end, device))).collect()
}
