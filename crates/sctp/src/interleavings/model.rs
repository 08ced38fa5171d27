//! Models of what an endpoint finds around it: two ends of a wire, bells, a clock that stands still.
//!
//! Packets really travel, through a pair of Unix sockets; who waits for them, and who may go on, is `shuttle`'s to say. The clock
//! stands still, so that no timer repairs what a wake-up has missed.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::time::Duration;

use sctp_core::Destination;
use sctp_io::{
    AddressWatch, DatagramChannel, IoStatistics, NetworkError, Outgoing, PacketIo, ReceiveBatch, Room, Woken,
};
use shuttle::sync::{Condvar, Mutex, MutexGuard};
use tokio::sync::futures::Notified;
use virtual_time::Instant;

/// The threads of `shuttle`, of which one that waits for a time may always find it over.
pub(crate) mod thread {
    pub(crate) use shuttle::thread::{Builder, Thread, current, park, spawn, yield_now};

    /// Lets another thread go on here, or not.
    pub(crate) fn give_way() {
        shuttle::thread::sleep(super::Duration::ZERO);
    }

    pub(crate) fn park_timeout(_limit: super::Duration) {
        yield_now();
    }
}

/// The signal of tokio, with a place at which others may go on before each call: tokio's own steps are nothing that `shuttle` knows.
#[derive(Debug, Default)]
pub(crate) struct Notify(tokio::sync::Notify);

impl Notify {
    pub(crate) fn notified(&self) -> Notified<'_> {
        thread::give_way();
        self.0.notified()
    }

    pub(crate) fn notify_waiters(&self) {
        thread::give_way();
        self.0.notify_waiters();
    }

    pub(crate) fn notify_one(&self) {
        thread::give_way();
        self.0.notify_one();
    }
}

/// A clock that stands still.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock;

impl Clock {
    pub(crate) const fn start() -> Self {
        Self
    }

    pub(crate) const fn now(self) -> Instant {
        Instant::from_millis(1_000)
    }
}

/// Returns other octets with each call, and the same ones in each execution.
pub(crate) fn os_entropy() -> io::Result<[u8; 32]> {
    let number = ENTROPY.get().wrapping_add(1);
    ENTROPY.set(number);
    Ok([number; 32])
}

/// All that can be waited for in one execution.
#[derive(Debug, Default)]
pub(crate) struct Network {
    signs: Mutex<Signs>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Signs {
    /// Whether something waits at each end of the wire.
    readable: [bool; 2],
    /// Whether each end has found no room to send.
    full: [bool; 2],
    /// The bells that have been rung.
    rung: Vec<bool>,
    /// How often a watchdog has fired.
    fired: usize,
    bells: Bells,
}

/// Whether bells do what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Bells {
    #[default]
    Sound,
    /// The fault that a test puts in: nobody hears them.
    Dumb,
}

impl Network {
    /// Begins an execution: everything made from now on belongs to it.
    pub(crate) fn begin(bells: Bells) -> (Wire, Wire) {
        let network = Arc::new(Self::default());
        network.lock().bells = bells;
        NETWORK.set(Some(Arc::clone(&network)));
        ENTROPY.set(0);
        let (left, right) = UnixDatagram::pair().unwrap();
        let wire = |socket: UnixDatagram, end| Wire {
            channel: DatagramChannel::new(socket).unwrap(),
            end,
            network: Arc::clone(&network),
        };
        (wire(left, 0), wire(right, 1))
    }

    /// Returns how often watchdogs of this execution have fired.
    pub(crate) fn watchdogs_fired() -> usize {
        Self::current().lock().fired
    }

    fn current() -> Arc<Self> {
        NETWORK.with_borrow(|network| network.clone().unwrap())
    }

    fn lock(&self) -> MutexGuard<'_, Signs> {
        self.signs.lock().unwrap()
    }
}

/// One end of the wire.
#[derive(Debug)]
pub(crate) struct Wire {
    channel: DatagramChannel,
    end: usize,
    network: Arc<Network>,
}

