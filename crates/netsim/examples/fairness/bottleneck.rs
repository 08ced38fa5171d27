//! n SCTP and n TCP flows over one link: two hosts with an address for each flow, and what each flow got.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use netem::{BitRate, Impairments, Loss, Probability, QueueLimit, derive_indexed_seed};
use netsim::{Direction, Host, HostId, LinkId, LinkSpec, Outgoing, Packet, World};
use sctp_core::{InitialWindow, LeastWindow};
use virtual_time::Instant;

use crate::flow::{Algorithm, End, Kind, Messages, Terms};

/// The conditions of one line of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) algorithm: Algorithm,
    pub(crate) rtt: Duration,
    pub(crate) obstacle: Obstacle,
    pub(crate) messages: Messages,
    /// The window that SCTP begins with, and the one that a loss leaves it at least.
    pub(crate) initial_window: InitialWindow,
    pub(crate) least_window: LeastWindow,
    /// Flows of SCTP, and of TCP.
    pub(crate) flows: [u8; 2],
    /// Flows of which kind begin when the others are measured, and how many.
    pub(crate) newcomers: Option<(Kind, u8)>,
    /// What is not measured, from the beginning on.
    pub(crate) warm_up: Duration,
}

/// Why packets are lost.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Obstacle {
    /// A drop-tail queue of so many packets.
    Queue(u32),
    /// A share of the packets with data, whatever the load; the queue takes all.
    Loss(f64),
    /// The same on a link a hundred times as fast: nothing but losses limits a flow.
    LossAlone(f64),
    /// A path of so many Mbit/s, with a drop-tail queue of so many packets, that loses a share of the packets with data by chance.
    Path { mbits: u64, queue: u32, loss: f64 },
}

/// What the flows of one run received per second, in bit/s, and how often the senders' timers expired.
pub(crate) struct Outcome {
    pub(crate) sctp: Vec<f64>,
    pub(crate) tcp: Vec<f64>,
    pub(crate) sctp_timeouts: u64,
    pub(crate) tcp_timeouts: u64,
    /// The share of the packets of the measured time that found the queue full.
    pub(crate) dropped: f64,
    /// How long messages of thin flows took.
    pub(crate) waits: Vec<Duration>,
}

impl Outcome {
    /// Jain's fairness index over all flows: 1 if all are equal, 1/n if one has it all.
    pub(crate) fn jain(&self) -> f64 {
        jain_of(self.sctp.iter().chain(&self.tcp))
    }
}

/// Jain's fairness index of these rates.
pub(crate) fn jain_of<'a>(rates: impl Iterator<Item = &'a f64> + Clone) -> f64 {
    let (sum, squares): (f64, f64) = (rates.clone().sum(), rates.clone().map(|rate| rate * rate).sum());
    sum * sum / (rates.map(|_| 1.0).sum::<f64>() * squares)
}

impl Cell {
    /// So many flows of each protocol, of messages that fill packets, once slow start is over and the flows have met.
    pub(crate) fn shared(algorithm: Algorithm, rtt: Duration, obstacle: Obstacle, flows: u8) -> Self {
        Self {
            algorithm,
            rtt,
            obstacle,
            messages: Messages::OfOnePacket,
            initial_window: InitialWindow::Rfc9260,
            least_window: LeastWindow::FourPackets,
            flows: [flows, flows],
            newcomers: None,
            warm_up: Duration::from_secs(10),
        }
    }

    /// A flow that has a path with losses for itself, from the beginning on, of SCTP or, given no messages of it, TCP.
    pub(crate) fn alone(algorithm: Algorithm, messages: Option<Messages>, loss: f64) -> Self {
        Self {
            algorithm,
            rtt: Duration::from_millis(20),
            obstacle: Obstacle::LossAlone(loss),
            messages: messages.unwrap_or(Messages::OfOnePacket),
            initial_window: InitialWindow::Rfc9260,
            least_window: LeastWindow::FourPackets,
            newcomers: None,
            flows: if messages.is_some() { [1, 0] } else { [0, 1] },
            warm_up: Duration::ZERO,
        }
    }

