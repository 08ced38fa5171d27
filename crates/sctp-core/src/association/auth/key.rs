//! Association shared keys and the HMACs made with them (RFC 4895 §6.1, §6.2).

use core::cmp::Ordering;

use hmac::{Hmac, KeyInit, Mac};
use sctp_wire::{Auth, HmacAlgorithm};
use sha1::Sha1;
use sha2::Sha256;

/// Returns the association shared key: the endpoint pair's, then both key vectors, the numerically smaller one
/// first.
pub(super) fn association_key(secret: &[u8], one: &[u8], other: &[u8]) -> Vec<u8> {
    let (first, second) = if numerically(one, other).is_le() { (one, other) } else { (other, one) };
    [secret, first, second].concat()
}

/// Compares octets as numbers; of equal numbers the one with fewer octets is the smaller.
fn numerically(one: &[u8], other: &[u8]) -> Ordering {
    let significant = |octets: &'_ [u8]| octets.iter().position(|octet| *octet != 0).unwrap_or(octets.len());
    let (a, b) = (&one[significant(one)..], &other[significant(other)..]);
    a.len().cmp(&b.len()).then_with(|| a.cmp(b)).then_with(|| one.len().cmp(&other.len()))
}

/// An HMAC with its key in place; a copy of it is fed.
pub(super) enum Keyed {
    Sha1(Hmac<Sha1>),
    Sha256(Hmac<Sha256>),
}

/// Never shows the key.
impl core::fmt::Debug for Keyed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Sha1(_) => "Keyed(SHA-1)",
            Self::Sha256(_) => "Keyed(SHA-256)",
        })
    }
}

impl Keyed {
    /// Creates the HMAC of a key; never `None`, because HMAC takes keys of any length (RFC 2104 §2).
    pub(super) fn new(algorithm: HmacAlgorithm, key: &[u8]) -> Option<Self> {
        match algorithm {
            HmacAlgorithm::Sha1 => Hmac::new_from_slice(key).ok().map(Self::Sha1),
            HmacAlgorithm::Sha256 => Hmac::new_from_slice(key).ok().map(Self::Sha256),
        }
    }

    pub(super) fn algorithm(&self) -> HmacAlgorithm {
        match self {
            Self::Sha1(_) => HmacAlgorithm::Sha1,
            Self::Sha256(_) => HmacAlgorithm::Sha256,
        }
    }

    /// Fills in the HMAC of `octets`.
    pub(super) fn sign(&self, octets: &[u8], hmac: &mut [u8]) {
        match self {
            Self::Sha1(keyed) => copy(hmac, &keyed.clone().chain_update(octets).finalize().into_bytes()),
            Self::Sha256(keyed) => copy(hmac, &keyed.clone().chain_update(octets).finalize().into_bytes()),
        }
    }

    /// Returns whether the HMAC is right, in a time that does not tell where it is wrong.
    pub(super) fn verify(&self, auth: &Auth<'_>) -> bool {
        fn fed<M: Mac>(keyed: M, auth: &Auth<'_>) -> bool {
            let fed = auth.authenticated_octets().fold(keyed, M::chain_update);
            fed.verify_slice(auth.hmac).is_ok()
        }
        match self {
            Self::Sha1(keyed) => fed(keyed.clone(), auth),
            Self::Sha256(keyed) => fed(keyed.clone(), auth),
        }
    }
}

/// Both are as long as the algorithm makes them; another length would be signed by nothing but zeros.
fn copy(hmac: &mut [u8], computed: &[u8]) {
    if hmac.len() == computed.len() {
        hmac.copy_from_slice(computed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_vectors_are_ordered_as_numbers_and_the_shorter_first_when_equal_rfc_4895_6_1() {
        use Ordering::{Equal, Greater, Less};
        let rows: [(&[u8], &[u8], Ordering); 7] = [
            (&[1, 2], &[1, 3], Less),
            (&[2], &[1, 0], Less),
            (&[0, 0, 2], &[1, 0], Less),
            (&[0, 1, 1], &[1, 0], Greater),
            (&[7], &[0, 7], Less),
            (&[0, 0], &[0], Greater),
            (&[5, 6], &[5, 6], Equal),
        ];
        for (one, other, expected) in rows {
            assert_eq!(numerically(one, other), expected, "{one:?} {other:?}");
            assert_eq!(numerically(other, one), expected.reverse());
            assert_eq!(association_key(b"k", one, other), association_key(b"k", other, one));
        }
        assert_eq!(association_key(b"k", &[1, 0], &[2]), [b'k', 2, 1, 0]);
    }
}
