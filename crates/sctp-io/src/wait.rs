//! Waiting without an event loop: one descriptor for all an endpoint can be woken by, `epoll(7)`.
//!
//! What a wait costs does not grow with what is waited for, unlike with `poll(2)`: the sources are told to the kernel
//! once.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::io::Errno;

use crate::addresses::AddressWatch;
use crate::packet_io::PacketIo;

/// The descriptors on which a thread waits that drives an endpoint by itself.
#[derive(Debug)]
pub struct Sources {
    all: OwnedFd,
    /// A duplicate: the original stays where threads use it that send.
    socket: OwnedFd,
    _timer: OwnedFd,
    bell: Doorbell,
    /// Whether room is waited for.
    room: Room,
}

/// The sources that are ready after a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// [`PacketIo::receive`] may bring something.
    pub is_readable: bool,
    /// [`PacketIo::send`] may take something.
    pub has_room: bool,
    /// [`PacketIo::receive_error`] may have something.
    pub has_error: bool,
    /// Whether the timer of the endpoint fired.
    pub is_due: bool,
    /// Whether a local address came or went.
    pub has_address: bool,
}

/// Whether to wait for room in the socket's send buffer, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// The socket was full, and somebody waits for room.
    Awaited,
    /// There is nothing to send.
    Irrelevant,
}

impl Sources {
    /// Creates the set of the socket, the descriptor of the endpoint's [`Timer`](crate::Timer), what other
    /// threads ring, and where addresses are watched, if some may come and go.
    ///
    /// # Errors
    ///
    /// If the process has no file descriptors left.
    pub fn new(
        socket: &dyn PacketIo,
        timer: OwnedFd,
        bell: &Doorbell,
        addresses: Option<&AddressWatch>,
    ) -> io::Result<Self> {
        let (all, socket) =
            (epoll::create(epoll::CreateFlags::CLOEXEC)?, socket.as_fd().try_clone_to_owned()?);
        let readable = epoll::EventFlags::IN;
        epoll::add(&all, &socket, SOCKET, readable)?;
        epoll::add(&all, &timer, TIMER, readable)?;
        epoll::add(&all, &bell.descriptor, BELL, readable)?;
        if let Some(addresses) = addresses {
            epoll::add(&all, addresses, ADDRESSES, readable)?;
        }
        Ok(Self { all, socket, _timer: timer, bell: bell.clone(), room: Room::Irrelevant })
    }

    /// Blocks until one of the sources is ready, or for so long if a time is given; a bell that rang is silent again
    /// afterwards.
    ///
    /// # Errors
    ///
    /// If the system has no memory for it.
    pub fn wait(&mut self, room: Room, at_most: Option<Duration>) -> io::Result<Woken> {
        self.watch_room(room)?;
        let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: SOCKET }; SOURCES];
        // What is too long for the kernel is for ever.
        let at_most = at_most.and_then(|time| Timespec::try_from(time).ok());
        let count = match epoll::wait(&self.all, &mut events, at_most.as_ref()) {
            Ok(count) => count,
            Err(Errno::INTR) => 0,
            Err(error) => return Err(error.into()),
        };
        let mut woken = Woken::default();
        for event in events.iter().take(count) {
            let flags = event.flags;
            match event.data.u64() {
                SOCKET_NUMBER => {
                    woken.is_readable = flags.contains(epoll::EventFlags::IN);
                    woken.has_room = flags.contains(epoll::EventFlags::OUT);
                    woken.has_error = flags.contains(epoll::EventFlags::ERR);
                }
                TIMER_NUMBER => woken.is_due = true,
                BELL_NUMBER => self.bell.silence(),
                _ => woken.has_address = true,
            }
        }
        Ok(woken)
    }

    /// Tells the kernel whether to wake for room to send, only when that changes: a socket nearly always has
    /// room.
    fn watch_room(&mut self, room: Room) -> io::Result<()> {
        if room != self.room {
            let flags = match room {
                Room::Awaited => epoll::EventFlags::IN | epoll::EventFlags::OUT,
                Room::Irrelevant => epoll::EventFlags::IN,
            };
            epoll::modify(&self.all, &self.socket, SOCKET, flags)?;
            self.room = room;
        }
        Ok(())
    }
}

/// How many there are, and what they are called towards the kernel.
const SOURCES: usize = 4;
const SOCKET_NUMBER: u64 = 0;
const TIMER_NUMBER: u64 = 1;
const BELL_NUMBER: u64 = 2;
const SOCKET: epoll::EventData = epoll::EventData::new_u64(SOCKET_NUMBER);
const TIMER: epoll::EventData = epoll::EventData::new_u64(TIMER_NUMBER);
const BELL: epoll::EventData = epoll::EventData::new_u64(BELL_NUMBER);
const ADDRESSES: epoll::EventData = epoll::EventData::new_u64(3);

/// Ends another thread's [`Sources::wait`].
#[derive(Clone, Debug)]
pub struct Doorbell {
    descriptor: Arc<OwnedFd>,
}

impl Doorbell {
    /// Creates a doorbell that nobody has rung.
    ///
    /// # Errors
    ///
    /// If the process has no file descriptors left.
    pub fn new() -> io::Result<Self> {
        let descriptor = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self { descriptor: Arc::new(descriptor) })
    }

    /// Ends the wait under way, or the next one.
    pub fn ring(&self) {
        // Fails only if it has rung 2⁶⁴ times already, which is enough.
        let _ = rustix::io::write(&self.descriptor, &1_u64.to_ne_bytes());
    }

    fn silence(&self) {
        // Fails only if another thread was faster.
        let _ = rustix::io::read(&self.descriptor, &mut [0; 8]);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::{Clock, Outgoing, ReceiveBatch, Timer, UdpEncapsulation};

    #[test]
    fn bell_timer_and_packets_end_a_wait_and_are_told_apart() {
        let socket = UdpEncapsulation::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let clock = Clock::start();
        let mut timer = Timer::new(clock).unwrap();
        let (descriptor, bell) = (timer.as_fd().try_clone_to_owned().unwrap(), Doorbell::new().unwrap());
        let mut sources = Sources::new(&socket, descriptor, &bell, None).unwrap();
        let mut wait = |room| sources.wait(room, None).unwrap();
        bell.ring();
        bell.ring();
        assert_eq!(wait(Room::Irrelevant), Woken::default());
        // Silent again: the next wait ends for another reason.
        timer.arm(clock.now()).unwrap();
        assert_eq!(wait(Room::Irrelevant), Woken { is_due: true, ..Woken::default() });
        timer.acknowledge().unwrap();
        assert_eq!(wait(Room::Awaited), Woken { has_room: true, ..Woken::default() });
        let own = socket.local_address().into();
        socket.send(&mut Outgoing::single(own, b"packet")).unwrap();
        assert!(wait(Room::Irrelevant).is_readable);
        socket.receive(&mut ReceiveBatch::new()).unwrap();
        assert_eq!(sources.wait(Room::Irrelevant, Some(Duration::ZERO)).unwrap(), Woken::default());
    }
}
