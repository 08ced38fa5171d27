//! How the ends of a sequence are configured.

use std::net::IpAddr;

use sctp_core::{
    Acceptance, AssociationConfig, AutomaticAddresses, ChunkSet, ChunkType, CongestionAlgorithm, Discovery,
    EndpointConfig, InitialWindow, Nagle, Offer, Pacing, Profile, StartUp, StreamScheduler, Tsn,
};

use super::operation::{Repertoire, STREAMS, any_frequency};
use crate::dice::Dice;
use crate::net::{End, LEFT_PORT, Pair, RIGHT_PORT, Setup, Side, Sniffing, ms, port};
use crate::replay::{Frequency, Replays};

/// What both ends of a sequence are configured to, made of its seed.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) seed: u64,
    pub(super) config: AssociationConfig,
    /// How often packets of the left and of the right end come again, or late, from the beginning.
    pub(super) replays: [Frequency; 2],
    /// Where the TSNs of the left and of the right end begin; `None`: anywhere.
    pub(super) initial_tsns: [Option<Tsn>; 2],
    /// Ordered messages on each stream before the operations begin.
    pub(super) warm_up_messages: usize,
}

impl Case {
    pub(super) fn new(seed: u64, dice: &mut Dice, repertoire: Repertoire) -> Self {
        let config = config(dice);
        let (replays, initial_tsns) = ([Frequency::default(); 2], [None; 2]);
        let mut case = Self { seed, config, replays, initial_tsns, warm_up_messages: 0 };
        match repertoire {
            Repertoire::Plain => {}
            Repertoire::Moving => case.move_about(),
            Repertoire::Wide => case.widen(dice),
        }
        case
    }

    /// Addresses can change.
    fn move_about(&mut self) {
        self.config.extensions.authentication = Offer::On;
        self.config.extensions.dynamic_addresses = Offer::On;
    }

    fn widen(&mut self, dice: &mut Dice) {
        if self.config.extensions.authentication == Offer::On {
            self.config.authentication.chunks =
                ChunkSet::from_iter(AUTHENTICATED[dice.index(AUTHENTICATED.len())].iter().copied());
        }
        self.replays = [(); 2].map(|()| any_frequency(dice));
        self.initial_tsns = [(); 2].map(|()| {
            let most = [4, 30, 200][dice.index(3)];
            let before = u32::try_from(dice.below(most)).unwrap();
            (dice.below(4) > 0).then(|| Tsn::new(0).advance(0_u32.wrapping_sub(before)))
        });
    }

    pub(super) fn pair(&self) -> Pair {
        let [left, right] = [ADDRESSES[0].as_slice(), ADDRESSES[1].as_slice()];
        let mut setup = Setup::new(Profile::Rfc9260).homes(left, right).on_one_link();
        setup.client = self.config.clone();
        setup.server.association = self.config.clone();
        setup.seed = self.seed;
        let mut pair = setup.build();
        for end in [End::Left, End::Right] {
            pair.with(end, |side, _| self.prepare(end, side));
        }
        pair
    }

    /// Sets what an end is not configured to.
    fn prepare(&self, end: End, side: &mut Side) {
        let (index, seed) = match end {
            End::Left => (0, self.seed),
            End::Right => (1, !self.seed),
        };
        side.sniffing = Sniffing::Off;
        side.replays = Replays::new(seed);
        side.replays.set_frequency(self.replays[index]);
        if let Some(tsn) = self.initial_tsns[index] {
            side.endpoint.start_at_tsn(tsn);
        }
    }

    /// An end that remembers nothing.
    pub(super) fn reborn(&self, end: End, entropy: u8) -> Side {
        let number = match end {
            End::Left => LEFT_PORT,
            End::Right => RIGHT_PORT,
        };
        let mut config = EndpointConfig::new(port(number));
        config.association = self.config.clone();
        config.local_addresses = (0..3).map(|position| address(end, position)).collect();
        let mut side = Side::new(sctp_core::Endpoint::new(config, [entropy; 32]).unwrap());
        self.prepare(end, &mut side);
        side
    }
}

