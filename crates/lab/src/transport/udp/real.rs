//! The workload over UDP with the retransmission of a SIP client transaction.

use core::time::Duration;
use std::net::SocketAddr;

use bytes::Bytes;
use sctp_io::Clock;
use tokio::net::UdpSocket;
use workload::RetransmissionConfig;

use super::outbox::Outbox;
use crate::statistics::TransportCounts;
use crate::stop::INTERRUPTED;
use crate::traffic::{Client, Server, ServerPlan};
use crate::transport::{
    Alarm, Between, Driven, Errand, FlowRun, LOOK_FOR_STOP, Listener, Listening, RealError, Serving, Stop,
};

/// Runs a load over a connected socket.
pub(super) async fn load(errand: Errand<'_>) -> Result<FlowRun, RealError> {
    let Errand { plan, to, reach, clock, stop, .. } = errand;
    let socket = match reach {
        Between::Link(_) => connected_socket(to[0], reach).await?,
        Between::Network => present(to, reach).await?,
    };
    let mut alarm = Alarm::new(clock).map_err(RealError::socket("cannot open a timer"))?;
    let mut client = Client::new(plan)?;
    client.begin(alarm.now());
    let mut outbox = Outbox::new(&client, RetransmissionConfig::default());
    let mut buffer = vec![0; 64 << 10];
    while !client.is_finished(alarm.now(), client.answered()) {
        if stop.is_raised() {
            client.fail(INTERRUPTED);
            break;
        }
        let look = alarm.now() + LOOK_FOR_STOP;
        let next = client.poll_timeout().into_iter().chain(outbox.poll_timeout()).chain([look]).min();
        tokio::select! {
            biased;
            // An ICMP error is as good as a lost packet: the request is repeated.
            received = socket.recv(&mut buffer) => if let Ok(len) = received {
                outbox.hand_over(alarm.now(), &mut client, &buffer[..len]);
            },
            waited = alarm.until(next) => {
                waited.map_err(RealError::socket("cannot wait"))?;
                let now = alarm.now();
                client.handle_timeout(now);
                outbox.handle_timeout(now);
            }
        }
        outbox.fill(alarm.now(), &mut client);
        while let Some(datagram) = outbox.poll_transmit() {
            let _lost = socket.send(&datagram).await;
        }
    }
    let counts = outbox.counts(&client);
    Ok(FlowRun::new(Driven::new(client), counts))
}

/// Returns a socket connected to the first address where a message comes back.
async fn present(all: &[SocketAddr], reach: Between) -> Result<UdpSocket, RealError> {
    let mut refused = Vec::new();
    for to in all {
        let socket = connected_socket(*to, reach).await?;
        match answers(&socket).await {
            // What comes back late is not for the run.
            Ok(()) => return connected_socket(*to, reach).await,
            Err(error) => refused.push(format!("at {to}: {error}")),
        }
    }
    Err(RealError::nobody("UDP", &refused))
}

async fn connected_socket(to: SocketAddr, reach: Between) -> Result<UdpSocket, RealError> {
    let socket = UdpSocket::bind((reach.local(to), 0)).await;
    let socket = socket.map_err(RealError::socket("cannot open a UDP socket"))?;
    socket.connect(to).await.map_err(RealError::socket("cannot connect the UDP socket"))?;
    Ok(socket)
}

/// Sends a message of no run until it comes back.
async fn answers(socket: &UdpSocket) -> std::io::Result<()> {
    let mut message = [0; 20];
    message[..4].copy_from_slice(&20_u32.to_be_bytes());
    message[4..12].copy_from_slice(&u64::MAX.to_be_bytes());
    for patience in PROBES {
        // An error of before, such as ICMP's, is told when sending or when receiving.
        socket.send(&message).await?;
        if let Ok(received) = tokio::time::timeout(patience, socket.recv(&mut [0; 64])).await {
            return received.map(drop);
        }
    }
    let patience: Duration = PROBES.iter().sum();
    Err(std::io::Error::new(std::io::ErrorKind::TimedOut, format!("no answer within {patience:?}")))
}

/// Opens a socket for each address.
pub(super) async fn listen(at: Listening<'_>) -> Result<Vec<Listener>, RealError> {
    let mut open = Vec::new();
    for address in at.addresses {
        let socket = UdpSocket::bind(address).await;
        let refused = |error: std::io::Error| RealError::Listen { at: *address, because: error.to_string() };
        let socket = socket.map_err(refused)?;
        let serving: Serving = Box::new(|plan, clock, stop| Box::pin(answer(socket, plan, clock, stop)));
        open.push(Listener { protocol: "udp", addresses: vec![*address], encap_port: None, serving });
    }
    Ok(open)
}

/// Answers datagrams until `stop` resolves.
async fn answer(
    socket: UdpSocket,
    plan: ServerPlan,
    clock: Clock,
    mut stop: Stop,
) -> Result<TransportCounts, RealError> {
    let mut alarm = Alarm::new(clock).map_err(RealError::socket("cannot open a timer"))?;
    let mut server: Server<SocketAddr> = Server::new(plan);
    let mut buffer = vec![0; 64 << 10];
    loop {
        tokio::select! {
            () = &mut stop => return Ok(TransportCounts::default()),
            received = socket.recv_from(&mut buffer) => if let Ok((len, from)) = received {
                server.on_datagram(alarm.now(), from, Bytes::copy_from_slice(&buffer[..len]));
            },
            waited = alarm.until(server.poll_timeout()) => waited.map_err(RealError::socket("cannot wait"))?,
        }
        while let Some((to, message)) = server.poll_reply(alarm.now()) {
            let _lost = socket.send_to(&message, to).await;
        }
    }
}

/// How long each probe waits for its answer: any two of the three may be lost.
const PROBES: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_millis(1500), Duration::from_secs(3)];
