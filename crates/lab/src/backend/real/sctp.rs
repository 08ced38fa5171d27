//! The workload over our SCTP, on real sockets.

use bytes::Bytes;
use core::time::Duration;

use sctp::{Association, AssociationStatistics, Delivery, Endpoint, Message, PayloadProtocolId, StreamId};
use sctp_io::Clock;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use workload::Lane;

use super::{Alarm, Arrived, Driven, RealError, drive};
use crate::compare::StopSignal;
use crate::traffic::{ClientPlan, Server, ServerPlan};

/// Runs a load over an association, one lane a stream; gives the association's counters beside the samples.
///
/// # Errors
/// The workload makes no sense, or the system refuses a timer.
pub async fn load(
    association: Association,
    delivery: Delivery,
    plan: ClientPlan,
    clock: Clock,
    stop: &StopSignal,
) -> Result<(Driven, AssociationStatistics), RealError> {
    let alarm = Alarm::new(clock).map_err(RealError::socket("cannot open a timer"))?;
    let (arrived, mut arrivals) = unbounded_channel();
    let mut tasks = JoinSet::new();
    tasks.spawn(read(association.clone(), arrived, clock));
    let ppid = PayloadProtocolId::new(plan.workload.payload_protocol());
    let mut outlets = Vec::with_capacity(usize::from(plan.lanes));
    for lane in 0..plan.lanes {
        let (outlet, requests) = unbounded_channel();
        let empty = Message::new(StreamId::new(lane), delivery, Bytes::new()).with_ppid(ppid);
        tasks.spawn(write(association.clone(), empty, requests));
        outlets.push(outlet);
    }
    let driven = drive(plan, &outlets, &mut arrivals, alarm, stop).await;
    drop(outlets);
    tasks.abort_all();
    // A peer that does not answer any more must not hold up the results.
    let ended = tokio::time::timeout(SHUTDOWN_TIME, association.shutdown()).await;
    if ended.is_err() {
        association.abort(b"the load generator has finished");
    }
    Ok((driven?, association.statistics()))
}

/// Sends every request as a message like `empty`.
async fn write(association: Association, empty: Message, mut requests: UnboundedReceiver<Bytes>) {
    while let Some(payload) = requests.recv().await {
        let message = Message { payload, ..empty.clone() };
        if association.send(message).await.is_err() {
            // The reader reports why the association ended.
            return;
        }
    }
}

async fn read(association: Association, arrived: UnboundedSender<Arrived>, clock: Clock) {
    let because = loop {
        match association.recv().await {
            Ok(Some(received)) => {
                let message = Arrived::Message {
                    lane: Lane(received.message.stream.get()),
                    octets: received.message.payload,
                    at: clock.now(),
                    blocked: Some(received.blocked),
                };
                if arrived.send(message).is_err() {
                    return;
                }
            }
            Ok(None) => break "the echo server shut the association down".to_owned(),
            Err(error) => break error.to_string(),
        }
    };
    let _finished = arrived.send(Arrived::Ended { because });
}

/// Echoes on every association of the endpoint until `count` of them have ended (for ever without a number); gives
/// their final counters.
pub async fn echo(
    endpoint: &Endpoint,
    plan: ServerPlan,
    count: Option<usize>,
    clock: Clock,
) -> Vec<AssociationStatistics> {
    let mut statistics = Vec::new();
    let mut tasks = JoinSet::new();
    let mut accepted = 0;
    while count.is_none_or(|count| statistics.len() < count) {
        let wanted = count.is_none_or(|count| accepted < count);
        tokio::select! {
            association = endpoint.accept(), if wanted => {
                let Some(association) = association else { break };
                accepted += 1;
                tasks.spawn(serve(association, plan, clock));
            }
            Some(ended) = tasks.join_next() => {
                let counters = ended.ok().and_then(Result::ok).unwrap_or_default();
                if count.is_some() {
                    statistics.push(counters);
                }
            }
            else => break,
        }
    }
    statistics
}

/// Echoes every message of one association until it ends.
async fn serve(
    association: Association,
    plan: ServerPlan,
    clock: Clock,
) -> Result<AssociationStatistics, RealError> {
    let mut alarm = Alarm::new(clock).map_err(RealError::socket("cannot open a timer"))?;
    let mut server = Server::new(plan);
    loop {
        tokio::select! {
            received = association.recv() => match received {
                Ok(Some(received)) => {
                    let Message { stream, ppid, delivery, payload, .. } = received.message;
                    let lane = (stream, ppid.get(), delivery == Delivery::Unordered);
                    server.on_message(alarm.now(), alarm.now(), lane, stream.get(), payload);
                }
                Ok(None) | Err(_) => return Ok(association.statistics()),
            },
            waited = alarm.until(server.poll_timeout()) => waited.map_err(RealError::socket("cannot wait"))?,
        }
        while let Some(((stream, ppid, is_unordered), message)) = server.poll_reply(alarm.now()) {
            let delivery = if is_unordered { Delivery::Unordered } else { Delivery::Ordered };
            let reply = Message::new(stream, delivery, message).with_ppid(PayloadProtocolId::new(ppid));
            if association.send(reply).await.is_err() {
                return Ok(association.statistics());
            }
        }
    }
}

/// How long a graceful shutdown may take at the end of a run.
const SHUTDOWN_TIME: Duration = Duration::from_secs(5);
