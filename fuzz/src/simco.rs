//! What the target `simco` does with octets.

use simco::agent::{Agent, AgentSettings};
use simco::filter::MemoryFilter;
use simco::middlebox::{AgentPolicy, Connection, Framing, Middlebox, MiddleboxConfig, Protection};
use simco::{Message, Owner, StreamNumber};
use virtual_time::Instant;

/// Reads octets as a message, then as what an agent sends to a middlebox, then as what an agent is sent.
pub fn message(octets: &[u8]) {
    if let Ok(message) = Message::decode(octets) {
        let mut again = Vec::new();
        message.encode(&mut again).expect("what was read can be written");
        assert_eq!(Message::decode(&again), Ok(message));
    }
    to_a_middlebox(octets);
    let mut agent = Agent::new(AgentSettings::default(), [5; 32]);
    agent.connect(Framing::Messages { streams: 3 });
    agent.handle_message(Instant::EPOCH, StreamNumber::CONTROL, octets);
    agent.handle_message(Instant::EPOCH, StreamNumber::CONTROL, octets);
    while agent.poll_transmit().is_some() || agent.poll_event().is_some() {}
}

/// In an open session, and before one.
fn to_a_middlebox(octets: &[u8]) {
    let mut config = MiddleboxConfig::default();
    config.agents.anonymous = Some(AgentPolicy { may_disable: true, ..AgentPolicy::default() });
    let mut middlebox = Middlebox::new(config, MemoryFilter::new(), [3; 32]).expect("the default works");
    let peer = Owner::new(b"fuzz").expect("short");
    let connection =
        Connection { framing: Framing::Octets, peer, authenticated: None, protection: Protection::None };
    let (open, new) =
        (middlebox.open(Instant::EPOCH, connection.clone()), middlebox.open(Instant::EPOCH, connection));
    middlebox.handle_octets(Instant::EPOCH, open, &[1, 1, 0, 8, 0, 0, 0, 1, 0, 1, 0, 4, 3, 0, 0, 0]);
    middlebox.handle_octets(Instant::EPOCH, open, octets);
    middlebox.handle_octets(Instant::EPOCH, new, octets);
    let mut sent = 0;
    while let Some(transmit) = middlebox.poll_transmit(Instant::EPOCH) {
        sent += transmit.octets.len();
    }
    assert!(sent <= 64 * (octets.len() + 64), "{} octets provoke {sent}", octets.len());
    while middlebox.poll_event().is_some() {}
}
