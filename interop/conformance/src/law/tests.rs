//! Packets that break one rule each.

use super::*;
use crate::packet::{REFLECTED, data, heartbeat, init, packet, sack};

const PORTS: (u16, u16) = (1, 2);

/// Returns the name of the rule that a packet breaks, for a script that has said INIT with tag 5 and DATA to tag 9.
fn rule(ports: (u16, u16), tag: u32, chunks: &[Chunk]) -> Option<&'static str> {
    let mut said = Said::default();
    let opening = [init(INIT, 5, 1500, (1, 1), 1, &[])];
    for (tag, chunks) in [(0, &opening[..]), (9, &[data(1, 0, 0, b"x")])] {
        if let Ok(packet) = Heard::read(0, &packet(PORTS, tag, chunks)) {
            said.note(&packet);
        }
    }
    let heard = Heard::read(0, &packet(ports, tag, chunks)).ok()?;
    broken(&heard, &said).map(|rule| rule.name)
}

#[test]
fn sound_packets_break_no_rule() {
    let (first, second) = (data(1, 0, 0, b"x"), data(2, 0, 1, b"x"));
    assert_eq!(rule(PORTS, 5, &[sack(1, 1, &[]), first, second]), None);
    assert_eq!(rule(PORTS, 0, &[init(INIT, 1, 1500, (1, 1), 1, &[])]), None);
    assert_eq!(rule(PORTS, 9, &[Chunk::new(ABORT, []).flagged(REFLECTED)]), None);
}

#[test]
fn each_rule_is_noticed() {
    let (open, end) = (init(INIT, 1, 1500, (1, 1), 1, &[]), Chunk::new(ABORT, []));
    let (first, second) = (data(1, 0, 0, b"x"), data(2, 0, 1, b"x"));
    for (tag, chunks, wanted) in [
        (5, vec![open.clone()], "tag_zero"),
        (0, vec![first.clone()], "tag_zero"),
        (9, vec![first.clone()], "known_tag"),
        (5, vec![end.clone().flagged(REFLECTED)], "known_tag"),
        (5, vec![Chunk::new(ERROR, [0, 1, 0, 5, 7, 1, 0, 0, 0, 1, 0, 4])], "parameters"),
        (5, vec![Chunk::new(ERROR, [0, 1, 0, 5])], "parameters"),
        (0, vec![open, heartbeat(b"xxxx")], "alone"),
        (5, vec![heartbeat(b"xxxx"), Chunk::new(COOKIE_ACK, [])], "cookie_first"),
        (5, vec![end.clone(), first.clone()], "no_data_with_abort"),
        (5, vec![end, heartbeat(b"xxxx")], "abort_last"),
        (5, vec![first.clone(), heartbeat(b"xxxx")], "control_first"),
        (5, vec![second, first], "tsns_ascend"),
        (5, vec![data(1, 0, 0, b"")], "has_user_data"),
        (5, vec![sack(1, 1, &[]), sack(1, 1, &[])], "one_sack"),
        (5, vec![data(1, 0, 0, &[0; 1500])], "data_fits_mtu"),
        (5, vec![sack(1, 1, &[(1, 1); 400])], "sack_fits_mtu"),
    ] {
        assert_eq!(rule(PORTS, tag, &chunks), Some(wanted), "{chunks:?}");
    }
    assert_eq!(rule((0, 2), 5, &[data(1, 0, 0, b"x")]), Some("ports"));
}

#[test]
fn packet_that_ip_may_not_fragment_is_noticed() -> Result<(), String> {
    let mut said = Said::default();
    said.note(&Heard::read(0, &packet(PORTS, 0, &[init(INIT, 5, 1500, (1, 1), 1, &[])]))?);
    let heard = Heard::read(0, &packet(PORTS, 5, &[data(1, 0, 0, b"x")]))?;
    assert!(broken(&heard, &said).is_none());
    let heard = Heard { may_be_fragmented: false, ..heard };
    assert_eq!(broken(&heard, &said).map(|rule| rule.name), Some("may_be_fragmented"));
    Ok(())
}

#[test]
fn what_breaks_the_first_three_rules_is_not_read() {
    let sound = packet(PORTS, 5, &[data(1, 0, 0, b"x")]);
    let changed = |at: usize, octet: u8| {
        let mut octets = sound.clone();
        octets[at] = octet;
        octets
    };
    assert!(Heard::read(0, &sound).is_ok());
    assert!(Heard::read(0, &changed(8, sound[8] ^ 1)).is_err());
    assert!(Heard::read(0, &crate::packet::sealed(changed(15, 99))).is_err());
    assert!(Heard::read(0, &crate::packet::sealed(changed(31, 1))).is_err());
}
