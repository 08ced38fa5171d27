//! Numbers of packets, counted from 1.

/// The mistake in the number of a packet.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PacketNumberError {
    #[error("packet numbers are whole numbers from 1 on, separated by commas, such as 3,17")]
    NoNumber,
    #[error("there is no packet 0: packets are numbered from 1")]
    Zero,
}

/// Parses one number of a list.
pub(crate) fn parse_packet_number(text: &str) -> Result<u64, PacketNumberError> {
    match text.trim().parse() {
        Ok(0) => Err(PacketNumberError::Zero),
        Ok(number) => Ok(number),
        Err(_) => Err(PacketNumberError::NoNumber),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_counted_from_one() {
        assert_eq!(parse_packet_number("17"), Ok(17));
        assert_eq!(parse_packet_number("0"), Err(PacketNumberError::Zero));
        for text in ["", "-1", "1.5", "one"] {
            assert_eq!(parse_packet_number(text), Err(PacketNumberError::NoNumber), "{text}");
        }
    }
}
