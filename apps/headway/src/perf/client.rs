//! The command `headway perf client`.

use std::io;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Args;
use sctp::MessageBundling;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::connection::{Connection, Dialled};
use super::control::{Answer, ArrivalReport, Interval, Opening, Plan, Request, per_second};
use super::cpu::process_time;
use super::dial::{PacketFiles, Target};
use super::pump::{self, Load, Phase};
use super::result::{CpuPerGb, MessagesSent, RoundTrips, RunResult, line};
use super::server::{LONGEST_MESSAGE_BYTES, association};
use super::{MessageProtocol, PerfError, SctpCongestion};
use crate::arguments::{
    Address, EncapPort, Place, UsageError, check_capture, parse_congestion, parse_perf_address,
    parse_positive_duration, parse_share, parse_size,
};
use crate::failure::{Failure, Interrupted};
use crate::interrupt::{Ending, Signals};
use crate::output::{Output, OutputArguments, OutputError};

/// Sends as much as the server takes, or one message at a time, and prints what arrived there
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  headway perf client --to 192.0.2.1:5201 --message 100 --streams 16 \\\n      --unordered 50% --duration 10s"
)]
pub(crate) struct Arguments {
    /// Addresses or names of the server with the same port (5201 if none is given), IPv6 in brackets: several for a
    /// multi-homed SCTP, of which TCP uses the first that answers; a name stands for all its addresses; after `ip:` SCTP
    /// travels directly over IP (protocol 132)
    #[arg(long, value_name = "HOST[:PORT]", required = true, num_args = 1.., value_parser = parse_perf_address)]
    to: Vec<Address>,
    #[command(flatten)]
    payload: PayloadArguments,
    /// Streams of each association, to which messages are dealt in turn
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    streams: u16,
    /// Share of messages sent unordered, as 50% or 0.5
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = parse_share)]
    unordered: f64,
    /// Associations, or connections, at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    associations: u16,
    /// How long to send
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_positive_duration)]
    duration: Duration,
    /// Send one message at a time and wait for its echo
    #[arg(long)]
    ping: bool,
    /// The protocol that carries the messages
    #[arg(long, value_name = "NAME", value_enum, default_value_t = MessageProtocol::Sctp)]
    transport: MessageProtocol,
    /// Congestion control of the kernel's TCP [default: the system's]
    #[arg(long, value_name = "NAME", value_parser = parse_congestion)]
    tcp_congestion: Option<String>,
    /// Congestion control of SCTP [default: cubic]
    #[arg(long, value_name = "NAME", value_enum)]
    sctp_congestion: Option<SctpCongestion>,
    /// Cut messages in two where a packet of SCTP ends, so that every packet is full
    #[arg(long)]
    fill: bool,
    /// UDP ports that carry SCTP: ours (0: any) and the server's [default: 0:9899]
    #[arg(long, value_name = "LOCAL[:REMOTE]")]
    encap_port: Option<EncapPort>,
    /// Size of the largest IP packet SCTP sends
    #[arg(long, value_name = "SIZE", default_value = "1400", value_parser = parse_size)]
    mtu: u32,
    /// Write the packets of SCTP to pcapng files, one per association, numbered, the control conversation first; TCP is for tcpdump
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

/// The octets of messages.
#[derive(Debug, Clone, Copy, Args)]
struct PayloadArguments {
    /// Size of each message, as 1200 or 64KiB
    #[arg(long, value_name = "SIZE", default_value = "1200", value_parser = parse_size)]
    message: u32,
    /// Make each message anew, and read every octet that arrives, as programs do that have something to say
    #[arg(long)]
    fresh: bool,
}

impl PayloadArguments {
    /// Returns the first payload, if a server takes messages of its size.
    fn first(self) -> Result<Bytes, UsageError> {
        let len = usize::try_from(self.message).unwrap_or(usize::MAX);
        let refuse = |because, remedy| Err(UsageError::value("--message", self.message, because, remedy));
        if len == 0 {
            return refuse("a message has at least one octet", "write for example 1200");
        }
        if len > LONGEST_MESSAGE_BYTES {
            return refuse("the server takes messages of 1 MiB at most", "write 1MiB or less");
        }
        let payload: Vec<u8> = (0..len).map(|index| index.to_le_bytes()[0]).collect();
        Ok(Bytes::from(payload))
    }
}

