//! How many INITs a source may send: a token bucket for each host and one for each network (RFC 5062 §5).
//!
//! What a host may send bounds what a victim gets when its address is forged, what a network may bounds the work. A network
//! may send much more than any of its hosts: otherwise whoever forges addresses of a network would keep its honest hosts out.
//!
//! The buckets stand in tables of fixed size that are addressed by a keyed hash: nothing is inserted, so nothing can
//! be made to grow or to push another's out, and which sources share a bucket cannot be told from outside.

use core::time::Duration;
use std::net::IpAddr;
use std::num::NonZeroU64;

use blake2::digest::Mac;
use virtual_time::Instant;

use crate::config::InitRate;
use crate::rng::{KeyedHash, keyed};

pub(super) struct InitLimiter {
    hash: KeyedHash,
    hosts: Buckets,
    networks: Buckets,
}

/// The buckets of one kind of source.
struct Buckets {
    rate: Option<InitRate>,
    /// How many there are, as a power of two.
    bits: u32,
    /// Empty until the first INIT.
    places: Vec<Bucket>,
}

/// Full before it is used first.
#[derive(Clone, Copy)]
struct Bucket {
    tokens: u32,
    counted_at: Instant,
}

impl InitLimiter {
    /// Creates a limiter to at most `host` INITs from a host, and `network` from all hosts of a network; `None`
    /// for no limit.
    pub(super) fn new(key: &[u8; 64], host: Option<InitRate>, network: Option<InitRate>) -> Self {
        let buckets = |rate, bits| Buckets { rate, bits, places: Vec::new() };
        Self { hash: keyed(key), hosts: buckets(host, HOST_BITS), networks: buckets(network, NETWORK_BITS) }
    }

    /// Returns whether one more INIT from this address is looked at now.
    pub(super) fn admits(&mut self, now: Instant, source: IpAddr) -> bool {
        if self.hosts.rate.is_none() && self.networks.rate.is_none() {
            return true;
        }
        let digest: [u8; 16] = self
            .hash
            .clone()
            .chain_update(network(source).0.get().to_be_bytes())
            .finalize()
            .into_bytes()
            .into();
        let [a, b, c, d, e, f, g, h, factor @ ..] = digest;
        let place = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
        let of_host = place.wrapping_add(offset(host(source), u64::from_be_bytes(factor)));
        // Who is over his own limit uses nothing up that is his network's.
        self.hosts.take(now, of_host) && self.networks.take(now, place)
    }
}

impl Buckets {
    fn take(&mut self, now: Instant, hash: u64) -> bool {
        let Some(rate) = self.rate else { return true };
        if self.places.is_empty() {
            self.places.resize(1 << self.bits, Bucket { tokens: rate.burst, counted_at: now });
        }
        let place = usize::try_from(hash >> (u64::BITS - self.bits)).unwrap_or_default();
        self.places.get_mut(place).is_none_or(|bucket| bucket.take(now, rate))
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

/// A source network as a number: the family, then the first 3 octets of an IPv4 address (/24), the first 6 of an IPv6
/// address (/48). It is never zero, so that none takes no room beside one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Network(NonZeroU64);

pub(super) fn network(source: IpAddr) -> Network {
    let number = u64::from_be_bytes(match source.to_canonical() {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            [4, a, b, c, 0, 0, 0, 0]
        }
        IpAddr::V6(v6) => {
            let [a, b, c, d, e, f, ..] = v6.octets();
            [6, 0, a, b, c, d, e, f]
        }
    });
    Network(NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN))
}

/// Returns the host in its network: the last octet of an IPv4 address; of an IPv6 address the two that name the
/// link (/64), for a host may take any address on it.
fn host(source: IpAddr) -> u64 {
    match source.to_canonical() {
        IpAddr::V4(v4) => {
            let [.., host] = v4.octets();
            host.into()
        }
        IpAddr::V6(v6) => {
            let [_, _, _, link, ..] = v6.segments();
            link.into()
        }
    }
}

/// Returns how far the places of a network's hosts are from its first one, by a factor that is the network's
/// own. The low 8 bits of the number of a host, which are all of it with IPv4, give 256 different places.
fn offset(host: u64, factor: u64) -> u64 {
    let odd = (factor | 1) << (u64::BITS - HOST_BITS);
    odd.wrapping_mul(host & 0xff).wrapping_add(factor.wrapping_mul(host >> 8))
}

/// 4096 hosts, of 16 octets each: a network in which every host sends takes a sixteenth of them.
const HOST_BITS: u32 = 12;
/// 1024 networks, of 16 octets each.
const NETWORK_BITS: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: InitRate = InitRate { per_second: 10, burst: 3 };
    const NONE: Option<InitRate> = None;

    fn limiter() -> InitLimiter {
        InitLimiter::new(&[1; 64], NONE, Some(RATE))
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
        assert_eq!(limiter.networks.places.len(), 1 << NETWORK_BITS);
    }

    #[test]
    fn each_host_has_a_limit_of_its_own_and_shares_that_of_its_network() {
        let network = InitRate { per_second: 100, burst: 7 };
        let mut limiter = InitLimiter::new(&[1; 64], Some(RATE), Some(network));
        assert_eq!(admitted(&mut limiter, 0, "192.0.2.1", 10), 3);
        assert_eq!(admitted(&mut limiter, 0, "192.0.2.2", 10), 3, "what the first was refused is not lost");
        assert_eq!(admitted(&mut limiter, 0, "192.0.2.3", 10), 1);
        assert_eq!(admitted(&mut limiter, 0, "192.0.3.1", 10), 3);
        assert_eq!(admitted(&mut limiter, 0, "2001:db8:1:1::1", 2), 2);
        assert_eq!(admitted(&mut limiter, 0, "2001:db8:1:1:ffff::2", 10), 1, "the same link");
        assert_eq!(admitted(&mut limiter, 0, "2001:db8:1:2::1", 10), 3);
    }

    /// All hosts of a network have places of their own: none pays for another.
    #[test]
    fn hosts_of_a_network_share_no_bucket() {
        for network in 0..50 {
            let mut limiter = InitLimiter::new(&[network; 64], Some(RATE), NONE);
            for last in 0..=255 {
                let source = IpAddr::from([10, 0, network, last]);
                let count = (0..4).filter(|_| limiter.admits(Instant::EPOCH, source)).count();
                assert_eq!(count, 3, "{source}");
            }
        }
    }

    /// RFC 5062 §5 as a weapon: an attacker forges all addresses of a network, 50,000 INITs a second, to keep one host out.
    #[test]
    fn robustness_34_honest_host_of_a_forged_network_gets_in_nine_times_in_ten() {
        let config = crate::config::EndpointConfig::new(sctp_wire::SctpPort::new(9).unwrap());
        let mut limiter = InitLimiter::new(&[1; 64], config.host_init_rate, config.init_rate);
        let (mut admitted, mut asked) = (0, 0);
        for number in 0..20 * 50_000_u32 {
            let now = Instant::from_nanos(u64::from(number) * 20_000);
            let [.., last] = number.to_be_bytes();
            let _forged = limiter.admits(now, [192, 0, 2, last].into());
            if number % 5_000 == 0 {
                asked += 1;
                admitted += u32::from(limiter.admits(now, [192, 0, 2, 77].into()));
            }
        }
        assert!(admitted * 10 >= asked * 9, "{admitted} of {asked}");
    }

    #[test]
    fn without_a_rate_everything_passes() {
        let mut limiter = InitLimiter::new(&[1; 64], NONE, NONE);
        assert_eq!(admitted(&mut limiter, 0, "10.0.0.1", 100_000), 100_000);
    }
}
