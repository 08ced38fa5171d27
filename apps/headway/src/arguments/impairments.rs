//! The path between the ends: delay, loss and everything else that it does to packets.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::Args;
use netem::{BitRate, Impairments, InvalidImpairments, Loss, Probability, QueueLimit};

use super::{UsageError, format_duration, parse_duration, parse_packet_number};

/// The impairments of both directions. The way back is as the way there unless told otherwise.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Path")]
pub(crate) struct ImpairmentArguments {
    /// Round-trip time, split evenly between both directions
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, conflicts_with_all = ["delay", "reverse_delay"])]
    rtt: Option<Duration>,
    /// Delay of one direction, instead of --rtt
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    delay: Option<Duration>,
    /// Delay varies evenly by so much up and down; packets may overtake each other
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    jitter: Option<Duration>,
    /// Probability that a packet is lost: 1%; in bursts bursts:GOOD,BAD (mean times between and of bursts, such as
    /// bursts:990ms,10ms) or, stepping with packets instead of time, ge:p,r,h,k (Gilbert-Elliott)
    #[arg(long, value_name = "PROBABILITY")]
    loss: Option<Loss>,
    /// Numbers of packets that are dropped, from 1, in the request direction
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = parse_packet_number)]
    drop: Vec<u64>,
    /// Rate of the link: 1.7mbit [default: unlimited]
    #[arg(long, value_name = "RATE")]
    link_rate: Option<BitRate>,
    /// The most that waits before the link, with --link-rate: 50p (packets) or 64KiB [default: unlimited]
    #[arg(long, value_name = "LIMIT")]
    queue: Option<QueueLimit>,
    /// Probability that a packet skips the delay, and so overtakes others
    #[arg(long, value_name = "PROBABILITY")]
    reorder: Option<Probability>,
    /// Probability that a packet is doubled
    #[arg(long, value_name = "PROBABILITY")]
    duplicate: Option<Probability>,
    /// Probability that a bit of a packet flips
    #[arg(long, value_name = "PROBABILITY")]
    corrupt: Option<Probability>,
    #[command(flatten)]
    reverse: ReverseArguments,
}

/// The options for the way back, where it differs.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Path, way back [default: as the way there]")]
struct ReverseArguments {
    /// Delay of the way back
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    reverse_delay: Option<Duration>,
    /// Jitter of the way back
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    reverse_jitter: Option<Duration>,
    /// Loss of the way back
    #[arg(long, value_name = "PROBABILITY")]
    reverse_loss: Option<Loss>,
    /// Numbers of packets that are dropped on the way back [default: none]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = parse_packet_number)]
    reverse_drop: Vec<u64>,
    /// Rate of the link of the way back
    #[arg(long, value_name = "RATE")]
    reverse_link_rate: Option<BitRate>,
    /// The most that waits before the link of the way back
    #[arg(long, value_name = "LIMIT")]
    reverse_queue: Option<QueueLimit>,
    /// Reordering of the way back
    #[arg(long, value_name = "PROBABILITY")]
    reverse_reorder: Option<Probability>,
    /// Duplication of the way back
    #[arg(long, value_name = "PROBABILITY")]
    reverse_duplicate: Option<Probability>,
    /// Corruption of the way back
    #[arg(long, value_name = "PROBABILITY")]
    reverse_corrupt: Option<Probability>,
}

/// Both directions of a path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path {
    /// The direction that requests take.
    pub(crate) request: Impairments,
    /// The way back.
    pub(crate) response: Impairments,
}

impl ImpairmentArguments {
    /// Returns the impairments of both directions, checked.
    pub(crate) fn path(&self) -> Result<Path, UsageError> {
        let back = &self.reverse;
        let (there, way_back) = self.delays();
        let request = Impairments {
            delay: there,
            jitter: self.jitter.unwrap_or_default(),
            loss: self.loss.unwrap_or_default(),
            drop_packets: set(&self.drop),
            rate: self.link_rate,
            queue: self.queue,
            reorder: self.reorder.unwrap_or_default(),
            duplicate: self.duplicate.unwrap_or_default(),
            corrupt: self.corrupt.unwrap_or_default(),
        };
        let response = Impairments {
            delay: way_back,
            jitter: back.reverse_jitter.unwrap_or(request.jitter),
            loss: back.reverse_loss.unwrap_or(request.loss),
            drop_packets: set(&back.reverse_drop),
            rate: back.reverse_link_rate.or(request.rate),
            queue: back.reverse_queue.or(request.queue),
            reorder: back.reverse_reorder.unwrap_or(request.reorder),
            duplicate: back.reverse_duplicate.unwrap_or(request.duplicate),
            corrupt: back.reverse_corrupt.unwrap_or(request.corrupt),
        };
        self.check(&request, &response)?;
        Ok(Path { request, response })
    }

