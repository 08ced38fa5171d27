//! What may fail around a call: the middlebox, its ruleset, its answers, the connection to the next hop or one of its paths. Each has the outcome that
//! docs/sip.md promises, and nothing stays open.

use std::io::Read;
use std::net::{TcpListener, TcpStream};

use bytes::Bytes;
use nix::sys::socket::{setsockopt, sockopt};
use sip::{Framer, Message, MessageLimits, Method, Response, Status};

use crate::agent::{Agent, PATIENCE};
use crate::middlebox::Middlebox;
use crate::network::{OUTSIDE, Place};
use crate::phone::Phones;
use crate::probe::Media;

/// Waits until media pass, or do not, in both directions.
fn wait_for_media(agent: &Agent, media: &Media, passes: bool) {
    let start = std::time::Instant::now();
    while media.passes() != (passes, passes) {
        assert!(start.elapsed() < PATIENCE, "media pass: {}: {}", !passes, agent.log());
    }
}

/// A call that is up, with media.
fn call_with_media(agent: &Agent) -> (Phones, Media) {
    let mut phones = Phones::new(&agent.network);
    phones.call();
    assert_eq!(phones.wait_for_answer(1, || agent.log()).0, 200);
    phones.wait_until_asked(&[Method::Invite, Method::Ack], || agent.log());
    let media = Media::new(&agent.network);
    wait_for_media(agent, &media, true);
    (phones, media)
}

/// The call ends, and nothing is left of it.
fn end(agent: &Agent, mut phones: Phones, media: &Media) {
    phones.hang_up();
    phones.wait(|phones| phones.was_asked(&Method::Bye), || agent.log());
    agent.wait_until_closed();
    wait_for_media(agent, media, false);
}

