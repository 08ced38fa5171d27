//! The loop between a load generator and the lanes of a transport.

use bytes::Bytes;
use core::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use virtual_time::Instant;
use workload::{Lane, Sample};

use super::{Alarm, Movement, RealError, arrival};
use crate::statistics::{CallCounts, Delays, FrameCounts, LoadCounters};
use crate::stop::{INTERRUPTED, StopSignal};
use crate::traffic::{Client, ClientPlan};
use crate::transport::Switching;

/// A queue for the requests of one lane, which a task empties into the transport.
pub(crate) type Outlet = UnboundedSender<Bytes>;

/// The ways into a transport and out of it.
#[derive(Debug)]
pub(crate) struct Pipes {
    /// One for each lane.
    pub(crate) outlets: Vec<Outlet>,
    pub(crate) arrivals: UnboundedReceiver<Arrived>,
}

/// A client that opens its transport anew when its host is in another network, and sends again what was not answered.
pub(crate) struct Reconnecting<'a> {
    pub(crate) movement: Movement,
    /// Leaves what was open; what comes of the new does so later.
    pub(crate) open: Box<dyn FnOnce() -> Pipes + Send + 'a>,
}

/// A message or an end that came from a transport.
#[derive(Debug)]
pub(crate) enum Arrived {
    /// A whole message.
    Message {
        /// The lane it came on.
        lane: Lane,
        /// The octets of the message.
        octets: Bytes,
        /// The time at which it was read.
        at: Instant,
        /// How long the receiver held it behind missing predecessors, where that is known.
        blocked: Option<Duration>,
    },
    /// The transport is gone.
    Ended {
        /// The reason for the end.
        because: String,
    },
}

/// The results of a client.
#[derive(Debug)]
pub(crate) struct Driven {
    /// The time at which it started, on the clock of the samples.
    pub(crate) start: Instant,
    /// Messages that fell due, and of these, answered.
    pub(crate) messages: (u64, u64),
    /// Response times of those that count.
    pub(crate) responses: Delays,
    /// Every request that was due and is timed.
    pub(crate) samples: Vec<Sample>,
    /// Every other request that was due.
    pub(crate) untimed: Vec<Sample>,
    /// The counters of the load.
    pub(crate) counters: LoadCounters,
    /// The calls that it made, if it makes calls.
    pub(crate) calls: Option<CallCounts>,
    /// The fate of the frames that it sent, if it sends frames.
    pub(crate) frames: Option<FrameCounts>,
    /// The reason why it ended before its time, if it did.
    pub(crate) ended_early: Option<String>,
}

impl Driven {
    pub(crate) fn new(client: Client) -> Self {
        let ended_early = client.failure().map(str::to_owned);
        let ((start, strange), answered) = (client.facts(), client.answered());
        let (calls, frames) = (client.calls(), client.frames());
        let (drawn, responses, samples, untimed) = client.into_parts();
        let counters = LoadCounters::in_real_time(&samples, strange);
        Self {
            start,
            messages: (drawn, answered),
            responses,
            samples,
            untimed,
            counters,
            calls,
            frames,
            ended_early,
        }
    }

    /// Creates the results of a run that could not even connect: no request was due, and the reason is in them.
    pub(crate) fn not_begun(error: &RealError, now: Instant) -> Self {
        Self {
            start: now,
            messages: (0, 0),
            responses: Delays::new(),
            samples: Vec::new(),
            untimed: Vec::new(),
            counters: LoadCounters::default(),
            calls: None,
            frames: None,
            ended_early: Some(error.to_string()),
        }
    }
}

/// Offers the messages of a run to the outlets and takes the answers in, until all are answered or time is up.
///
/// The queues have no bound of their own: what they hold is bounded by rate × duration of an open-loop run.
///
/// # Errors
/// The workload makes no sense, or the system refuses a timer.
pub(crate) async fn drive(
    plan: ClientPlan,
    mut pipes: Pipes,
    mut reconnecting: Option<Reconnecting<'_>>,
    mut alarm: Alarm,
    stop: &StopSignal,
) -> Result<Driven, RealError> {
    let mut client = Client::new(plan)?;
    let mut switching =
        if reconnecting.is_some() { Switching::when_told() } else { Switching::new(None, None) };
    client.begin(alarm.now());
    while !client.is_finished(alarm.now(), client.answered()) {
        if stop.is_raised() {
            client.fail(INTERRUPTED);
            break;
        }
        hand_over(&mut client, &mut switching, &pipes.outlets, alarm.now());
        let next = client.poll_timeout().into_iter().chain([alarm.now() + LOOK_FOR_STOP]).min();
        tokio::select! {
            biased;
            arrived = pipes.arrivals.recv() => take_in(&mut client, &mut switching, arrived),
            () = arrival(reconnecting.as_mut().map(|it| &mut it.movement)) => {
                pipes = reconnecting.take().map_or(pipes, |Reconnecting { open, .. }| open());
                send_again(&mut client, &mut switching, alarm.now());
            }
            waited = alarm.until(next) => {
                waited.map_err(RealError::socket("cannot wait"))?;
                client.handle_timeout(alarm.now());
            }
        }
    }
    Ok(Driven::new(client))
}

fn take_in(client: &mut Client, switching: &mut Switching, arrived: Option<Arrived>) {
    match arrived {
        Some(Arrived::Message { lane, octets, at, blocked }) => {
            if switching.on_answer(at, || client.workload().kind().number(&octets)) {
                client.on_response(at, lane.0, &octets, blocked);
            }
        }
        Some(Arrived::Ended { because }) => client.fail(because),
        None => client.fail("the transport is closed"),
    }
}

/// Gives back what was handed over and is not answered: it goes first.
fn send_again(client: &mut Client, switching: &mut Switching, now: Instant) {
    switching.tell(now);
    let unanswered = switching.switch(now).unwrap_or_default();
    unanswered.into_iter().rev().for_each(|pending| client.defer(pending));
    client.resume_all();
}

fn hand_over(client: &mut Client, switching: &mut Switching, outlets: &[Outlet], now: Instant) {
    while let Some(pending) = client.poll_message() {
        let outlet = outlets.get(usize::from(pending.lane));
        match outlet.map(|outlet| outlet.send(client.encode(pending))) {
            Some(Ok(())) => {
                switching.on_sent(now, pending);
                client.commit(now, pending);
            }
            // The task behind it is gone: nothing is sent there any more.
            Some(Err(_)) | None => client.defer(pending),
        }
    }
}

/// How often a run looks whether it is asked to end.
pub(crate) const LOOK_FOR_STOP: Duration = Duration::from_millis(100);
