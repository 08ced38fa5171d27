//! One channel and its state.

use crate::config::ChannelConfig;

/// The part of its life that a channel is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelState {
    /// This end has opened it, and the peer has not answered yet. It can be sent on, in order only.
    Opening,
    /// Both ends have it, and messages go both ways.
    Open,
    /// One end has closed it: what was sent before still arrives, and the streams are reset.
    Closing,
}

/// The part of its life that a channel is in, with what only this crate has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// DATA_CHANNEL_OPEN is sent.
    Opening,
    /// Messages go both ways.
    Open,
    /// The streams are reset.
    Closing {
        /// The reset of this end's stream.
        ours: OwnReset,
        /// Whether the peer has reset its stream, and all its messages are read.
        is_theirs_done: bool,
    },
}

impl Stage {
    /// Returns what the application sees of it.
    pub(super) fn state(self) -> ChannelState {
        match self {
            Self::Opening => ChannelState::Opening,
            Self::Open => ChannelState::Open,
            Self::Closing { .. } => ChannelState::Closing,
        }
    }
}

/// The part of its way that the reset of this end's stream has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnReset {
    /// The reset is to be asked for.
    Due,
    /// The reset is asked for.
    Asked,
    /// The stream begins at its first message again.
    Done,
}

/// A channel, and what is to be known of it.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) config: ChannelConfig,
    pub(super) stage: Stage,
    /// Whether the application knows it: not if the peer opened it against the rules.
    pub(super) is_told: bool,
    /// Octets of its names that count against the peer.
    pub(super) peer_name_bytes: usize,
}

impl Channel {
    /// Creates a channel that this end has opened.
    pub(super) fn new(config: ChannelConfig, stage: Stage) -> Self {
        Self { config, stage, is_told: true, peer_name_bytes: 0 }
    }

    /// Creates a channel that the peer has opened.
    pub(super) fn of_peer(config: ChannelConfig) -> Self {
        let peer_name_bytes = config.name_bytes();
        Self { config, stage: Stage::Open, is_told: true, peer_name_bytes }
    }

    /// Creates what stands for a stream on which the peer broke the rules, until it is reset.
    pub(super) fn refused() -> Self {
        let stage = Stage::Closing { ours: OwnReset::Due, is_theirs_done: false };
        Self { config: ChannelConfig::default(), stage, is_told: false, peer_name_bytes: 0 }
    }

    /// Begins to close it, unless that was begun.
    pub(super) fn begin_closing(&mut self) -> bool {
        if matches!(self.stage, Stage::Closing { .. }) {
            return false;
        }
        self.stage = Stage::Closing { ours: OwnReset::Due, is_theirs_done: false };
        true
    }
}
