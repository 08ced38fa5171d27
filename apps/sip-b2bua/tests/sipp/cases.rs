//! The cases.

use sip::Method;

use crate::agent::{Agent, Process, SECOND};
use crate::network::{AGENT, INSIDE, INSIDE_V6, OUTSIDE, OUTSIDE_V6, Place};
use crate::phone::Phones;
use crate::probe::Media;
use crate::proxy::Proxy;
use crate::stranger::Stranger;

/// A call of a scenario on each side; the agent afterwards, when nothing is left of it.
fn call(caller: &str, callee: &str, from: &str, to: &str) -> Option<Agent> {
    let agent = Agent::new(to, "longest_ringing_s = 2")?;
    let called = Stranger::callee(&agent.network, callee, to);
    wait_until_it_listens(&agent, to);
    let calling = Stranger::caller(&agent.network, caller, from);
    calling.succeed(|| agent.log());
    called.succeed(|| agent.log());
    agent.wait_until_closed();
    Some(agent)
}

/// SIPp does not say when it listens; the kernel does.
pub(crate) fn wait_until_it_listens(agent: &Agent, transport: &str) {
    let file = if transport == "tcp" { "tcp" } else { "udp" };
    let start = std::time::Instant::now();
    // Port 5060.
    while !sockets(agent, file).contains(":13C4 ") {
        assert!(start.elapsed() < crate::agent::PATIENCE, "the called side does not listen");
    }
}

fn sockets(agent: &Agent, file: &str) -> String {
    let path = format!("/proc/thread-self/net/{file}");
    agent.network.within(Place::Outside, || std::fs::read_to_string(path).unwrap())
}

fn cause(agent: &Agent) -> String {
    let records = agent.records();
    assert_eq!(records.len(), 1, "{records:?}");
    records[0]["cause"].as_str().unwrap().to_owned()
}

const WAYS: [(&str, &str); 3] = [("udp", "udp"), ("udp", "tcp"), ("tcp", "tcp")];

#[test]
fn media_pass_while_the_call_is_up_and_neither_before_nor_after() {
    for (from, to) in WAYS {
        let Some(agent) = Agent::new(to, "") else { return };
        let media = Media::new(&agent.network);
        assert_eq!(media.passes(), (false, false), "before the call");
        let called = Stranger::callee(&agent.network, "callee", to);
        wait_until_it_listens(&agent, to);
        let calling = Stranger::caller(&agent.network, "caller_long", from);
        agent.wait_for("sip_calls_answered_total 1");
        media.wait(|| agent.log());
        calling.succeed(|| agent.log());
        called.succeed(|| agent.log());
        agent.wait_until_closed();
        let start = std::time::Instant::now();
        while media.passes() != (false, false) {
            assert!(start.elapsed() < crate::agent::PATIENCE, "media pass after the call");
        }
        assert_eq!(cause(&agent), "bye_of_caller");
        agent.stop();
    }
}

#[test]
fn media_over_ipv6_pass_while_the_call_is_up_and_two_families_are_refused() {
    let Some(agent) = Agent::with_ipv6() else { return };
    let media = Media::between(&agent.network, INSIDE_V6, OUTSIDE_V6);
    assert_eq!(media.passes(), (false, false), "before the call");
    let mut phones = Phones::new(&agent.network);
    phones.listen_at(INSIDE_V6, OUTSIDE_V6);
    phones.call();
    assert_eq!(phones.wait_for_answer(1, || agent.log()).0, 200);
    media.wait(|| agent.log());
    phones.hang_up();
    phones.wait(|phones| phones.was_asked_last(&Method::Bye), || agent.log());
    agent.wait_until_closed();
    let start = std::time::Instant::now();
    while media.passes() != (false, false) {
        assert!(start.elapsed() < crate::agent::PATIENCE, "media pass after the call");
    }
    phones.listen_at(INSIDE_V6, OUTSIDE);
    phones.call();
    let (status, reason) = phones.wait_for_answer(2, || agent.log());
    assert_eq!((status, reason.contains("SIP;cause=488")), (488, true), "{reason}");
    phones.wait(|phones| phones.was_asked_last(&Method::Bye), || agent.log());
    agent.wait_until_closed();
    agent.stop();
}

#[test]
fn calls_are_refused_given_up_and_cancelled() {
    for (caller, callee, expected) in [
        ("caller_refused", "callee_busy", "busy"),
        ("caller_unanswered", "callee_rings", "no_answer"),
        ("caller_cancels", "callee_rings", "cancelled"),
    ] {
        for (from, to) in [("udp", "udp"), ("tcp", "tcp")] {
            let Some(agent) = call(caller, callee, from, to) else { return };
            assert_eq!(cause(&agent), expected);
            agent.stop();
        }
    }
}

#[test]
fn answers_are_repeated_and_acknowledged_again() {
    // The caller acknowledges late; the called side repeats its answer after the ACK.
    let Some(agent) = call("caller_slow_ack", "callee_repeats", "udp", "udp") else { return };
    assert_eq!(cause(&agent), "bye_of_caller");
    for counter in ["sip_repeated_total", "sip_repetitions_total"] {
        assert!(!agent.metrics().contains(&format!("{counter} 0\n")), "{counter}: {}", agent.metrics());
    }
    agent.stop();
}

