//! The rules that hold for every packet of the stack, whatever the script: each packet that is heard is judged by them.

use std::collections::BTreeSet;

use crate::packet::{
    ABORT, COOKIE_ACK, COOKIE_ECHO, Chunk, DATA, ERROR, HEARTBEAT, Heard, INIT, INIT_ACK, SACK,
    SHUTDOWN_COMPLETE,
};

/// A rule of RFC 9260 that a packet keeps or breaks by itself.
pub struct Rule {
    /// The name of the rule, by which the list of requirements refers to it.
    pub name: &'static str,
    /// The sections of RFC 9260 that have the rule.
    pub section: &'static str,
    /// The rule in a few words of our own.
    pub requirement: &'static str,
    broken: fn(&Heard, &Said) -> bool,
}

/// Returns the rule that a packet breaks, if any.
#[must_use]
pub fn broken(heard: &Heard, said: &Said) -> Option<&'static Rule> {
    RULES.iter().find(|rule| (rule.broken)(heard, said))
}

/// The tags that a script has used so far, on which those of the stack depend.
#[derive(Default)]
pub struct Said {
    /// The script's own tags, in INIT and INIT ACK.
    initiate: BTreeSet<u32>,
    /// The tags in front of its packets.
    verification: BTreeSet<u32>,
}

impl Said {
    /// Notes the tags of a packet that the script says.
    pub fn note(&mut self, packet: &Heard) {
        self.verification.insert(packet.tag);
        let opens = packet.chunks.iter().filter(|chunk| matches!(chunk.kind, INIT | INIT_ACK));
        self.initiate.extend(opens.map(|chunk| chunk.u32(0)));
    }
}