impl Arguments {
    fn target(&self) -> Result<Target, UsageError> {
        let place = Place::of("--to", &self.to)?;
        place.check_protocol("--to", self.transport == MessageProtocol::Sctp)?;
        if let Some(ports) = self.encap_port.filter(|ports| ports.local > 0) {
            // The control conversation has an association of its own.
            let because = "every association needs a UDP port of its own, and there are two at least";
            return Err(UsageError::value("--encap-port", ports.local, because, "write 0 for any port"));
        }
        if let Some(name) = self.tcp_congestion.as_ref().filter(|_| self.transport == MessageProtocol::Sctp) {
            let because = "SCTP has a congestion control of its own";
            return Err(UsageError::value(
                "--tcp-congestion",
                name,
                because,
                "add --transport tcp, or leave it out",
            ));
        }
        let carrier = place.carrier_of_client(self.encap_port)?;
        let mut association = association();
        association.streams.outbound = self.streams;
        if let Some(name) = self.sctp_congestion {
            association.congestion.algorithm = name.algorithm();
        }
        if self.fill {
            association.transmission.bundling = MessageBundling::Filled;
        }
        association.path_mtu.bytes = usize::try_from(self.mtu).unwrap_or(usize::MAX);
        association.validate().map_err(|error| {
            UsageError::value("--mtu", self.mtu, &error.to_string(), "write for example 1400")
        })?;
        let (protocol, pcap) = (self.transport, self.pcap.clone().map(PacketFiles::new));
        let tcp_congestion = self.tcp_congestion.clone();
        Ok(Target { place, carrier, protocol, association, pcap, is_impatient: self.ping, tcp_congestion })
    }

    fn load(&self) -> Result<Load, UsageError> {
        let payload = self.payload.first()?;
        self.check_transport()?;
        Ok(Load {
            payload,
            streams: self.streams,
            unordered: self.unordered,
            is_echoed: self.ping,
            is_fresh: self.payload.fresh,
        })
    }

