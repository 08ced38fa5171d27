//! The stack under test: how it is configured, and the process that a script over raw IP speaks with.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::time::Duration;

use sctp::{Association, Endpoint, EndpointConfig, Message, PayloadProtocolId, Profile, SctpPort, StreamId};
use sctp_core::{Delivery, Extensions};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

use crate::script::{PEER_PORT, STACK_PORT};
use crate::virtual_time::{ADDRESSES, STACK_ADDRESS};
use crate::wire::{Call, Settings, WireError};

/// Whether timers are what a script checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Timers are checked: all parameters are those of RFC 9260 §16.
    Virtual,
    /// Timers are not checked, and must not expire while a busy machine lets everybody wait: RTOs of a minute.
    Real,
}

/// Returns the configuration of the stack.
///
/// # Errors
/// A port that is none.
pub fn config(settings: Settings, clock: Clock) -> Result<EndpointConfig, WireError> {
    let port = SctpPort::try_from(STACK_PORT)
        .map_err(|error| WireError::Call { call: Call::Connect, reason: error.to_string() })?;
    let mut config = EndpointConfig::new(port);
    let association = &mut config.association;
    *association = sctp::AssociationConfig::profile(Profile::Rfc9260);
    association.extensions = Extensions::NONE;
    association.heartbeat.interval = None;
    match settings {
        Settings::Plain => {}
        Settings::Heartbeats => association.heartbeat.interval = Some(Duration::from_secs(30)),
        Settings::SmallBuffer => {
            (association.buffers.receive_bytes, association.buffers.message_bytes) =
                (SMALL_BUFFER, SMALL_BUFFER);
        }
        Settings::LargeBuffer => association.buffers.send_bytes = 64 << 20,
        Settings::Pieces => {
            (association.buffers.receive_bytes, association.buffers.message_bytes) =
                (SMALL_BUFFER, SMALL_BUFFER);
            association.buffers.partial_delivery_point_bytes = Some(1000);
        }
        Settings::Listed => config.local_addresses = LISTED.to_vec(),
    }
    match clock {
        Clock::Virtual => {}
        Clock::Real => {
            let minute = Duration::from_secs(60);
            (association.rto.initial, association.rto.min, association.rto.max) = (minute, minute, minute);
        }
    }
    Ok(config)
}

/// Returns the message that a call is about.
#[must_use]
pub fn message(call: Call) -> Option<Message> {
    let (stream, octets, delivery) = match call {
        Call::Send { stream, octets } => (stream, octets, Delivery::Ordered),
        Call::SendUnordered { stream, octets } => (stream, octets, Delivery::Unordered),
        Call::Connect
        | Call::ConnectToBoth
        | Call::Echo
        | Call::Read
        | Call::Shutdown
        | Call::Abort
        | Call::Leave => return None,
    };
    Some(
        Message::new(StreamId::new(stream), delivery, vec![7; octets])
            .with_ppid(PayloadProtocolId::new(PPID)),
    )
}

/// Writes a call as a line for the process.
#[must_use]
pub fn line(call: Call) -> String {
    match call {
        Call::Connect => "connect 1\n".to_owned(),
        Call::ConnectToBoth => "connect 2\n".to_owned(),
        Call::Send { stream, octets } => format!("send {stream} {octets}\n"),
        Call::SendUnordered { stream, octets } => format!("unordered {stream} {octets}\n"),
        Call::Echo => "echo\n".to_owned(),
        Call::Read => "read\n".to_owned(),
        Call::Shutdown => "shutdown\n".to_owned(),
        Call::Abort => "abort\n".to_owned(),
        Call::Leave => "leave\n".to_owned(),
    }
}

/// Reads a call from such a line.
#[must_use]
pub fn call(line: &str) -> Option<Call> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |position: usize| words.get(position)?.parse::<u16>().ok();
    Some(match *words.first()? {
        "connect" => {
            if number(1)? == 1 {
                Call::Connect
            } else {
                Call::ConnectToBoth
            }
        }
        "send" => Call::Send { stream: number(1)?, octets: number(2)?.into() },
        "unordered" => Call::SendUnordered { stream: number(1)?, octets: number(2)?.into() },
        "echo" => Call::Echo,
        "read" => Call::Read,
        "shutdown" => Call::Shutdown,
        "abort" => Call::Abort,
        "leave" => Call::Leave,
        _ => return None,
    })
}

