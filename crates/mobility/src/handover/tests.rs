use super::*;
use crate::{Damping, Event, Host, InterfaceId, LinkState, Policies, Quality, Usability};

const WLAN: &str = "198.51.100.7";
const MOBILE: &str = "192.0.2.7";
/// Cables before WLAN before the mobile network; of WLAN a signal is asked for.
const POLICY: &str = r#"
    [[applications.a.prefer]]
    interface = "eth*"
    [[applications.a.prefer]]
    interface = "wlan*"
    cost = 1
    min_signal_dbm = -75
    [[applications.a.prefer]]
    interface = "wwan*"
    cost = 10
"#;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A host, an association, and the time.
struct Scene {
    host: Host,
    handover: Handover,
    now: Instant,
    /// What the peer answers at once.
    answer: Option<Answer>,
    said: Vec<Decision>,
}

impl Scene {
    /// An association over the mobile network, with a peer that agrees to everything.
    fn new(policies: &str) -> Self {
        let policy = Policies::parse(policies).unwrap().application("a");
        let handover = Handover::new(policy, [ip(MOBILE)], Some(ip(MOBILE)));
        let host = Host::new(Damping::default());
        let mut scene = Self {
            host,
            handover,
            now: Instant::from_millis(1),
            answer: Some(Answer::Done),
            said: Vec::new(),
        };
        scene.interface(1, "wwan0", MOBILE);
        scene
    }

    fn interface(&mut self, index: u32, name: &str, address: &str) {
        let interface = InterfaceId::new(index);
        let usability = Usability::Preferred;
        let address = Event::Address { interface, address: ip(address), usability };
        let link = Event::Link { interface, name: name.parse().unwrap(), state: LinkState::Operational };
        self.tell([address, link]);
    }

    fn tell(&mut self, events: impl IntoIterator<Item = Event>) {
        events.into_iter().for_each(|event| self.host.handle_event(self.now, event).unwrap());
        self.look();
    }

    fn look(&mut self) {
        self.handover.handle_host(&self.host.settle(self.now));
        while let Some(decision) = self.handover.poll_decision() {
            let action = decision.action;
            self.said.push(decision);
            if let Some(answer) = self.answer {
                self.handover.handle_answer(&self.host.settle(self.now), action, answer);
            }
        }
    }

    /// Lets time pass, looking whenever somebody wants it.
    fn pass(&mut self, millis: u64) {
        let end = self.now + core::time::Duration::from_millis(millis);
        loop {
            let wake = [self.handover.poll_timeout(), self.host.poll_timeout()].into_iter().flatten().min();
            let Some(wake) = wake.filter(|wake| *wake <= end) else { break };
            assert!(wake > self.now, "woken for nothing");
            self.now = wake;
            self.look();
        }
        self.now = end;
        self.look();
    }

    /// What was decided since the last call.
    fn said(&mut self) -> Vec<(Action, Rule)> {
        self.said.drain(..).map(|decision| (decision.action, decision.rule)).collect()
    }
}

#[test]
fn better_network_is_told_at_once_and_takes_over_when_it_has_lasted() {
    let mut scene = Scene::new(POLICY);
    assert_eq!(scene.said(), []);
    scene.interface(2, "wlan0", WLAN);
    let until = Some(scene.now + core::time::Duration::from_secs(1));
    let hold = (Action::Hold { instead_of: Some(ip(WLAN)), until }, Rule::TooNew);
    assert_eq!(scene.said(), [hold, (Action::Add(ip(WLAN)), Rule::Standby)]);
    scene.pass(999);
    assert_eq!(scene.said(), []);
    scene.pass(1);
    assert_eq!(scene.said(), [(Action::SetPrimary(ip(WLAN)), Rule::Cheaper)]);
    assert_eq!(scene.handover.primary(), Some(ip(WLAN)));
    assert_eq!(scene.handover.known().count(), 2, "the mobile network stands by");
}

#[test]
fn data_moves_at_once_when_the_primary_address_is_gone_and_back_when_it_has_lasted() {
    let mut scene = Scene::new(POLICY);
    scene.interface(2, "wlan0", WLAN);
    scene.pass(1_000);
    scene.said();
    scene.tell([Event::LinkGone { interface: InterfaceId::new(2) }]);
    assert_eq!(scene.said(), [(Action::SetPrimary(ip(MOBILE)), Rule::PrimaryGone)]);
    scene.pass(100);
    scene.interface(2, "wlan0", WLAN);
    scene.pass(3_000);
    let said = scene.said();
    assert_eq!(said.last(), Some(&(Action::SetPrimary(ip(WLAN)), Rule::Cheaper)), "{said:?}");
}

#[test]
fn address_out_of_use_is_kept_for_a_while_and_one_that_is_gone_is_not() {
    let mut scene = Scene::new(POLICY);
    scene.interface(2, "wlan0", WLAN);
    scene.said();
    scene.tell([Event::LinkGone { interface: InterfaceId::new(2) }]);
    scene.pass(29_999);
    assert_eq!(scene.said(), []);
    scene.pass(1);
    assert_eq!(scene.said(), [(Action::Delete(ip(WLAN)), Rule::OutOfUse)]);
    scene.interface(2, "wlan0", WLAN);
    scene.said();
    scene.tell([Event::AddressGone { interface: InterfaceId::new(2), address: ip(WLAN) }]);
    assert_eq!(scene.said(), [(Action::Delete(ip(WLAN)), Rule::AddressGone)]);
}

