//! The impairments of one direction of a path.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::loss::Loss;
use crate::probability::Probability;
use crate::units::{BitRate, QueueLimit};

/// The impairments of one direction of a path. The default is a perfect link: no delay, no limit, no loss.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Impairments {
    /// One-way propagation delay, at most [`MAX_DELAY`]. Default 0.
    pub delay: Duration,
    /// Each packet's delay is uniform in `delay ± jitter`, at most `delay`. Default 0.
    ///
    /// Packets are *not* kept in order: one with a short delay overtakes, as in Linux' netem.
    pub jitter: Duration,
    /// The random loss. Default none. A lost packet takes no room in the queue and no time on the link.
    pub loss: Loss,
    /// Numbers of packets to drop for certain, counted from 1 in this direction. Default none.
    pub drop_packets: BTreeSet<u64>,
    /// Rate at which packets are serialised, one after the other. Default unlimited.
    pub rate: Option<BitRate>,
    /// How much may wait for the link, drop-tail; needs `rate`. Default unlimited.
    pub queue: Option<QueueLimit>,
    /// A packet skips delay and jitter, and so overtakes those before it, as in Linux' netem; other than there it
    /// still waits for the link when there is a `rate`. Default never.
    pub reorder: Probability,
    /// A packet is followed by a copy, which takes its own room in the queue and time on the link. Default never.
    pub duplicate: Probability,
    /// One bit, chosen at random, of the packet flips; a copy gets the same flip. Default never.
    pub corrupt: Probability,
}

impl Impairments {
    /// Checks every bound.
    ///
    /// # Errors
    /// The first field that is out of bounds, with its value and the bound.
    pub fn validate(&self) -> Result<(), InvalidImpairments> {
        if self.delay > MAX_DELAY {
            return Err(InvalidImpairments::DelayTooLong { delay: self.delay });
        }
        if self.jitter > self.delay {
            return Err(InvalidImpairments::JitterExceedsDelay { jitter: self.jitter, delay: self.delay });
        }
        if self.drop_packets.contains(&0) {
            return Err(InvalidImpairments::PacketZero);
        }
        match (self.queue, self.rate) {
            (Some(queue), None) => Err(InvalidImpairments::QueueWithoutRate { queue }),
            (Some(_) | None, _) => Ok(()),
        }
    }
}

/// A field of [`Impairments`] is out of bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidImpairments {
    /// `delay` is above [`MAX_DELAY`].
    #[error("delay {delay:?} is too long: at most {MAX_DELAY:?}")]
    DelayTooLong {
        /// The delay that was given.
        delay: Duration,
    },
    /// `jitter` is above `delay`: packets would arrive before they were sent.
    #[error("jitter {jitter:?} is larger than delay {delay:?}: at most as large")]
    JitterExceedsDelay {
        /// The jitter that was given.
        jitter: Duration,
        /// The delay, which bounds it.
        delay: Duration,
    },
    /// `drop_packets` contains 0.
    #[error("drop: there is no packet 0, packets are numbered from 1")]
    PacketZero,
    /// A `queue` was given without `rate`, so nothing would ever wait.
    #[error("queue {queue} never fills: a queue limit needs a link rate")]
    QueueWithoutRate {
        /// The queue that was given.
        queue: QueueLimit,
    },
}

/// The longest one-way delay: one hour. Beyond it a unit was mistaken.
pub const MAX_DELAY: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_field_out_of_bounds_is_named() {
        let millis = Duration::from_millis;
        let perfect = Impairments::default();
        assert_eq!(perfect.validate(), Ok(()));
        let refusal = |impairments: Impairments| impairments.validate().unwrap_err().to_string();
        assert!(refusal(Impairments { delay: Duration::MAX, ..perfect.clone() }).contains("at most 3600s"));
        let early = Impairments { delay: millis(10), jitter: millis(11), ..perfect.clone() };
        assert_eq!(refusal(early), "jitter 11ms is larger than delay 10ms: at most as large");
        assert!(refusal(Impairments { drop_packets: [0].into(), ..perfect.clone() }).contains("packet 0"));
        let queue = Some(QueueLimit::Packets(50));
        assert!(refusal(Impairments { queue, ..perfect }).contains("needs a link rate"));
    }
}