fn causes(agent: &Agent) -> Vec<String> {
    agent.records().iter().map(|record| record["cause"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_middlebox_that_is_killed_ends_no_call_and_new_ones_are_refused_until_it_is_back() {
    let Some(mut agent) = Agent::new("udp", "") else { return };
    let (mut phones, media) = call_with_media(&agent);
    agent.middlebox.kill();
    agent.wait_for("sip_middlebox_up{middlebox=\"edge\"} 0");
    phones.call();
    let (status, reason) = phones.wait_for_answer(2, || agent.log());
    assert_eq!((status, reason.contains("Q.850;cause=47")), (503, true), "{reason}");
    // The first goes on, and its media still pass: the kernel keeps what was opened.
    agent.wait_for("sip_calls 1");
    wait_for_media(&agent, &media, true);
    agent.middlebox = Middlebox::start(&agent.network);
    agent.wait_for("sip_middlebox_up{middlebox=\"edge\"} 1");
    wait_for_media(&agent, &media, true);
    agent.wait_for("sip_pinholes 2");
    end(&agent, phones, &media);
    assert_eq!(causes(&agent), ["no_pinhole", "bye_of_caller"]);
    agent.stop();
}

#[test]
fn nothing_stays_open_beyond_the_lifetime_though_nobody_is_left_who_would_close_it() {
    let Some(mut agent) = Agent::with_lifetime(3) else { return };
    let (_phones, media) = call_with_media(&agent);
    agent.kill();
    agent.middlebox.kill();
    // It is the kernel that counts the time.
    agent.middlebox.wait_until_without_pinholes(&agent.network);
    wait_for_media(&agent, &media, false);
}

#[test]
fn a_ruleset_that_is_flushed_is_mended_under_a_call_that_goes_on() {
    let Some(agent) = Agent::new("udp", "") else { return };
    let (phones, media) = call_with_media(&agent);
    let flushed = agent.network.command(Place::Middle, "nft").args(["flush", "ruleset"]).status();
    assert!(flushed.unwrap().success());
    // Without a table everything passes, so that only the kernel can tell that it is back.
    agent.middlebox.wait_until_with_pinholes(&agent.network);
    wait_for_media(&agent, &media, true);
    agent.wait_for("sip_calls 1");
    end(&agent, phones, &media);
    assert_eq!(causes(&agent), ["bye_of_caller"]);
    agent.stop();
}

#[test]
fn a_lost_answer_about_the_first_pinhole_has_the_call_refused() {
    let Some(agent) = Agent::new("udp", "") else { return };
    let mut phones = Phones::new(&agent.network);
    agent.middlebox.lose_what_it_says(&agent.network);
    phones.call();
    let (status, reason) = phones.wait_for_answer(1, || agent.log());
    assert_eq!((status, reason.contains("Q.850;cause=47")), (503, true), "{reason}");
    agent.wait_for("sip_pinholes_denied_total{reason=\"silent\"} 1");
    // Its grant comes late, and is taken back.
    agent.middlebox.let_it_speak(&agent.network);
    agent.middlebox.wait_until_without_pinholes(&agent.network);
    phones.call();
    assert_eq!(phones.wait_for_answer(2, || agent.log()).0, 200);
    let media = Media::new(&agent.network);
    wait_for_media(&agent, &media, true);
    end(&agent, phones, &media);
    assert_eq!(causes(&agent), ["no_pinhole", "bye_of_caller"]);
    agent.stop();
}

#[test]
fn a_lost_answer_about_the_second_pinhole_ends_the_call_on_both_sides() {
    let Some(agent) = Agent::new("udp", "") else { return };
    let mut phones = Phones::new(&agent.network);
    phones.let_it_ring();
    phones.call();
    phones.wait_until_asked(&[Method::Invite], || agent.log());
    agent.middlebox.lose_what_it_says(&agent.network);
    phones.answer();
    let (status, reason) = phones.wait_for_answer(1, || agent.log());
    assert_eq!((status, reason.contains("Q.850;cause=47")), (503, true), "{reason}");
    phones.wait_until_asked(&[Method::Invite, Method::Ack, Method::Bye], || agent.log());
    agent.middlebox.let_it_speak(&agent.network);
    agent.wait_until_closed();
    agent.middlebox.wait_until_without_pinholes(&agent.network);
    assert_eq!(causes(&agent), ["no_pinhole"]);
    agent.stop();
}

/// Accepts a connection and refuses the INVITE that comes over it.
fn refuse_a_call(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let (mut framer, mut buffer) = (Framer::new(MessageLimits::default()), [0; 4_096]);
    let octets: Bytes = loop {
        let length = stream.read(&mut buffer).unwrap();
        assert!(length > 0, "the agent has closed the connection");
        framer.push(&buffer[..length]);
        if let Some(message) = framer.next_message().unwrap() {
            break message;
        }
    };
    let Message::Request(request) = Message::parse(&octets, &MessageLimits::default()).unwrap() else {
        panic!("no request");
    };
    let refusal = Response::to(&request, Status::BUSY, "b").encode();
    std::io::Write::write_all(&mut stream, &refusal).unwrap();
    stream
}

#[test]
fn a_half_open_connection_costs_one_call_and_the_next_one_has_a_new_connection() {
    let Some(agent) = Agent::new("tcp", "") else { return };
    let mut phones = Phones::new(&agent.network);
    let address = format!("{OUTSIDE}:5060");
    let listener = agent.network.within(Place::Outside, || TcpListener::bind(&address).unwrap());
    phones.call();
    let refused = std::thread::scope(|scope| {
        let server = scope.spawn(|| refuse_a_call(&listener));
        assert_eq!(phones.wait_for_answer(1, || agent.log()).0, 486);
        server.join().unwrap()
    });
    agent.wait_for("sip_connections 1");
    // The other end goes and nobody hears of it: its reset is lost, for the cable is out.
    let set = |state| agent.network.set_link(Place::Outside, state);
    set("down");
    let at_once = nix::libc::linger { l_onoff: 1, l_linger: 0 };
    setsockopt(&refused, sockopt::Linger, &at_once).unwrap();
    drop(refused);
    set("up");
    agent.wait_for("sip_connections 1");
    phones.call();
    let (status, reason) = phones.wait_for_answer(2, || agent.log());
    assert_eq!((status, reason.contains("cause=503")), (503, true), "{reason}");
    agent.wait_for("sip_connections 0");
    phones.call();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| refuse_a_call(&listener));
        assert_eq!(phones.wait_for_answer(3, || agent.log()).0, 486);
        server.join().unwrap()
    });
    agent.wait_until_closed();
    assert_eq!(causes(&agent), ["busy", "unreachable", "busy"]);
    agent.stop();
}

/// Neither side hears the other any more at the addresses that the association began with.
fn lose_first_path(agent: &Agent) {
    for (place, peer) in [(Place::Middle, OUTSIDE), (Place::Outside, "198.51.100.1")] {
        agent.network.lose(place, "input", &format!("ip saddr {peer} udp dport 9899"));
    }
}

#[test]
fn a_path_that_is_lost_ends_no_call_and_the_next_one_takes_the_other_path() {
    let Some((agent, second)) = Agent::with_second_at_two_addresses() else { return };
    let (mut phones, media) = call_with_media(&agent);
    agent.wait_for("sip_connections 1");
    lose_first_path(&agent);
    let log = || agent.log() + &second.log();
    let mut asked = vec![Method::Invite, Method::Ack];
    for is_last in [false, true] {
        phones.hang_up();
        asked.push(Method::Bye);
        phones.wait_until_asked(&asked, log);
        agent.wait_until_closed();
        second.wait_for(&agent.network, "sip_calls 0");
        wait_for_media(&agent, &media, false);
        if !is_last {
            phones.call();
            assert_eq!(phones.wait_for_answer(2, log).0, 200);
            asked.extend([Method::Invite, Method::Ack]);
            phones.wait_until_asked(&asked, log);
            wait_for_media(&agent, &media, true);
        }
    }
    // It is the same association: a new one to the first address would not have been answered.
    agent.wait_for("sip_connections 1");
    second.wait_for(&agent.network, "sip_connections 1");
    assert_eq!(causes(&agent), ["bye_of_caller", "bye_of_caller"]);
    second.stop();
    agent.stop();
}
