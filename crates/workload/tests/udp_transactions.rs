//! Load generator, requester and echo server together over a path that loses packets, in virtual time.
#![allow(clippy::unwrap_used)] // a test may fail; clippy knows tests by their attribute only

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use virtual_time::Instant;
use workload::{
    EchoConfig, EchoServer, Lane, LoadConfig, LoadGenerator, ResponseNovelty, RetransmissionConfig,
    UdpRequester,
};

const ONE_WAY: Duration = Duration::from_millis(10);

/// Both ends and what is on its way between them.
struct World {
    generator: LoadGenerator,
    requester: UdpRequester,
    server: EchoServer<Lane>,
    rng: Xoshiro256PlusPlus,
    loss: f64,
    /// By arrival time and order of sending.
    underway: BTreeMap<(Instant, u64), (Direction, Bytes)>,
    sent: u64,
    lost: u64,
}

enum Direction {
    Request,
    Response,
}

impl World {
    fn new(loss: f64, duration: Duration) -> Self {
        let drain = RetransmissionConfig::default().timer_b();
        let config = LoadConfig { duration, drain, ..LoadConfig::default() };
        Self {
            generator: LoadGenerator::new(config, Instant::EPOCH).unwrap(),
            requester: UdpRequester::new(RetransmissionConfig::default()),
            server: EchoServer::new(EchoConfig::default()),
            rng: Xoshiro256PlusPlus::seed_from_u64(11),
            loss,
            underway: BTreeMap::new(),
            sent: 0,
            lost: 0,
        }
    }

    /// Runs to the end of the load generator.
    fn run(&mut self) {
        while let Some(next) = self.generator.poll_timeout() {
            let arrival = self.underway.first_key_value().map(|((at, _), _)| *at);
            let timers = [Some(next), self.requester.poll_timeout(), self.server.poll_timeout(), arrival];
            let now = timers.into_iter().flatten().min().unwrap();
            self.generator.handle_timeout(now);
            self.requester.handle_timeout(now);
            self.arrivals(now);
            self.departures(now);
        }
    }

    fn arrivals(&mut self, now: Instant) {
        while let Some(entry) = self.underway.first_entry().filter(|entry| entry.key().0 <= now) {
            match entry.remove() {
                (Direction::Request, wire) => self.server.handle_message(now, Lane(0), wire).unwrap(),
                (Direction::Response, wire) => {
                    if self.requester.handle_response(&wire) == Ok(ResponseNovelty::First) {
                        self.generator.handle_response(now, Lane(0), &wire, None).unwrap();
                    }
                }
            }
        }
    }

    fn departures(&mut self, now: Instant) {
        while let Some(request) = self.generator.poll_transmit(now) {
            self.requester.request(now, request.number, request.message);
        }
        while let Some(datagram) = self.requester.poll_transmit() {
            self.send(now, Direction::Request, datagram.message);
        }
        while let Some(reply) = self.server.poll_transmit(now) {
            self.send(now, Direction::Response, reply.message);
        }
    }

    fn send(&mut self, now: Instant, direction: Direction, wire: Bytes) {
        self.sent += 1;
        if self.rng.random_bool(self.loss) {
            self.lost += 1;
        } else {
            self.underway.insert((now + ONE_WAY, self.sent), (direction, wire));
        }
    }
}

#[test]
fn without_loss_every_response_takes_one_round_trip() {
    let mut world = World::new(0.0, Duration::from_secs(5));
    world.run();
    let samples = world.generator.samples();
    assert!(samples.len() > 400);
    assert!(samples.iter().all(|sample| sample.response == Some(2 * ONE_WAY)));
    assert_eq!(world.requester.counters().retransmissions, 0);
}

/// S4: R = RTT + TO·(1 − p_S)/(2·p_S − 1) with p_S = (1 − p)², here 20 + 500 · 0.0199/0.9602 = 30.36 ms.
#[test]
fn the_mean_over_a_path_with_one_per_cent_loss_is_that_of_the_study() {
    let mut world = World::new(0.01, Duration::from_secs(3000));
    world.run();
    let responses: Vec<Duration> =
        world.generator.samples().iter().filter_map(|sample| sample.response).collect();
    let mean_ms = responses.iter().map(Duration::as_secs_f64).sum::<f64>() * 1e3 / responses.len() as f64;
    assert_eq!(responses.len(), world.generator.samples().len(), "all are answered");
    assert!((mean_ms - 30.36).abs() < 0.6, "mean {mean_ms}"); // four standard errors
    // Each lost packet, of whichever direction, is made good by one repeated request.
    assert_eq!(world.requester.counters().retransmissions, world.lost);
}

#[test]
fn over_a_dead_path_every_request_is_given_up_and_the_run_ends() {
    let mut world = World::new(1.0, Duration::from_millis(200));
    world.run();
    let requests = world.generator.counters().requests;
    assert!(requests > 5);
    assert_eq!((world.generator.counters().responses, world.sent), (0, 7 * requests));
    assert_eq!(world.requester.counters().given_up, requests);
}
