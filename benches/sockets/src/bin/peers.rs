//! Headway beside other stacks over the loopback device, in one run.
//!
//! `cargo build --release -p headway-sockets && chrt -f 5 target/release/peers [bulk|modes|paths|ping|beside|handshakes]
//! [--runs N] [--milliseconds N]`
//!
//! The sender runs on processor 0, the receiver on processor 1; for round trips both on 0. Every figure is the median of so
//! many runs, and the runs of the stacks alternate: what else the machine does disturbs all alike. `chrt -f` puts that
//! aside where the machine has other work.

use std::convert::Infallible;
use std::process::ExitCode;
use std::time::Duration;

use headway_benches::{median, raw_udp, when_quiet};
use headway_sockets::contest::{Contest, Outcome, Trips, build_programs};
use headway_sockets::running::Absence;
use headway_sockets::{handshakes, raw_ip};

fn main() -> ExitCode {
    when_quiet(print)
}

fn print() -> Result<(), Infallible> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let number = |option: &str, default| {
        let at = arguments.iter().position(|argument| argument == option);
        at.and_then(|at| arguments.get(at + 1)).map_or(default, |text| text.parse::<u64>().expect("a number"))
    };
    let is_asked = |part: &str| {
        let parts: Vec<_> = ["bulk", "modes", "paths", "ping", "beside", "handshakes"]
            .into_iter()
            .filter(|part| arguments.iter().any(|it| it == part))
            .collect();
        parts.is_empty() || parts.contains(&part)
    };
    let contest = Contest { milliseconds: number("--milliseconds", 700), programs: build_programs() };
    let runs = usize::try_from(number("--runs", 5)).expect("a small number");
    println!(
        "medians of {runs} runs of {} ms; MB = 10^6 octets, counted at the receiver",
        contest.milliseconds
    );
    if is_asked("bulk") {
        bulk(&contest, runs);
    }
    if is_asked("modes") {
        modes(&contest, runs);
    }
    if is_asked("paths") {
        paths(&contest, runs);
    }
    if is_asked("ping") {
        ping(&contest, runs);
    }
    if is_asked("beside") {
        beside(&contest, runs);
    }
    if is_asked("handshakes") {
        in_memory(runs);
    }
    Ok(())
}

/// All stacks; ours made in several ways, "fresh" with payloads made anew and read.
const STACKS: [&str; 13] = [
    "headway",
    "headway-fresh",
    "headway-tokio",
    "headway-engine",
    RTC,
    "sctp-proto",
    "dcsctp-quiet",
    "dcsctp",
    "quinn",
    "usrsctp",
    "pion",
    "tcp",
    "tcp-batched",
];
const RTC: &str = "rtc-sctp";

/// Message sizes, ordered, one stream.
fn bulk(contest: &Contest, runs: usize) {
    for octets in [100, 1000, 1200, 10_000, 64_000] {
        let mut outcomes = vec![Vec::new(); STACKS.len()];
        let mut raw = Vec::new();
        for _ in 0..runs {
            for (stack, outcomes) in STACKS.iter().zip(&mut outcomes) {
                outcomes.extend(contest.bulk(stack, octets, &[]));
            }
            raw.push(raw_udp::throughput(1400, 46, Duration::from_millis(contest.milliseconds)));
        }
        let spreads: Vec<_> =
            outcomes.iter().map(|outcomes| spread(outcomes.iter().map(|it| it.mb_per_s))).collect();
        let outcomes: Vec<_> = outcomes.into_iter().map(middle).collect();
        let rtc = STACKS.iter().zip(&outcomes).find(|(stack, _)| **stack == RTC);
        let rtc = rtc.and_then(|(_, outcome)| *outcome).map_or(f64::NAN, |it| it.mb_per_s);
        let raw = median(raw);
        println!("\n{octets} octets, one stream, ordered; raw UDP with GSO and GRO: {raw:.0} MB/s");
        println!(
            "{:>15} {:>9} {:>15} {:>11} {:>8} {:>8} {:>11} {:>9}",
            "", "MB/s", "least–most", "messages/s", "CPU send", "CPU recv", "/ rtc+GSO", "/ raw"
        );
        for ((stack, outcome), spread) in STACKS.iter().zip(&outcomes).zip(spreads) {
            match outcome {
                Some(it) => println!(
                    "{stack:>15} {:>9.1} {spread:>15} {:>11.0} {:>8.2} {:>8.2} {:>11.2} {:>9.2}",
                    it.mb_per_s,
                    it.messages_per_s,
                    it.sender_s_per_gb,
                    it.receiver_s_per_gb,
                    it.mb_per_s / rtc,
                    it.mb_per_s / raw
                ),
                None => println!("{stack:>15} not there, or gave no answer in time"),
            }
        }
    }
}

