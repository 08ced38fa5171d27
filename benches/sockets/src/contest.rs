//! Two processes of one stack, each on its processor.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::running::{Absence, Running};

/// How runs are made.
#[derive(Debug)]
pub struct Contest {
    /// Of counting.
    pub milliseconds: u64,
    /// Where the programs are that are no part of `contender`.
    pub programs: PathBuf,
}

/// What a run of messages in one direction brought.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// 10⁶ octets a second.
    pub mb_per_s: f64,
    /// Messages a second.
    pub messages_per_s: f64,
    /// Seconds of processor time of the sender for 10⁹ octets.
    pub sender_s_per_gb: f64,
    /// The same of the receiver.
    pub receiver_s_per_gb: f64,
}

/// What a run of round trips brought.
#[derive(Clone, Copy, Debug)]
pub struct Trips {
    /// Median in microseconds.
    pub p50_us: f64,
    /// 99th percentile in microseconds.
    pub p99_us: f64,
    /// 10⁶ octets a second that went beside them, where any did.
    pub beside_mb_per_s: f64,
}

impl Contest {
    /// Messages in one direction.
    ///
    /// # Errors
    /// If the stack is not there, or gives no answer.
    pub fn bulk(&self, stack: &str, octets: usize, options: &[&str]) -> Result<Outcome, Absence> {
        self.bulk_at(stack, "127.0.0.1", octets, options)
    }

    /// The same at another address.
    ///
    /// # Errors
    /// As [`bulk`](Self::bulk).
    ///
    /// # Panics
    /// If the receiver prints anything else than figures.
    pub fn bulk_at(
        &self,
        stack: &str,
        ip: &str,
        octets: usize,
        options: &[&str],
    ) -> Result<Outcome, Absence> {
        let receiver = self.start(stack, "receive", 1, ip, octets, options)?;
        std::thread::park_timeout(SETTLING);
        let sender = self.start(stack, "send", 0, ip, octets, options)?;
        assert_eq!(receiver.line()?, "begun", "{stack}");
        let before = (sender.processor_ns(), receiver.processor_ns());
        // Half of the time is looked at: at its end the processes end.
        let begun_at = Instant::now();
        std::thread::park_timeout(Duration::from_millis(self.milliseconds / 2));
        let after = (sender.processor_ns(), receiver.processor_ns());
        let looked_at_ns = begun_at.elapsed().as_secs_f64() * 1e9;
        let result = receiver.line()?;
        let numbers: Vec<f64> = result.split(' ').map(|number| number.parse().expect("a number")).collect();
        let [messages, octets, nanoseconds] = numbers[..] else { panic!("{stack}: {result}") };
        let gigabytes = octets / 1e9 * looked_at_ns / nanoseconds;
        Ok(Outcome {
            mb_per_s: octets / nanoseconds * 1e3,
            messages_per_s: messages / nanoseconds * 1e9,
            sender_s_per_gb: (after.0 - before.0) / 1e9 / gigabytes,
            receiver_s_per_gb: (after.1 - before.1) / 1e9 / gigabytes,
        })
    }

    /// Round trips with both ends on processor 0.
    ///
    /// # Errors
    /// As [`bulk`](Self::bulk).
    pub fn ping(&self, stack: &str, octets: usize) -> Result<Trips, Absence> {
        self.ping_from(stack, [0, 0], octets, &[])
    }

    /// Round trips between these processors, client and server.
    ///
    /// # Errors
    /// As [`bulk`](Self::bulk).
    ///
    /// # Panics
    /// If the client prints anything else than figures.
    pub fn ping_from(
        &self,
        stack: &str,
        [client, server]: [usize; 2],
        octets: usize,
        options: &[&str],
    ) -> Result<Trips, Absence> {
        let _echo = self.start(stack, "echo", server, "127.0.0.1", octets, options)?;
        std::thread::park_timeout(SETTLING);
        let result = self.start(stack, "ping", client, "127.0.0.1", octets, options)?.line()?;
        let mut numbers = result.split(' ').map(|number| number.parse::<f64>().expect("a number"));
        let mut next = || numbers.next().expect("median and 99th percentile");
        let (p50_us, p99_us) = (next() / 1e3, next() / 1e3);
        Ok(Trips { p50_us, p99_us, beside_mb_per_s: numbers.next().unwrap_or(0.0) })
    }

    fn start(
        &self,
        stack: &str,
        end: &str,
        processor: usize,
        ip: &str,
        octets: usize,
        options: &[&str],
    ) -> Result<Running, Absence> {
        let own = self.programs.join(stack);
        let is_own = OWN_PROGRAMS.contains(&stack);
        if is_own && !own.exists() {
            return Err(Absence::NotThere);
        }
        let mut command = self.command(processor, if is_own { own } else { beside("contender") });
        // dcsctp-quiet is a contender as well, with another dcsctp in it.
        command.args(match stack {
            "usrsctp" | "pion" => None,
            "dcsctp-quiet" => Some("dcsctp"),
            _ => Some(stack),
        });
        command
            .args([end, &format!("{ip}:59777"), &octets.to_string(), &self.milliseconds.to_string()])
            .args(options);
        Ok(Running::start(command, Duration::from_millis(self.milliseconds) + PATIENCE))
    }

    fn command(&self, processor: usize, program: PathBuf) -> Command {
        let mut command = Command::new("taskset");
        // Go counts processors, not those it may use.
        command.args(["-c", &processor.to_string()]).arg(program).env("GOMAXPROCS", "1");
        command
    }
}

fn beside(program: &str) -> PathBuf {
    std::env::current_exe().expect("this runs").with_file_name(program)
}

/// Builds what is in other languages, if there is a compiler and the library; where it is then.
///
/// # Panics
/// If there is no folder for it.
#[must_use]
pub fn build_programs() -> PathBuf {
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("peers");
    let programs = beside("peers-programs");
    std::fs::create_dir_all(&programs).expect("the target folder can be written");
    let report = |name: &str, outcome: std::io::Result<std::process::ExitStatus>| match outcome {
        Ok(status) if status.success() => {}
        outcome => eprintln!("{name} is left out: {outcome:?}"),
    };
    let usrsctp = compiler("cc")
        .args(["-O2", "-o"])
        .arg(programs.join("usrsctp"))
        .arg(sources.join("usrsctp.c"))
        .args(["-lusrsctp", "-lpthread"])
        .status();
    report("usrsctp", usrsctp);
    let pion = compiler("go")
        .args(["build", "-o"])
        .arg(programs.join("pion"))
        .arg(".")
        .current_dir(sources.join("pion"))
        .status();
    report("pion", pion);
    let quiet = compiler("bash").arg(sources.join("dcsctp-quiet")).arg(&programs).status();
    report("dcsctp-quiet", quiet);
    programs
}

/// Without the real-time priority we may have been given: threads of a compiler that wait for each other by spinning would
/// keep the processors from those they wait for.
fn compiler(name: &str) -> Command {
    let mut command = Command::new("chrt");
    command.args(["--other", "0", name]);
    command
}

/// The stacks that are no part of this program.
const OWN_PROGRAMS: [&str; 3] = ["usrsctp", "pion", "dcsctp-quiet"];
/// For a receiver to listen.
const SETTLING: Duration = Duration::from_millis(50);
/// Beyond the time that is measured: handshake, warming up, and being disturbed.
const PATIENCE: Duration = Duration::from_secs(4);
