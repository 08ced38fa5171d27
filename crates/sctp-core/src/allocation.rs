//! The memory that a piece takes, which is more than what is asked for.
//!
//! Limits on memory count that, or a peer could hold several times what is configured with messages of a few octets.

/// Returns the octets that an allocator takes for a piece of so many: as glibc's does, 8 more, in steps of 16, at least 32.
pub(crate) const fn allocated_bytes(asked: usize) -> usize {
    if asked == 0 {
        return 0;
    }
    let rounded = (asked + 8).next_multiple_of(16);
    if rounded < 32 { 32 } else { rounded }
}

/// Returns the octets that a payload in a piece of its own takes beside its own.
pub(crate) const fn beside_bytes(payload: usize) -> usize {
    allocated_bytes(payload) - payload
}

/// Octets that a short payload takes beside its own, about, where nobody adds them up.
pub(crate) const BESIDE_PAYLOAD_BYTES: usize = 27;

#[cfg(test)]
mod tests {
    use super::allocated_bytes;

    #[test]
    fn a_piece_takes_its_header_too_in_steps_of_sixteen() {
        let pieces = [0, 1, 24, 25, 40, 41, 1000];
        assert_eq!(pieces.map(allocated_bytes), [0, 32, 32, 48, 48, 64, 1008]);
    }
}