/// What must not cost much more than one ordered stream.
fn modes(contest: &Contest, runs: usize) {
    println!("\n100 octets, ratio to one ordered stream of the same stack in the same run");
    let cases: [(&str, &[&str]); 3] =
        [("16 streams", &["streams=16"]), ("unordered", &["unordered"]), ("I-DATA", &["i-data"])];
    for stack in ["headway", "headway-tokio", "rtc-sctp"] {
        for (name, options) in cases {
            if stack == "rtc-sctp" && name == "I-DATA" {
                continue;
            }
            let (mut rates, mut ratios) = (Vec::new(), Vec::new());
            for _ in 0..runs {
                let plain = contest.bulk(stack, 100, &[]).expect("it is there");
                let other = contest.bulk(stack, 100, options).expect("it is there");
                rates.push(other.messages_per_s);
                ratios.push(other.messages_per_s / plain.messages_per_s);
            }
            println!("{stack:>15} {name:>12} {:>11.0} messages/s {:>6.2}", median(rates), median(ratios));
        }
    }
}

/// Other paths than UDP over IPv4 with packets of 1400.
fn paths(contest: &Contest, runs: usize) {
    println!("\nHeadway (blocking) by path, MB/s; packets of 1400 and 8900 octets");
    for address in ["127.0.0.1", "[::1]"] {
        for packet in ["packet=1400", "packet=8900"] {
            let run = |octets| {
                let outcomes =
                    (0..runs).filter_map(|_| contest.bulk_at("headway", address, octets, &[packet]).ok());
                middle(outcomes.collect()).map_or(f64::NAN, |it| it.mb_per_s)
            };
            println!(
                "{address:>15} {packet}: {:>8.1} of 1200 octets, {:>8.1} of 64,000",
                run(1200),
                run(64_000)
            );
        }
    }
    without_offload(contest, runs);
}

/// Packet by packet: UDP, raw IP sockets with nothing above them, and SCTP over those.
fn without_offload(contest: &Contest, runs: usize) {
    println!("\npackets of 1400 octets without segmentation offload, packets/s and ratio to raw UDP");
    let time = Duration::from_millis(contest.milliseconds);
    let names = ["raw UDP", "raw IP socket, no SCTP", "Headway over IP 132"];
    let mut rates = [const { Vec::new() }; 3];
    for _ in 0..runs {
        let [udp, raw, ours] = &mut rates;
        udp.push(raw_udp::throughput(1400, 1, time) * 1e6 / 1400.0);
        raw.push(raw_ip::packets_per_s(1400, time));
        // A message fills a packet: 12 octets are the common header, 16 the chunk's.
        let ip = contest.bulk("headway-ip", 1372, &[]).expect("raw sockets need CAP_NET_RAW");
        ours.push(ip.messages_per_s);
    }
    let medians = rates.map(median);
    for (name, rate) in names.iter().zip(medians) {
        println!("{name:>23} {rate:>9.0} {:>6.2}", rate / medians[0]);
    }
}

