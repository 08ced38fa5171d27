//! The sizes of the frames of a video, one after the other.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::message::{MessageError, MessageSize};

/// Frames of variable size with a mean, in groups of twelve pictures (IBBPBBPBBPBB): intra-coded pictures are five times, predicted
/// ones two and a half times as long as bidirectional ones, and each varies by a third, as in study S5.
///
/// ```
/// use workload::{FrameSizes, MessageSize};
///
/// let mut frames = FrameSizes::new(MessageSize::new(6395)?, 1);
/// let sum: u32 = (0..12_000).map(|_| frames.next_size().get()).sum();
/// assert!((sum / 12_000).abs_diff(6395) < 64, "within a hundredth");
/// # Ok::<(), workload::MessageError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FrameSizes {
    mean: MessageSize,
    rng: Xoshiro256PlusPlus,
    /// The place of the next frame in its group.
    place: usize,
}

impl FrameSizes {
    /// Creates frames with this mean, if [`longest`](Self::longest) has no objection; the same seed gives the same sizes.
    #[must_use]
    pub fn new(mean: MessageSize, seed: u64) -> Self {
        Self { mean, rng: Xoshiro256PlusPlus::seed_from_u64(seed), place: 0 }
    }

    /// Returns a size that no frame of this mean exceeds.
    ///
    /// # Errors
    ///
    /// [`MessageError::SizeOutOfRange`] where no message is so long.
    pub fn longest(mean: MessageSize) -> Result<MessageSize, MessageError> {
        MessageSize::new(mean.get().saturating_mul(LONGEST_IN_MEANS))
    }

    /// Returns the size of the next frame, from [`MessageSize::MIN`] to [`MessageSize::MAX`].
    pub fn next_size(&mut self) -> MessageSize {
        let weight = match self.place {
            0 => INTRA,
            place if place.is_multiple_of(3) => PREDICTED,
            _ => BIDIRECTIONAL,
        };
        self.place = (self.place + 1) % PICTURES;
        // The sum of three uniform numbers is bell-shaped, with a standard deviation of a half.
        let bell: f64 = (0..3).map(|_| self.rng.random::<f64>() - 0.5).sum();
        let octets = f64::from(self.mean.get()) * weight / MEAN_WEIGHT * (bell * VARIATION).exp();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few times the mean")]
        let octets = octets.round() as u32;
        MessageSize::new(octets.max(MessageSize::MIN.get())).unwrap_or(MessageSize::MAX)
    }
}

/// Pictures of a group.
const PICTURES: usize = 12;
const INTRA: f64 = 5.0;
const PREDICTED: f64 = 2.5;
const BIDIRECTIONAL: f64 = 1.0;
/// What the exponent of a size varies by, times the bell.
const VARIATION: f64 = 2.0 / 3.0;
/// The mean weight of a group, (5 + 3·2.5 + 8) / 12, times the mean of e to the bell times the variation, (3 sinh ⅓)³.
const MEAN_WEIGHT: f64 = 20.5 / 12.0 * 1.056_9;
/// An intra-coded picture at the end of the bell has 5·e / 1.8 means.
const LONGEST_IN_MEANS: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(mean: u32, seed: u64) -> Vec<u32> {
        let mut frames = FrameSizes::new(MessageSize::new(mean).unwrap(), seed);
        (0..24_000).map(|_| frames.next_size().get()).collect()
    }

    #[test]
    fn groups_begin_with_a_long_frame_and_none_is_longer_than_the_longest() {
        let sizes = sizes(6395, 7);
        let mean = |places: &[usize]| {
            let chosen = sizes.iter().enumerate().filter(|(index, _)| places.contains(&(index % PICTURES)));
            let chosen: Vec<f64> = chosen.map(|(_, size)| f64::from(*size)).collect();
            chosen.iter().sum::<f64>() / chosen.len() as f64
        };
        let ratio = mean(&[0]) / mean(&[1, 2, 4, 5, 7, 8, 10, 11]);
        assert!((4.8..5.2).contains(&ratio), "{ratio}");
        assert!((mean(&(0..PICTURES).collect::<Vec<_>>()) / 6395.0 - 1.0).abs() < 0.01);
        let longest = FrameSizes::longest(MessageSize::new(6395).unwrap()).unwrap();
        assert!(sizes.iter().all(|size| *size <= longest.get()));
    }

    #[test]
    fn equal_seeds_give_equal_sizes_and_others_others() {
        assert_eq!(sizes(32_297, 1), sizes(32_297, 1));
        assert_ne!(sizes(32_297, 1), sizes(32_297, 2));
    }

    #[test]
    fn a_mean_whose_longest_frame_is_no_message_is_refused() {
        let mean = MessageSize::new(200_000).unwrap();
        assert_eq!(FrameSizes::longest(mean), Err(MessageError::SizeOutOfRange { octets: 1_600_000 }));
    }
}
