//! Sends every message back on the stream it came on.
//!
//! `cargo run -p headway-sctp --example echo_server -- [UDP address, default [::]:9899]`
#![allow(clippy::print_stdout, reason = "its output is what an example is for")]

use sctp::{Association, CommunicationLost, Endpoint, SctpPort};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "[::]:9899".into()).parse()?;
    let endpoint = Endpoint::server(SctpPort::try_from(7)?, address).await?;
    println!("SCTP port 7 in UDP on {}", endpoint.local_address());

    while let Some(association) = endpoint.accept().await {
        tokio::spawn(async move {
            let id = association.id();
            println!("{id:?}: up");
            match echo(association).await {
                Ok(messages) => println!("{id:?}: shut down after {messages} messages"),
                Err(lost) => println!("{id:?}: {lost}"),
            }
        });
    }
    Ok(())
}

/// Echoes until the peer shuts down; returns how many messages that were.
async fn echo(association: Association) -> Result<u64, CommunicationLost> {
    let mut messages = 0;
    while let Some(received) = association.recv().await? {
        messages += 1;
        // Waits while the peer does not read: what cannot be sent is not received either.
        if association.send(received.message).await.is_err() {
            break; // the peer has begun to shut down and wants no more answers
        }
    }
    association.shutdown().await?;
    Ok(messages)
}
