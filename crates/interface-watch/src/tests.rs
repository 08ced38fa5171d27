//! The watch is told things by a kernel, in a network namespace of the test's own, and things that no kernel tells.

#![allow(clippy::print_stderr, reason = "a test that cannot run says why")]

use std::io::Write as _;
use std::net::IpAddr;
use std::process::{Command, Stdio};

use mobility::{Damping, Family, Handover, Host, InterfaceState, Policies, Verdict};
use nix::poll::{PollFd, PollFlags, poll};
use nix::sched::{CloneFlags, unshare};
use virtual_time::Instant;

use super::*;

const ADDRESS: [u8; 4] = [10, 72, 0, 2];
/// Milliseconds after which a kernel that has told nothing will not.
const A_LONG_TIME: u16 = 60_000;
const ROUNDS: u32 = 8;

/// A host that is told what the watch says.
struct Scene {
    watch: InterfaceWatch,
    host: Host,
    now: Instant,
}

impl Scene {
    fn new() -> Self {
        let mut watch = InterfaceWatch::open().unwrap();
        let (now, mut host) = (Instant::from_millis(1), Host::new(Damping::default()));
        host.read_anew(now, watch.read_all().unwrap());
        Self { watch, host, now }
    }

    /// Runs `ip` and takes in what the kernel tells until this is found; whoever reads everything anew finds it then, too. A carrier
    /// comes some time after the command that brings it.
    fn ip(&mut self, arguments: &str, expected: &(InterfaceState, Vec<Verdict>)) {
        assert!(Command::new("ip").args(arguments.split(' ')).status().unwrap().success(), "ip {arguments}");
        self.take_in();
        while self.found() != *expected {
            let mut waiting = [PollFd::new(self.watch.as_fd(), PollFlags::POLLIN)];
            let is_told = poll(&mut waiting, A_LONG_TIME).unwrap() > 0;
            assert!(is_told, "after ip {arguments}: {:?} instead of {expected:?}", self.found());
            self.take_in();
        }
        assert_eq!(Self::new().found(), *expected, "after ip {arguments}, read anew");
    }

    fn take_in(&mut self) {
        let Told::Events(events) = self.watch.poll().unwrap() else { panic!("nothing is missed") };
        for event in events {
            self.host.handle_event(self.now, event).unwrap();
        }
    }

    /// What is found about the address by a policy that wants a default route, and about the interface that has it.
    fn found(&mut self) -> (InterfaceState, Vec<Verdict>) {
        let text = "[applications.default]\nneeds_default_route = true";
        let handover = Handover::new(Policies::parse(text).unwrap().application(""), [], None);
        let found = handover.judge(&self.host.settle(self.now));
        let state = found.first().map_or(InterfaceState::Absent, |judgement| judgement.state);
        assert!(found.iter().all(|judgement| judgement.address == IpAddr::from(ADDRESS)));
        (state, found.into_iter().map(|judgement| judgement.verdict).collect())
    }
}

fn watch_an_interface() {
    let mut scene = Scene::new();
    let fit = Verdict::Fit { cost: 0 };
    let steps = [
        ("link add near type veth peer name far", InterfaceState::Absent, vec![]),
        ("address add 10.72.0.2/24 dev near", InterfaceState::Down, vec![Verdict::Unusable]),
        ("link set near up", InterfaceState::Up, vec![Verdict::Unusable]),
        ("link set far up", InterfaceState::Addressed, vec![Verdict::NoDefaultRoute]),
        ("route add default via 10.72.0.1", InterfaceState::Addressed, vec![fit]),
        ("route add default via 10.72.0.9 metric 7", InterfaceState::Addressed, vec![fit]),
        ("route delete default via 10.72.0.1", InterfaceState::Addressed, vec![fit]),
        // The kernel drops the last default route here, and does not say so.
        ("link set near down", InterfaceState::Down, vec![Verdict::Unusable]),
        ("link set near up", InterfaceState::Addressed, vec![Verdict::NoDefaultRoute]),
        ("address delete 10.72.0.2/24 dev near", InterfaceState::Absent, vec![]),
        ("address add 10.72.0.2/24 dev near", InterfaceState::Addressed, vec![Verdict::NoDefaultRoute]),
        ("link delete near", InterfaceState::Absent, vec![]),
    ];
    for (arguments, state, verdicts) in steps {
        scene.ip(arguments, &(state, verdicts));
    }
}

