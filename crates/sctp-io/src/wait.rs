//! Waiting without an event loop: `poll(2)` on what an endpoint can be woken by.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;

use crate::addresses::AddressWatch;
use crate::packet_io::PacketIo;

/// What a thread that drives an endpoint by itself waits on, beside the socket.
#[derive(Debug)]
pub struct Sources<'a> {
    /// The socket.
    pub socket: &'a dyn PacketIo,
    /// The descriptor of the endpoint's [`Timer`](crate::Timer).
    pub timer: &'a OwnedFd,
    /// What other threads ring.
    pub bell: &'a Doorbell,
    /// Where addresses are watched: those that come and go.
    pub addresses: Option<&'a AddressWatch>,
}

/// What is ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// [`PacketIo::receive`] may bring something.
    pub is_readable: bool,
    /// [`PacketIo::send`] may take something.
    pub has_room: bool,
    /// [`PacketIo::receive_error`] may have something.
    pub has_error: bool,
    /// The timer fired.
    pub is_due: bool,
    /// An address changed.
    pub has_address: bool,
}

/// Whether to wait for room in the socket's send buffer, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// The socket was full.
    Awaited,
    /// There is nothing to send.
    Irrelevant,
}

impl Sources<'_> {
    /// Blocks until one of the sources is ready, in one system call; a bell that rang is silent again afterwards.
    ///
    /// # Errors
    ///
    /// If the system has no memory for it.
    pub fn wait(&self, room: Room) -> io::Result<Woken> {
        let socket = match room {
            Room::Awaited => PollFlags::IN | PollFlags::OUT,
            Room::Irrelevant => PollFlags::IN,
        };
        let (addresses, count) = self.addresses.map_or((self.timer.as_fd(), 3), |it| (it.as_fd(), 4));
        let mut descriptors = [
            PollFd::from_borrowed_fd(self.socket.as_fd(), socket),
            PollFd::new(self.timer, PollFlags::IN),
            PollFd::new(&self.bell.descriptor, PollFlags::IN),
            PollFd::from_borrowed_fd(addresses, PollFlags::IN),
        ];
        match poll(&mut descriptors[..count], None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [socket, timer, bell, addresses] = descriptors.map(|descriptor| descriptor.revents());
        if bell.contains(PollFlags::IN) {
            self.bell.silence();
        }
        Ok(Woken {
            is_readable: socket.contains(PollFlags::IN),
            has_room: socket.contains(PollFlags::OUT),
            has_error: socket.contains(PollFlags::ERR),
            is_due: timer.contains(PollFlags::IN),
            has_address: addresses.contains(PollFlags::IN),
        })
    }
}

/// Ends another thread's [`Sources::wait`].
#[derive(Debug)]
pub struct Doorbell {
    descriptor: OwnedFd,
}

impl Doorbell {
    /// A silent one.
    ///
    /// # Errors
    ///
    /// If the process has no file descriptors left.
    pub fn new() -> io::Result<Self> {
        Ok(Self { descriptor: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)? })
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
    use super::*;
    use crate::{Clock, Outgoing, ReceiveBatch, Timer, UdpEncapsulation};

    #[test]
    fn bell_timer_and_packets_end_a_wait_and_are_told_apart() {
        let socket = UdpEncapsulation::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let clock = Clock::start();
        let mut timer = Timer::new(clock).unwrap();
        let (descriptor, bell) = (timer.as_fd().try_clone_to_owned().unwrap(), Doorbell::new().unwrap());
        let sources = Sources { socket: &socket, timer: &descriptor, bell: &bell, addresses: None };
        bell.ring();
        bell.ring();
        assert_eq!(sources.wait(Room::Irrelevant).unwrap(), Woken::default());
        // Silent again: the next wait ends for another reason.
        timer.arm(clock.now()).unwrap();
        assert_eq!(sources.wait(Room::Irrelevant).unwrap(), Woken { is_due: true, ..Woken::default() });
        timer.acknowledge().unwrap();
        assert_eq!(sources.wait(Room::Awaited).unwrap(), Woken { has_room: true, ..Woken::default() });
        let own = socket.local_address().into();
        socket.send(&mut Outgoing::single(own, b"packet")).unwrap();
        assert!(sources.wait(Room::Irrelevant).unwrap().is_readable);
        socket.receive(&mut ReceiveBatch::new()).unwrap();
    }
}
