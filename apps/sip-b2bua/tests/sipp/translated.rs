//! Calls through a middlebox that translates: the called side is told an address outside, and reaches the caller there.

use sip::Method;

use crate::agent::{Agent, PATIENCE};
use crate::cases::wait_until_it_listens;
use crate::network::Place;
use crate::phone::Phones;
use crate::probe::Media;
use crate::stranger::Stranger;

/// Waits until media pass, or do not, in both directions; the caller is reached at this port outside.
fn wait_for_media(agent: &Agent, media: &Media, port: u16, passes: bool) {
    let start = std::time::Instant::now();
    while media.passes_towards(&format!("198.51.100.1:{port}")) != (passes, passes) {
        assert!(start.elapsed() < PATIENCE, "media pass: {}: {}", !passes, agent.log());
    }
}

/// The port outside that a session description names.
fn port(offer: &str) -> u16 {
    assert!(offer.contains("c=IN IP4 198.51.100.1\r\n") && !offer.contains("c=IN IP4 10."), "{offer}");
    let (_, rest) = offer.split_once("m=audio ").unwrap();
    rest.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn media_pass_at_the_address_that_the_called_side_is_told_and_ports_are_free_again() {
    // One pair of ports: a call that leaves something behind is the last one.
    let Some(agent) = Agent::with_translator("nat", (20_000, 20_001), true) else { return };
    // The address outside is the host's own: what nobody has opened must not be taken in, or the kernel knows the flow already.
    agent.network.lose(Place::Middle, "input", "udp dport 20000-20001");
    let mut phones = Phones::new(&agent.network);
    phones.let_it_ring();
    let media = Media::new(&agent.network);
    for count in [1, 3] {
        phones.call();
        let port = port(&phones.wait_for_offer(|| agent.log()));
        assert_eq!(port, 20_000);
        assert_eq!(media.passes_towards("198.51.100.1:20000"), (false, false), "before the answer");
        phones.answer();
        assert_eq!(phones.wait_for_answer(count, || agent.log()).0, 200);
        wait_for_media(&agent, &media, port, true);
        if count == 1 {
            phones.call();
            let (status, reason) = phones.wait_for_answer(2, || agent.log());
            assert_eq!((status, reason.contains("Q.850;cause=47")), (503, true), "{reason}");
        }
        phones.hang_up();
        phones.wait(|phones| phones.was_asked_last(&Method::Bye), || agent.log());
        agent.wait_for("sip_calls 0");
        agent.middlebox.wait_until_without_pinholes(&agent.network);
        wait_for_media(&agent, &media, port, false);
    }
    agent.wait_until_closed();
    agent.stop();
}

#[test]
fn telephones_of_another_stack_talk_through_it() {
    let over_tcp = || Agent::with_translator("nat", (20_000, 20_001), true);
    let over_sctp = || Agent::with_translator_over_sctp((20_000, 20_001));
    for (from, to, agent) in [("udp", "udp", over_tcp()), ("tcp", "udp", over_sctp())] {
        let Some(agent) = agent else { return };
        agent.network.lose(Place::Middle, "input", "udp dport 20000-20001");
        let media = Media::new(&agent.network);
        let called = Stranger::callee(&agent.network, "callee", to);
        wait_until_it_listens(&agent, to);
        let calling = Stranger::caller(&agent.network, "caller_long", from);
        agent.wait_for("sip_calls_answered_total 1");
        wait_for_media(&agent, &media, 20_000, true);
        calling.succeed(|| agent.log());
        called.succeed(|| agent.log());
        agent.wait_until_closed();
        agent.middlebox.wait_until_without_pinholes(&agent.network);
        wait_for_media(&agent, &media, 20_000, false);
        agent.stop();
    }
}

#[test]
fn a_refused_call_gives_back_what_was_reserved() {
    let Some(agent) = Agent::with_translator("nat", (20_000, 20_003), true) else { return };
    let mut phones = Phones::new(&agent.network);
    phones.let_it_ring();
    for count in 1..=5 {
        phones.call();
        port(&phones.wait_for_offer(|| agent.log()));
        phones.refuse();
        assert_eq!(phones.wait_for_answer(count, || agent.log()).0, 486);
        agent.wait_until_closed();
    }
    assert!(!phones.was_asked(&Method::Bye));
    agent.stop();
}

#[test]
fn a_translator_that_is_said_to_be_a_filter_gets_no_calls() {
    let Some(agent) = Agent::with_translator("filter", (20_000, 20_003), false) else { return };
    let mut phones = Phones::new(&agent.network);
    phones.call();
    let (status, reason) = phones.wait_for_answer(1, || agent.log());
    assert_eq!((status, reason.contains("Q.850;cause=47")), (503, true), "{reason}");
    assert!(agent.metrics().contains("sip_middlebox_up{middlebox=\"edge\"} 0"), "{}", agent.metrics());
    agent.stop();
}