impl PacketIo for Wire {
    fn send(&self, packets: &mut Outgoing<'_>) -> io::Result<()> {
        let mut signs = self.network.lock();
        let outcome = self.channel.send(packets);
        signs.full[self.end] = outcome.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        signs.readable[1 - self.end] = true;
        self.network.changed.notify_all();
        outcome
    }

    fn receive(&self, batch: &mut ReceiveBatch) -> io::Result<()> {
        let mut signs = self.network.lock();
        let outcome = self.channel.receive(batch);
        signs.readable[self.end] = outcome.is_ok();
        if std::mem::take(&mut signs.full[1 - self.end]) {
            self.network.changed.notify_all();
        }
        outcome
    }

    fn check(&self, destination: Destination) -> io::Result<()> {
        self.channel.check(destination)
    }

    fn receive_error(&self) -> io::Result<Option<NetworkError>> {
        self.channel.receive_error()
    }

    /// Tells the ends apart by the port.
    fn local_address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], u16::try_from(self.end).unwrap()))
    }

    fn statistics(&self) -> IoStatistics {
        self.channel.statistics()
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

/// Ends another thread's [`Sources::wait`].
#[derive(Clone, Debug)]
pub(crate) struct Doorbell {
    number: usize,
    network: Arc<Network>,
}

impl Doorbell {
    pub(crate) fn new() -> io::Result<Self> {
        let network = Network::current();
        let mut signs = network.lock();
        signs.rung.push(false);
        let number = signs.rung.len() - 1;
        drop(signs);
        Ok(Self { number, network })
    }

    pub(crate) fn ring(&self) {
        let mut signs = self.network.lock();
        signs.rung[self.number] = signs.bells == Bells::Sound;
        self.network.changed.notify_all();
    }
}

/// What a thread waits on that drives an endpoint.
#[derive(Debug)]
pub(crate) struct Sources {
    end: usize,
    bell: Doorbell,
}

impl Sources {
    pub(crate) fn new(
        socket: &dyn PacketIo,
        _timer: OwnedFd,
        bell: &Doorbell,
        _addresses: Option<&AddressWatch>,
    ) -> io::Result<Self> {
        Ok(Self::at(socket, bell))
    }

    pub(crate) fn at(socket: &dyn PacketIo, bell: &Doorbell) -> Self {
        Self { end: usize::from(socket.local_address().port()), bell: bell.clone() }
    }

    pub(crate) fn wait(&mut self, room: Room, at_most: Option<Duration>) -> io::Result<Woken> {
        let network = &self.bell.network;
        let mut signs = network.lock();
        loop {
            let has_room = room == Room::Awaited && !signs.full[self.end];
            let woken = Woken { is_readable: signs.readable[self.end], has_room, ..Woken::default() };
            let has_rung = std::mem::take(&mut signs.rung[self.bell.number]);
            if woken != Woken::default() || has_rung || at_most.is_some() {
                return Ok(woken);
            }
            signs = network.changed.wait(signs).unwrap();
        }
    }
}

/// A watchdog whose patience may always be over, and that is not put off by being fed.
#[derive(Debug)]
pub(crate) struct Watchdog {
    is_running: Mutex<bool>,
    started: Condvar,
    network: Arc<Network>,
}

impl Watchdog {
    pub(crate) fn new(_clock: Clock, _patience: Duration) -> io::Result<Self> {
        Ok(Self { is_running: Mutex::new(false), started: Condvar::new(), network: Network::current() })
    }

    pub(crate) fn start(&self) {
        *self.is_running.lock().unwrap() = true;
        self.started.notify_one();
    }

    pub(crate) fn feed(&self, _at: Instant) {
        // Others may go on here.
        drop(self.is_running.lock());
    }

    pub(crate) fn wait(&self) {
        thread::yield_now();
        let mut is_running = self.is_running.lock().unwrap();
        while !*is_running {
            is_running = self.started.wait(is_running).unwrap();
        }
        *is_running = false;
        self.network.lock().fired += 1;
    }
}

thread_local! {
    // Executions follow each other on one thread of the system.
    static NETWORK: RefCell<Option<Arc<Network>>> = const { RefCell::new(None) };
    static ENTROPY: Cell<u8> = const { Cell::new(0) };
}
