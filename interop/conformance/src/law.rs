//! What holds for every packet of the stack, whatever the script: each one that is heard is checked.

use crate::packet::{
    ABORT, COOKIE_ACK, COOKIE_ECHO, DATA, Heard, INIT, INIT_ACK, SACK, SHUTDOWN_COMPLETE, name,
};

/// Returns the rule of RFC 9260 that a packet breaks, if any.
#[must_use]
pub fn broken(heard: &Heard) -> Option<String> {
    let kinds: Vec<u8> = heard.chunks.iter().map(|chunk| chunk.kind).collect();
    let has = |kind| kinds.contains(&kind);
    let alone = [INIT, INIT_ACK, SHUTDOWN_COMPLETE].into_iter().find(|kind| has(*kind) && kinds.len() > 1);
    let late =
        [COOKIE_ECHO, COOKIE_ACK].into_iter().find(|kind| kinds.iter().skip(1).any(|each| each == kind));
    let tsns: Vec<u32> =
        heard.chunks.iter().filter(|chunk| chunk.kind == DATA).map(|data| data.u32(0)).collect();
    let ascend = tsns.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]).cast_signed() > 0);
    let is_empty =
        |kind, header| heard.chunks.iter().any(|each| each.kind == kind && each.value.len() <= header);
    let checks = [
        (heard.ports.0 == 0 || heard.ports.1 == 0, "a port is 0 (§3.1)".to_owned()),
        ((heard.tag == 0) != has(INIT), "tag 0 is for INIT, and for INIT alone (§8.5.1 (A))".to_owned()),
        (alone.is_some(), format!("{} is not alone (§6.10)", alone.map_or("", name))),
        (late.is_some(), format!("{} is not first (§5.1)", late.map_or("", name))),
        (has(ABORT) && has(DATA), "DATA goes with ABORT (§3.3.7)".to_owned()),
        (kinds.iter().rev().skip(1).any(|kind| *kind == ABORT), "a chunk follows ABORT (§3.3.7)".to_owned()),
        (!kinds.is_sorted_by_key(|kind| *kind == DATA), "a control chunk follows DATA (§6.10)".to_owned()),
        (!ascend, "TSNs do not ascend (§6.10)".to_owned()),
        (is_empty(DATA, 12), "DATA has no user data (§6.2)".to_owned()),
        (kinds.iter().filter(|kind| **kind == SACK).count() > 1, "there are two SACKs (§6.2)".to_owned()),
        (has(DATA) && heard.octets.len() > MTU, "the packet exceeds the path MTU (§6.10)".to_owned()),
        (has(SACK) && heard.octets.len() > MTU, "the packet exceeds the path MTU (§6.2)".to_owned()),
    ];
    checks.into_iter().find(|(is_broken, _)| *is_broken).map(|(_, rule)| rule)
}

/// Octets of an SCTP packet over IPv4 at most: the stack begins with a path MTU of 1400.
pub const MTU: usize = 1380;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Chunk, data, heartbeat, init, packet, sack};

    fn rule(tag: u32, chunks: &[Chunk]) -> Option<String> {
        Heard::read(0, &packet((1, 2), tag, chunks)).ok().and_then(|heard| broken(&heard))
    }

    #[test]
    fn each_rule_is_noticed() {
        let (open, end) = (init(INIT, 1, 1500, (1, 1), 1, &[]), Chunk::new(ABORT, []));
        let (first, second) = (data(1, 0, 0, b"x"), data(2, 0, 1, b"x"));
        assert_eq!(rule(5, &[sack(1, 1, &[]), first.clone(), second.clone()]), None);
        assert_eq!(rule(0, std::slice::from_ref(&open)), None);
        for (tag, chunks) in [
            (5, vec![open.clone()]),
            (0, vec![first.clone()]),
            (0, vec![open, heartbeat(b"x")]),
            (5, vec![heartbeat(b"x"), Chunk::new(COOKIE_ACK, [])]),
            (5, vec![end.clone(), first.clone()]),
            (5, vec![end, heartbeat(b"x")]),
            (5, vec![first.clone(), heartbeat(b"x")]),
            (5, vec![second, first]),
            (5, vec![data(1, 0, 0, b"")]),
            (5, vec![sack(1, 1, &[]), sack(1, 1, &[])]),
            (5, vec![data(1, 0, 0, &[0; 1500])]),
        ] {
            assert!(rule(tag, &chunks).is_some(), "{chunks:?}");
        }
    }
}
