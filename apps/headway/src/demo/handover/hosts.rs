//! The two hosts: the fixed one, which sends frames, and the mobile one, which takes them and moves. Each is a thread in its network
//! namespace, and tells what happens.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU16;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use emulator::{EmulatorError, LinkState, add_host_address};
use handover::{MoveError, Mover, Report};
use mobility::Policy;
use sctp::{
    Association, AssociationConfig, BindError, CommunicationLost, ConnectError, Endpoint, EndpointConfig,
    Message, Offer, PathState, Received, SendError, StartUp, StreamId,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::MissedTickBehavior;
use workload::{FrameSizes, MessageNumber, MessageSize, SendTime};

use super::network::{FIXED_HOST, Network};

/// Something that happened, and how long after the beginning.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) at: Duration,
    pub(super) what: Happening,
}

/// What can happen in the scene.
#[derive(Debug)]
pub(super) enum Happening {
    /// The fixed host has handed a frame to its association, by which data then went over this network.
    Sent { number: u64, due: Duration, by: Option<Network> },
    /// The mobile host has a frame.
    Arrived { number: u64 },
    /// The interface of a network was switched.
    Switched(Network, LinkState),
    /// The mover has done or heard something.
    Moved(Box<Report>),
    /// The fixed host's paths stand so.
    Paths(PathFacts),
    /// A host has done its work.
    Over,
}

/// The fixed host's view of its paths.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PathFacts {
    /// The network that data goes over.
    pub(super) in_use: Option<Network>,
    /// The state and the smoothed round-trip time of the path over each network; `None` while its address is not known.
    pub(super) paths: [Option<(PathState, Option<Duration>)>; 2],
}

/// The clock of the scene, and the way to whoever watches it.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) begun: Instant,
    pub(super) told: Sender<Told>,
}

impl Stage {
    pub(super) fn tell(&self, what: Happening) {
        // Whoever watches may have left.
        let _nobody = self.told.send(Told { at: self.begun.elapsed(), what });
    }
}

