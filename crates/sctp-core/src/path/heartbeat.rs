//! The outstanding HEARTBEAT of a path (RFC 9260 §8.3).
//!
//! The Heartbeat Information we send names the path and carries a 64-bit nonce; only an echo of the
//! outstanding one counts, so that a forged or late HEARTBEAT ACK cannot keep a dead path alive.

use core::time::Duration;

use virtual_time::Instant;

use crate::transmit::PathIndex;

/// The HEARTBEAT that was sent and not yet answered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Heartbeat {
    outstanding: Option<OutstandingHeartbeat>,
}

#[derive(Clone, Copy, Debug)]
struct OutstandingHeartbeat {
    nonce: u64,
    sent_at: Instant,
}

/// Octets of our Heartbeat Information: path number and nonce.
pub(crate) const INFO_BYTES: usize = 12;

impl Heartbeat {
    /// Remembers a new HEARTBEAT and gives the information to send.
    pub(crate) fn send(&mut self, now: Instant, path: PathIndex, nonce: u64) -> [u8; INFO_BYTES] {
        self.outstanding = Some(OutstandingHeartbeat { nonce, sent_at: now });
        Self::info(path, nonce)
    }

    /// Returns the information that names this path and nonce.
    pub(crate) fn info(path: PathIndex, nonce: u64) -> [u8; INFO_BYTES] {
        let mut info = [0; INFO_BYTES];
        info[3] = u8::try_from(path.index()).unwrap_or(u8::MAX);
        info[4..].copy_from_slice(&nonce.to_be_bytes());
        info
    }

    /// Returns the round trip, if this nonce answers the outstanding HEARTBEAT.
    pub(crate) fn on_ack(&mut self, now: Instant, nonce: u64) -> Option<Duration> {
        let outstanding = self.outstanding.filter(|outstanding| outstanding.nonce == nonce)?;
        self.outstanding = None;
        Some(now.since(outstanding.sent_at))
    }

    /// Gives the outstanding one up; says when it was sent, if there was one.
    pub(crate) fn expire(&mut self) -> Option<Instant> {
        self.outstanding.take().map(|outstanding| outstanding.sent_at)
    }

    /// Returns whether a HEARTBEAT went out less than this long ago and was neither answered nor given up.
    pub(crate) fn was_sent_within(&self, now: Instant, span: Duration) -> bool {
        self.outstanding.is_some_and(|outstanding| now.since(outstanding.sent_at) < span)
    }

    pub(crate) fn is_outstanding(&self) -> bool {
        self.outstanding.is_some()
    }

    /// Returns path number and nonce of an echoed information; `None` if it is not one of ours.
    pub(crate) fn parse(info: &[u8]) -> Option<(PathIndex, u64)> {
        let info: &[u8; INFO_BYTES] = info.try_into().ok()?;
        let (path, nonce) = info.split_first_chunk::<4>()?;
        let number = u8::try_from(u32::from_be_bytes(*path)).ok()?;
        Some((PathIndex::new(number), u64::from_be_bytes(nonce.try_into().ok()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_outstanding_nonce_is_answered_and_only_once() {
        let mut heartbeat = Heartbeat::default();
        let info = heartbeat.send(Instant::EPOCH, PathIndex::new(3), 77);
        assert_eq!(Heartbeat::parse(&info), Some((PathIndex::new(3), 77)));
        assert_eq!(heartbeat.on_ack(Instant::from_millis(5), 78), None);
        assert_eq!(heartbeat.on_ack(Instant::from_millis(5), 77), Some(Duration::from_millis(5)));
        assert_eq!(heartbeat.on_ack(Instant::from_millis(5), 77), None);
    }

    #[test]
    fn foreign_information_is_not_ours() {
        assert_eq!(Heartbeat::parse(&[]), None);
        assert_eq!(Heartbeat::parse(&[0xff; INFO_BYTES]), None);
        assert_eq!(Heartbeat::parse(&[0; 40]), None);
    }
}
