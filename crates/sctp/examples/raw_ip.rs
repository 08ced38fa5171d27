//! SCTP directly over IP, against any stack: an echo server, or a client that checks what comes back.
//!
//! Needs CAP_NET_RAW, and a kernel whose own SCTP is not loaded.
//!
//! ```text
//! raw_ip serve   OUR-ADDRESS SCTP-PORT [associations, default 1]
//! raw_ip connect OUR-ADDRESS SCTP-PORT SERVER-ADDRESS [messages, default 100]
//! ```
#![allow(clippy::print_stdout, reason = "its output is what an example is for")]

use std::net::IpAddr;
use std::time::Duration;

use sctp::{Association, Endpoint, EndpointConfig, Message, SctpPort, StreamId};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["serve", here, port] => serve(here.parse()?, port.parse()?, 1).await,
        ["serve", here, port, associations] => {
            serve(here.parse()?, port.parse()?, associations.parse()?).await
        }
        ["connect", here, port, there] => connect(here.parse()?, port.parse()?, there.parse()?, 100).await,
        ["connect", here, port, there, messages] => {
            connect(here.parse()?, port.parse()?, there.parse()?, messages.parse()?).await
        }
        _ => Err("usage: raw_ip serve OUR-ADDRESS SCTP-PORT [ASSOCIATIONS] | \
                  connect OUR-ADDRESS SCTP-PORT SERVER-ADDRESS [MESSAGES]"
            .into()),
    }
}

async fn serve(here: IpAddr, port: u16, associations: u32) -> Outcome<()> {
    let endpoint = bind(here, port).await?;
    println!("listening at {here}, SCTP port {port}");
    for _ in 0..associations {
        let association = endpoint.accept().await.ok_or("the endpoint is closed")?;
        let mut messages = 0_u64;
        while let Some(received) = association.recv().await? {
            association.send(received.message).await?;
            messages += 1;
        }
        println!("echoed {messages} messages until the graceful end");
    }
    endpoint.close();
    endpoint.wait_idle().await;
    report(&endpoint);
    Ok(())
}

async fn connect(here: IpAddr, port: u16, there: IpAddr, messages: u16) -> Outcome<()> {
    let endpoint = bind(here, 50_000).await?;
    let destination = [sctp::ip(there)];
    let connecting = endpoint.connect(&destination, SctpPort::try_from(port)?);
    let association = tokio::time::timeout(Duration::from_secs(5), connecting)
        .await
        .map_err(|_| format!("no answer from {there} within 5 s"))??;
    converse(&association, messages).await?;
    association.shutdown().await?;
    println!("{messages} messages came back as they were sent");
    endpoint.wait_idle().await;
    report(&endpoint);
    Ok(())
}

async fn converse(association: &Association, messages: u16) -> Outcome<()> {
    for number in 0..messages {
        let payload: Vec<u8> =
            number.to_be_bytes().into_iter().cycle().take(usize::from(number % 4_000) + 2).collect();
        let message = Message::ordered(StreamId::new(number % 8), payload);
        association.send(message.clone()).await?;
        let answer = association.recv().await?.ok_or("the server shut down")?;
        if (answer.message.stream, &answer.message.payload) != (message.stream, &message.payload) {
            return Err(format!("message {number} came back changed").into());
        }
    }
    Ok(())
}

async fn bind(address: IpAddr, port: u16) -> Outcome<Endpoint> {
    let config = EndpointConfig::new(SctpPort::try_from(port)?);
    Ok(Endpoint::builder(config).bind_ip(&[address]).await?)
}

fn report(endpoint: &Endpoint) {
    let io = endpoint.io_statistics();
    println!("{} packets sent, {} received", io.packets_sent, io.packets_received);
}
