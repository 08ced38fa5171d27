//! When what is open closes.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use nft_filter::{NftConfig, Removal};
use simco::filter::{Change, PacketFilter, RemovalCause};
use simco::{Direction, PolicyRule};

use super::network::{MARKER_INSIDE, MARKER_OUTSIDE, Network, Way, time_until};
use super::{Middlebox, config, tcp, udp};

const IN: &str = "10.1.0.2:4000";
const OUT: &str = "203.0.113.2:6000";

fn extend(middlebox: &mut Middlebox, old: &Arc<PolicyRule>, seconds: u64) -> Arc<PolicyRule> {
    let now = middlebox.now();
    let new = Arc::new(PolicyRule { deadline: now + Duration::from_secs(seconds), ..PolicyRule::clone(old) });
    let change = Change::Lifetime { old: Arc::clone(old), new: Arc::clone(&new) };
    middlebox.filter.apply(now, &[change]).unwrap();
    new
}

pub(crate) fn expiry() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    middlebox.insert_for(1, &udp(1, IN, OUT, Direction::Inbound));
    assert!(network.udp_passes(Way::In, IN, OUT));
    // Nobody tells the kernel any more.
    let lived = time_until(|| !network.udp_passes(Way::In, IN, OUT));
    assert!(lived < Duration::from_secs(2), "{lived:?}");
    assert!(!middlebox.filter.list(middlebox.now()).unwrap().iter().any(|rule| rule.id.get() == 1));
}

pub(crate) fn changed() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    let rule = middlebox.insert_for(1, &udp(1, IN, OUT, Direction::Inbound));
    let other = middlebox.insert_for(1, &udp(2, "10.1.0.2:1", OUT, Direction::Inbound));
    let rule = extend(&mut middlebox, &rule, 60);
    time_until(|| !network.udp_passes(Way::In, "10.1.0.2:1", OUT));
    middlebox.remove(&other);
    assert!(network.udp_passes(Way::In, IN, OUT));
    extend(&mut middlebox, &rule, 1);
    let lived = time_until(|| !network.udp_passes(Way::In, IN, OUT));
    assert!(lived > Duration::from_millis(500) && lived < Duration::from_secs(2), "{lived:?}");
}

pub(crate) fn removal() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    let rule = middlebox.insert(&tcp(1, IN, OUT, Direction::Inbound));
    let (mut inside, mut outside) = network.tcp(Way::In, IN, OUT);
    middlebox.remove(&rule);
    outside.write_all(b"late").unwrap();
    network.wait_for_marker(Way::In);
    inside.set_nonblocking(true).unwrap();
    assert_eq!(inside.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    inside.write_all(b"late").unwrap();
    network.wait_for_marker(Way::Out);
    outside.set_nonblocking(true).unwrap();
    assert_eq!(outside.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

pub(crate) fn removed_after_expiry() {
    let network = Network::new();
    let mut middlebox = Middlebox::new(&network);
    let rule = middlebox.insert_for(1, &udp(1, IN, OUT, Direction::Inbound));
    time_until(|| !network.udp_passes(Way::In, IN, OUT));
    let now = middlebox.now();
    let expired = Change::Remove { rule: Arc::clone(&rule), cause: RemovalCause::Expired };
    middlebox.filter.apply(now, &[expired]).unwrap();
    // A lifetime that is extended at its very end is like a new one.
    let rule = middlebox.insert_for(1, &udp(1, IN, OUT, Direction::Inbound));
    time_until(|| !network.udp_passes(Way::In, IN, OUT));
    extend(&mut middlebox, &rule, 60);
    assert!(network.udp_passes(Way::In, IN, OUT));
}

pub(crate) fn add_and_delete() {
    let network = Network::new();
    let config = NftConfig { removal: Removal::AddAndDelete, ..config() };
    let mut middlebox = Middlebox::with(&network, config);
    middlebox.insert(&udp(9, MARKER_INSIDE, MARKER_OUTSIDE, Direction::BiDirectional));
    let rule = middlebox.insert(&udp(1, IN, OUT, Direction::Inbound));
    let rule = extend(&mut middlebox, &rule, 1);
    time_until(|| !network.udp_passes(Way::In, IN, OUT));
    let rule = extend(&mut middlebox, &rule, 60);
    assert!(network.udp_passes(Way::In, IN, OUT));
    middlebox.remove(&rule);
    assert!(!network.udp_passes(Way::In, IN, OUT));
}