/// Serves one script: the shipping stack over protocol 132, whose user does what standard input says, until that ends.
/// Says `ready` when it can be spoken with, and `done` after each line.
///
/// # Errors
/// The endpoint cannot be bound, or the script says what is no call.
pub async fn serve(settings: Settings, say: impl Fn(&str)) -> Result<(), Box<dyn std::error::Error>> {
    let endpoint = Endpoint::builder(config(settings, Clock::Real)?).bind_ip(&[STACK_ADDRESS]).await?;
    say("ready");
    let mut user = User { endpoint: endpoint.clone(), association: None, echoes: false };
    let mut lines = BufReader::new(stdin()).lines();
    let mut connecting = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = endpoint.accept() => user.take(accepted),
            Some(Ok(connected)) = connecting.join_next() => user.take(connected),
            line = lines.next_line() => {
                let Some(line) = line? else { return Ok(()) };
                let call = call(&line).ok_or_else(|| format!("`{line}` is no call"))?;
                match call {
                    Call::Connect | Call::ConnectToBoth => user.connect(call, &mut connecting)?,
                    Call::Echo => user.echo(),
                    Call::Send { .. } | Call::SendUnordered { .. } | Call::Read | Call::Shutdown | Call::Abort | Call::Leave => {
                        // What the script has heard already the user may hear of a moment later.
                        let waiting = user.wait(&mut connecting);
                        tokio::time::timeout(crate::raw_ip::PATIENCE, waiting).await?;
                        user.obey(call).await?;
                    }
                }
                say("done");
            }
        }
    }
}

/// The user of the stack.
struct User {
    endpoint: Endpoint,
    association: Option<Association>,
    echoes: bool,
}

impl User {
    fn take(&mut self, association: Option<Association>) {
        if let Some(association) = association {
            if self.echoes {
                tokio::spawn(echo(association.clone()));
            }
            self.association = Some(association);
        }
    }

    fn connect(
        &self,
        call: Call,
        connecting: &mut tokio::task::JoinSet<Option<Association>>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let count = if call == Call::Connect { 1 } else { 2 };
        let destinations: Vec<_> = ADDRESSES.iter().take(count).map(|&address| sctp::ip(address)).collect();
        let (endpoint, port) = (self.endpoint.clone(), SctpPort::try_from(PEER_PORT)?);
        // A call that fails leaves the user without association: the script hears what it has to.
        connecting.spawn(async move { endpoint.connect(&destinations, port).await.ok() });
        Ok(())
    }

    fn echo(&mut self) {
        self.echoes = true;
        if let Some(association) = self.association.clone() {
            tokio::spawn(echo(association));
        }
    }

    /// Waits until there is an association.
    async fn wait(&mut self, connecting: &mut tokio::task::JoinSet<Option<Association>>) {
        while self.association.is_none() {
            let endpoint = self.endpoint.clone();
            let association = tokio::select! {
                accepted = endpoint.accept() => accepted,
                Some(Ok(connected)) = connecting.join_next() => connected,
            };
            self.take(association);
        }
    }

    async fn obey(&mut self, call: Call) -> Result<(), Box<dyn std::error::Error>> {
        let association = self.association.clone().ok_or("there is no association")?;
        if let Some(message) = message(call) {
            association.send(message).await?;
        } else if call == Call::Read {
            association.recv().await?;
        } else if call == Call::Abort {
            association.abort(REASON);
        } else if call == Call::Leave {
            self.endpoint.close();
        } else {
            // The end of the shutdown is for the script to see.
            tokio::spawn(async move { association.shutdown().await.is_ok() });
        }
        Ok(())
    }
}

async fn echo(association: Association) {
    while let Ok(Some(received)) = association.recv().await {
        if association.send(received.message).await.is_err() {
            return;
        }
    }
}

/// The payload protocol identifier of the user's messages.
pub const PPID: u32 = 0x00c0_ffee;
/// The reason that the user gives when it aborts.
pub const REASON: &[u8] = b"enough";
/// The receive buffer of [`Settings::SmallBuffer`], in octets.
pub const SMALL_BUFFER: usize = 3000;
/// The addresses of the stack with [`Settings::Listed`], the second in the form that IPv6 sockets give IPv4 addresses.
const LISTED: [IpAddr; 3] = [
    STACK_ADDRESS,
    IpAddr::V6(Ipv4Addr::new(10, 99, 1, 2).to_ipv6_mapped()),
    IpAddr::V6(Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, 1)),
];
