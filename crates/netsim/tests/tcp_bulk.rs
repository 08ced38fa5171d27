//! A TCP flow without pause over a path that loses packets at random: the mean windows of theory.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use core::time::Duration;
use std::net::IpAddr;

use netem::{Impairments, Loss, Probability};
use netsim::tcp::{Application, ConnectionId, Connections, TcpHost};
use netsim::{LinkSpec, World};
use tcp_core::{CongestionAlgorithm, Event, TcpConfig};
use virtual_time::Instant;

/// √(3/(2p)): a loss every 1/p packets, half of the window each time.
#[test]
fn the_mean_window_of_reno_is_the_square_root_law() {
    for loss in [0.005_f64, 0.01, 0.02] {
        let theory = (1.5 / loss).sqrt();
        let ours = mean_window(CongestionAlgorithm::NewReno, loss);
        assert!((ours / theory - 1.0).abs() < 0.12, "{loss}: {ours} segments, {theory} by theory");
    }
}

/// A kernel with CUBIC carried 5.7 Mbit/s here at 1 %, which is a window of 10.3; RFC 9438 alone would have a quarter more.
#[test]
fn linux_has_a_smaller_window_than_the_cubic_of_the_rfc() {
    let [linux, rfc] = [CongestionAlgorithm::LinuxCubic, CongestionAlgorithm::Cubic]
        .map(|algorithm| mean_window(algorithm, 0.01));
    assert!((9.5..11.8).contains(&linux), "{linux}");
    assert!(rfc > 1.15 * linux, "{rfc} and {linux}");
}

/// Over three seeds of half a minute each, in segments.
fn mean_window(congestion: CongestionAlgorithm, loss: f64) -> f64 {
    let windows = (1..=3).map(|seed| window(congestion, loss, seed));
    windows.sum::<f64>() / 3.0
}

fn window(congestion: CongestionAlgorithm, loss: f64, seed: u64) -> f64 {
    let config = TcpConfig { congestion, ..TcpConfig::default() };
    let [near, far] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
    let mut world = World::new(seed);
    let client = world.add_host(TcpHost::new(near, config, 1, Bulk { is_sender: true, ..Bulk::default() }));
    let server = world.add_host(TcpHost::new(far, config, 2, Bulk::default()));
    let ends =
        [(client, near), (server, far)].map(|(host, address)| world.add_interface(host, &[address]).unwrap());
    let response = Impairments {
        delay: Duration::from_millis(10),
        rate: Some("20mbit".parse().unwrap()),
        queue: Some("100p".parse().unwrap()),
        ..Impairments::default()
    };
    let loss = Loss::Bernoulli(Probability::new(loss).unwrap());
    let request = Impairments { loss, ..response.clone() };
    world.connect(ends[0], ends[1], LinkSpec { request, response }).unwrap();
    world.host_mut(server).connections.listen(5001);
    let mut opened = None;
    world.with_host(client, |host, _| opened = Some(host.connections.connect(far, 5001)));
    let mut sum = 0.0;
    for sample in 1..=SAMPLES {
        world.run_until(Instant::EPOCH + EVERY * sample);
        let statistics = world.host(client).connections[opened.unwrap()].statistics();
        sum += f64::from(u32::try_from(statistics.cwnd_bytes).unwrap()) / f64::from(config.mss);
    }
    sum / f64::from(SAMPLES)
}

/// Writes without pause, or reads all that comes.
#[derive(Default)]
struct Bulk {
    is_sender: bool,
    buffer: Vec<u8>,
}

impl Application for Bulk {
    fn on_event(&mut self, _: Instant, connections: &mut Connections, id: ConnectionId, event: Event) {
        let may_write = self.is_sender && matches!(event, Event::Connected | Event::Writable);
        while may_write && connections[id].write(&[7; 16 << 10]) > 0 {}
        if !self.is_sender {
            self.buffer.clear();
            connections[id].read(&mut self.buffer);
        }
    }
}

const EVERY: Duration = Duration::from_millis(10);
const SAMPLES: u32 = 3000;
