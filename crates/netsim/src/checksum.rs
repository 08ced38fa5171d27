//! The Internet checksum (RFC 1071).

/// Adds `octets` as 16-bit words, an odd last one as the high half; a 64-bit total cannot overflow here.
pub(crate) fn sum(total: u64, octets: &[u8]) -> u64 {
    let (words, rest) = octets.as_chunks::<2>();
    let words: u64 = words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum();
    let rest: u64 = rest.iter().map(|octet| u64::from(*octet) << 8).sum();
    total + words + rest
}

/// Returns the ones' complement of the ones' complement sum (RFC 1071 §1).
pub(crate) fn finish(mut total: u64) -> u16 {
    while total > 0xFFFF {
        total = (total & 0xFFFF) + (total >> 16);
    }
    !u16::try_from(total).unwrap_or(u16::MAX)
}
