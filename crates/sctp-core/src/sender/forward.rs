//! FORWARD TSN and I-FORWARD-TSN: telling the peer what it shall not wait for (RFC 3758 §3.5, RFC 8260 §2.3.1).
//!
//! The Advanced.Peer.Ack.Point is not kept but read off the outstanding chunks: it is ahead of the Cumulative TSN Ack
//! Point by those at the front that were given up. It is told with the next packet, at once: a receiver that waits
//! delivers nothing of the stream.

use core::time::Duration;
use std::collections::BTreeMap;

use sctp_wire::{ForwardTsn, Mid, PacketWriter, SkippedMid, SkippedSsn, StreamId, Tsn};
use virtual_time::Instant;

use super::Sender;
use super::queue::{Fragment, Framing, ssn};
use super::sent_chunk::ChunkState;
use crate::path::PathSet;
use crate::seldom::Seldom;
use crate::transmit::PathIndex;

/// The point to which the peer was told to go on, and whether it has to be told (again).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Forwarding {
    sent: Option<ForwardSent>,
    is_due: bool,
    /// The time at which it is repeated to a peer whose SACKs do not confirm it.
    again_at: Option<Instant>,
}

/// A FORWARD TSN that the peer has not confirmed yet.
#[derive(Clone, Copy, Debug)]
struct ForwardSent {
    /// How far it went: as far as a packet could say.
    to: Tsn,
    /// How far it should have gone.
    wanted: Tsn,
    at: Instant,
    path: PathIndex,
}

/// The messages a FORWARD TSN names: the last one by stream and, with I-DATA, by order.
type Skipped = BTreeMap<(StreamId, bool), Mid>;

impl Sender {
    /// Returns whether the next packet has to carry a FORWARD TSN.
    #[inline]
    pub(crate) fn forward_is_due(&self) -> bool {
        self.forwarding.exists() && self.forwarding.get().is_due
    }

    /// Returns when the FORWARD TSN is to be repeated, if no SACK confirms it before.
    pub(crate) fn forward_again_at(&self) -> Option<Instant> {
        self.forwarding.get().again_at
    }

    /// Repeats the FORWARD TSN, because it is time to.
    pub(crate) fn repeat_forward(&mut self) {
        if self.forwarding.exists() {
            let forwarding = self.forwarding.note();
            forwarding.again_at = None;
            forwarding.is_due |= forwarding.sent.is_some();
        }
    }

    /// Returns whether T3-rtx has to run on a path: for chunks, or for a FORWARD TSN (RFC 3758 §3.5 (C5)).
    pub(crate) fn needs_t3(&self, path: PathIndex) -> bool {
        let awaits_confirmation = || self.forwarding.get().sent.is_some_and(|sent| sent.path == path);
        self.has_outstanding(path) || (self.forwarding.exists() && awaits_confirmation())
    }

    /// Looks where the Advanced.Peer.Ack.Point is (RFC 3758 §3.5 (C1) to (C3)). Gives the path of a FORWARD TSN that the
    /// peer has confirmed.
    pub(crate) fn advance_peer_ack_point(&mut self) -> Option<PathIndex> {
        let is_first_given_up =
            self.outstanding.get(0).is_some_and(|chunk| chunk.state == ChunkState::Abandoned);
        if !self.forwarding.exists() && !is_first_given_up {
            return None;
        }
        let point = self.outstanding.cumulative_ack();
        let before = self.forwarding.get().sent;
        let open = before.filter(|sent| point.precedes(sent.to));
        let confirmed = before.filter(|_| open.is_none()).map(|sent| sent.path);
        let ahead = self.outstanding.abandoned_ahead();
        if ahead == 0 {
            self.forwarding = Seldom::default();
            return confirmed;
        }
        let wanted = self.outstanding.tsn_at(ahead - 1);
        let forwarding = self.forwarding.note();
        forwarding.sent = open;
        forwarding.is_due |= open.is_none_or(|sent| sent.wanted.precedes(wanted));
        confirmed
    }