/// The reason why a host could not do its work.
#[derive(Debug, thiserror::Error)]
pub(super) enum HostError {
    #[error("a runtime cannot be started: {0}")]
    Runtime(#[from] io::Error),
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error("the fixed host does not answer: {0}")]
    Connect(#[from] ConnectError),
    #[error("no association came")]
    NoAssociation,
    #[error(transparent)]
    Move(#[from] MoveError),
    #[error(transparent)]
    Switch(#[from] EmulatorError),
    #[error("a frame cannot be sent: {0}")]
    Send(#[from] SendError),
    #[error("the association is lost: {0}")]
    Lost(#[from] CommunicationLost),
}

/// What the fixed host needs.
pub(super) struct Fixed {
    pub(super) stage: Stage,
    pub(super) seed: u64,
    /// Told when it can be called.
    pub(super) is_ready: oneshot::Sender<()>,
    /// True when no more frames are wanted.
    pub(super) is_ending: watch::Receiver<bool>,
}

impl Fixed {
    /// Sends frames until there shall be no more, and waits until all have arrived.
    pub(super) fn play(self) -> Result<(), HostError> {
        let stage = self.stage.clone();
        let played = run(self.serve());
        stage.tell(Happening::Over);
        played
    }

    async fn serve(self) -> Result<(), HostError> {
        let Self { stage, seed, is_ready, mut is_ending } = self;
        let mut config = config(FIXED_HOST);
        config.association.congestion.start_up = StartUp::RESUME;
        add_host_address(FIXED_HOST)?;
        let endpoint = Endpoint::bind(config, SocketAddr::from((FIXED_HOST, UDP_PORT))).await?;
        // The mobile host may have failed.
        let _nobody_calls = is_ready.send(());
        let accepted = tokio::select! {
            accepted = endpoint.accept() => accepted,
            _ended = is_ending.wait_for(|is_ending| *is_ending) => None,
        };
        let association = accepted.ok_or(HostError::NoAssociation)?;
        let watching = watch_paths(&stage, &association);
        let work = async {
            tokio::select! {
                failed = film(&stage, &association, seed) => return failed,
                _ended = is_ending.wait_for(|is_ending| *is_ending) => {}
            }
            if let Ok(closed) = tokio::time::timeout(PATIENCE, association.shutdown()).await {
                return Ok(closed?);
            }
            association.abort(b"the demonstration is over");
            Ok(())
        };
        tokio::select! {
            done = work => done,
            () = watching => Ok(()),
        }
    }
}

/// Sends frames, each when it is due, until that fails.
async fn film(stage: &Stage, association: &Association, seed: u64) -> Result<(), HostError> {
    let mean = MessageSize::new(FRAME_BYTES).unwrap_or(MessageSize::MIN);
    let mut sizes = FrameSizes::new(mean, seed);
    let mut ticks = tokio::time::interval(FRAME_INTERVAL);
    let begin = stage.begun.elapsed();
    for number in 0_u32.. {
        ticks.tick().await;
        let due = begin + FRAME_INTERVAL * number;
        let sent = SendTime(u64::try_from(due.as_nanos()).unwrap_or(u64::MAX));
        let number = u64::from(number);
        let frame = workload::Message { number: MessageNumber(number), sent, size: sizes.next_size() };
        let by = association.status().ok().and_then(|status| Network::of(status.path.address));
        association.send(Message::ordered(StreamId::new(0), frame.encode())).await?;
        stage.tell(Happening::Sent { number, due, by });
    }
    Ok(())
}

/// Tells how the paths stand: at once when data goes over another network, else now and then.
async fn watch_paths(stage: &Stage, association: &Association) {
    let mut ticks = tokio::time::interval(LOOK_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = PathFacts::default();
    for look in 0_u64.. {
        ticks.tick().await;
        let Ok(status) = association.status() else { continue };
        let mut facts = PathFacts { in_use: Network::of(status.path.address), ..PathFacts::default() };
        for path in association.statistics().paths {
            if let Some(network) = Network::of(path.address) {
                facts.paths[network.index()] = Some((path.state, path.srtt));
            }
        }
        if facts.in_use != last.in_use || (look.is_multiple_of(10) && facts != last) {
            last = facts;
            stage.tell(Happening::Paths(facts));
        }
    }
}

/// What the mobile host needs.
pub(super) struct Mobile {
    pub(super) stage: Stage,
    pub(super) policy: Policy,
    pub(super) fixed_is_ready: oneshot::Receiver<()>,
    pub(super) orders: mpsc::UnboundedReceiver<Order>,
}

/// What the mobile host can be told to do.
#[derive(Debug)]
pub(super) enum Order {
    /// Switch the interface of a network.
    Switch(Network, LinkState),
    /// Wait for what is under way, and end.
    End,
}

impl Mobile {
    /// Takes frames, and goes from network to network, until the fixed host has sent all.
    pub(super) fn play(self) -> Result<(), HostError> {
        let stage = self.stage.clone();
        let played = run(self.travel());
        stage.tell(Happening::Over);
        played
    }

    async fn travel(mut self) -> Result<(), HostError> {
        // Where it may not be said, the peer is told of addresses that are not shown.
        let _more_addresses = std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
        Network::Wlan.switch(LinkState::Down)?;
        Network::Mobile.switch(LinkState::Up)?;
        self.fixed_is_ready.await.map_err(|_gone| HostError::NoAssociation)?;
        let config = config(Network::Mobile.mobile_address());
        let endpoint = Endpoint::bind(config, SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))).await?;
        let to = SocketAddr::from((FIXED_HOST, UDP_PORT));
        let association = endpoint.connect(to, PORT.into()).await?;
        let mut mover = Mover::new(&endpoint, &association, self.policy)?;
        let (mut is_moving, mut end) = (true, None);
        loop {
            tokio::select! {
                received = association.recv() => match received {
                    Ok(Some(frame)) => take(&self.stage, &frame),
                    Ok(None) => return Ok(()),
                    Err(_lost) if end.is_some() => return Ok(()),
                    Err(lost) => return Err(lost.into()),
                },
                report = mover.next(), if is_moving => match report {
                    Some(report) => self.stage.tell(Happening::Moved(Box::new(report))),
                    None => is_moving = false,
                },
                Some(order) = self.orders.recv() => match order {
                    Order::Switch(network, state) => {
                        network.switch(state)?;
                        self.stage.tell(Happening::Switched(network, state));
                    }
                    Order::End => end = Some(tokio::time::Instant::now() + 2 * PATIENCE),
                },
                () = reached(end) => return Ok(()),
            }
        }
    }
}

fn take(stage: &Stage, frame: &Received) {
    if let Ok(frame) = workload::Message::decode(&frame.message.payload) {
        stage.tell(Happening::Arrived { number: frame.number.0 });
    }
}

/// Waits until a time; for ever without one.
async fn reached(time: Option<tokio::time::Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

fn run<T>(work: impl Future<Output = Result<T, HostError>>) -> Result<T, HostError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

fn config(address: Ipv4Addr) -> EndpointConfig {
    let mut association = AssociationConfig::default();
    association.extensions.authentication = Offer::On;
    association.extensions.dynamic_addresses = Offer::On;
    // Frames wait here while there is no network.
    association.buffers.send_bytes = 16 << 20;
    association.buffers.receive_bytes = 4 << 20;
    let mut config = EndpointConfig::with_association(PORT.into(), association);
    config.local_addresses = vec![address.into()];
    config
}

/// The deadline of a frame: beyond 150 ms people begin to interrupt each other (ITU-T G.114).
pub(super) const DEADLINE: Duration = Duration::from_millis(150);
/// The mean size of a frame and the time between two, those of study S5.
pub(super) const FRAME_BYTES: u32 = 6395;
pub(super) const FRAME_INTERVAL: Duration = Duration::from_nanos(33_333_334);
const UDP_PORT: u16 = 9899;
/// The SCTP port of both.
const PORT: NonZeroU16 = NonZeroU16::MIN;
const LOOK_INTERVAL: Duration = Duration::from_millis(10);
/// The longest that frames under way are waited for.
const PATIENCE: Duration = Duration::from_secs(10);