fn ping(contest: &Contest, runs: usize) {
    println!(
        "\nround trips of 64 octets, both ends on processor 0, microseconds: p50, its least and most, p99, p50 above raw UDP"
    );
    let alike = |stack: &&str| ["headway-fresh", "tcp-batched"].contains(stack);
    let stacks = ["raw-udp", "sockets"].into_iter().chain(STACKS.into_iter().filter(|it| !alike(it)));
    let stacks: Vec<_> = stacks.collect();
    let mut times = vec![Vec::new(); stacks.len()];
    for _ in 0..runs {
        for (stack, times) in stacks.iter().zip(&mut times) {
            times.push(contest.ping(stack, 64));
        }
    }
    let mut raw = f64::NAN;
    for (stack, times) in stacks.iter().zip(times) {
        let absence = times.iter().find_map(|it| it.err());
        let (p50, p99): (Vec<_>, Vec<_>) =
            times.into_iter().flatten().map(|it| (it.p50_us, it.p99_us)).unzip();
        if p50.is_empty() {
            println!("{stack:>15} {}", absence.unwrap_or(Absence::NotThere));
            continue;
        }
        let silent =
            absence.map_or_else(String::new, |_| format!(" of {} runs; the others gave none", p50.len()));
        let spread = spread(p50.iter().copied());
        let p50 = median(p50);
        if raw.is_nan() {
            raw = p50;
        }
        println!("{stack:>15} {p50:>8.1} {spread:>11} {:>8.1} {:>+8.1}{silent}", median(p99), p50 - raw);
    }
}

/// Round trips on a stream with priority, while another stream of the association carries as much as goes; the receiver
/// offers room for as much as everywhere, or for less, or the sender bounds the queue it keeps.
fn beside(contest: &Contest, runs: usize) {
    println!(
        "\nround trips of 64 octets from processor 0 to 1 with priority, microseconds: p50, p99, p99 to that of idle, \
         MB/s of the bulk"
    );
    let cases: [(&str, &[&str]); 7] = [
        ("idle", &[]),
        ("beside bulk", &["beside-bulk"]),
        ("window 256 KiB", &["beside-bulk", "window-kib=256"]),
        ("window 64 KiB", &["beside-bulk", "window-kib=64"]),
        ("queue 100 us", &["beside-bulk", "queue-us=100"]),
        ("queue 20 us", &["beside-bulk", "queue-us=20"]),
        ("queue 10 us", &["beside-bulk", "queue-us=10"]),
    ];
    let mut all = [const { Vec::new() }; 7];
    for _ in 0..runs {
        for ((_, options), trips) in cases.iter().zip(&mut all) {
            trips.extend(contest.ping_from("headway-priority", [0, 1], 64, options));
        }
    }
    let mut idle = f64::NAN;
    for ((name, _), trips) in cases.iter().zip(all) {
        if trips.is_empty() {
            println!("{name:>15} {}", Absence::Silent);
            continue;
        }
        let middle = |figure: fn(&Trips) -> f64| median(trips.iter().map(figure).collect());
        let p99 = middle(|it| it.p99_us);
        if idle.is_nan() {
            idle = p99;
        }
        let (p50, mb_per_s) = (middle(|it| it.p50_us), middle(|it| it.beside_mb_per_s));
        println!("{name:>15} {p50:>8.1} {p99:>8.1} {:>6.2} {mb_per_s:>8.1}", p99 / idle);
    }
}

/// Associations set up without sockets, both ends in this thread.
fn in_memory(runs: usize) {
    println!("\nhandshakes in memory, both ends: associations/s of processor time, ratio to dcsctp");
    type Handshakes = fn(u16) -> f64;
    let stacks: [(&str, Handshakes); 3] =
        [("dcsctp", handshakes::dcsctp), ("headway", handshakes::headway), (RTC, handshakes::rtc_sctp)];
    let mut rates = [const { Vec::new() }; 3];
    for _ in 0..runs {
        for ((_, handshakes), rates) in stacks.iter().zip(&mut rates) {
            rates.push(handshakes(HANDSHAKES));
        }
    }
    let medians = rates.map(median);
    for ((stack, _), rate) in stacks.iter().zip(medians) {
        println!("{stack:>15} {rate:>9.0} {:>6.2}", rate / medians[0]);
    }
}

const HANDSHAKES: u16 = 10_000;

/// The least and the most of some runs.
fn spread(values: impl Iterator<Item = f64> + Clone) -> String {
    let (least, most) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max));
    format!("{least:.1}–{most:.1}")
}

fn middle(mut outcomes: Vec<Outcome>) -> Option<Outcome> {
    outcomes.sort_by(|a, b| a.mb_per_s.total_cmp(&b.mb_per_s));
    outcomes.get(outcomes.len() / 2).copied()
}
