//! What a receiver prints: `begun` once it is warm, then messages, octets and nanoseconds; and what a pinging one does: median
//! and 99th percentile in nanoseconds, and 10⁶ octets a second of what went beside.

use std::io::Write;
use std::process::exit;
use std::time::{Duration, Instant};

use crate::task::Task;

/// Counts what arrives.
#[derive(Debug)]
pub struct Tally {
    time: Duration,
    expected_octets: usize,
    first_at: Option<Instant>,
    begun_at: Option<Instant>,
    messages: u64,
    octets: u64,
}

impl Tally {
    /// Nothing has arrived.
    #[must_use]
    pub fn new(task: &Task) -> Self {
        let (time, expected_octets) = (task.time, task.octets);
        Self { time, expected_octets, first_at: None, begun_at: None, messages: 0, octets: 0 }
    }

    /// A message of so many octets is there.
    ///
    /// # Panics
    /// If it has another length than was sent.
    pub fn add(&mut self, octets: usize) {
        assert_eq!(octets, self.expected_octets, "a message arrived with another length");
        self.messages += 1;
        self.octets += octets as u64;
    }

    /// Octets of a stream without messages.
    pub fn add_octets(&mut self, octets: usize) {
        self.octets += octets as u64;
        self.messages = self.octets / self.expected_octets as u64;
    }

    /// Between two batches: begins, and ends the process when the time is over.
    pub fn look(&mut self) {
        if self.messages == 0 && self.begun_at.is_none() {
            return;
        }
        let now = Instant::now();
        let first_at = *self.first_at.get_or_insert(now);
        match self.begun_at {
            None if now - first_at >= WARM_UP => {
                (self.messages, self.octets, self.begun_at) = (0, 0, Some(now));
                say("begun");
            }
            Some(begun_at) if now - begun_at >= self.time => {
                let nanoseconds = (now - begun_at).as_nanos();
                say(&format!("{} {} {nanoseconds}", self.messages, self.octets));
                exit(0);
            }
            None | Some(_) => {}
        }
    }
}

/// Round trips.
#[derive(Debug)]
pub struct RoundTrips {
    begun_at: Instant,
    until: Instant,
    sent_at: Instant,
    nanoseconds: Vec<u128>,
}

impl RoundTrips {
    /// The first message is about to be sent.
    #[must_use]
    pub fn begin(task: &Task) -> Self {
        let now = Instant::now();
        Self { begun_at: now, until: now + task.time, sent_at: now, nanoseconds: Vec::with_capacity(1 << 20) }
    }

    /// An echo is there, and another message about to be sent; ends the process when the time is over.
    pub fn next(&mut self) {
        self.next_beside(0);
    }

    /// The same while so many octets of other messages have been handed over.
    pub fn next_beside(&mut self, octets: usize) {
        let now = Instant::now();
        self.nanoseconds.push((now - self.sent_at).as_nanos());
        self.sent_at = now;
        if now >= self.until {
            self.nanoseconds.sort_unstable();
            let at = |share: usize| self.nanoseconds[(self.nanoseconds.len() - 1) * share / 1000];
            let mb_per_s = octets as f64 / (now - self.begun_at).as_secs_f64() / 1e6;
            say(&format!("{} {} {mb_per_s}", at(500), at(990)));
            exit(0);
        }
    }
}

/// A line for whoever started this process.
///
/// # Panics
/// If nobody listens.
pub fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}").and_then(|()| output.flush()).expect("somebody listens");
}

/// From the first message on: windows open meanwhile.
const WARM_UP: Duration = Duration::from_millis(200);
