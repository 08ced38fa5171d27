//! Closing a channel: both ends reset their streams (RFC 8831 §6.7, RFC 6525 §4.1).
//!
//! What was sent before is delivered first: SCTP resets a stream when all that was queued on it has arrived, and here a reset
//! of the peer counts when all its messages are read.

use std::collections::BTreeSet;

use sctp_core::{Endpoint, ReconfigError, ReconfigOutcome, ResetDirection, StreamDirection, StreamId};
use virtual_time::Instant;

use super::channel::{OwnReset, Stage};
use super::{ChannelEvent, DataChannels};
use crate::error::UnknownChannel;

/// Resets under way.
#[derive(Debug, Default)]
pub(super) struct Resets {
    /// Streams of ours that are to be reset.
    pub(super) due: BTreeSet<StreamId>,
    /// Streams that the peer has reset, before all its messages were read.
    theirs: BTreeSet<StreamId>,
}

impl DataChannels {
    /// Closes a channel: what was sent is delivered, then both ends are told by [`ChannelEvent::Closed`]. Messages that still come are
    /// thrown away. Closing a channel that is closing changes nothing.
    ///
    /// # Errors
    /// There is no such channel.
    pub fn close(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint,
        channel: StreamId,
    ) -> Result<(), UnknownChannel> {
        let open = self.channels.get_mut(&channel).ok_or(UnknownChannel(channel))?;
        if open.begin_closing() {
            self.resets.due.insert(channel);
            self.progress(now, endpoint);
        }
        Ok(())
    }

    /// Takes note of the outcome of a reset.
    pub(super) fn on_reset(
        &mut self,
        direction: StreamDirection,
        streams: &[StreamId],
        result: ReconfigOutcome,
    ) {
        // None listed means all.
        let listed = if streams.is_empty() { self.iter().collect() } else { streams.to_vec() };
        for stream in listed {
            match direction {
                StreamDirection::Outgoing => self.on_own_reset(stream, result),
                StreamDirection::Incoming if is_done(result) => {
                    self.resets.theirs.insert(stream);
                }
                StreamDirection::Incoming => {}
            }
        }
    }

    fn on_own_reset(&mut self, stream: StreamId, result: ReconfigOutcome) {
        let Some(channel) = self.channels.get_mut(&stream) else { return };
        let Stage::Closing { ours, is_theirs_done } = &mut channel.stage else { return };
        if is_done(result) {
            *ours = OwnReset::Done;
            if *is_theirs_done {
                self.remove(stream);
            }
        } else if result == ReconfigOutcome::Busy {
            *ours = OwnReset::Due;
            self.resets.due.insert(stream);
        } else {
            self.give_up(stream);
        }
    }

    /// Counts the resets of the peer, all of whose messages are read now. Whether there was any.
    pub(super) fn take_peer_resets(&mut self) -> bool {
        let reset = core::mem::take(&mut self.resets.theirs);
        reset.iter().for_each(|stream| self.take_peer_reset(*stream));
        !reset.is_empty()
    }

    /// Counts the reset of a stream by the peer that has not been counted yet, for the message read now is behind it.
    pub(super) fn take_peer_reset_before(&mut self, stream: StreamId) {
        if self.resets.theirs.remove(&stream) {
            self.take_peer_reset(stream);
        }
    }

    fn take_peer_reset(&mut self, stream: StreamId) {
        let Some(channel) = self.channels.get_mut(&stream) else { return };
        if channel.begin_closing() {
            self.resets.due.insert(stream);
            if channel.is_told {
                self.events.push_back(ChannelEvent::Closing(stream));
            }
        }
        let Stage::Closing { ours, is_theirs_done } = &mut channel.stage else { return };
        *is_theirs_done = true;
        if *ours == OwnReset::Done {
            self.remove(stream);
        }
    }

    /// Asks for the resets that are due, as many as the association takes; the others wait for the next event.
    pub(super) fn ask_for_resets(&mut self, now: Instant, endpoint: &mut Endpoint) {
        while !self.resets.due.is_empty() {
            let streams: Vec<StreamId> = self.resets.due.iter().copied().take(LISTED_AT_MOST).collect();
            match endpoint.reset_streams(now, self.association, &streams, ResetDirection::Outgoing) {
                Ok(()) => streams.iter().for_each(|stream| self.note_asked(*stream)),
                Err(ReconfigError::TooManyRequests { .. } | ReconfigError::NotEstablished) => return,
                // The peer used a stream that this end has none of.
                Err(ReconfigError::UnknownStream { stream, .. }) => {
                    self.resets.due.remove(&stream);
                    self.give_up(stream);
                    continue;
                }
                // The peer cannot reset streams: what is closed here stays so, and its stream is not used again.
                Err(_) => streams.iter().for_each(|stream| self.give_up(*stream)),
            }
            for stream in streams {
                self.resets.due.remove(&stream);
            }
        }
    }

    fn note_asked(&mut self, stream: StreamId) {
        if let Some(channel) = self.channels.get_mut(&stream)
            && let Stage::Closing { ours, .. } = &mut channel.stage
        {
            *ours = OwnReset::Asked;
        }
    }

    /// Forgets a channel whose stream cannot be reset.
    fn give_up(&mut self, stream: StreamId) {
        self.spent.insert(stream);
        self.remove(stream);
    }
}

/// Returns whether a stream begins at its first message now.
fn is_done(result: ReconfigOutcome) -> bool {
    match result {
        ReconfigOutcome::Performed | ReconfigOutcome::NothingToDo | ReconfigOutcome::PeerRestarted => true,
        ReconfigOutcome::Denied
        | ReconfigOutcome::UnknownStream
        | ReconfigOutcome::Busy
        | ReconfigOutcome::BadSequenceNumber
        | ReconfigOutcome::Malformed
        | ReconfigOutcome::Unknown(_) => false,
    }
}

/// Streams that one request of sctp-core can name.
const LISTED_AT_MOST: usize = 100;
