//! Conversions between sequence numbers of 32 bits and offsets that never wrap.

/// Returns the sequence number of an offset.
pub(super) fn sequence_of(offset: u64, initial: u32) -> u32 {
    initial.wrapping_add(u32::try_from(offset & u64::from(u32::MAX)).unwrap_or(0))
}

/// Returns the offset of a sequence number, the one next to `near`; `None` if that lies before the beginning.
pub(super) fn offset_of(sequence: u32, initial: u32, near: u64) -> Option<u64> {
    let distance = sequence.wrapping_sub(sequence_of(near, initial)).cast_signed();
    near.checked_add_signed(i64::from(distance))
}

/// Returns the window scale with which this many octets fit the window field (RFC 7323 §2).
pub(super) fn shift_for(receive_bytes: usize) -> u8 {
    (0..14).find(|shift| receive_bytes >> shift <= usize::from(u16::MAX)).unwrap_or(14)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_survive_the_wrap_of_sequence_numbers() {
        let initial = u32::MAX - 10;
        for offset in [0, 5, 10, 11, 1 << 31, (1 << 32) + 3, 1 << 40] {
            let sequence = sequence_of(offset, initial);
            for near in [offset.saturating_sub(1000), offset, offset + 1000] {
                assert_eq!(offset_of(sequence, initial, near), Some(offset));
            }
        }
        assert_eq!(offset_of(initial.wrapping_sub(1), initial, 0), None);
    }

    #[test]
    fn windows_are_scaled_no_more_than_needed() {
        assert_eq!([1000, 65_535, 65_536, 1 << 20, usize::MAX].map(shift_for), [0, 0, 1, 5, 14]);
    }
}