    /// A SACK came in that does not confirm the FORWARD TSN: it is repeated a good round trip after it was sent, and no later
    /// than RFC 3758 §3.5 (F3) has it.
    pub(super) fn on_unconfirmed_forward(&mut self, paths: &PathSet) {
        if !self.forwarding.exists() {
            return;
        }
        let forwarding = self.forwarding.note();
        let Some(sent) = forwarding.sent else {
            forwarding.again_at = None;
            return;
        };
        let round_trip = paths.path(sent.path).rto.srtt().unwrap_or(FORWARD_DELAY_MAX);
        let again_at = sent.at + (round_trip + round_trip / 4).min(FORWARD_DELAY_MAX);
        forwarding.again_at.get_or_insert(again_at);
    }

    /// Writes the FORWARD TSN that is due; one that does not fit goes less far (RFC 3758 §3.5 (C4)).
    pub(crate) fn write_forward(
        &mut self,
        now: Instant,
        path: PathIndex,
        writer: &mut PacketWriter<'_>,
    ) -> bool {
        if !self.forward_is_due() {
            return false;
        }
        let ahead = self.outstanding.abandoned_ahead();
        if ahead == 0 {
            return false;
        }
        let framing = self.queue.framing();
        let taken = ForwardTsn::HEADER_BYTES + self.options.reserved_bytes;
        let entries = writer.remaining().saturating_sub(taken) / entry_bytes(framing);
        let mut skipped = Skipped::new();
        let covered = (0..ahead).take_while(|index| {
            let chunk = self.outstanding.get(*index);
            chunk.is_some_and(|chunk| skip(&mut skipped, &chunk.fragment, framing, entries))
        });
        let Some(last) = covered.last() else { return false };
        let to = self.outstanding.tsn_at(last);
        if write(writer, framing, to, &skipped).is_err() {
            return false;
        }
        let wanted = self.outstanding.tsn_at(ahead - 1);
        *self.forwarding.note() = Forwarding {
            sent: Some(ForwardSent { to, wanted, at: now, path }),
            is_due: false,
            again_at: None,
        };
        self.statistics.note().forward_tsns += 1;
        true
    }
}

/// Notes a chunk that is passed over. False if it would have to be named and there is no room.
fn skip(skipped: &mut Skipped, fragment: &Fragment, framing: Framing, entries: usize) -> bool {
    // Unordered messages in DATA have no number, and nobody waits for them.
    if framing == Framing::Data && fragment.flags().unordered {
        return true;
    }
    let key = (fragment.stream, fragment.flags().unordered);
    if skipped.len() >= entries && !skipped.contains_key(&key) {
        return false;
    }
    let last = skipped.entry(key).or_insert(fragment.mid);
    if last.precedes(fragment.mid) {
        *last = fragment.mid;
    }
    true
}

fn write(
    writer: &mut PacketWriter<'_>,
    framing: Framing,
    to: Tsn,
    skipped: &Skipped,
) -> Result<(), sctp_wire::Full> {
    match framing {
        Framing::Data => {
            let ssns = skipped.iter().map(|(&(stream, _), mid)| SkippedSsn { stream, ssn: ssn(*mid) });
            writer.forward_tsn(to, ssns)
        }
        Framing::IData => {
            let mids =
                skipped.iter().map(|(&(stream, unordered), mid)| SkippedMid { stream, unordered, mid: *mid });
            writer.i_forward_tsn(to, mids)
        }
    }
}

const fn entry_bytes(framing: Framing) -> usize {
    match framing {
        Framing::Data => 4,
        Framing::IData => 8,
    }
}

/// How long a FORWARD TSN may be put off (RFC 3758 §3.5 (F3)).
const FORWARD_DELAY_MAX: Duration = Duration::from_millis(200);