    /// Returns the delays; an explicit --delay beats the default of --rtt.
    fn delays(&self) -> (Duration, Duration) {
        let rtt = self.rtt.unwrap_or_default();
        match self.delay {
            Some(delay) => (delay, self.reverse.reverse_delay.unwrap_or(delay)),
            None => (rtt / 2, self.reverse.reverse_delay.unwrap_or(rtt - rtt / 2)),
        }
    }

    /// Checks both directions; the way back takes what it is not told from the options of the way there.
    fn check(&self, request: &Impairments, response: &Impairments) -> Result<(), UsageError> {
        let back = &self.reverse;
        let there = Names {
            delay: if self.delay.is_some() { "--delay" } else { "--rtt" },
            jitter: "--jitter",
            drop: "--drop",
            queue: "--queue",
            link_rate: "--link-rate",
        };
        let way_back = Names {
            delay: if back.reverse_delay.is_some() { "--reverse-delay" } else { there.delay },
            jitter: if back.reverse_jitter.is_some() { "--reverse-jitter" } else { there.jitter },
            drop: "--reverse-drop",
            queue: if back.reverse_queue.is_some() { "--reverse-queue" } else { there.queue },
            link_rate: "--reverse-link-rate",
        };
        for (way, names) in [(request, there), (response, way_back)] {
            way.validate().map_err(|error| names.usage(&error))?;
            names.check_room(way.queue)?;
        }
        Ok(())
    }
}

/// An IPv4 header, a UDP header and the shortest message of the load generator, rounded up.
const LEAST_PACKET_BYTES: u64 = 64;

fn set(numbers: &[u64]) -> BTreeSet<u64> {
    numbers.iter().copied().collect()
}

/// The names of the options that one direction has its values from.
struct Names {
    delay: &'static str,
    jitter: &'static str,
    drop: &'static str,
    queue: &'static str,
    link_rate: &'static str,
}

impl Names {
    /// Refuses a queue in which no packet finds room: packets were meant, most likely.
    fn check_room(&self, queue: Option<QueueLimit>) -> Result<(), UsageError> {
        match queue {
            Some(QueueLimit::Bytes(octets)) if octets < LEAST_PACKET_BYTES => {
                let (value, because) = (octets.to_string(), "that is octets, and no packet has so few");
                let remedy = format!("write {octets}p for packets, or at least {LEAST_PACKET_BYTES} octets");
                Err(UsageError::value(self.queue, value, because, &remedy))
            }
            Some(
                QueueLimit::Bytes(_) | QueueLimit::Packets(_) | QueueLimit::Red(_) | QueueLimit::CoDel(_),
            )
            | None => Ok(()),
        }
    }

    /// Returns what the path cannot be, with the option that says so.
    fn usage(&self, error: &InvalidImpairments) -> UsageError {
        match error {
            InvalidImpairments::DelayTooLong { delay } => {
                let delay = format_duration(*delay);
                let because = format!("a one-way delay of {delay} is too long");
                UsageError::value(self.delay, delay, &because, "write at most 1h")
            }
            InvalidImpairments::JitterExceedsDelay { jitter, delay } => {
                let most = format_duration(*delay);
                let because = format!(
                    "packets would arrive before they were sent: the delay of one direction is {most}"
                );
                let remedy = format!("write at most {most}, or a longer {}", self.delay);
                UsageError::value(self.jitter, format_duration(*jitter), &because, &remedy)
            }
            InvalidImpairments::PacketZero => {
                UsageError::value(self.drop, 0, "packets are numbered from 1", "write at least 1")
            }
            InvalidImpairments::QueueWithoutRate { queue } => {
                let remedy = format!("add {0}, such as {0} 1.7mbit", self.link_rate);
                UsageError::value(self.queue, queue, "without a rate nothing ever waits", &remedy)
            }
        }
    }
}
