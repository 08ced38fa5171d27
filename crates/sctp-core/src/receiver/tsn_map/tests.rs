use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn arrive(map: &mut TsnMap, tsn: u32) -> bool {
    match map.place(Tsn::new(tsn)) {
        TsnPlace::New(position) => {
            map.insert(position);
            true
        }
        TsnPlace::Duplicate | TsnPlace::OutOfReach => false,
    }
}

fn blocks(map: &TsnMap) -> Vec<(u16, u16)> {
    map.gap_ack_blocks().map(|block| (block.start, block.end)).collect()
}

/// Gap ack blocks of offsets above the cumulative TSN, the slow way.
fn naive_blocks(offsets: &BTreeSet<u16>) -> Vec<(u16, u16)> {
    let starts = offsets.iter().filter(|offset| !offsets.contains(&(**offset - 1)));
    starts
        .map(|start| (*start, (*start..).take_while(|offset| offsets.contains(offset)).last().unwrap()))
        .collect()
}

#[test]
fn filling_the_gap_moves_the_cumulative_tsn_over_what_waited() {
    let mut map = TsnMap::new(Tsn::new(10));
    for tsn in [11, 12, 15, 10] {
        assert!(arrive(&mut map, tsn));
    }
    assert_eq!(map.cumulative_tsn(), Tsn::new(12));
    assert_eq!(blocks(&map), [(3, 3)]);
}

#[test]
fn old_and_repeated_tsns_are_duplicates() {
    let mut map = TsnMap::new(Tsn::new(0));
    assert!(arrive(&mut map, 0) && arrive(&mut map, 2));
    for tsn in [0, 2, u32::MAX, u32::MAX - 1_000_000] {
        assert_eq!(map.place(Tsn::new(tsn)), TsnPlace::Duplicate, "{tsn}");
    }
}

#[test]
fn tsns_beyond_the_horizon_are_out_of_reach_until_the_cumulative_tsn_moves() {
    let mut map = TsnMap::new(Tsn::new(1));
    assert!(arrive(&mut map, TSN_HORIZON));
    assert_eq!(map.place(Tsn::new(TSN_HORIZON + 1)), TsnPlace::OutOfReach);
    assert!(arrive(&mut map, 1));
    assert!(arrive(&mut map, TSN_HORIZON + 1));
}

#[test]
fn one_range_too_many_is_out_of_reach_but_ranges_still_grow_and_close() {
    let mut map = TsnMap::new(Tsn::new(1));
    let ranges = u32::try_from(RANGE_LIMIT).unwrap();
    assert!((1..=ranges).all(|range| arrive(&mut map, range * 3)));
    assert_eq!(map.place(Tsn::new(3 * ranges + 3)), TsnPlace::OutOfReach);
    assert!(arrive(&mut map, 3 * ranges + 1));
    assert!(arrive(&mut map, 4) && arrive(&mut map, 5));
    assert_eq!(map.ranges.len(), RANGE_LIMIT - 1);
    assert!(arrive(&mut map, 3 * ranges + 3));
    assert!(arrive(&mut map, 1));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_arrival_agrees_with_a_set(
        initial in prop_oneof![any::<u32>(), (u32::MAX - 60)..=u32::MAX],
        arrivals in prop::collection::vec(0_u16..60, 0..120),
    ) {
        let mut map = TsnMap::new(Tsn::new(initial));
        let mut seen = BTreeSet::new();
        for offset in arrivals {
            let is_new = arrive(&mut map, initial.wrapping_add(u32::from(offset)));
            prop_assert_eq!(is_new, seen.insert(offset));
            let in_order = (0..).take_while(|offset| seen.contains(offset)).count();
            let cumulative = initial.wrapping_sub(1).wrapping_add(u32::try_from(in_order).unwrap());
            prop_assert_eq!(map.cumulative_tsn(), Tsn::new(cumulative));
            // Offsets from the cumulative TSN; the head itself is missing, so none is below 2.
            let above = seen.iter().map(|offset| usize::from(*offset) + 1).filter(|offset| *offset > in_order);
            let above = above.map(|offset| u16::try_from(offset - in_order).unwrap()).collect();
            prop_assert_eq!(blocks(&map), naive_blocks(&above));
            prop_assert_eq!(map.has_gap(), !above.is_empty());
        }
    }
}
