//! The fixed ruleset, and the sets it looks into.
//!
//! ```text
//!  forward ─► in_4 ─► in_4_block ─► drop        every box a chain, for IPv4 and IPv6 alike;
//!     │        ├────► in_4_in ────► accept      a rule for each shape in block, in and out:
//!     │        ├────► in_4_out ───► accept        load the fields, mask them, look them up
//!     │        └────► drop          (TCP, not first)
//!     └─────► out_4 ─► …         ICMP errors: error_in_4 ─► begun_inside_4_…, begun_outside_4_…
//! ```
//!
//! Every expression is one that nft can list and load again.

mod chains;
mod expression;
mod passage;
mod shape;
mod translation;

pub(crate) use chains::{
    INTERFACES, Lookup, Meaning, registries, registry, write_base, write_lookup_set, write_lookups,
    write_removal, write_rules,
};
pub(crate) use shape::{Key, Shape, matches};
pub(crate) use translation::{TranslationMap, mappings};
