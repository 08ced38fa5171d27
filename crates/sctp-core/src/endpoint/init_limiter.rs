//! How many INITs a source network may send: a token bucket each (RFC 5062 §5).
//!
//! The buckets stand in a table of fixed size that is addressed by a keyed hash: nothing is inserted, so nothing can
//! be made to grow or to push another's out, and which networks share a bucket cannot be told from outside.

use core::time::Duration;
use std::net::IpAddr;

use blake2::digest::Mac;
use virtual_time::Instant;

use crate::config::InitRate;
use crate::rng::{KeyedHash, keyed};

pub(super) struct InitLimiter {
    rate: Option<InitRate>,
    hash: KeyedHash,
    /// Empty until the first INIT.
    buckets: Vec<Bucket>,
}

/// Full before it is used first.
#[derive(Clone, Copy)]
struct Bucket {
    tokens: u32,
    counted_at: Instant,
}

impl InitLimiter {
    pub(super) fn new(key: &[u8; 64], rate: Option<InitRate>) -> Self {
        Self { rate, hash: keyed(key), buckets: Vec::new() }
    }

    /// Whether one more INIT from this address is looked at now.
    pub(super) fn admits(&mut self, now: Instant, source: IpAddr) -> bool {
        let Some(rate) = self.rate else { return true };
        if self.buckets.is_empty() {
            self.buckets.resize(BUCKETS, Bucket { tokens: rate.burst, counted_at: now });
        }
        let index = self.index_of(source);
        self.buckets.get_mut(index).is_none_or(|bucket| bucket.take(now, rate))
    }

    fn index_of(&self, source: IpAddr) -> usize {
        let digest: [u8; 16] = self.hash.clone().chain_update(network(source)).finalize().into_bytes().into();
        let [first, second, ..] = digest;
        usize::from(u16::from_be_bytes([first, second])) % BUCKETS
    }
}

impl Bucket {
    fn take(&mut self, now: Instant, rate: InitRate) -> bool {
        let each = Duration::from_secs(1) / rate.per_second;
        let earned = now.since(self.counted_at).as_nanos() / each.as_nanos().max(1);
        let earned = u32::try_from(earned).unwrap_or(u32::MAX);
        let filled = self.tokens.saturating_add(earned);
        // What is left of the time counts next time, unless the bucket is full.
        self.counted_at = if filled > rate.burst { now } else { self.counted_at + each * earned };
        self.tokens = filled.min(rate.burst);
        let admits = self.tokens > 0;
        self.tokens -= u32::from(admits);
        admits
    }
}

/// The first 3 octets of an IPv4 address (/24), the first 6 of an IPv6 address (/48), filled up with zeros.
fn network(source: IpAddr) -> [u8; 7] {
    match source.to_canonical() {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            [4, a, b, c, 0, 0, 0]
        }
        IpAddr::V6(v6) => {
            let [a, b, c, d, e, f, ..] = v6.octets();
            [a, b, c, d, e, f, 6]
        }
    }
}

/// 16 octets each; a divisor of 65,536, so that all are equally likely.
const BUCKETS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: InitRate = InitRate { per_second: 10, burst: 3 };

    fn limiter() -> InitLimiter {
        InitLimiter::new(&[1; 64], Some(RATE))
    }

    fn admitted(limiter: &mut InitLimiter, at_ms: u64, source: &str, count: usize) -> usize {
        let source = source.parse().unwrap();
        (0..count).filter(|_| limiter.admits(Instant::from_millis(at_ms), source)).count()
    }

    #[test]
    fn burst_passes_and_then_the_rate() {
        let mut limiter = limiter();
        assert_eq!(admitted(&mut limiter, 0, "10.0.0.1", 10), 3);
        assert_eq!(admitted(&mut limiter, 99, "10.0.0.1", 10), 0);
        assert_eq!(admitted(&mut limiter, 100, "10.0.0.1", 10), 1);
        assert_eq!(admitted(&mut limiter, 250, "10.0.0.1", 10), 1, "half a token is kept");
        assert_eq!(admitted(&mut limiter, 300, "10.0.0.1", 10), 1);
        assert_eq!(admitted(&mut limiter, 60_000, "10.0.0.1", 10), 3, "no more than the burst");
    }

    #[test]
    fn network_shares_one_allowance_and_others_keep_theirs() {
        let mut limiter = limiter();
        assert_eq!(admitted(&mut limiter, 0, "192.0.2.1", 3), 3);
        assert_eq!(admitted(&mut limiter, 0, "192.0.2.200", 3), 0);
        assert_eq!(admitted(&mut limiter, 0, "::ffff:192.0.2.7", 3), 0, "the same address in IPv6 writing");
        assert_eq!(admitted(&mut limiter, 0, "192.0.3.1", 3), 3);
        assert_eq!(admitted(&mut limiter, 0, "2001:db8:1::1", 3), 3);
        assert_eq!(admitted(&mut limiter, 0, "2001:db8:1:ffff::9", 3), 0);
        assert_eq!(admitted(&mut limiter, 0, "2001:db8:2::1", 3), 3);
    }

    #[test]
    fn flood_from_everywhere_does_not_make_the_table_grow() {
        let mut limiter = limiter();
        for network in 0..10_000_u32 {
            limiter.admits(Instant::EPOCH, std::net::Ipv4Addr::from_bits(network << 8).into());
        }
        assert_eq!(limiter.buckets.len(), BUCKETS);
    }

    #[test]
    fn without_a_rate_everything_passes() {
        let mut limiter = InitLimiter::new(&[1; 64], None);
        assert_eq!(admitted(&mut limiter, 0, "10.0.0.1", 100_000), 100_000);
    }
}
