//! The workload over UDP with the retransmission of a SIP client transaction.

use bytes::Bytes;
use std::net::SocketAddr;

use sctp_io::Clock;
use tokio::net::UdpSocket;
use workload::{MessageNumber, ResponseNovelty, RetransmissionConfig, UdpRequester};

use super::drive::LOOK_FOR_STOP;
use super::{Alarm, Driven, RealError};
use crate::backend::INTERRUPTED;
use crate::compare::StopSignal;
use crate::traffic::{Client, ClientPlan, Server, ServerPlan};

/// Runs a load over a connected socket; gives the number of requests sent again beside the samples.
///
/// # Errors
/// The workload makes no sense, or the system refuses a timer.
pub async fn load(
    socket: &UdpSocket,
    plan: ClientPlan,
    clock: Clock,
    stop: &StopSignal,
) -> Result<(Driven, u64), RealError> {
    let mut alarm = Alarm::new(clock).map_err(RealError::socket("cannot open a timer"))?;
    let mut client = Client::new(plan)?;
    client.begin(alarm.now());
    let mut requester = UdpRequester::new(RetransmissionConfig::default());
    let mut buffer = vec![0; 64 << 10];
    while !client.is_finished(alarm.now(), client.answered()) {
        if stop.is_raised() {
            client.fail(INTERRUPTED);
            break;
        }
        let look = alarm.now() + LOOK_FOR_STOP;
        let next = client.poll_timeout().into_iter().chain(requester.poll_timeout()).chain([look]).min();
        tokio::select! {
            biased;
            // An ICMP error is as good as a lost packet: the request is repeated.
            received = socket.recv(&mut buffer) => if let Ok(len) = received
                && let Ok(ResponseNovelty::First) = requester.handle_response(&buffer[..len])
            {
                client.on_response(alarm.now(), 0, &buffer[..len], None);
            },
            waited = alarm.until(next) => {
                waited.map_err(RealError::socket("cannot wait"))?;
                let now = alarm.now();
                client.handle_timeout(now);
                requester.handle_timeout(now);
                while let Some(pending) = client.poll_message() {
                    requester.request(now, MessageNumber(pending.number), client.encode(pending));
                    client.commit(now, pending);
                }
                while let Some(datagram) = requester.poll_transmit() {
                    let _lost = socket.send(&datagram.message).await;
                }
            }
        }
    }
    Ok((Driven::new(client), requester.counters().retransmissions))
}

/// Echoes datagrams until `stop` resolves.
///
/// # Errors
/// The system refuses a timer.
pub async fn echo(
    socket: &UdpSocket,
    plan: ServerPlan,
    clock: Clock,
    stop: impl Future<Output = ()>,
) -> Result<(), RealError> {
    let mut alarm = Alarm::new(clock).map_err(RealError::socket("cannot open a timer"))?;
    let mut server: Server<SocketAddr> = Server::new(plan);
    let mut buffer = vec![0; 64 << 10];
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => return Ok(()),
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