fn config(dice: &mut Dice) -> AssociationConfig {
    let mut config = AssociationConfig::profile(Profile::ALL[dice.index(Profile::ALL.len())]);
    let offer = |dice: &mut Dice| if dice.below(2) == 0 { Offer::Off } else { Offer::On };
    config.extensions.interleaving = offer(dice);
    config.extensions.partial_reliability = offer(dice);
    config.extensions.dynamic_addresses = offer(dice);
    config.extensions.authentication = match config.extensions.dynamic_addresses {
        Offer::On => Offer::On,
        Offer::Off => offer(dice),
    };
    if dice.below(2) == 0 {
        config.paths.automatic_addresses = AutomaticAddresses::On;
    }
    if dice.below(3) == 0 {
        config.path_mtu.discovery = Discovery::On;
    }
    if dice.below(4) == 0 {
        config.transmission.nagle = Nagle::On;
    }
    config.transmission.scheduler = SCHEDULERS[dice.index(SCHEDULERS.len())];
    config.heartbeat.interval = [None, Some(ms(1000)), Some(ms(5000))][dice.index(3)];
    config.paths.potentially_failed = [None, Some(0), Some(2)][dice.index(3)];
    config.congestion.algorithm = ALGORITHMS[dice.index(ALGORITHMS.len())];
    config.congestion.pacing = [Pacing::Off, Pacing::On][dice.index(2)];
    if config.congestion.pacing == Pacing::On && config.heartbeat.interval.is_some() {
        config.congestion.start_up = [StartUp::RESUME, StartUp::PROBE][dice.index(2)];
    }
    if config.congestion.pacing == Pacing::On && config.transmission.nagle == Nagle::Off {
        config.congestion.initial_window = InitialWindow::TenPackets;
    }
    config.extensions.reconfiguration = offer(dice);
    config.reconfiguration.association_reset = Acceptance::Accept;
    config.streams.outbound = STREAMS;
    config.buffers.receive_bytes = [10_000, 20_000, 100_000][dice.index(3)];
    config.buffers.send_bytes = [20_000, 60_000][dice.index(2)];
    config.buffers.message_bytes = 8000;
    if config.buffers.send_bytes == 20_000 {
        config.buffers.grown_bytes = Some(200_000);
    }
    // What keeps an association from starting or going on mostly goes by.
    config.attempts.association = 30;
    config.attempts.init = 30;
    config.rto.max = ms(3000);
    config
}

/// An address of an end by its position.
pub(super) fn address(end: End, position: usize) -> IpAddr {
    let of_end = match end {
        End::Left => 0,
        End::Right => 1,
    };
    ADDRESSES[of_end][position].parse().unwrap()
}

const ADDRESSES: [[&str; 3]; 2] =
    [["10.0.0.1", "10.0.1.1", "10.0.2.1"], ["10.0.0.2", "10.0.1.2", "10.0.2.2"]];

const ALGORITHMS: [CongestionAlgorithm; 4] = [
    CongestionAlgorithm::Rfc9260,
    CongestionAlgorithm::Cubic,
    CongestionAlgorithm::Westwood,
    CongestionAlgorithm::Bbr,
];
const SCHEDULERS: [StreamScheduler; 6] = [
    StreamScheduler::FirstComeFirstServed,
    StreamScheduler::RoundRobin,
    StreamScheduler::RoundRobinPerPacket,
    StreamScheduler::Priority,
    StreamScheduler::FairCapacity,
    StreamScheduler::WeightedFair,
];

/// What must be authenticated, DATA and SACK among it.
const AUTHENTICATED: [&[ChunkType]; 4] = [
    &[],
    &[ChunkType::DATA, ChunkType::I_DATA, ChunkType::SACK],
    &[ChunkType::SACK, ChunkType::RE_CONFIG, ChunkType::FORWARD_TSN, ChunkType::I_FORWARD_TSN],
    &[
        ChunkType::DATA,
        ChunkType::I_DATA,
        ChunkType::SACK,
        ChunkType::HEARTBEAT,
        ChunkType::HEARTBEAT_ACK,
        ChunkType::ABORT,
        ChunkType::SHUTDOWN,
        ChunkType::SHUTDOWN_ACK,
        ChunkType::ERROR,
        ChunkType::COOKIE_ACK,
    ],
];