    /// Refuses TCP with an option for what it has not.
    fn check_transport(&self) -> Result<(), UsageError> {
        const REMEDY: &str = "leave it out, or write --transport sctp";
        if self.transport == MessageProtocol::Sctp {
            return Ok(());
        }
        let order = "TCP has one stream, and keeps its order";
        if self.streams > 1 {
            return Err(UsageError::value("--streams", self.streams, order, REMEDY));
        }
        if self.unordered > 0.0 {
            return Err(UsageError::value("--unordered", self.unordered, order, REMEDY));
        }
        if self.fill {
            return Err(UsageError::Flag {
                option: "--fill",
                because: "TCP has no messages to cut",
                remedy: REMEDY,
            });
        }
        if self.sctp_congestion.is_some() {
            let (option, because) = ("--sctp-congestion", "TCP has a congestion control of its own");
            return Err(UsageError::Flag {
                option,
                because,
                remedy: "write --tcp-congestion, or leave it out",
            });
        }
        Ok(())
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (target, load) = (arguments.target()?, arguments.load()?);
    let output = arguments.output.open()?;
    output.tell(&target.place.resolutions())?;
    check_capture(arguments.pcap.as_deref())?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(PerfError::from)?;
    runtime.block_on(measure(arguments, target, load, &output))
}

async fn measure(arguments: &Arguments, target: Target, load: Load, output: &Output) -> Result<(), Failure> {
    let signals = Signals::new().map_err(PerfError::from)?;
    let plan = Plan {
        run: random().map_err(PerfError::from)?,
        message_bytes: arguments.payload.message,
        is_echoed: arguments.ping,
        is_fresh: arguments.payload.fresh,
    };
    let mut control = target.connect().await?;
    control.connection.say(&Opening::Run(plan)).await?;
    match control.connection.hear().await? {
        Some(Answer::Ready) => {}
        Some(Answer::Busy) => return Err(PerfError::Busy.into()),
        Some(Answer::Interval(_) | Answer::Report(_)) | None => return Err(no_answer().into()),
    }
    let (phase, _) = watch::channel(Phase::Waiting);
    let workers = Workers::start(arguments.associations, &target, &load, plan.run, &phase);
    let mut workers = workers.map_err(PerfError::from)?;
    tokio::spawn(stop_on_signal(signals, phase.clone()));
    workers.connected().await?;
    let cpu_before = process_time();
    let is_stopped = |phase: &Phase| *phase == Phase::Stopped;
    phase.send_if_modified(|phase| {
        let begins = !is_stopped(phase);
        if begins {
            *phase = Phase::SendingUntil(Instant::now() + arguments.duration);
        }
        begins
    });
    let mut shown = Shown { intervals: Vec::new(), output };
    let times_ns = listen_while(&mut workers, &mut control.connection, &mut shown).await?;
    let cpu = process_time().saturating_sub(cpu_before);
    control.connection.say(&Request::Finished).await?;
    let report = loop {
        match listen(&mut control.connection, &mut shown).await? {
            None => {}
            Some(report) => break report,
        }
    };
    control.connection.close().await?;
    let is_interrupted = is_stopped(&phase.borrow());
    conclude(arguments, &report, cpu, shown, times_ns)?;
    if is_interrupted { Err(Interrupted("").into()) } else { Ok(()) }
}

/// Prints intervals until all workers are done; their round-trip times.
async fn listen_while(
    workers: &mut Workers,
    control: &mut Connection,
    shown: &mut Shown<'_>,
) -> Result<Vec<u64>, Failure> {
    let mut times_ns = Vec::new();
    let mut left = workers.associations;
    while left > 0 {
        let soon = tokio::time::Instant::now() + LOOK_INTERVAL;
        if let Some(Answer::Interval(interval)) = control.hear_by(soon).await? {
            shown.add(interval)?;
        }
        while left > 0
            && let Some(done) = workers.try_done()
        {
            times_ns.extend(done?);
            left -= 1;
        }
    }
    Ok(times_ns)
}

/// Waits for the next answer after the client has finished; returns the report, if it is that.
async fn listen(control: &mut Connection, shown: &mut Shown<'_>) -> Result<Option<ArrivalReport>, Failure> {
    match control.hear().await? {
        Some(Answer::Interval(interval)) => Ok(shown.add(interval).map(|()| None)?),
        Some(Answer::Report(report)) => Ok(Some(report)),
        Some(Answer::Ready | Answer::Busy) | None => Err(no_answer().into()),
    }
}

/// The intervals so far, each printed as it came.
struct Shown<'a> {
    intervals: Vec<Interval>,
    output: &'a Output,
}

impl Shown<'_> {
    /// Adds an interval. A part of a second at the end says little by itself: it belongs to the second before.
    fn add(&mut self, interval: Interval) -> Result<(), OutputError> {
        match self.intervals.last_mut() {
            Some(last) if interval.is_sliver() => *last = last.joined(interval),
            _ => {
                self.intervals.push(interval);
                self.output.tell(&line(&interval))?;
            }
        }
        Ok(())
    }
}

fn conclude(
    arguments: &Arguments,
    report: &ArrivalReport,
    cpu: Duration,
    Shown { intervals, output }: Shown<'_>,
    times_ns: Vec<u64>,
) -> Result<(), Failure> {
    let result = RunResult {
        headway: env!("CARGO_PKG_VERSION"),
        transport: arguments.transport.name(),
        messages: MessagesSent { message_bytes: arguments.payload.message, fresh: arguments.payload.fresh },
        streams: arguments.streams,
        unordered: arguments.unordered,
        associations: arguments.associations,
        duration_s: report.seconds,
        goodput_mb_per_s: per_second(report.arrived.octets, report.seconds) / 1e6,
        messages_per_s: per_second(report.arrived.messages, report.seconds),
        cpu_s_per_gb: CpuPerGb::new(cpu, report),
        intervals,
        rtt_us: arguments.ping.then(|| RoundTrips::new(times_ns)),
    };
    output.write(&result.text(), &result)?;
    if report.wrong_length > 0 {
        return Err(PerfError::WrongLength(report.wrong_length).into());
    }
    if arguments.payload.fresh && !report.is_read { Err(PerfError::NotRead.into()) } else { Ok(()) }
}

/// The first Ctrl-C ends the run early; another one, or SIGTERM, the program.
async fn stop_on_signal(mut signals: Signals, phase: watch::Sender<Phase>) {
    loop {
        match signals.next().await {
            Ending::Interrupt if *phase.borrow() != Phase::Stopped => {
                phase.send_replace(Phase::Stopped);
            }
            Ending::Interrupt => std::process::exit(i32::from(crate::interrupt::INTERRUPTED)),
            Ending::Terminate => std::process::exit(TERMINATED),
        }
    }
}

