//! Headway as programs use it: by its API, with its own drivers.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};

use sctp::{Destination, Endpoint, EndpointConfig, RawIp, SctpPort, blocking};

use crate::tally::{RoundTrips, Tally};
use crate::task::{AT_ONCE, End, SCTP_PORT, Task};

/// On a runtime of one thread, in a task of it.
///
/// # Panics
/// If anything fails.
pub fn on_tokio(task: &Task) -> ! {
    in_task(as_task(task.clone()))
}

/// Runs a future as programs run what serves a connection: in a task, not in what the runtime blocks on.
pub(crate) fn in_task(work: impl Future<Output = Infallible> + Send + 'static) -> ! {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    match runtime.block_on(async { tokio::spawn(work).await.expect("nobody aborts it") }) {}
}

async fn as_task(task: Task) -> Infallible {
    let (config, address, port) = beginning(&task);
    let endpoint = Endpoint::bind(config, address).await.expect("it is free");
    let association = match task.end.opens() {
        true => endpoint.connect(&[sctp::udp(task.address)], port).await.expect("the receiver is there"),
        false => endpoint.accept().await.expect("it is open"),
    };
    let (mut messages, mut received) = (task.messages(), Vec::new());
    let mut tally = Tally::new(&task);
    let mut round_trips = RoundTrips::begin(&task);
    loop {
        match task.end {
            End::Send => {
                association.send_many(messages.by_ref().take(AT_ONCE)).await.expect("it is up");
            }
            End::Receive => {
                association.recv_many(&mut received, AT_ONCE).await.expect("it is up");
                received.drain(..).for_each(|it| tally.add(task.read(&it.message.payload)));
                tally.look();
            }
            End::Echo => {
                let arrived = association.recv().await.expect("it is up").expect("it is up");
                association.send(arrived.message).await.expect("it is up");
            }
            End::Ping => {
                association.send(messages.next().expect("endless")).await.expect("it is up");
                association.recv().await.expect("it is up").expect("it is up");
                round_trips.next();
            }
        }
    }
}

/// With calls that block.
///
/// # Panics
/// If anything fails.
pub fn blocking(task: &Task) -> ! {
    let (config, address, _) = beginning(task);
    let endpoint = blocking::Endpoint::bind(config, address).expect("it is free");
    block(task, &endpoint, sctp::udp(task.address))
}

/// The same directly over IP, without segmentation offload.
///
/// # Panics
/// If anything fails.
pub fn over_ip(task: &Task) -> ! {
    let (mut config, address, port) = beginning(task);
    config.association.path_mtu.bytes = task.packet_bytes + 20;
    let mut own = address.ip();
    if task.end.opens() {
        config.port = SctpPort::new(port.get() + 1).expect("not zero");
        own = OPENER;
    }
    let io = RawIp::bind(&[own], config.port).expect("the process may");
    let endpoint = Endpoint::builder(config).bind_blocking(io).expect("it is free");
    block(task, &endpoint, sctp::ip(task.address.ip()))
}

fn block(task: &Task, endpoint: &blocking::Endpoint, peer: Destination) -> ! {
    let port = SctpPort::new(SCTP_PORT).expect("not zero");
    let association = match task.end.opens() {
        true => endpoint.connect([peer], port).expect("the receiver is there"),
        false => endpoint.accept().expect("it is open"),
    };
    let (mut messages, mut received) = (task.messages(), Vec::new());
    let mut tally = Tally::new(task);
    let mut round_trips = RoundTrips::begin(task);
    loop {
        match task.end {
            End::Send => association.send_many(messages.by_ref().take(AT_ONCE)).expect("it is up"),
            End::Receive => {
                association.recv_many(&mut received, AT_ONCE).expect("it is up");
                received.drain(..).for_each(|it| tally.add(task.read(&it.message.payload)));
                tally.look();
            }
            End::Echo => {
                let arrived = association.recv().expect("it is up").expect("it is up");
                association.send(arrived.message).expect("it is up");
            }
            End::Ping => {
                association.send(messages.next().expect("endless")).expect("it is up");
                association.recv().expect("it is up").expect("it is up");
                round_trips.next();
            }
        }
    }
}

fn beginning(task: &Task) -> (EndpointConfig, std::net::SocketAddr, SctpPort) {
    let port = SctpPort::new(SCTP_PORT).expect("not zero");
    let config = EndpointConfig::with_association(port, task.config());
    let any = std::net::SocketAddr::new(task.address.ip(), 0);
    (config, if task.end.opens() { any } else { task.address }, port)
}

/// Of whoever opens an association over IP: as two hosts have it, each end has an address of its own. The kernel copies
/// what comes in for every raw socket of its address, before it looks at ports.
const OPENER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
