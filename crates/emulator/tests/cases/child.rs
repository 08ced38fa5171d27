//! This program again, as a child process with a part to play.

use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, ExitCode};

use emulator::{EmulatedLink, EmulatorOptions, LinkEnd, World};
use netem::Impairments;

/// The part of a child process.
pub(crate) enum Role {
    /// Sends a datagram to this address and waits for the answer.
    Ping(SocketAddr),
    /// Runs a world with link 9 in the current namespace until it is killed.
    RunUntilKilled,
}

/// The part this process has, if it is a child.
pub(crate) fn role() -> Option<Role> {
    let part = std::env::var(ROLE).ok()?;
    match part.parse() {
        Ok(address) => Some(Role::Ping(address)),
        Err(_) => Some(Role::RunUntilKilled),
    }
}

/// A child that pings `address`.
pub(crate) fn ping(address: SocketAddr) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.env(ROLE, address.to_string());
    command
}

/// A child that runs until killed; it writes an octet when it is set up.
pub(crate) fn run_until_killed() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.env(ROLE, "run until killed");
    command
}

/// A child that runs one case with pairs of virtual Ethernet devices.
pub(crate) fn run_case_with_veth(case: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args([case, "--exact", "--nocapture"]).env(DEVICE, "veth");
    command
}

impl Role {
    /// Plays it.
    pub(crate) fn play(self) -> ExitCode {
        match self {
            Self::Ping(address) => {
                let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
                socket.send_to(b"ping", address).unwrap();
                socket.recv_from(&mut [0; 64]).unwrap();
            }
            Self::RunUntilKilled => {
                let link = EmulatedLink::symmetric(9, Impairments::default(), 1);
                let mut world = World::new(vec![link]).unwrap();
                world.attach_here(&[LinkEnd::server(9)]).unwrap();
                let _side = world.spawn_side("side", &[LinkEnd::client(9)], |_| ()).unwrap();
                let _emulator = world.start(EmulatorOptions::default()).unwrap();
                std::io::stdout().write_all(b"!").unwrap();
                std::io::stdout().flush().unwrap();
                std::io::stdin().read_exact(&mut [0]).unwrap();
            }
        }
        ExitCode::SUCCESS
    }
}

/// Leaves the emulator no choice of devices.
pub(crate) const DEVICE: &str = "HEADWAY_DEVICE";
const ROLE: &str = "HEADWAY_TEST_ROLE";