    /// MB/s of all flows together, over `runs` runs.
    pub(crate) fn goodput(&self, runs: u64, measured: Duration) -> f64 {
        let of_run = |outcome: Outcome| outcome.sctp.iter().chain(&outcome.tcp).sum::<f64>();
        let sum: f64 = (1..=runs).map(|seed| of_run(self.run(seed, measured))).sum();
        sum / to_f64(runs) / 8e6
    }

    /// One run: flows begin within the first second, in an order that depends on the seed.
    pub(crate) fn run(&self, seed: u64, measured: Duration) -> Outcome {
        let (mut world, [left, right], link) = self.world(seed);
        world.run_until(Instant::EPOCH + self.warm_up);
        let before = received(&world, right);
        let before_queue = queue(&world, link);
        world.run_until(Instant::EPOCH + self.warm_up + measured);
        let after = received(&world, right);
        let [offered, dropped] = [0, 1].map(|index| queue(&world, link)[index] - before_queue[index]);
        let rate = |(before, after): (&u64, &u64)| to_f64(after - before) * 8.0 / measured.as_secs_f64();
        let rates: Vec<f64> = before.iter().zip(&after).map(rate).collect();
        let timeouts: Vec<u64> = world.host(left).ends.iter().map(End::timeouts).collect();
        let sctp = usize::from(self.flows[0]);
        let standing = sctp + usize::from(self.flows[1]);
        Outcome {
            sctp: rates[..sctp].to_vec(),
            tcp: rates[sctp..standing].to_vec(),
            sctp_timeouts: timeouts[..sctp].iter().sum(),
            tcp_timeouts: timeouts[sctp..standing].iter().sum(),
            dropped: to_f64(dropped) / to_f64(offered),
            waits: world.host(right).ends.iter().flat_map(End::waits).copied().collect(),
        }
    }

    /// Returns the world of a run before anything has happened, the hosts of senders and of receivers, and the bottleneck.
    pub(crate) fn world(&self, seed: u64) -> (World<Site>, [HostId; 2], LinkId) {
        let window_bytes = match self.obstacle {
            Obstacle::Queue(_) => 1 << 20,
            // Only the window ends the growth of a queue that takes all.
            Obstacle::Loss(_) => 256 << 10,
            Obstacle::LossAlone(_) => 4 << 20,
            // More than path and queue hold, so that it never is the limit.
            Obstacle::Path { mbits, queue, .. } => {
                2 * (self.bdp_packets(mbits) + usize::try_from(queue).unwrap()) * 1500 + (1 << 20)
            }
        };
        let Self { algorithm, messages, initial_window, least_window, .. } = *self;
        let terms =
            Terms { algorithm, messages, initial_window, least_window, mtu_bytes: 1500, window_bytes };
        let [mut left, mut right] = [Site::default(), Site::default()];
        for (flow, (kind, earliest)) in (0..).zip(self.beginnings()) {
            let [here, there] = [0, 1].map(|side| IpAddr::V4(Ipv4Addr::new(10, 0, side, flow + 1)));
            let seed_of = |label| derive_indexed_seed(seed, label, u64::from(flow));
            let within = if earliest == Instant::EPOCH { NANOS_PER_SECOND } else { NEWCOMERS_WITHIN };
            let begin = earliest + Duration::from_nanos(seed_of("begin") % within);
            left.ends.push(End::new(kind, &terms, [here, there], Some(begin), seed_of("left")));
            right.ends.push(End::new(kind, &terms, [there, here], None, seed_of("right")));
        }
        let mut world = World::new(seed);
        let mut interfaces = Vec::new();
        let hosts = [left, right].map(|site| {
            let addresses: Vec<IpAddr> = site.ends.iter().map(|end| end.address).collect();
            let host = world.add_host(site);
            interfaces.push(world.add_interface(host, &addresses).unwrap());
            host
        });
        let link = world.connect(interfaces[0], interfaces[1], self.link()).unwrap();
        world.wake(hosts[0]);
        (world, hosts, link)
    }

    /// Returns of what kind each flow is, and the earliest time at which it begins.
    fn beginnings(&self) -> impl Iterator<Item = (Kind, Instant)> {
        let (late, count) = self.newcomers.unwrap_or((Kind::Tcp, 0));
        let standing = [(Kind::Sctp, self.flows[0]), (Kind::Tcp, self.flows[1])];
        let standing = standing.map(|(kind, count)| (kind, Instant::EPOCH, count));
        let groups = standing.into_iter().chain([(late, Instant::EPOCH + self.warm_up, count)]);
        groups.flat_map(|(kind, earliest, count)| (0..count).map(move |_| (kind, earliest)))
    }

