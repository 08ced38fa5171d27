//! How long complete messages waited for an earlier one of their stream: head-of-line blocking, measured.

use std::collections::BTreeMap;

use core::mem::size_of;
use core::time::Duration;

use sctp_wire::StreamId;

/// Head-of-line blocking of one association. Only messages that waited are in it; how many there were in
/// all says [`ReceiverStatistics::messages`](crate::ReceiverStatistics::messages).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct BlockingStatistics {
    streams: BTreeMap<StreamId, StreamBlocking>,
    histogram: BlockingHistogram,
}

impl BlockingStatistics {
    /// Returns the streams on which a message ever waited, ascending.
    pub fn streams(&self) -> impl Iterator<Item = (StreamId, StreamBlocking)> {
        self.streams.iter().map(|(stream, blocking)| (*stream, *blocking))
    }

    /// Returns the waiting times of all streams.
    #[must_use]
    pub fn histogram(&self) -> &BlockingHistogram {
        &self.histogram
    }

    /// Returns the number of octets that it takes. The nodes of the map, which have links beside their entries, are at
    /// least half full.
    pub(crate) fn held_bytes(&self) -> usize {
        let entry = (size_of::<StreamId>() + size_of::<StreamBlocking>()) * 2 + 4;
        let buckets = self.histogram.buckets.capacity() * size_of::<u64>();
        size_of::<Self>() + self.streams.len() * entry + buckets
    }

    pub(crate) fn record(&mut self, stream: StreamId, blocked: Duration) {
        if blocked.is_zero() {
            return;
        }
        let on_stream = self.streams.entry(stream).or_default();
        on_stream.messages += 1;
        on_stream.total = on_stream.total.saturating_add(blocked);
        self.histogram.record(blocked);
    }
}

/// Head-of-line blocking of one stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StreamBlocking {
    /// The number of messages that waited.
    pub messages: u64,
    /// The sum of their waiting times.
    pub total: Duration,
}

/// Waiting times from 1 µs to 134 s in 200 buckets, each at most an eighth of its value wide.
///
/// Below 8 µs a bucket is 1 µs wide; above, every power of two has eight. What is longer than 134 s counts
/// in the last bucket. Takes no memory before the first value, at most 1.6 kB after.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BlockingHistogram {
    /// The buckets, as far as the highest one used.
    buckets: Vec<u64>,
    count: u64,
    sum: Duration,
}

impl BlockingHistogram {
    /// Returns how many values were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the exact sum of the values.
    #[must_use]
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// Returns the value that a share `q` of the recorded ones does not exceed, as the upper end of its bucket
    /// (at most an eighth too high). `q` is clamped to 0…1; `None` without values.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let mut seen = 0_u64;
        self.iter().find_map(|(upper, count)| {
            seen += count;
            (share(seen, self.count) >= q.clamp(0.0, 1.0)).then_some(upper)
        })
    }

    /// Returns the buckets that hold values, ascending: upper end and count.
    pub fn iter(&self) -> impl Iterator<Item = (Duration, u64)> {
        let ends = (0_u32..).map(upper_end);
        ends.zip(self.buckets.iter().copied()).filter(|(_, count)| *count > 0)
    }

    fn record(&mut self, value: Duration) {
        let bucket = bucket_of(u64::try_from(value.as_micros()).unwrap_or(u64::MAX));
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        if let Some(count) = self.buckets.get_mut(bucket) {
            *count += 1;
        }
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
    }
}

fn bucket_of(micros: u64) -> usize {
    let micros = micros.min(LONGEST_MICROS);
    // Shifting leaves the leading one and three bits after it: 8…15 within the power of two.
    let shift = (u64::BITS - micros.leading_zeros()).saturating_sub(SUB_BUCKET_BITS + 1);
    let bucket = u64::from(shift) * SUB_BUCKETS + (micros >> shift);
    usize::try_from(bucket).unwrap_or(usize::MAX)
}

fn upper_end(bucket: u32) -> Duration {
    let shift = (bucket >> SUB_BUCKET_BITS).saturating_sub(1);
    let first = u64::from(bucket) - u64::from(shift) * SUB_BUCKETS;
    Duration::from_micros((first + 1) << shift)
}

#[allow(clippy::cast_precision_loss, reason = "a share of counts, for people")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

const SUB_BUCKET_BITS: u32 = 3;
const SUB_BUCKETS: u64 = 1 << SUB_BUCKET_BITS;
const LONGEST_MICROS: u64 = (1 << 27) - 1;

#[cfg(feature = "serde")]
mod serial;
#[cfg(test)]
mod tests;
