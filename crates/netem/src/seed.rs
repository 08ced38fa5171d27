//! Seeds for independent random streams, derived from the seed of a run.
//!
//! Every stream is named, never counted off, so that adding a host or a link changes no other's numbers.

/// Returns the seed of the stream named `label` in the run with seed `run_seed`.
///
/// Stable across versions: recorded results can be repeated. The label is hashed by FNV-1a (64 bit), mixed with
/// the run's seed by the `SplitMix64` finaliser (Steele, Lea, Flood: *Fast Splittable Pseudorandom Number
/// Generators*, OOPSLA 2014).
#[must_use]
pub fn derive_seed(run_seed: u64, label: &str) -> u64 {
    let name =
        label.bytes().fold(FNV_OFFSET, |hash, octet| (hash ^ u64::from(octet)).wrapping_mul(FNV_PRIME));
    mix(mix(run_seed.wrapping_add(GOLDEN_GAMMA)) ^ name)
}

/// Returns the seed of the `index`-th of the streams that share the name `label`, such as link 3 of a run.
#[must_use]
pub fn derive_indexed_seed(run_seed: u64, label: &str, index: u64) -> u64 {
    mix(derive_seed(run_seed, label).wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA)))
}

/// Mixes a number so that every input bit reaches every output bit: the finaliser of `SplitMix64`.
pub(crate) const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;
const FNV_OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01B3;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_label_index_and_run_has_a_seed_of_its_own() {
        let mut seeds = BTreeSet::new();
        for run in 0..50 {
            for label in ["request", "response", "host", ""] {
                assert!(seeds.insert(derive_seed(run, label)));
                assert!((0..50).all(|index| seeds.insert(derive_indexed_seed(run, label, index))));
            }
        }
    }

    #[test]
    fn derived_seeds_stay_what_they_were_when_results_were_recorded() {
        assert_eq!(derive_seed(1, "request"), RECORDED);
    }

    const RECORDED: u64 = 15_807_773_262_381_654_199;
}