/// An address comes and goes more often than the socket can hold, and what is kept of that is that it came.
fn miss_what_takes_back() {
    let mut scene = Scene::new();
    scene.ip("link add near type veth peer name far", &(InterfaceState::Absent, vec![]));
    // As small everywhere, whatever the machine has by default.
    scene.watch.socket.set_rx_buf_sz(16_384_i32).unwrap();
    let flood = "address add 10.72.0.2/24 dev near\naddress delete 10.72.0.2/24 dev near\n".repeat(200);
    for before in 0..ROUNDS {
        // So that what the socket holds ends somewhere else each time.
        let other: String = (0..before).map(|mtu| format!("link set near mtu {}\n", 1_300 + mtu)).collect();
        batch(&(other + &flood));
        assert_eq!(scene.watch.poll().unwrap(), Told::Missed, "{before}");
        scene.host.read_anew(scene.now, scene.watch.read_all().unwrap());
        assert_eq!(scene.found(), (InterfaceState::Absent, vec![]), "{before}");
        assert_eq!(scene.watch.poll().unwrap(), Told::Events(Vec::new()), "nothing that is over comes later");
    }
}

fn batch(commands: &str) {
    let mut ip = Command::new("ip").args(["-batch", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    ip.stdin.take().unwrap().write_all(commands.as_bytes()).unwrap();
    assert!(ip.wait().unwrap().success(), "ip -batch");
}

/// Does this in a network namespace of its own, or says why not.
fn in_a_namespace(watched: fn()) {
    let outcome = std::thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|error| format!("no network namespace: {error}"))?;
        Command::new("ip").arg("-V").output().map_err(|_| "the command `ip` is not installed")?;
        watched();
        Ok::<_, String>(())
    });
    if let Err(reason) = outcome.join().unwrap() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{reason}");
        eprintln!("left out: {reason}");
    }
}

/// What is told one by one and what is read at once agree after every step.
#[test]
fn kernel_tells_of_links_addresses_and_routes_that_come_and_go() {
    in_a_namespace(watch_an_interface);
}

#[test]
fn what_was_taken_back_while_the_socket_was_full_is_not_there_when_everything_is_read_anew() {
    in_a_namespace(miss_what_takes_back);
}

#[test]
fn octets_that_are_no_messages_tell_nothing_and_do_no_harm() {
    let mut watch = InterfaceWatch::open().unwrap();
    let mut seed = 1_u32;
    for round in 0..20_000_usize {
        for octet in &mut watch.buffer[..256] {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *octet = seed.to_be_bytes()[0];
        }
        // A length and a kind that the kernel might send: links, addresses, routes.
        let kind = [16, 17, 20, 21, 24, 25][round % 6];
        watch.buffer[..6].copy_from_slice(&[u8::try_from(round % 256).unwrap(), 0, 0, 0, kind, 0]);
        let _whatever = watch.take(256, &mut Vec::new());
    }
}

#[test]
fn default_route_is_gone_with_the_last_of_several() {
    use netlink_packet_route::AddressFamily;
    use netlink_packet_route::route::{RouteAttribute, RouteType};
    let route = |priority| {
        let mut route = RouteMessage::default();
        route.header.address_family = AddressFamily::Inet;
        route.header.kind = RouteType::Unicast;
        route.attributes = vec![RouteAttribute::Oif(3), RouteAttribute::Priority(priority)];
        route
    };
    let (mut routes, mut events) = (DefaultRoutes::default(), Vec::new());
    routes.on_new(&route(1), &mut events);
    routes.on_new(&route(2), &mut events);
    routes.on_gone(&route(1), &mut events);
    let there = Event::DefaultRoute { interface: mobility::InterfaceId::new(3), family: Family::V4 };
    assert_eq!(events, [there.clone(), there]);
    routes.on_gone(&route(2), &mut events);
    assert!(matches!(events.last(), Some(Event::DefaultRouteGone { family: Family::V4, .. })));
}
