//! The locking of endpoints under a scheduler that tries many orders of its steps (docs/decisions/0035).
//!
//! These tests are there with the cfg `shuttle` alone; the function `interleavings` of `.ci/run` runs them.
//!
//! Each test runs a conversation hundreds of times, each time in another order. A wake-up that is lost leaves everybody waiting, which
//! `shuttle` reports with the order that led there; the last tests put such faults in and see them found.

mod blocking_calls;
mod faults;
pub(crate) mod model;
mod tasks;

use std::sync::Arc;
use std::time::Duration;

use sctp_core::{AssociationConfig, EndpointConfig, Profile, SctpPort};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, FailurePersistence, Runner};

use self::model::{Doorbell, Sources, Wire, thread};
use crate::shared::{Received, Shared};
use crate::state::Openness;
use sctp_io::Room;

/// Tries a conversation in many orders: steps drawn at random, and threads preferred in an order that changes a few times.
fn in_many_orders(conversation: impl Fn() + Send + Sync + 'static) {
    let conversation = Arc::new(conversation);
    let again = Arc::clone(&conversation);
    Runner::new(RandomScheduler::new_from_seed(SEED, ORDERS), limits()).run(move || conversation());
    Runner::new(PctScheduler::new_from_seed(SEED, CHANGES, ORDERS), limits()).run(move || again());
}

fn limits() -> Config {
    let mut config = Config::new();
    config.stack_size = 256 << 10;
    config.failure_persistence = FailurePersistence::Print;
    config.max_time = Some(LONGEST);
    config
}

/// An endpoint without timers that matter: every packet is acknowledged at once, and nothing is paced.
fn config(port: u16) -> EndpointConfig {
    let mut association = AssociationConfig::profile(Profile::Rfc9260);
    association.sack.every_packets = 1;
    association.heartbeat.interval = None;
    EndpointConfig::with_association(SctpPort::try_from(port).unwrap(), association)
}

/// Drives an endpoint as `driver::run` does, on a thread of its own, until it is closed and idle.
fn drive(shared: &Shared, bell: &Doorbell) {
    let mut sources = Sources::at(&*shared.io, bell);
    loop {
        let state = shared.lock();
        let is_blocked = state.outbox.is_blocked();
        if state.openness == Openness::Closed && state.is_idle() && !is_blocked {
            return;
        }
        drop(state);
        let woken = sources.wait(if is_blocked { Room::Awaited } else { Room::Irrelevant }, None).unwrap();
        if woken.is_readable {
            match shared.receive().unwrap().what {
                Received::Nothing => {}
                Received::Packets => shared.complete(),
                Received::News => {
                    thread::yield_now();
                    shared.complete_news();
                }
            }
        }
        if woken.has_room {
            shared.change(|_, _| ());
        }
    }
}

/// Starts an endpoint for tasks at one end of a wire.
fn endpoint(config: EndpointConfig, wire: Wire) -> crate::Endpoint {
    let shared = crate::Endpoint::builder(config).assemble(wire).unwrap().shared;
    let bell = Doorbell::new().unwrap();
    shared.signals.driver.set_bell(bell.clone());
    let driven = Arc::clone(&shared);
    thread::spawn(move || drive(&driven, &bell));
    crate::Endpoint::of(shared)
}

/// Orders of each kind that a conversation is tried in, and the longest time for them.
const ORDERS: usize = 400;
const LONGEST: Duration = Duration::from_secs(4);
/// How often the preferred thread changes at most in an order of the second kind.
const CHANGES: usize = 4;
/// Equal seeds try equal orders.
const SEED: u64 = 9260;