/// Threads with associations, each with a runtime of its own.
struct Workers {
    threads: Vec<JoinHandle<()>>,
    connected: mpsc::UnboundedReceiver<Result<(), PerfError>>,
    done: mpsc::UnboundedReceiver<Result<Vec<u64>, PerfError>>,
    associations: u16,
}

impl Workers {
    /// Starts as many threads as there are processors for this process, at most one for each association.
    fn start(
        associations: u16,
        target: &Target,
        load: &Load,
        run: u64,
        phase: &watch::Sender<Phase>,
    ) -> io::Result<Self> {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let count = processors.min(usize::from(associations)).max(1);
        let (tell_connected, connected) = mpsc::unbounded_channel();
        let (tell_done, done) = mpsc::unbounded_channel();
        let mut threads = Vec::with_capacity(count);
        for number in 0..count {
            let share = (number..usize::from(associations)).step_by(count).len();
            let worker = Worker {
                target: target.clone(),
                load: load.clone(),
                run,
                phase: phase.subscribe(),
                connected: tell_connected.clone(),
                done: tell_done.clone(),
            };
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let work = move || runtime.block_on(worker.work(share));
            threads.push(std::thread::Builder::new().name(format!("perf {number}")).spawn(work)?);
        }
        Ok(Self { threads, connected, done, associations })
    }

    async fn connected(&mut self) -> Result<(), PerfError> {
        for _ in 0..self.associations {
            self.connected.recv().await.unwrap_or_else(|| Err(self.vanished()))?;
        }
        Ok(())
    }

    fn try_done(&mut self) -> Option<Result<Vec<u64>, PerfError>> {
        match self.done.try_recv() {
            Ok(done) => Some(done),
            Err(mpsc::error::TryRecvError::Empty) => None,
            Err(mpsc::error::TryRecvError::Disconnected) => Some(Err(self.vanished())),
        }
    }

    fn vanished(&self) -> PerfError {
        PerfError::BrokeOff(format!("one of {} threads ended by itself", self.threads.len()))
    }
}

/// One thread's part.
#[derive(Clone)]
struct Worker {
    target: Target,
    load: Load,
    run: u64,
    phase: watch::Receiver<Phase>,
    connected: mpsc::UnboundedSender<Result<(), PerfError>>,
    done: mpsc::UnboundedSender<Result<Vec<u64>, PerfError>>,
}

impl Worker {
    async fn work(self, share: usize) {
        let mut tasks = JoinSet::new();
        for _ in 0..share {
            tasks.spawn(self.clone().carry());
        }
        tasks.join_all().await;
    }

    /// One association, from its opening to its end. What is not heard any more concerns nobody.
    async fn carry(self) {
        let mut dialled = match self.open().await {
            Ok(dialled) => dialled,
            Err(error) => return drop(self.connected.send(Err(error))),
        };
        let _unheard = self.connected.send(Ok(()));
        let connection = &mut dialled.connection;
        let times = pump::run(connection, &self.load, self.phase).await;
        let closed = match &times {
            Ok(_) => connection.close().await,
            Err(_) => Ok(()),
        };
        let _unheard = self.done.send(closed.and(times));
    }

    async fn open(&self) -> Result<Dialled, PerfError> {
        let mut dialled = self.target.connect().await?;
        dialled.connection.say(&Opening::Messages(self.run)).await?;
        match dialled.connection.hear().await? {
            Some(Answer::Ready) => Ok(dialled),
            Some(Answer::Busy | Answer::Interval(_) | Answer::Report(_)) | None => Err(no_answer()),
        }
    }
}

fn no_answer() -> PerfError {
    PerfError::BrokeOff("the server closed the connection instead of answering".to_owned())
}

/// Tells this run's connections from another's.
fn random() -> io::Result<u64> {
    let entropy = sctp_io::os_entropy()?;
    let mut octets = [0; 8];
    octets.copy_from_slice(&entropy[..8]);
    Ok(u64::from_ne_bytes(octets))
}

/// How often the client looks whether its threads are done.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// Exit status after SIGTERM, as shells have it.
const TERMINATED: i32 = 143;
