//! Laws that hold for whatever the kernel says, in whatever order, and whatever the peer answers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use mobility::{
    Action, Answer, Damping, Decision, Event, Family, Handover, Host, InterfaceId, LinkState, Policies,
    Policy, Quality, Usability,
};
use proptest::prelude::*;
use virtual_time::Instant;

/// Cables before WLAN, and a mobile network that has to be measured.
const POLICY: &str = r#"
    [applications.make]
    addresses = 2
    [[applications.make.prefer]]
    interface = "if1"
    min_signal_dbm = -75
    [[applications.make.prefer]]
    interface = "if2"
    cost = 1
    max_rtt_ms = 100
    [[applications.make.prefer]]
    interface = "if3"
    cost = 2
    [applications.break]
    handover = "break-before-make"
"#;

/// What happens next.
#[derive(Clone, Debug)]
enum Step {
    /// Facts of one instant, each about a thing of its own or several about one.
    Told(Vec<Event>),
    /// The oldest unanswered request is answered.
    Answered(Answer),
    Passed(Duration),
}

fn event() -> impl Strategy<Value = Event> {
    let interface = (1..5_u32).prop_map(InterfaceId::new);
    let address = (1..7_u8).prop_map(|last| IpAddr::from([192, 0, 2, last]));
    let state =
        prop_oneof![1 => Just(LinkState::Down), 1 => Just(LinkState::Up), 3 => Just(LinkState::Operational)];
    let usability = prop_oneof![
        1 => Just(Usability::Tentative),
        1 => Just(Usability::Deprecated),
        4 => Just(Usability::Preferred)
    ];
    (0..13_u8, interface, address, state, usability, any::<u8>()).prop_map(
        |(kind, interface, address, state, usability, number)| match kind {
            0..=3 => {
                Event::Link { interface, name: format!("if{}", interface.index()).parse().unwrap(), state }
            }
            4 => Event::LinkGone { interface },
            5..=7 => Event::Address { interface, address, usability },
            8 => Event::AddressGone { interface, address },
            9 => Event::Signal { interface, dbm: -i16::from(number) },
            10 => {
                let quality = Quality { rtt: Duration::from_millis(number.into()), loss_permille: 0 };
                Event::Measured { address, quality }
            }
            11 if number % 2 == 0 => Event::Refuted { address },
            11 => Event::Verified { address },
            _ if number % 2 == 0 => Event::DefaultRoute { interface, family: Family::V4 },
            _ => Event::Router { interface, lifetime: Duration::from_millis(u64::from(number) * 20) },
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => prop::collection::vec(event(), 1..6).prop_map(Step::Told),
        4 => prop_oneof![4 => Just(Answer::Done), 1 => Just(Answer::Refused)].prop_map(Step::Answered),
        3 => (0..4_000_u64).prop_map(|millis| Step::Passed(Duration::from_millis(millis))),
    ]
}

/// A host and an association, and what its peer has heard.
#[derive(Clone)]
struct World {
    now: Instant,
    host: Host,
    handover: Handover,
    policy: Policy,
    /// What the peer was asked and has not answered.
    asked: Vec<Action>,
    told: BTreeSet<IpAddr>,
    changes: Vec<Instant>,
    decisions: Vec<Decision>,
}

impl World {
    fn new(application: &str) -> Self {
        let policy = Policies::parse(POLICY).unwrap().application(application);
        let first = IpAddr::from([192, 0, 2, 1]);
        let handover = Handover::new(policy.clone(), [first], Some(first));
        let (now, host) = (Instant::from_millis(1), Host::new(Damping::default()));
        let (asked, told) = (Vec::new(), BTreeSet::from([first]));
        Self { now, host, handover, policy, asked, told, changes: Vec::new(), decisions: Vec::new() }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Told(events) => {
                for event in events {
                    let _at_a_bound = self.host.handle_event(self.now, event.clone());
                }
            }
            Step::Passed(time) => self.now += *time,
            Step::Answered(_) if self.asked.is_empty() => {}
            Step::Answered(answer) => self.answer(*answer),
        }
        self.handover.handle_host(&self.host.settle(self.now));
        self.drain();
    }

    fn answer(&mut self, answer: Answer) {
        let action = self.asked.remove(0);
        if let (Action::Add(address), Answer::Refused) | (Action::Delete(address), Answer::Done) =
            (action, answer)
        {
            self.told.remove(&address);
        }
        self.handover.handle_answer(&self.host.settle(self.now), action, answer);
        self.drain();
    }

    /// Checks every decision against what is there now.
    fn drain(&mut self) {
        let usable: BTreeSet<IpAddr> = self.host.settle(self.now).usable().collect();
        while let Some(decision) = self.handover.poll_decision() {
            match decision.action {
                Action::Add(address) => {
                    assert!(usable.contains(&address), "{decision}");
                    assert!(self.told.insert(address), "told twice: {decision}");
                    assert!(self.told.len() <= self.policy.addresses, "{decision}");
                    self.asked.push(decision.action);
                }
                Action::Probe(address) => assert!(usable.contains(&address), "{decision}"),
                Action::SetPrimary(address) => {
                    assert!(usable.contains(&address) && self.told.contains(&address), "{decision}");
                    self.change(&decision, &usable);
                    self.asked.push(decision.action);
                }
                Action::Delete(address) => {
                    assert!(self.told.contains(&address), "{decision}");
                    let leaves_one = self.told.iter().any(|told| *told != address && usable.contains(told));
                    assert!(leaves_one, "the last one: {decision}");
                    self.asked.push(decision.action);
                }
                Action::Hold { instead_of, .. } => {
                    assert!(instead_of.is_none_or(|address| usable.contains(&address)), "{decision}");
                }
            }
            self.decisions.push(decision);
        }
    }

    /// Changes are apart, unless the address that is left cannot be sent from.
    fn change(&mut self, decision: &Decision, usable: &BTreeSet<IpAddr>) {
        let last = self.decisions.iter().rev().find_map(|decision| match decision.action {
            Action::SetPrimary(address) => Some(address),
            Action::Add(_) | Action::Probe(_) | Action::Delete(_) | Action::Hold { .. } => None,
        });
        let is_left_alive = self.address_left(last).is_some_and(|left| usable.contains(&left));
        if let Some(changed_at) = self.changes.last().filter(|_| is_left_alive) {
            assert!(decision.at.since(*changed_at) >= self.policy.primary_interval, "{decision}");
        }
        self.changes.push(decision.at);
    }

    /// The address that data goes by until the change: the one asked for last, or the one from the beginning.
    fn address_left(&self, last: Option<IpAddr>) -> Option<IpAddr> {
        last.filter(|last| self.asked.contains(&Action::SetPrimary(*last))).or(self.handover.primary())
    }
}

