//! One end of an association on our own stack, to meet other stacks with: the twin of `peer/`.
//!
//! ```text
//! interop/run ──► interop-driver serve ◄── UDP 9899 or IP ──► peer send
//!            └──► interop-driver send  ◄── UDP 9899 or IP ──► peer serve
//! ```
//!
//! This file binds the endpoint and knows the exit status; [`options`] is the command line, [`conversation`] what
//! happens on an association, [`actions`] what is done in the middle, [`content`] what messages look like, [`report`] the lines it prints.
#![forbid(unsafe_code)]

mod actions;
mod content;
mod conversation;
mod options;
mod report;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use sctp::{AssociationConfig, BindError, ConnectError, Endpoint, EndpointConfig, IncomingPolicy, SctpPort};

use self::conversation::Conversation;
use self::options::{Carrier, EndOptions, Options, Role, SendOptions, ServeOptions};
use self::report::Line;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    let seconds = match &options.role {
        Role::Serve(serve) => serve.end.seconds,
        Role::Send(send) => send.end.seconds,
    };
    match tokio::time::timeout(Duration::from_secs(seconds), run(&options.role)).await {
        Ok(Ok(true)) => ExitCode::SUCCESS,
        Ok(Ok(false)) => ExitCode::FAILURE,
        Ok(Err(failure)) => {
            failure.line().print();
            ExitCode::FAILURE
        }
        Err(_elapsed) => {
            Line::Timeout.print();
            ExitCode::from(3)
        }
    }
}

async fn run(role: &Role) -> Result<bool, Failure> {
    match role {
        Role::Serve(options) => serve(options).await,
        Role::Send(options) => send(options).await,
    }
}

/// Accepts one association after the other.
async fn serve(options: &ServeOptions) -> Result<bool, Failure> {
    let ServeOptions { end, mode, count, streams, finish } = options;
    let endpoint =
        bind(end, end.port, None, end.association.config(*streams), IncomingPolicy::Accept).await?;
    if end.over != Carrier::Channel {
        Line::Listening { port: end.port.get(), at: endpoint.local_address() }.print();
    }
    let mut is_good = true;
    let mut served = 0;
    while *count == 0 || served < *count {
        let Some(association) = endpoint.accept().await else { break };
        is_good &= Conversation::new(association, end).serve(end, *mode, *finish).await;
        served += 1;
    }
    endpoint.wait_idle().await;
    tokio::time::sleep(Duration::from_secs(end.linger_seconds)).await;
    Ok(is_good)
}

/// Opens one association.
async fn send(options: &SendOptions) -> Result<bool, Failure> {
    let SendOptions { end, to, encap, local_port, load, finish } = options;
    let config = end.association.config(load.streams);
    let peer = to.first().map(|address| SocketAddr::new(*address, *encap));
    let endpoint = bind(end, *local_port, peer, config, IncomingPolicy::Refuse).await?;
    let destinations: Vec<_> = to.iter().map(|address| end.destination(*address, *encap)).collect();
    let association = endpoint.connect(&destinations, end.port).await?;
    let is_good = Conversation::new(association, end).send(end, load, *finish).await;
    endpoint.wait_idle().await;
    tokio::time::sleep(Duration::from_secs(end.linger_seconds)).await;
    Ok(is_good)
}

async fn bind(
    options: &EndOptions,
    port: SctpPort,
    peer: Option<SocketAddr>,
    association: AssociationConfig,
    incoming: IncomingPolicy,
) -> Result<Endpoint, Failure> {
    let mut config = EndpointConfig::with_association(port, association);
    config.incoming = incoming;
    let mut addresses = options.addresses(peer.map(|peer| peer.ip()));
    if !options.spare.is_empty() {
        config.local_addresses.clone_from(&addresses);
        addresses.extend_from_slice(&options.spare);
    }
    let builder = match &options.pcap {
        Some(path) => Endpoint::builder(config).capture(path),
        None => Endpoint::builder(config),
    };
    match (options.over, addresses.as_slice()) {
        (Carrier::Channel, _) => Ok(builder.bind_channel(channel(options, peer).await?).await?),
        (Carrier::Ip, addresses) => Ok(builder.bind_ip(addresses).await?),
        (Carrier::Udp, [address]) => Ok(builder.bind(SocketAddr::new(*address, options.udp)).await?),
        (Carrier::Udp, addresses) => Ok(builder.bind_addresses(addresses, options.udp).await?),
    }
}

/// Opens a UDP socket as a channel to `peer`, or to whoever sends first.
async fn channel(options: &EndOptions, peer: Option<SocketAddr>) -> std::io::Result<std::net::UdpSocket> {
    let family = options.addresses(peer.map(|peer| peer.ip()));
    let address = family.first().copied().unwrap_or(std::net::Ipv4Addr::UNSPECIFIED.into());
    let socket = tokio::net::UdpSocket::bind((address, options.udp)).await?;
    let peer = match peer {
        Some(peer) => peer,
        None => {
            // Nobody can be told later: the socket is to be connected when the endpoint takes it over.
            Line::Listening { port: options.port.get(), at: socket.local_addr()? }.print();
            socket.peek_sender().await?
        }
    };
    socket.connect(peer).await?;
    socket.into_std()
}

/// The reason why there was no association.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("no UDP socket for a channel: {0}")]
    Channel(#[from] std::io::Error),
}

impl Failure {
    fn line(&self) -> Line {
        let call = match self {
            Self::Bind(_) | Self::Channel(_) => "bind",
            Self::Connect(_) => "connect",
        };
        Line::Error { call, message: self.to_string() }
    }
}
