//! The wire over protocol 132: raw sockets of the script in a network namespace of its own, and in it a process with the
//! stack that ships.
//!
//! Nothing here depends on how fast the machine is: what is due is waited for, up to [`PATIENCE`]; that nothing comes
//! is shown by the order of answers, and by a short wait besides.

use core::time::Duration;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use nix::sched::{CloneFlags, unshare};
use sctp_core::Event;
use socket2::{Domain, Protocol, Socket, Type};

use crate::stack;
use crate::virtual_time::{ADDRESSES, STACK_ADDRESS};
use crate::wire::{Arrival, Call, Settings, Wire, WireError};

/// Raw sockets at the script's addresses, and the process with the stack.
pub struct RawWire {
    process: Child,
    calls: ChildStdin,
    answers: BufReader<ChildStdout>,
    sockets: Vec<Socket>,
    arrivals: Receiver<Arrival>,
    begun: Instant,
}

/// Gives this thread a network namespace of its own, with the addresses of script and stack.
///
/// # Errors
/// What the system says.
pub fn enter_namespace() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNET)?;
    let set = |words: &[&str]| -> io::Result<()> {
        let output = Command::new("ip").args(words).output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(io::Error::other(said)) }
    };
    set(&["link", "set", "lo", "up"])?;
    for address in ADDRESSES.into_iter().chain([STACK_ADDRESS]) {
        set(&["address", "add", &format!("{address}/32"), "dev", "lo"])?;
    }
    Ok(())
}

impl RawWire {
    /// Starts `program stack SETTINGS` in the namespace of this thread and waits until it is ready.
    ///
    /// # Errors
    /// A socket, the process or its first word cannot be had.
    pub fn new(program: &Path, settings: Settings) -> Result<Self, WireError> {
        let failed = |what| move |source| WireError::System { what, source };
        let (sender, arrivals) = channel();
        let mut sockets = Vec::new();
        for (to, address) in ADDRESSES.into_iter().enumerate() {
            let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(132)))
                .and_then(|socket| socket.bind(&SocketAddr::new(address, 0).into()).map(|()| socket))
                .map_err(failed("a raw socket"))?;
            listen(socket.try_clone().map_err(failed("a raw socket"))?, to, sender.clone());
            sockets.push(socket);
        }
        let name = format!("{settings:?}").to_lowercase();
        let mut process = Command::new(program)
            .args(["stack", &name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed("the process with the stack"))?;
        let none = || WireError::System {
            what: "the process with the stack",
            source: io::ErrorKind::BrokenPipe.into(),
        };
        let (calls, answers) =
            (process.stdin.take().ok_or_else(none)?, process.stdout.take().ok_or_else(none)?);
        let begun = Instant::now();
        let mut wire = Self { process, calls, answers: BufReader::new(answers), sockets, arrivals, begun };
        wire.await_line("ready")?;
        Ok(wire)
    }

    fn await_line(&mut self, wanted: &str) -> Result<(), WireError> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        read.map_err(|source| WireError::System { what: "hearing from the stack's process", source })?;
        if line.trim() == wanted {
            return Ok(());
        }
        let source = io::Error::other(format!("it said `{}` instead of `{wanted}`", line.trim()));
        Err(WireError::System { what: "the process with the stack", source })
    }
}

/// The process ends with the script.
impl Drop for RawWire {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.process.kill();
        let _status = self.process.wait();
    }
}

impl Wire for RawWire {
    fn send(&mut self, from: usize, packet: &[u8]) -> Result<(), WireError> {
        let socket = &self.sockets[from.min(self.sockets.len() - 1)];
        let to = SocketAddr::new(STACK_ADDRESS, 0);
        let sent = socket.send_to(packet, &to.into()).map(drop);
        sent.map_err(|source| WireError::System { what: "sending a packet", source })
    }

    fn receive(&mut self, within: Duration) -> Option<Arrival> {
        self.arrivals.recv_timeout(within + PATIENCE).ok()
    }

    fn overhear(&mut self, _during: Duration) -> Option<Arrival> {
        self.arrivals.recv_timeout(SHORT).ok()
    }

    fn call(&mut self, call: Call) -> Result<(), WireError> {
        let written = self.calls.write_all(stack::line(call).as_bytes()).and_then(|()| self.calls.flush());
        written.map_err(|source| WireError::System { what: "calling the stack's user", source })?;
        self.await_line("done")
    }

    fn events(&mut self) -> Vec<Event> {
        Vec::new()
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// Hands on what comes to a socket, without its IP header, until nobody wants it.
fn listen(socket: Socket, to: usize, sender: Sender<Arrival>) {
    std::thread::spawn(move || {
        let (mut socket, mut buffer) = (socket, vec![0; 65_536]);
        loop {
            let count = match socket.read(&mut buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            let packet = buffer.get(..count).unwrap_or_default();
            let header = packet.first().map_or(0, |first| usize::from(first & 15) * 4);
            let octets = packet.get(header..).unwrap_or_default().to_vec();
            // The flag DF of the IP header.
            let may_be_fragmented = packet.get(6).is_some_and(|flags| flags & 0x40 == 0);
            if sender.send(Arrival { to, octets, may_be_fragmented }).is_err() {
                return;
            }
        }
    });
}

/// The time for which something that has to come is waited for.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// The time for which is waited where nothing may come.
const SHORT: Duration = Duration::from_millis(30);