/// The rules in the order of the RFC. [`Heard::read`] refuses what breaks the first three.
pub const RULES: &[Rule] = &[
    Rule {
        name: "checksum",
        section: "6.8",
        requirement: "the CRC32c fits, computed with its field as zero",
        broken: |_, _| false,
    },
    Rule {
        name: "whole_chunks",
        section: "3, 3.2, 6.10",
        requirement: "chunks, their lengths in network byte order, fill the packet, each with three octets of padding at most",
        broken: |_, _| false,
    },
    Rule {
        name: "zero_padding",
        section: "3.2, 3.3.1",
        requirement: "the padding of chunks is zero",
        broken: |_, _| false,
    },
    Rule {
        name: "ports",
        section: "3.1",
        requirement: "no port is 0",
        broken: |heard, _| heard.ports.0 == 0 || heard.ports.1 == 0,
    },
    Rule {
        name: "tag_zero",
        section: "3.1, 8.5.1 (A)",
        requirement: "INIT has tag 0, and nothing else has",
        broken: |heard, _| (heard.tag == 0) != has(heard, INIT),
    },
    Rule {
        name: "known_tag",
        section: "3.1, 8.4, 8.5, 8.5.1",
        requirement: "the tag is an initiate tag of the peer, or with a T bit one that came with a packet",
        broken: has_foreign_tag,
    },
    Rule {
        name: "parameters",
        section: "3.2.1",
        requirement: "parameters and causes fill their chunk, with three octets of zero between two at most",
        broken: |heard, _| !heard.chunks.iter().all(has_whole_parameters),
    },
    Rule {
        name: "alone",
        section: "3, 5.1, 6.10",
        requirement: "INIT, INIT ACK and SHUTDOWN COMPLETE are the only chunk of their packet",
        broken: |heard, _| {
            heard.chunks.len() > 1 && [INIT, INIT_ACK, SHUTDOWN_COMPLETE].iter().any(|kind| has(heard, *kind))
        },
    },
    Rule {
        name: "cookie_first",
        section: "3.2.2, 5.1, 5.1.5",
        requirement: "COOKIE ECHO and COOKIE ACK are the first chunk of their packet",
        broken: |heard, _| {
            heard.chunks.iter().skip(1).any(|chunk| matches!(chunk.kind, COOKIE_ECHO | COOKIE_ACK))
        },
    },
    Rule {
        name: "no_data_with_abort",
        section: "3.3.7, 9.1",
        requirement: "no DATA goes with ABORT",
        broken: |heard, _| has(heard, ABORT) && has(heard, DATA),
    },
    Rule {
        name: "abort_last",
        section: "3.3.7",
        requirement: "nothing stands behind ABORT",
        broken: |heard, _| heard.chunks.iter().rev().skip(1).any(|chunk| chunk.kind == ABORT),
    },
    Rule {
        name: "control_first",
        section: "6, 6.10",
        requirement: "control chunks stand before DATA",
        broken: |heard, _| !heard.chunks.is_sorted_by_key(|chunk| chunk.kind == DATA),
    },
    Rule {
        name: "tsns_ascend",
        section: "6.10",
        requirement: "TSNs ascend within a packet",
        broken: |heard, _| {
            let data = heard.chunks.iter().filter(|chunk| chunk.kind == DATA);
            let tsns: Vec<u32> = data.map(|chunk| chunk.u32(0)).collect();
            tsns.windows(2).any(|pair| pair[1].wrapping_sub(pair[0]).cast_signed() <= 0)
        },
    },
    Rule {
        name: "has_user_data",
        section: "3.3.1, 6.2",
        requirement: "DATA has at least one octet of user data",
        broken: |heard, _| heard.chunks.iter().any(|each| each.kind == DATA && each.value.len() <= 12),
    },
    Rule {
        name: "one_sack",
        section: "6.2",
        requirement: "there is one SACK at most",
        broken: |heard, _| heard.chunks.iter().filter(|chunk| chunk.kind == SACK).count() > 1,
    },
    Rule {
        name: "may_be_fragmented",
        section: "6.9",
        requirement: "IP may fragment a packet, while the path MTU is not searched for",
        broken: |heard, _| !heard.may_be_fragmented,
    },
    Rule {
        name: "data_fits_mtu",
        section: "6, 6.9, 6.10",
        requirement: "a packet with DATA fits the path MTU",
        broken: |heard, _| has(heard, DATA) && heard.octets.len() > MTU,
    },
    Rule {
        name: "sack_fits_mtu",
        section: "6.2",
        requirement: "a packet with SACK fits the path MTU",
        broken: |heard, _| has(heard, SACK) && heard.octets.len() > MTU,
    },
];

fn has(heard: &Heard, kind: u8) -> bool {
    heard.chunk(kind).is_some()
}

fn has_foreign_tag(heard: &Heard, said: &Said) -> bool {
    let reflects = |chunk: &Chunk| matches!(chunk.kind, ABORT | SHUTDOWN_COMPLETE) && chunk.flags & 1 == 1;
    let known = if heard.chunks.iter().any(reflects) { &said.verification } else { &said.initiate };
    !has(heard, INIT) && !known.contains(&heard.tag)
}

/// Returns whether the parameters of a chunk, if it is of a type that has them, end where the chunk ends.
fn has_whole_parameters(chunk: &Chunk) -> bool {
    let fixed_octets = match chunk.kind {
        INIT | INIT_ACK => 16,
        ERROR | ABORT | HEARTBEAT => 0,
        _ => return true,
    };
    let mut rest = chunk.value.get(fixed_octets..).unwrap_or_default();
    while let Some(([_, _, l0, l1], _)) = rest.split_first_chunk() {
        let len = usize::from(u16::from_be_bytes([*l0, *l1]));
        if len < 4 || len > rest.len() {
            return false;
        }
        // What pads the last one is the padding of the chunk.
        let (padding, behind) =
            rest.get(len..).unwrap_or_default().split_at(len.next_multiple_of(4).min(rest.len()) - len);
        if padding.iter().any(|octet| *octet != 0) {
            return false;
        }
        rest = behind;
    }
    rest.is_empty()
}

/// The octets of an SCTP packet over IPv4 at most: the stack begins with a path MTU of 1400.
pub const MTU: usize = 1380;

#[cfg(test)]
mod tests;
