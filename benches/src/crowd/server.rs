//! The server: a process of its own, whose memory and processor time are all the server's.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use sctp::{Association, CommunicationLost, EndpointConfig, SctpPort};

use super::{Failure, SERVER_ON, pin};

/// The port of the server's endpoint.
pub(super) const PORT: u16 = 7;
/// The first argument of the process that is the server.
const SERVE: &str = "serve";

/// A server that runs until this is dropped.
pub(super) struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts this program once more, as a server with room for so many associations.
    pub(super) fn start(associations: usize) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([SERVE, &associations.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let output = child.stdout.take();
        let unbound = SocketAddr::from(([127, 0, 0, 1], 0));
        // From here on it ends whatever happens.
        let mut server = Self { child, address: unbound };
        let mut line = String::new();
        BufReader::new(output.ok_or("the server has no output")?).read_line(&mut line)?;
        server.address = line.trim().parse().map_err(|_| format!("the server did not start: {line:?}"))?;
        Ok(server)
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The processor time that it has taken so far.
    pub(super) fn processor_time(&self) -> Result<Duration, Failure> {
        let pid = Pid::from_raw(i32::try_from(self.child.id())?);
        Ok(clock_gettime(ClockId::pid_cpu_clock_id(pid)?)?.into())
    }

    /// Octets of its memory that are resident.
    pub(super) fn resident_bytes(&self) -> Result<usize, Failure> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<usize>()? * 1024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already if it panicked; what it said of that has been seen.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Serves, if that is what this process was started for; `None` if not.
#[must_use]
pub fn serve() -> Option<Result<(), Failure>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [mode, associations] if mode == SERVE => Some(run(associations)),
        _ => None,
    }
}

fn run(associations: &str) -> Result<(), Failure> {
    let mut config = EndpointConfig::new(SctpPort::try_from(PORT)?);
    config.association_limit = associations.parse::<usize>()?;
    // One host has them all, none has sent anything, and all of them come at once.
    (config.crowds.network_percent, config.crowds.reserve_percent) = (100, 0);
    (config.init_rate, config.host_init_rate) = (None, None);
    config.receive_memory_bytes = 1 << 40;
    pin(SERVER_ON)?;
    // Who started it holds its input open, and ends it with that.
    std::thread::spawn(|| {
        let _octets = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(accept(config))
}

async fn accept(config: EndpointConfig) -> Result<(), Failure> {
    let endpoint = sctp::Endpoint::bind(config, "127.0.0.1:0".parse()?).await?;
    println!("{}", endpoint.local_address());
    std::io::stdout().flush()?;
    while let Some(association) = endpoint.accept().await {
        tokio::spawn(echo(association));
    }
    Ok(())
}

async fn echo(association: Association) -> Result<(), CommunicationLost> {
    while let Some(received) = association.recv().await? {
        if association.send(received.message).await.is_err() {
            break;
        }
    }
    Ok(())
}
