//! What users, hosts and networks may do.

use sctp_core::{Delivery, Reliability, ResetDirection};

use crate::dice::Dice;
use crate::net::{End, Reading, ms};
use crate::replay::Frequency;

/// Which operations there are. A seed keeps its sequence as long as nothing changes in its repertoire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repertoire {
    /// What users, hosts and a bad network do.
    Plain,
    /// Besides, packets come again or up to 20 s late, the handshake's too; resets are frequent, TSNs wrap around, and more
    /// kinds of chunks must be authenticated.
    Wide,
    /// Besides what is plain, hosts change their addresses often, and users say where the peer may be.
    Moving,
}

/// One step. Addresses and paths are named by their position, 0 to 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Send(Sending),
    Read(End, Reading),
    WaitMs(u64),
    /// Nothing passes between this address of the left and that of the right end; 3 stands for all.
    Cut(usize, usize),
    Mend(usize, usize),
    /// What happens to packets of this end.
    Impair(End, Damage),
    /// How often packets of this end come again, or late.
    Replay(End, Frequency),
    /// The next packets of this end are lost.
    DropNext(End, u64),
    AddressDown(End, usize),
    AddressUp(End, usize),
    /// By ASCONF, as the two that follow.
    AddAddress(End, usize),
    DeleteAddress(End, usize),
    RequestPrimary(End, usize),
    /// The peer may be at this address of its, or where nobody is if it is 3.
    SuggestPeer(End, usize),
    SetPrimary(End, u8),
    /// The left end, if it has no association, opens one with so many addresses.
    Connect(usize),
    /// This stream, or all.
    ResetStreams(End, ResetDirection, Option<u16>),
    /// So many outgoing ones, and so many of the peer's.
    AddStreams(End, u16, u16),
    /// TSNs and all streams begin anew.
    ResetAssociation(End),
    Shutdown(End),
    Abort(End),
    /// The end forgets everything and, if it is the left one, connects again.
    Reboot(End),
    /// The ledger is told of a message that was never sent: breaks a law, to test the test. Never random.
    Forge,
}

/// Equal messages, sent in a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sending {
    pub(super) from: End,
    pub(super) count: usize,
    pub(super) stream: u16,
    pub(super) len: usize,
    pub(super) delivery: Delivery,
    pub(super) reliability: Reliability,
}

/// Probabilities in percent, and jitter in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damage {
    pub(super) loss: u64,
    pub(super) reorder: u64,
    pub(super) duplicate: u64,
    pub(super) jitter_ms: u64,
}

impl Operation {
    pub(super) fn any(dice: &mut Dice, repertoire: Repertoire) -> Self {
        match repertoire {
            Repertoire::Wide if dice.below(6) == 0 => Self::wide(dice),
            Repertoire::Moving if dice.below(3) == 0 => Self::moving(dice),
            Repertoire::Wide | Repertoire::Moving | Repertoire::Plain => Self::plain(dice),
        }
    }

    fn moving(dice: &mut Dice) -> Self {
        let (end, address) = (any_end(dice), dice.index(3));
        match dice.below(10) {
            0..=2 => Self::SuggestPeer(end, dice.index(4)),
            3..=4 => Self::AddressDown(end, address),
            5..=6 => Self::AddressUp(end, address),
            7 => Self::AddAddress(end, address),
            8 => Self::DeleteAddress(end, address),
            _ => Self::Cut(dice.index(4), dice.index(4)),
        }
    }

    fn wide(dice: &mut Dice) -> Self {
        let (end, address) = (any_end(dice), dice.index(3));
        match dice.below(10) {
            0..=2 => Self::Replay(end, any_frequency(dice)),
            3..=4 => Self::ResetAssociation(end),
            5 => Self::ResetStreams(end, ResetDirection::Both, None),
            6 => Self::AddStreams(end, any_count(dice), any_count(dice)),
            7 => Self::AddAddress(end, address),
            8 => Self::DeleteAddress(end, address),
            _ => Self::Reboot(end),
        }
    }

    fn plain(dice: &mut Dice) -> Self {
        let (end, address) = (any_end(dice), dice.index(3));
        match dice.below(100) {
            0..=27 => Self::Send(Sending::any(dice)),
            28..=55 => Self::wait(dice),
            56..=60 => Self::Read(end, [Reading::AtOnce, Reading::AtOnce, Reading::Paused][dice.index(3)]),
            61..=65 => Self::Cut(dice.index(4), dice.index(4)),
            66..=70 => Self::Mend(dice.index(4), dice.index(4)),
            71..=75 => Self::Impair(end, Damage::any(dice)),
            76..=79 => Self::DropNext(end, 1 + dice.below(5)),
            80..=81 => Self::AddressDown(end, address),
            82..=83 => Self::AddressUp(end, address),
            84..=85 => Self::AddAddress(end, address),
            86..=87 => Self::DeleteAddress(end, address),
            88 => Self::RequestPrimary(end, address),
            89 => Self::SetPrimary(end, dice.below(4).to_le_bytes()[0]),
            90..=91 => Self::Connect(1 + address),
            92..=94 => Self::reset_streams(dice),
            95 => Self::AddStreams(end, 1, 0),
            96 => Self::ResetAssociation(end),
            97 => Self::Shutdown(end),
            98 => Self::Abort(end),
            _ => Self::Reboot(end),
        }
    }

    fn reset_streams(dice: &mut Dice) -> Self {
        let direction =
            [ResetDirection::Outgoing, ResetDirection::Incoming, ResetDirection::Both][dice.index(3)];
        let stream = u16::try_from(dice.below(STREAMS.into())).unwrap();
        Self::ResetStreams(any_end(dice), direction, (dice.below(3) > 0).then_some(stream))
    }

    fn wait(dice: &mut Dice) -> Self {
        let longest = [5, 50, 50, 300, 300, 2000, 20_000][dice.index(7)];
        Self::WaitMs(1 + dice.below(longest))
    }
}

impl Sending {
    fn any(dice: &mut Dice) -> Self {
        let longest = [40, 300, 3000, 7000][dice.index(4)];
        let len = 5 + dice.index(longest);
        let delivery = if dice.below(4) == 0 { Delivery::Unordered } else { Delivery::Ordered };
        let reliability = match dice.below(8) {
            0 => Reliability::Lifetime(ms(dice.below(1000))),
            1 => Reliability::Retransmissions(u32::try_from(dice.below(3)).unwrap()),
            2 => Reliability::Priority(u32::try_from(dice.below(4)).unwrap()),
            _ => Reliability::Reliable,
        };
        let (from, count) = (any_end(dice), 1 + dice.index(6));
        let stream = u16::try_from(dice.below(STREAMS.into())).unwrap();
        Self { from, count, stream, len, delivery, reliability }
    }
}

impl Damage {
    fn any(dice: &mut Dice) -> Self {
        let percent = |dice: &mut Dice| dice.below(2) * dice.below(30);
        let (loss, reorder, duplicate) = (percent(dice), percent(dice), percent(dice));
        Self { loss, reorder, duplicate, jitter_ms: dice.below(10) }
    }
}

pub(super) fn any_frequency(dice: &mut Dice) -> Frequency {
    let percent = |dice: &mut Dice| dice.below(2) * dice.below(25);
    Frequency { again_percent: percent(dice), late_percent: percent(dice) }
}

fn any_count(dice: &mut Dice) -> u16 {
    u16::try_from(dice.below(3)).unwrap()
}

fn any_end(dice: &mut Dice) -> End {
    if dice.below(2) == 0 { End::Left } else { End::Right }
}

/// Outgoing streams of each end.
pub(super) const STREAMS: u16 = 6;
