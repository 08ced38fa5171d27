//! The scene: both hosts and what lies between them, and the script by which networks come and go where nobody presses keys.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use emulator::{EmulatorError, EmulatorOptions, LinkEnd, LinkState, RunningEmulator, Side, World};
use mobility::{Policies, PolicyError};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{oneshot, watch};

use super::hosts::{Fixed, HostError, Mobile, Order, Stage, Told};
use super::network::Network;
use super::record::Record;

/// The scene while it is played.
pub(super) struct Scene {
    pub(super) told: Receiver<Told>,
    stage: Instant,
    orders: UnboundedSender<Order>,
    ending: watch::Sender<bool>,
    /// The mobile host, whose reason to fail comes first, and the fixed one.
    hosts: [Side<Result<(), HostError>>; 2],
    emulator: RunningEmulator,
}

/// The reason why the scene could not be played, or not to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum SceneError {
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    Host(#[from] HostError),
}

impl Scene {
    /// Makes hosts and networks, and lets frames flow.
    pub(super) fn begin(seed: u64) -> Result<Self, SceneError> {
        let policy = Policies::parse(POLICY)?.application("video");
        let mut world = World::new(Network::BOTH.map(Network::link).to_vec())?;
        let (sender, told) = channel();
        let stage = Stage { begun: Instant::now(), told: sender };
        let (is_ready, fixed_is_ready) = oneshot::channel();
        let (ending, is_ending) = watch::channel(false);
        let (orders, for_mobile) = tokio::sync::mpsc::unbounded_channel();
        let begun = stage.begun;
        let mobile = Mobile { stage: stage.clone(), policy, fixed_is_ready, orders: for_mobile };
        let fixed = Fixed { stage, seed, is_ready, is_ending };
        let ends = |end: fn(u8) -> LinkEnd| Network::BOTH.map(|network| end(network.number()));
        let fixed = world.spawn_side("fixed", &ends(LinkEnd::server), move |_| fixed.play())?;
        let mobile = world.spawn_side("mobile", &ends(LinkEnd::client), move |_| mobile.play())?;
        let emulator = world.start(EmulatorOptions::default())?;
        Ok(Self { told, stage: begun, orders, ending, hosts: [mobile, fixed], emulator })
    }

    /// Returns how long the scene has been played.
    pub(super) fn elapsed(&self) -> Duration {
        self.stage.elapsed()
    }

    /// Switches the interface of a network.
    pub(super) fn switch(&self, network: Network, state: LinkState) {
        // A host that has failed tells so at the end.
        let _gone = self.orders.send(Order::Switch(network, state));
    }

    /// Lets no more frames be sent. The hosts end when all have arrived, or after some seconds.
    pub(super) fn end(&self) {
        self.ending.send_replace(true);
        let _gone = self.orders.send(Order::End);
    }

    /// Waits for the hosts, which have been told to end.
    pub(super) fn finish(self) -> Result<(), SceneError> {
        let played = self.hosts.map(|host| host.join().map_err(EmulatorError::from));
        self.emulator.stop()?;
        for played in played {
            played??;
        }
        Ok(())
    }
}

/// Networks that come and go by themselves: each waits for its time, and until what the one before caused has happened.
#[derive(Debug)]
pub(super) struct Script {
    duration: Duration,
    done: usize,
    last: Duration,
    /// When what the last step caused was seen first.
    settled_at: Option<Duration>,
}

/// What a script wants now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cue {
    Wait,
    Switch(Network, LinkState),
    End,
}

impl Script {
    pub(super) fn new(duration: Duration) -> Self {
        Self { duration, done: 0, last: Duration::ZERO, settled_at: None }
    }

    pub(super) fn next(&mut self, now: Duration, record: &Record) -> Cue {
        let is_over = self.last + PATIENCE < now;
        let caused = self.done.checked_sub(1).and_then(|last| STEPS.get(last));
        let expected = caused.map_or(Network::Mobile, |(_, network)| *network);
        if self.settled_at.is_none() && record.paths.in_use == Some(expected) {
            self.settled_at = Some(now);
        }
        // What was caused is to be seen for a while.
        let is_settled = self.settled_at.is_some_and(|at| at + self.duration / 12 <= now);
        let count = u32::try_from(STEPS.len()).unwrap_or(u32::MAX) + 1;
        let number = u32::try_from(self.done).unwrap_or(u32::MAX) + 1;
        if now < self.duration * number / count || !(is_settled || is_over) {
            return Cue::Wait;
        }
        (self.last, self.settled_at) = (now, None);
        self.done += 1;
        STEPS.get(self.done - 1).map_or(Cue::End, |(state, _)| Cue::Switch(Network::Wlan, *state))
    }
}

/// What happens to the WLAN, and the network that frames come by then.
const STEPS: [(LinkState, Network); 3] =
    [(LinkState::Up, Network::Wlan), (LinkState::Down, Network::Mobile), (LinkState::Up, Network::Wlan)];
/// The longest that a step waits for what the one before caused.
const PATIENCE: Duration = Duration::from_secs(20);
/// The policy of the mobile host: the WLAN if it is there.
pub(super) const POLICY: &str = r#"
[applications.video]
better_for_ms = 300
primary_interval_ms = 500
[[applications.video.prefer]]
interface = "headway2"
cost = 1
[[applications.video.prefer]]
interface = "headway1"
cost = 10
"#;