#[test]
fn media_move_within_a_call() {
    for (from, to) in [("udp", "udp"), ("tcp", "tcp")] {
        let Some(agent) = call("caller_moves", "callee_moves", from, to) else { return };
        assert_eq!(cause(&agent), "bye_of_caller");
        assert!(agent.metrics().contains("sip_pinholes_granted_total 3"), "{}", agent.metrics());
        agent.stop();
    }
}

#[test]
fn both_sides_hang_up_at_once() {
    for (from, to) in WAYS {
        let Some(agent) = Agent::new(to, "") else { return };
        // No BYE arrives before both were sent: they cross, whichever is repeated first. With timestamps TCP has a header of 32 octets.
        let bye = |transport| {
            if transport == "tcp" { "ip protocol tcp @th,256,24" } else { "udp dport 5060 @th,64,24" }
        };
        let rule = |source, transport| format!("ip saddr {source} {} 0x425945 counter", bye(transport));
        let rules = [rule(INSIDE, from), rule(OUTSIDE, to)];
        agent.network.lose(Place::Middle, "input", &rules.join(" drop; "));
        let called = Stranger::callee(&agent.network, "callee_crosses", to);
        wait_until_it_listens(&agent, to);
        let calling = Stranger::caller(&agent.network, "caller_crosses", from);
        let start = std::time::Instant::now();
        while agent.network.lost(Place::Middle).contains(&0) {
            assert!(start.elapsed() < crate::agent::PATIENCE, "nobody hangs up: {}", agent.log());
        }
        agent.network.lose_nothing(Place::Middle);
        calling.succeed(|| agent.log());
        called.succeed(|| agent.log());
        agent.wait_until_closed();
        let cause = cause(&agent);
        assert!(["bye_of_caller", "bye_of_callee"].contains(&cause.as_str()), "{cause}");
        agent.stop();
    }
}

#[test]
fn a_call_goes_over_sctp_between_two_agents() {
    // UDP to the first agent, SCTP to the second (RFC 4168), UDP from there; the firewall is between the agents.
    let Some(agent) = Agent::new("sctp", "") else { return };
    let second = Process::start(&agent.network, Place::Outside, SECOND);
    let media = Media::new(&agent.network);
    let called = Stranger::callee(&agent.network, "callee", "udp");
    wait_until_it_listens(&agent, "udp");
    let calling = Stranger::caller(&agent.network, "caller_long", "udp");
    agent.wait_for("sip_calls_answered_total 1");
    media.wait(|| agent.log());
    agent.wait_for("sip_connections 1");
    second.wait_for(&agent.network, "sip_connections 1");
    calling.succeed(|| agent.log() + &second.log());
    called.succeed(|| agent.log() + &second.log());
    agent.wait_until_closed();
    second.wait_for(&agent.network, "sip_calls 0");
    assert_eq!(cause(&agent), "bye_of_caller");
    second.stop();
    // The second has said that it goes.
    agent.wait_for("sip_connections 0");
    agent.stop();
}

#[test]
fn a_call_comes_through_the_proxy_of_another_stack() {
    // SIPp, Kamailio, the agent, SIPp: the proxy records its route, so that ACK and BYE come through it, too.
    let Some(agent) = Agent::new("udp", "") else { return };
    let Some(proxy) = Proxy::start(&agent.network) else { return };
    let media = Media::new(&agent.network);
    let called = Stranger::callee(&agent.network, "callee", "udp");
    wait_until_it_listens(&agent, "udp");
    let calling = Stranger::proxied_caller(&agent.network, &Proxy::address(), "caller_proxied");
    agent.wait_for("sip_calls_answered_total 1");
    media.wait(|| agent.log());
    calling.succeed(|| agent.log() + &proxy.log());
    called.succeed(|| agent.log());
    agent.wait_until_closed();
    assert_eq!(cause(&agent), "bye_of_caller");
    agent.stop();
}

#[test]
fn a_call_crosses_the_tls_of_another_stack_on_both_sides() {
    // SIPp, Kamailio, TLS, the agent, TLS, Kamailio, SIPp: who connects believes one authority only.
    let folder = std::env::temp_dir().join(format!("sip-b2bua-strangers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let names = [AGENT, OUTSIDE].map(str::to_owned);
    let rcgen::CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(names).unwrap();
    std::fs::write(folder.join("tls.pem"), cert.pem()).unwrap();
    std::fs::write(folder.join("tls.key"), signing_key.serialize_pem()).unwrap();
    let Some(agent) = Agent::over_tls(&folder) else { return };
    let Some(near) = Proxy::secure_caller(&agent.network, &folder) else { return };
    let Some(far) = Proxy::secure_callee(&agent.network, &folder) else { return };
    let media = Media::new(&agent.network);
    let called = Stranger::callee(&agent.network, "callee", "udp");
    wait_until_it_listens(&agent, "udp");
    let calling = Stranger::proxied_caller(&agent.network, &Proxy::address(), "caller_proxied");
    agent.wait_for("sip_calls_answered_total 1");
    media.wait(|| agent.log());
    agent.wait_for("sip_connections 2");
    calling.succeed(|| agent.log() + &near.log());
    called.succeed(|| agent.log() + &far.log());
    agent.wait_until_closed();
    assert_eq!(cause(&agent), "bye_of_caller");
    agent.stop();
    std::fs::remove_dir_all(&folder).unwrap();
}
