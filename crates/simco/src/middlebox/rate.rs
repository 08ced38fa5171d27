//! How many requests an agent may make: a bucket of tokens each.

use std::collections::BTreeMap;

use virtual_time::Instant;

use super::config::RequestRate;
use crate::rule::Owner;

/// One bucket per agent that has a limit.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    buckets: BTreeMap<Owner, Bucket>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// The tokens left, in billionths of a request.
    tokens: u128,
    filled: Instant,
}

impl Rates {
    /// Takes a token if there is one.
    pub(crate) fn admits(&mut self, now: Instant, agent: &Owner, rate: RequestRate) -> bool {
        let full = u128::from(rate.burst) * PER_REQUEST;
        if !self.buckets.contains_key(agent) {
            if self.buckets.len() >= MOST_BUCKETS {
                self.buckets.pop_first();
            }
            self.buckets.insert(agent.clone(), Bucket { tokens: full, filled: now });
        }
        let Some(bucket) = self.buckets.get_mut(agent) else { return false };
        let new = now.since(bucket.filled).as_nanos() * u128::from(rate.per_second);
        *bucket = Bucket { tokens: (bucket.tokens + new).min(full), filled: now };
        let has_one = bucket.tokens >= PER_REQUEST;
        if has_one {
            bucket.tokens -= PER_REQUEST;
        }
        has_one
    }
}

const PER_REQUEST: u128 = 1_000_000_000;
/// Agents without authentication come and go; their buckets must not pile up.
const MOST_BUCKETS: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_then_rate() {
        let (mut rates, agent) = (Rates::default(), Owner::new(b"a").unwrap());
        let rate = RequestRate { per_second: 10, burst: 3 };
        let at = |millis| Instant::from_millis(millis);
        let first: Vec<_> = (0..5).map(|_| rates.admits(at(0), &agent, rate)).collect();
        assert_eq!(first, [true, true, true, false, false]);
        assert!(!rates.admits(at(99), &agent, rate));
        assert!(rates.admits(at(100), &agent, rate));
        assert!(!rates.admits(at(150), &agent, rate));
    }
}
