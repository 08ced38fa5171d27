//! Many associations on one endpoint, some of which are active: what those notice, and what the quiet ones cost.
//!
//! The server is a process of its own on processor 1: an endpoint of `sctp` under tokio with a task for each association, which sends
//! back what comes. The clients are in this process on processor 0: an `sctp-core` endpoint for each, all over one UDP socket, or two
//! where there are more of them than SCTP ports.
//!
//! ```text
//! set up ─► quiet (processor time) ─► open loop (response times) ─► as fast as they can (echoes/s, Jain's index)
//! ```
//!
//! Requests of the open loop come at random, as many a second as asked for, to one active association after the other; a response time
//! counts from when a request was to leave, so that a client that is late makes nothing look faster than it was.

mod clients;
mod figures;
mod server;

use std::error::Error;
use std::time::Duration;

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use self::clients::Clients;
use self::figures::{jain, quantile_us};
use self::server::Server;
pub use self::server::serve;

/// What may go wrong is told to who started the program, and ends it.
pub type Failure = Box<dyn Error + Send + Sync>;

/// What a row is about.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    /// Associations on the server's endpoint, at most [`MOST`].
    pub associations: usize,
    /// How many of them send requests, at least one.
    pub active: usize,
    /// Requests a second in the open loop, of all active associations together.
    pub rate: u32,
    /// How long the open loop is measured, and then the closed one.
    pub busy: Duration,
    /// How long all of them are quiet while processor time is counted.
    pub quiet: Duration,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How long it took to set them up, both ends.
    pub set_up: Duration,
    /// Resident octets of the server for each association, once all are up.
    pub resident_bytes: f64,
    /// The share of a processor that the server takes while all of them are quiet; HEARTBEATs go on.
    pub quiet_share: f64,
    /// The 50th, 99th and 99.9th percentile of response times in the open loop, in microseconds.
    pub response_us: [f64; 3],
    /// Echoes a second in the open loop.
    pub open_rate: f64,
    /// Echoes a second while each active association sends its next request when the answer is there.
    pub most_rate: f64,
    /// Jain's index over the echoes that the active associations had then.
    pub jain: f64,
}

impl Crowd {
    /// Sets up the associations and measures.
    ///
    /// # Errors
    /// A number that is out of bounds, or something that the system refuses, or an association that is lost or does not come up.
    pub fn measure(self) -> Result<Outcome, Failure> {
        self.check()?;
        pin(CLIENTS_ON)?;
        let server = Server::start(self.associations)?;
        let before = server.resident_bytes()?;
        let mut clients = Clients::new(server.address(), self.associations)?;
        let set_up = clients.connect()?;
        clients.keep_quiet(SETTLING)?;
        let resident = server.resident_bytes()?.saturating_sub(before);

        let taken = server.processor_time()?;
        clients.keep_quiet(self.quiet)?;
        let quiet = server.processor_time()? - taken;

        let mut open = clients.open_loop(self.active, self.rate, self.busy)?;
        let closed = clients.closed_loop(self.active, self.busy)?;
        let seconds = self.busy.as_secs_f64();
        Ok(Outcome {
            set_up,
            resident_bytes: resident as f64 / self.associations as f64,
            quiet_share: quiet.as_secs_f64() / self.quiet.as_secs_f64(),
            open_rate: open.len() as f64 / seconds,
            response_us: [500, 990, 999].map(|share| quantile_us(&mut open, share)),
            most_rate: f64::from(closed.iter().sum::<u32>()) / seconds,
            jain: jain(&closed),
        })
    }

    fn check(self) -> Result<(), Failure> {
        let Self { associations, active, rate, busy, quiet } = self;
        if associations == 0 || associations > MOST {
            return Err(format!("{associations} associations: between 1 and {MOST} are measured").into());
        }
        if active == 0 || active > associations {
            return Err(format!(
                "{active} of {associations} associations active: at least 1, and no more than there are"
            )
            .into());
        }
        if rate == 0 || busy.is_zero() || quiet.is_zero() || busy > LONGEST || quiet > LONGEST {
            return Err(format!("{rate} requests/s for {busy:?}, quiet for {quiet:?}: none may be zero, nor longer than {LONGEST:?}").into());
        }
        Ok(())
    }
}

/// Confines this process to a processor, if the machine has it.
fn pin(processor: usize) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    set.set(processor)?;
    match sched_setaffinity(Pid::from_raw(0), &set) {
        Ok(()) | Err(Errno::EINVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The most associations: twice as many as have an SCTP port each at one address.
pub const MOST: usize = 2 * clients::OF_SOCKET;

const CLIENTS_ON: usize = 0;
const SERVER_ON: usize = 1;
/// The longest time of a part: with the largest crowd a row takes no more than five minutes.
const LONGEST: Duration = Duration::from_secs(120);
/// After the handshakes: probes of the path MTU, and the first HEARTBEATs.
const SETTLING: Duration = Duration::from_secs(3);
