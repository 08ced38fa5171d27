//! Sends requests on several streams to an echo server and prints what each took.
//!
//! `cargo run -p headway-sctp --example client -- [server's UDP address, default 127.0.0.1:9899] [requests, default 10]`
#![allow(clippy::print_stdout, reason = "its output is what an example is for")]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use sctp::{Endpoint, Message, SctpPort, StreamId};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let server: SocketAddr = arguments.next().unwrap_or_else(|| "127.0.0.1:9899".into()).parse()?;
    let requests: u16 = arguments.next().unwrap_or_else(|| "10".into()).parse()?;

    let any = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let endpoint = Endpoint::client(any.parse()?).await?;
    let association =
        endpoint.connect_timeout(server, SctpPort::try_from(7)?, Duration::from_secs(5)).await?;

    for request in 0..requests {
        let stream = StreamId::new(request % 8);
        let started = Instant::now();
        association.send(Message::ordered(stream, format!("request {request}"))).await?;
        let answer = association.recv().await?.ok_or("the server shut down")?;
        println!(
            "{} on stream {}: {:?}",
            String::from_utf8_lossy(&answer.message.payload),
            answer.message.stream.get(),
            started.elapsed()
        );
    }
    association.shutdown().await?;
    endpoint.wait_idle().await;
    Ok(())
}
