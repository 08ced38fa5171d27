//! How the ends of a sequence are configured.

use std::net::IpAddr;

use sctp_core::{
    Acceptance, AssociationConfig, AutomaticAddresses, CongestionAlgorithm, Discovery, EndpointConfig, Nagle,
    Offer, Pacing, Profile, StreamScheduler,
};

use super::operation::STREAMS;
use crate::net::{End, LEFT_PORT, Pair, RIGHT_PORT, Setup, Side, Sniffing, ms, port};
use crate::random::Dice;

/// What both ends of a sequence are configured to, made of its seed.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) seed: u64,
    pub(super) config: AssociationConfig,
}

impl Case {
    pub(super) fn new(seed: u64, dice: &mut Dice) -> Self {
        Self { seed, config: config(dice) }
    }

    pub(super) fn pair(&self) -> Pair {
        let [left, right] = [ADDRESSES[0].as_slice(), ADDRESSES[1].as_slice()];
        let mut setup = Setup::new(Profile::Rfc9260).homes(left, right).on_one_link();
        setup.client = self.config.clone();
        setup.server.association = self.config.clone();
        setup.seed = self.seed;
        let mut pair = setup.build();
        for end in [End::Left, End::Right] {
            pair.with(end, |side, _| side.sniffing = Sniffing::Off);
        }
        pair
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
        side.sniffing = Sniffing::Off;
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
    config.congestion.algorithm =
        [CongestionAlgorithm::Rfc9260, CongestionAlgorithm::Cubic, CongestionAlgorithm::Westwood]
            [dice.index(3)];
    config.congestion.pacing = [Pacing::Off, Pacing::On][dice.index(2)];
    config.extensions.reconfiguration = offer(dice);
    config.reconfiguration.association_reset = Acceptance::Accept;
    config.streams.outbound = STREAMS;
    config.buffers.receive_bytes = [10_000, 20_000, 100_000][dice.index(3)];
    config.buffers.send_bytes = [20_000, 60_000][dice.index(2)];
    config.buffers.message_bytes = 8000;
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

const SCHEDULERS: [StreamScheduler; 6] = [
    StreamScheduler::FirstComeFirstServed,
    StreamScheduler::RoundRobin,
    StreamScheduler::RoundRobinPerPacket,
    StreamScheduler::Priority,
    StreamScheduler::FairCapacity,
    StreamScheduler::WeightedFair,
];
