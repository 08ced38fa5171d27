//! The only clock the sans-IO cores know: a point in time as a plain number.
//!
//! A core never asks what time it is. Its driver — the tokio endpoint, the simulator, a test pair — passes
//! an [`Instant`] with every call, counted from an epoch of the driver's choice. Real and virtual time are
//! therefore the same to the protocol code, which is what lets one implementation ship, be simulated and be
//! measured.
//!
//! ```
//! use core::time::Duration;
//! use virtual_time::Instant;
//!
//! let sent = Instant::EPOCH + Duration::from_millis(5);
//! let acknowledged = sent + Duration::from_millis(20);
//! assert_eq!(acknowledged.since(sent), Duration::from_millis(20));
//! ```
#![no_std]
#![forbid(unsafe_code)]

use core::fmt;
use core::num::NonZeroU64;
use core::ops::{Add, AddAssign, Sub};
use core::time::Duration;

/// A point in time: nanoseconds since the driver's epoch, good for 584 years.
///
/// Arithmetic saturates: an `Instant` never wraps and never panics. An `Option` of one takes no more room than itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(
    /// One more than the nanoseconds.
    NonZeroU64,
);

/// As data: the nanoseconds since the epoch.
#[cfg(feature = "serde")]
impl serde::Serialize for Instant {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.as_nanos())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Instant {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <u64 as serde::Deserialize>::deserialize(deserializer).map(Self::from_nanos)
    }
}

impl Instant {
    /// The driver's epoch: time zero.
    pub const EPOCH: Self = Self(NonZeroU64::MIN);

    /// The last representable point in time.
    pub const MAX: Self = Self(NonZeroU64::MAX);

    /// Creates the point `nanos` nanoseconds after the epoch.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(nanos))
    }

    /// Creates the point `millis` milliseconds after the epoch.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self::from_nanos(millis.saturating_mul(1_000_000))
    }

    /// Returns the nanoseconds since the epoch.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0.get() - 1
    }

    /// Returns the seconds since the epoch, for reports.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.since(Self::EPOCH).as_secs_f64()
    }

    /// Returns how long ago `earlier` was; zero if it is not earlier.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.get().saturating_sub(earlier.0.get()))
    }
}

/// The epoch.
impl Default for Instant {
    fn default() -> Self {
        Self::EPOCH
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        Self::from_nanos(self.as_nanos().saturating_sub(nanos(span)))
    }
}

/// Seconds with nine decimals, as traces print it.
impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.as_nanos() / 1_000_000_000, self.as_nanos() % 1_000_000_000)
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Instant::MAX + Duration::from_secs(1), Instant::MAX);
        assert_eq!(Instant::EPOCH - Duration::from_secs(1), Instant::EPOCH);
        assert_eq!(Instant::EPOCH + Duration::MAX, Instant::MAX);
    }

    #[test]
    fn no_instant_takes_no_room() {
        assert_eq!(size_of::<Option<Instant>>(), size_of::<u64>());
        assert_eq!((Instant::EPOCH.as_nanos(), Instant::default()), (0, Instant::EPOCH));
        assert_eq!(Instant::from_nanos(7).as_nanos(), 7);
    }

    #[test]
    fn since_a_later_instant_is_zero() {
        assert_eq!(Instant::EPOCH.since(Instant::from_millis(1)), Duration::ZERO);
    }
}