    /// Packets that such a path holds beside its queue.
    pub(crate) fn bdp_packets(&self, mbits: u64) -> usize {
        let octets = u128::from(mbits) * 125_000 * self.rtt.as_micros() / 1_000_000;
        usize::try_from(octets / 1500).unwrap()
    }

    fn link(&self) -> LinkSpec {
        let delay = self.rtt / 2;
        let random = |share| Loss::Bernoulli(Probability::new(share).unwrap());
        let bottleneck = BitRate::from_bits_per_second(BITS_PER_SECOND);
        let wide = BitRate::from_bits_per_second(100 * BITS_PER_SECOND);
        let (queue, rate, loss) = match self.obstacle {
            Obstacle::Queue(packets) => (Some(QueueLimit::Packets(packets)), bottleneck, Loss::None),
            Obstacle::Loss(0.0) => (None, bottleneck, Loss::None),
            Obstacle::Loss(share) => (None, bottleneck, random(share)),
            Obstacle::LossAlone(share) => (None, wide, random(share)),
            Obstacle::Path { mbits, queue, loss } => {
                let rate = BitRate::from_bits_per_second(mbits * 1_000_000);
                let loss = if loss == 0.0 { Loss::None } else { random(loss) };
                (Some(QueueLimit::Packets(queue)), rate, loss)
            }
        };
        let request = Impairments { delay, loss, rate, queue, ..Impairments::default() };
        // Where service times are all alike, flows fall into step with each other, and the drop-tail queue picks the
        // same victim again and again. SACKs of a flow are further apart than this and stay in order.
        let jitter = match self.obstacle {
            Obstacle::Queue(_) | Obstacle::Loss(_) | Obstacle::LossAlone(_) => JITTER,
            Obstacle::Path { mbits, .. } => JITTER * 10 / u32::try_from(mbits).unwrap(),
        };
        LinkSpec { request, response: Impairments { delay, jitter, ..Impairments::default() } }
    }
}

/// Packets with data that were offered to the bottleneck so far, and those that found its queue full.
fn queue(world: &World<Site>, link: LinkId) -> [u64; 2] {
    let stats = world.link_stats(link, Direction::Request);
    [stats.offered, stats.dropped_queue]
}

fn received(world: &World<Site>, id: HostId) -> Vec<u64> {
    world.host(id).ends.iter().map(|end| end.received_bytes).collect()
}

pub(crate) fn to_f64(count: u64) -> f64 {
    f64::from(u32::try_from(count >> 20).unwrap()) * 1_048_576.0
        + f64::from(u32::try_from(count & 0xf_ffff).unwrap())
}

/// One side of the bottleneck: an end of every flow.
#[derive(Default)]
pub(crate) struct Site {
    pub(crate) ends: Vec<End>,
    /// Flows that may have something to send.
    touched: BTreeSet<usize>,
}

impl Host for Site {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        let flow = self.ends.iter().position(|end| end.address == packet.destination).unwrap();
        self.ends[flow].handle_packet(now, packet.payload);
        self.touched.insert(flow);
    }

    fn handle_timeout(&mut self, now: Instant) {
        for (flow, end) in self.ends.iter_mut().enumerate() {
            if end.poll_timeout().is_some_and(|due| due <= now) {
                end.handle_timeout(now);
                self.touched.insert(flow);
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        while let Some(&flow) = self.touched.first() {
            let end = &mut self.ends[flow];
            if let Some(len) = end.poll_transmit(now, buffer) {
                let (source, destination) = (Some(end.address), end.peer);
                return Some(Outgoing {
                    source,
                    destination,
                    protocol: end.protocol(),
                    len,
                    segment_bytes: None,
                });
            }
            self.touched.remove(&flow);
        }
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.ends.iter().filter_map(End::poll_timeout).min()
    }
}

const BITS_PER_SECOND: u64 = 10_000_000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Newcomers begin within a tenth of a second.
const NEWCOMERS_WITHIN: u64 = 100_000_000;
/// Half of the time one packet of 1500 octets occupies the link of 10 Mbit/s.
const JITTER: Duration = Duration::from_micros(600);
