//! The loop between a load generator and the lanes of a transport.

use bytes::Bytes;
use core::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use virtual_time::Instant;
use workload::{Lane, LoadCounters, Sample};

use super::{Alarm, RealError};
use crate::backend::INTERRUPTED;
use crate::compare::StopSignal;
use crate::traffic::{Offer, Requester};

/// Where the requests of one lane go: a queue that a task empties into the transport.
pub type Outlet = UnboundedSender<Bytes>;

/// What came back from a transport.
#[derive(Debug)]
pub enum Arrived {
    /// A whole message.
    Message {
        /// The lane it came on.
        lane: Lane,
        /// Its octets.
        octets: Bytes,
        /// When it was read.
        at: Instant,
        /// How long the receiver held it behind missing predecessors, where that is known.
        blocked: Option<Duration>,
    },
    /// The transport is gone.
    Ended {
        /// Why.
        because: String,
    },
}

/// What a load generator did.
#[derive(Debug)]
pub struct Driven {
    /// When it started, on the clock of the samples.
    pub start: Instant,
    /// Every request that was due.
    pub samples: Vec<Sample>,
    /// What was counted.
    pub counters: LoadCounters,
    /// Why it ended before its time, if it did.
    pub ended_early: Option<String>,
}

/// Offers the requests of a run to the outlets and takes the answers in, until all are answered or time is up.
///
/// The queues have no bound of their own: what they hold is bounded by rate × duration of an open-loop run.
///
/// # Errors
/// The workload makes no sense, or the system refuses a timer.
pub async fn drive(
    offer: Offer,
    outlets: &[Outlet],
    arrivals: &mut UnboundedReceiver<Arrived>,
    mut alarm: Alarm,
    stop: &StopSignal,
) -> Result<Driven, RealError> {
    let start = alarm.now();
    let mut generator = Requester::new(offer, start)?;
    let mut ended_early = None;
    while !generator.is_finished(alarm.now()) && ended_early.is_none() {
        if stop.is_raised() {
            ended_early = Some(INTERRUPTED.to_owned());
            break;
        }
        let next = generator.poll_timeout().into_iter().chain([alarm.now() + LOOK_FOR_STOP]).min();
        tokio::select! {
            biased;
            arrived = arrivals.recv() => match arrived {
                Some(Arrived::Message { lane, octets, at, blocked }) => {
                    generator.handle_response(at, lane, &octets, blocked);
                    ended_early = generator.failure();
                }
                Some(Arrived::Ended { because }) => ended_early = Some(because),
                None => ended_early = Some("the transport is closed".to_owned()),
            },
            waited = alarm.until(next) => {
                waited.map_err(RealError::socket("cannot wait"))?;
                let now = alarm.now();
                generator.handle_timeout(now);
                hand_over(&mut generator, outlets, now);
            }
        }
    }
    let (samples, counters) = generator.into_parts();
    Ok(Driven { start, samples, counters, ended_early })
}

fn hand_over(generator: &mut Requester, outlets: &[Outlet], now: Instant) {
    while let Some(request) = generator.peek_transmit(now) {
        let outlet = outlets.get(usize::from(request.lane.0));
        match outlet.map(|outlet| outlet.send(request.message.clone())) {
            Some(Ok(())) => generator.commit(&request),
            // The task behind it is gone: nothing is sent there any more.
            Some(Err(_)) | None => generator.defer(request.lane),
        }
    }
}

/// How often a run looks whether it is asked to end.
pub(super) const LOOK_FOR_STOP: Duration = Duration::from_millis(100);
