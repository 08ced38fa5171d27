//! Throughput, cost and latency over the loopback device, beside the kernel's TCP and UDP, in one run.
//!
//! `cargo build --profile dist -p headway && (cd benches && cargo run --release --bin loopback)`
//!
//! The sender runs on processor 0, the receiver on processor 1; for latency both on 0; for scaling both on 0, then on 0
//! and 1. Every figure is the median of so many runs, which alternate: what else the machine does disturbs all alike. With
//! `--fresh` each message is made anew and read where it arrives.

use std::convert::Infallible;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use headway_benches::{median, raw_udp, when_quiet};
use serde_json::Value;

fn main() -> ExitCode {
    when_quiet(print)
}

fn print() -> Result<(), Infallible> {
    let runs = number_after("--runs").unwrap_or(5);
    let milliseconds = number_after("--milliseconds").unwrap_or(1000);
    let is_fresh = std::env::args().any(|argument| argument == "--fresh");
    let bench = Bench { runs, milliseconds, is_fresh };
    let payload = if is_fresh { "; each message made anew and read" } else { "" };
    println!(
        "medians of {runs} runs of {milliseconds} ms; MB = 10^6 octets, counted at the receiver{payload}\n"
    );
    bench.bulk();
    bench.latency();
    bench.scaling();
    Ok(())
}

struct Bench {
    runs: u64,
    milliseconds: u64,
    /// Whether messages are made anew and read.
    is_fresh: bool,
}

impl Bench {
    /// Message sizes, and ratios to what the kernel does in the same minute.
    fn bulk(&self) {
        println!("bulk, one association, ordered");
        println!(
            "{:>8} {:>10} {:>11} {:>9} {:>9} {:>10} {:>10} {:>9} {:>9}",
            "octets",
            "SCTP MB/s",
            "messages/s",
            "CPU send",
            "CPU recv",
            "TCP MB/s",
            "UDP+GSO",
            "/ TCP",
            "/ UDP+GSO"
        );
        for size in [100, 1000, 1200, 10_000, 64_000] {
            let (mut sctp, mut rate, mut send, mut receive) = (vec![], vec![], vec![], vec![]);
            let (mut tcp, mut udp) = (vec![], vec![]);
            for _ in 0..self.runs {
                let result = self.perf("sctp", ["0", "1"], &format!("--message {size}"));
                sctp.push(of(&result, "/goodput_mb_per_s"));
                rate.push(of(&result, "/messages_per_s"));
                send.push(of(&result, "/cpu_s_per_gb/sender"));
                receive.push(of(&result, "/cpu_s_per_gb/receiver"));
                let result = self.perf("tcp", ["0", "1"], &format!("--message {size}"));
                tcp.push(of(&result, "/goodput_mb_per_s"));
                udp.push(raw_udp::throughput(1372, 47, Duration::from_millis(self.milliseconds)));
            }
            let (sctp, tcp, udp) = (median(sctp), median(tcp), median(udp));
            println!(
                "{size:>8} {sctp:>10.1} {:>11.0} {:>9.2} {:>9.2} {tcp:>10.1} {udp:>10.1} {:>9.2} {:>9.2}",
                median(rate),
                median(send),
                median(receive),
                sctp / tcp,
                sctp / udp
            );
        }
        self.variants();
    }

    /// What must not cost much more than the plain case; and the path without segmentation offload.
    fn variants(&self) {
        println!("\n100 octets, ratio to one ordered stream of the same run");
        let measure = |options: &str| of(&self.perf("sctp", ["0", "1"], options), "/messages_per_s");
        for options in ["--streams 16", "--unordered 100%", "--streams 16 --unordered 50%", "--mtu 9000"] {
            let (mut ratios, mut rates) = (vec![], vec![]);
            for _ in 0..self.runs {
                let plain = measure("--message 100");
                let other = measure(&format!("--message 100 {options}"));
                ratios.push(other / plain);
                rates.push(other);
            }
            println!("{options:>30}: {:>10.0} messages/s, {:.2}", median(rates), median(ratios));
        }
        let packets = |segments| {
            let run = |_| raw_udp::throughput(1400, segments, Duration::from_millis(self.milliseconds));
            median((0..self.runs).map(run).collect())
        };
        println!(
            "\nUDP alone, 1400 octets: {:.1} MB/s one by one, {:.1} MB/s with 44 segments",
            packets(1),
            packets(44)
        );
    }

