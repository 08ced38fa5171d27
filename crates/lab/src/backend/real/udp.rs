//! The workload over UDP with the retransmission of a SIP client transaction.

use bytes::Bytes;
use core::time::Duration;
use std::net::SocketAddr;

use sctp_io::Clock;
use tokio::net::UdpSocket;
use workload::{
    EchoConfig, EchoServer, Lane, LoadConfig, LoadGenerator, ResponseNovelty, RetransmissionConfig,
    UdpRequester,
};

use super::drive::LOOK_FOR_STOP;
use super::{Alarm, Driven, RealError};
use crate::backend::INTERRUPTED;
use crate::compare::StopSignal;

/// Runs a load over a connected socket; gives the number of requests sent again beside the samples.
///
/// # Errors
/// The workload makes no sense, or the system refuses a timer.
pub async fn load(
    socket: &UdpSocket,
    config: LoadConfig,
    clock: Clock,
    stop: &StopSignal,
) -> Result<(Driven, u64), RealError> {
    let mut alarm = Alarm::new(clock).map_err(RealError::socket("cannot open a timer"))?;
    let start = alarm.now();
    let mut generator = LoadGenerator::new(config, start)?;
    let mut requester = UdpRequester::new(RetransmissionConfig::default());
    let mut buffer = vec![0; 64 << 10];
    let mut ended_early = None;
    while !generator.is_finished(alarm.now()) {
        if stop.is_raised() {
            ended_early = Some(INTERRUPTED.to_owned());
            break;
        }
        let look = alarm.now() + LOOK_FOR_STOP;
        let next = generator.poll_timeout().into_iter().chain(requester.poll_timeout()).chain([look]).min();
        tokio::select! {
            biased;
            // An ICMP error is as good as a lost packet: the request is repeated.
            received = socket.recv(&mut buffer) => if let Ok(len) = received {
                take(&mut generator, &mut requester, &alarm, &buffer[..len]);
            },
            waited = alarm.until(next) => {
                waited.map_err(RealError::socket("cannot wait"))?;
                let now = alarm.now();
                generator.handle_timeout(now);
                requester.handle_timeout(now);
                while let Some(request) = generator.poll_transmit(now) {
                    requester.request(now, request.number, request.message);
                }
                while let Some(datagram) = requester.poll_transmit() {
                    let _lost = socket.send(&datagram.message).await;
                }
            }
        }
    }
    let retransmissions = requester.counters().retransmissions;
    let counters = *generator.counters();
    Ok((Driven { start, counters, samples: generator.into_samples(), ended_early }, retransmissions))
}

fn take(generator: &mut LoadGenerator, requester: &mut UdpRequester, alarm: &Alarm, octets: &[u8]) {
    if let Ok(ResponseNovelty::First | ResponseNovelty::Repeated) = requester.handle_response(octets) {
        // Repeated and wrong responses are counted by the generator.
        let _counted = generator.handle_response(alarm.now(), Lane(0), octets, None);
    }
}

/// Echoes datagrams until `stop` resolves.
///
/// # Errors
/// The system refuses a timer.
pub async fn echo(
    socket: &UdpSocket,
    processing: Duration,
    clock: Clock,
    stop: impl Future<Output = ()>,
) -> Result<(), RealError> {
    let mut alarm = Alarm::new(clock).map_err(RealError::socket("cannot open a timer"))?;
    let mut server: EchoServer<SocketAddr> = EchoServer::new(EchoConfig { processing });
    let mut buffer = vec![0; 64 << 10];
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => return Ok(()),
            received = socket.recv_from(&mut buffer) => if let Ok((len, from)) = received {
                // What is no message is counted and not answered.
                let _counted = server.handle_message(alarm.now(), from, Bytes::copy_from_slice(&buffer[..len]));
            },
            waited = alarm.until(server.poll_timeout()) => waited.map_err(RealError::socket("cannot wait"))?,
        }
        while let Some(reply) = server.poll_transmit(alarm.now()) {
            let _lost = socket.send_to(&reply.message, reply.lane).await;
        }
    }
}