#[test]
fn break_before_make_tells_the_peer_of_one_address_only() {
    let mut scene =
        Scene::new(&POLICY.replacen("[[", "[applications.a]\nhandover = \"break-before-make\"\n[[", 1));
    scene.interface(2, "wlan0", WLAN);
    assert!(matches!(scene.said()[..], [(Action::Hold { .. }, Rule::TooNew)]));
    scene.pass(1_000);
    let expected = [
        (Action::Add(ip(WLAN)), Rule::Cheaper),
        (Action::SetPrimary(ip(WLAN)), Rule::Cheaper),
        (Action::Delete(ip(MOBILE)), Rule::Unwanted),
    ];
    assert_eq!(scene.said(), expected);
}

#[test]
fn only_address_is_replaced_by_the_next_one_however_late_it_comes() {
    let mut scene = Scene::new(POLICY);
    scene.tell([Event::AddressGone { interface: InterfaceId::new(1), address: ip(MOBILE) }]);
    assert_eq!(scene.said(), [(Action::Hold { instead_of: None, until: None }, Rule::NothingFit)]);
    scene.pass(3_600_000);
    assert_eq!(scene.said(), []);
    scene.interface(1, "wwan0", "192.0.2.8");
    let new = ip("192.0.2.8");
    let expected = [
        (Action::Add(new), Rule::PrimaryGone),
        (Action::SetPrimary(new), Rule::PrimaryGone),
        (Action::Delete(ip(MOBILE)), Rule::AddressGone),
    ];
    assert_eq!(scene.said(), expected);
}

#[test]
fn signal_has_to_be_better_to_come_in_than_to_stay() {
    let signal = |dbm| Event::Signal { interface: InterfaceId::new(2), dbm };
    let mut scene = Scene::new(POLICY);
    // Of an interface that is not there yet no look is taken in between.
    scene.host.handle_event(scene.now, signal(-72)).unwrap();
    scene.interface(2, "wlan0", WLAN);
    scene.pass(5_000);
    assert_eq!(scene.said(), [], "-70 dBm are needed to come in");
    scene.tell([signal(-70)]);
    scene.pass(1_000);
    assert_eq!(scene.handover.primary(), Some(ip(WLAN)));
    scene.said();
    scene.tell([signal(-75)]);
    scene.pass(5_000);
    assert_eq!(scene.said(), [], "-75 dBm are enough to stay");
    scene.tell([signal(-76)]);
    assert_eq!(scene.said(), [(Action::SetPrimary(ip(MOBILE)), Rule::PrimaryUnfit)]);
}

#[test]
fn address_is_probed_until_somebody_answers_where_the_policy_asks_for_more() {
    let mut scene = Scene::new(&POLICY.replacen("cost = 1\n", "cost = 1\nmax_rtt_ms = 100\n", 1));
    scene.interface(2, "wlan0", WLAN);
    scene.pass(2_500);
    assert_eq!(scene.said(), vec![(Action::Probe(ip(WLAN)), Rule::Unknown); 3]);
    let measured = |millis| {
        let quality = Quality { rtt: core::time::Duration::from_millis(millis), loss_permille: 0 };
        Event::Measured { address: ip(WLAN), quality }
    };
    scene.tell([measured(81)]);
    assert_eq!(scene.said(), [], "a fifth less than the bound is needed to come in");
    scene.tell([measured(80)]);
    assert!(scene.said().contains(&(Action::Add(ip(WLAN)), Rule::Standby)));
}

#[test]
fn what_the_peer_refuses_is_asked_again_later() {
    let mut scene = Scene::new(POLICY);
    scene.answer = Some(Answer::Refused);
    scene.interface(2, "wlan0", WLAN);
    scene.pass(9_999);
    let adds = |said: Vec<(Action, Rule)>| {
        said.iter().filter(|(action, _)| *action == Action::Add(ip(WLAN))).count()
    };
    assert_eq!(adds(scene.said()), 1);
    scene.pass(1);
    assert_eq!(adds(scene.said()), 1);
    assert_eq!(scene.handover.primary(), Some(ip(MOBILE)));
}

#[test]
fn interface_that_flaps_is_used_only_where_nothing_else_is_left() {
    let mut scene = Scene::new(POLICY);
    scene.interface(2, "wlan0", WLAN);
    scene.pass(1_000);
    for _ in 0..5 {
        scene.tell([Event::LinkGone { interface: InterfaceId::new(2) }]);
        scene.pass(50);
        scene.interface(2, "wlan0", WLAN);
        scene.pass(50);
    }
    scene.pass(3_000);
    let moves = scene.said().iter().filter(|(action, _)| matches!(action, Action::SetPrimary(_))).count();
    assert_eq!((moves, scene.handover.primary()), (2, Some(ip(MOBILE))), "there, and back at the first flap");
    scene.tell([Event::LinkGone { interface: InterfaceId::new(1) }]);
    let said = scene.said();
    assert_eq!(said.first(), Some(&(Action::SetPrimary(ip(WLAN)), Rule::PrimaryGone)), "{said:?}");
}