    fn latency(&self) {
        println!("\nround trips of 64 octets, both ends on one processor, p50 and p99 in microseconds");
        let (mut udp, mut sctp, mut tcp) = (vec![], (vec![], vec![]), (vec![], vec![]));
        for _ in 0..self.runs {
            udp.push(raw_udp::round_trip_us(64, 10_000));
            for (transport, (p50, p99)) in [("sctp", &mut sctp), ("tcp", &mut tcp)] {
                let result = self.perf(transport, ["0", "0"], "--message 64 --ping");
                p50.push(of(&result, "/rtt_us/p50"));
                p99.push(of(&result, "/rtt_us/p99"));
            }
        }
        let udp = median(udp);
        println!("     raw UDP, blocking: {udp:.1}");
        for (name, (p50, p99)) in [("SCTP", sctp), ("TCP", tcp)] {
            let p50 = median(p50);
            println!("{name:>22}: {p50:.1} (raw UDP {:+.1}), {:.1}", p50 - udp, median(p99));
        }
    }

    fn scaling(&self) {
        println!("\n16 associations, 1200 octets: both ends on one processor, then on two");
        let (mut one, mut two) = (vec![], vec![]);
        for _ in 0..self.runs {
            for (processors, results) in [("0", &mut one), ("0,1", &mut two)] {
                let result = self.perf("sctp", [processors, processors], "--associations 16");
                results.push(of(&result, "/goodput_mb_per_s"));
            }
        }
        let (one, two) = (median(one), median(two));
        println!("{one:.1} MB/s, {two:.1} MB/s: {:.2} times", two / one);
    }

    /// One run in two processes, confined to these processors: client, server.
    fn perf(&self, transport: &str, processors: [&str; 2], options: &str) -> Value {
        let server = Server::start(transport, processors[1]);
        let output = headway(processors[0])
            .args(["perf", "client", "--to", "127.0.0.1:5999", "--transport", transport, "--json", "-"])
            .args(["--duration", &format!("{}ms", self.milliseconds)])
            .args((transport == "sctp").then_some(["--encap-port", "0:59899"]).into_iter().flatten())
            .args(self.is_fresh.then_some("--fresh"))
            .args(options.split_whitespace())
            .stderr(Stdio::inherit())
            .output()
            .expect("taskset is there");
        drop(server);
        assert!(output.status.success(), "headway perf client: {:?}", output.status);
        serde_json::from_slice(&output.stdout).expect("headway prints JSON")
    }
}

/// A server for one run; ended with it.
struct Server(Child);

impl Server {
    fn start(transport: &str, processors: &str) -> Self {
        let mut server = headway(processors)
            .args(["perf", "server", "--listen", "127.0.0.1:5999", "--transport", transport])
            .args((transport == "sctp").then_some(["--encap-port", "59899"]).into_iter().flatten())
            .stdout(Stdio::piped())
            .spawn()
            .expect("taskset is there");
        let mut ready = String::new();
        let output = server.stdout.take().expect("it is a pipe");
        BufReader::new(output).read_line(&mut ready).expect("the server prints where it listens");
        assert!(ready.contains("perf over"), "{ready}");
        Self(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().expect("the server is a child of this process");
        self.0.wait().expect("the server is a child of this process");
    }
}

/// The program as built by `cargo build --profile dist -p headway`, confined to these processors.
fn headway(processors: &str) -> Command {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/dist/headway");
    let mut command = Command::new("taskset");
    command.args(["-c", processors, program]);
    command
}

fn of(result: &Value, pointer: &str) -> f64 {
    result.pointer(pointer).and_then(Value::as_f64).unwrap_or(f64::NAN)
}

fn number_after(option: &str) -> Option<u64> {
    let mut arguments = std::env::args().skip_while(|argument| argument != option);
    arguments.nth(1)?.parse().ok()
}
