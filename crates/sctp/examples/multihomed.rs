//! A client with several addresses, whose association goes on when a path is lost.
//!
//! ```text
//! multihomed SERVER[,SERVER…] ADDRESS[,ADDRESS…]     for instance 192.0.2.1:9899,198.51.100.1:9899 192.0.2.7,198.51.100.7
//! ```
#![allow(clippy::print_stdout, reason = "its output is what an example is for")]

use std::net::IpAddr;
use std::time::Duration;

use sctp::{
    Association, AssociationConfig, Destination, Destinations, Endpoint, Event, Message, SctpPort, StreamId,
};

pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
pub(crate) async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [servers, addresses] = arguments.as_slice() else {
        return Err("usage: multihomed SERVER[,SERVER…] ADDRESS[,ADDRESS…]".into());
    };
    let servers = servers.split(',').map(str::parse).collect::<Result<Vec<Destination>, _>>()?;
    let addresses = addresses.split(',').map(str::parse).collect::<Result<Vec<IpAddr>, _>>()?;
    // By default a path is left after one timeout, and watched until it answers again.
    let endpoint =
        Endpoint::builder_of_client(AssociationConfig::default()).bind_addresses(&addresses, 0).await?;
    let association = connect(&endpoint, servers).await?;
    for number in 0.. {
        let took = request(&association, number).await?;
        let path = association.status()?.path;
        println!("request {number}: {took:?}, by {} to {}", path.path, path.address);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Connects by the first address of the server that answers, and prints what becomes of the paths.
pub(crate) async fn connect(endpoint: &Endpoint, servers: impl Into<Destinations>) -> Outcome<Association> {
    let association =
        endpoint.connect_timeout(servers, SctpPort::try_from(7)?, Duration::from_secs(10)).await?;
    let watched = association.clone();
    tokio::spawn(async move {
        while let Some(event) = watched.next_event().await {
            if let Event::PeerAddressChange { path, state } = event {
                println!("{path} is {}", state.name());
            }
        }
    });
    Ok(association)
}

/// Sends a request and waits for its answer, by whatever path; returns how long it took.
pub(crate) async fn request(association: &Association, number: u16) -> Outcome<Duration> {
    let started = std::time::Instant::now();
    let stream = StreamId::new(number % 8);
    association.send(Message::ordered(stream, format!("request {number}"))).await?;
    association.recv().await?.ok_or("the server has shut down")?;
    Ok(started.elapsed())
}