fn run(application: &str, steps: &[Step]) -> World {
    let mut world = World::new(application);
    steps.iter().for_each(|step| world.take(step));
    world
}

/// Returns a key for what a fact is about: later facts about one thing replace earlier ones.
fn key(event: &Event) -> String {
    match event {
        Event::Link { interface, .. } | Event::LinkGone { interface } => format!("link {interface:?}"),
        Event::Address { interface, address, .. } | Event::AddressGone { interface, address } => {
            format!("address {interface:?} {address}")
        }
        Event::Measured { address, .. } => format!("quality {address}"),
        Event::Verified { address } | Event::Refuted { address } => format!("way {address}"),
        Event::Signal { interface, .. } => format!("signal {interface:?}"),
        Event::Router { interface, .. } => format!("router {interface:?}"),
        Event::DefaultRoute { interface, family } | Event::DefaultRouteGone { interface, family } => {
            format!("route {interface:?} {family:?}")
        }
        _ => panic!("a kind of fact that is not told here"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// The assertions are in `World::drain`.
    #[test]
    fn decisions_never_name_an_absent_address_and_changes_are_apart(
        steps in prop::collection::vec(step(), 1..120),
        application in prop_oneof![Just("make"), Just("break"), Just("of nobody")],
    ) {
        run(application, &steps);
    }

    /// Facts about different things may come in any order within an instant.
    #[test]
    fn order_of_facts_of_one_instant_changes_nothing(
        steps in prop::collection::vec(step(), 1..60),
        seed in any::<u64>(),
    ) {
        let turned = steps.iter().map(|step| match step {
            Step::Told(events) => {
                let mut keyed: Vec<_> = events.iter().map(|event| (key(event), event.clone())).collect();
                // A stable sort by scrambled keys: what is about one thing stays in its order.
                keyed.sort_by_key(|(key, _)| key.bytes().fold(seed, |hash, byte| {
                    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(23)
                }));
                Step::Told(keyed.into_iter().map(|(_, event)| event).collect())
            }
            Step::Answered(_) | Step::Passed(_) => step.clone(),
        });
        let (one, other) = (run("make", &steps), run("make", &turned.collect::<Vec<_>>()));
        prop_assert_eq!(one.host, other.host);
        prop_assert_eq!(one.decisions, other.decisions);
    }

    /// What is kept as data goes on as if nothing had been.
    #[test]
    fn restart_from_a_snapshot_decides_the_same(
        before in prop::collection::vec(step(), 1..60),
        after in prop::collection::vec(step(), 1..60),
    ) {
        let mut whole = run("make", &before);
        let mut anew = whole.clone();
        let snapshot = serde_json::to_string(&(&whole.host, whole.handover.snapshot())).unwrap();
        let (host, snapshot) = serde_json::from_str(&snapshot).unwrap();
        (anew.host, anew.handover) = (host, Handover::restore(whole.policy.clone(), snapshot));
        for step in &after {
            whole.take(step);
            anew.take(step);
        }
        prop_assert_eq!(whole.decisions, anew.decisions);
    }

    /// The number of decisions grows with what happens, not with how often one looks.
    #[test]
    fn looking_again_decides_nothing_new(steps in prop::collection::vec(step(), 1..60)) {
        let mut world = run("make", &steps);
        let before = world.handover.clone();
        world.handover.handle_host(&world.host.settle(world.now));
        prop_assert_eq!(world.handover.poll_decision(), None);
        prop_assert_eq!(world.handover, before);
    }
}
