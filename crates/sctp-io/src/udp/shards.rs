//! The choice among several sockets at one port, made by the kernel with a classic BPF program (SO_REUSEPORT).

use std::io;
use std::num::NonZeroU16;

use nix::libc::{sock_filter, sock_fprog};
use nix::sys::socket::{setsockopt, sockopt};
use socket2::Socket;

/// Deals packets among `count` sockets, of which `socket` is the first.
pub(super) fn deal_by_tag(socket: &Socket, count: NonZeroU16) -> io::Result<()> {
    let mut program = program(u32::from(count.get()));
    let len = u16::try_from(program.len()).map_err(io::Error::other)?;
    Ok(setsockopt(socket, sockopt::AttachReusePortCbpf, &sock_fprog { len, filter: program.as_mut_ptr() })?)
}

/// Returns the program, which sees the SCTP packet from the common header on (RFC 9260 §3.1); what it loads
/// beyond the end is zero.
///
/// A packet with our tag goes by it. INIT has no tag; ABORT and SHUTDOWN COMPLETE may carry the peer's own back
/// (T bit): these go by ports and source, as the INIT of the same peer did.
fn program(count: u32) -> Vec<sock_filter> {
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        step(LOAD_WORD, 0, 0, TAG),
        step(JUMP_IF_EQUAL, 8, 0, 0), // no tag: by source
        step(LOAD_OCTET, 0, 0, CHUNK_TYPE),
        step(JUMP_IF_EQUAL, 1, 0, ABORT),
        step(JUMP_IF_EQUAL, 0, 2, SHUTDOWN_COMPLETE),
        step(LOAD_OCTET, 0, 0, CHUNK_FLAGS),
        step(JUMP_IF_SET, 3, 0, T_BIT), // the peer's tag: by source
        step(LOAD_WORD, 0, 0, TAG),
        step(MODULO, 0, 0, count),
        step(RETURN_A, 0, 0, 0),
        // By source: three words, mixed.
        step(LOAD_WORD, 0, 0, BEHIND_IP_ADDRESS),
        step(A_TO_X, 0, 0, 0),
        step(LOAD_WORD, 0, 0, IP_SOURCE),
        step(ADD_X, 0, 0, 0),
        step(A_TO_X, 0, 0, 0),
        step(LOAD_WORD, 0, 0, PORTS),
        step(ADD_X, 0, 0, 0),
        step(MULTIPLY, 0, 0, GOLDEN_RATIO),
        step(SHIFT_RIGHT, 0, 0, 16),
        step(MODULO, 0, 0, count),
        step(RETURN_A, 0, 0, 0),
    ]
}

// Where things are in the packet, in octets.

const PORTS: u32 = 0;
const TAG: u32 = 4;
const CHUNK_TYPE: u32 = 12;
const CHUNK_FLAGS: u32 = 13;
/// The offset of the source address in the IP header (SKF_NET_OFF): IPv4's source address, the middle of
/// IPv6's.
const IP_SOURCE: u32 = NETWORK_HEADER + 12;
/// IPv4: the UDP ports. IPv6: the end of the source address.
const BEHIND_IP_ADDRESS: u32 = NETWORK_HEADER + 20;
/// SKF_NET_OFF, -0x100000 in two's complement.
const NETWORK_HEADER: u32 = 0u32.wrapping_sub(0x10_0000);

/// Chunk types and flag (RFC 9260 §3.2, §3.3.7, §3.3.13).
const ABORT: u32 = 6;
const SHUTDOWN_COMPLETE: u32 = 14;
const T_BIT: u32 = 1;
/// 2³² by the golden ratio: spreads neighbours.
const GOLDEN_RATIO: u32 = 0x9e37_79b1;

// Instructions of classic BPF, by the names of <linux/bpf_common.h>.

/// BPF_LD | BPF_W | BPF_ABS
const LOAD_WORD: u16 = 0x20;
/// BPF_LD | BPF_B | BPF_ABS
const LOAD_OCTET: u16 = 0x30;
/// BPF_JMP | BPF_JEQ | BPF_K
const JUMP_IF_EQUAL: u16 = 0x15;
/// BPF_JMP | BPF_JSET | BPF_K
const JUMP_IF_SET: u16 = 0x45;
/// BPF_ALU | BPF_ADD | BPF_X
const ADD_X: u16 = 0x0c;
/// BPF_ALU | BPF_MUL | BPF_K
const MULTIPLY: u16 = 0x24;
/// BPF_ALU | BPF_RSH | BPF_K
const SHIFT_RIGHT: u16 = 0x74;
/// BPF_ALU | BPF_MOD | BPF_K
const MODULO: u16 = 0x94;
/// BPF_MISC | BPF_TAX
const A_TO_X: u16 = 0x07;
/// BPF_RET | BPF_A
const RETURN_A: u16 = 0x16;
