//! Limits on what a peer may make this side read, hold and do. All of them are enforced unless somebody raises them.

/// Limits on messages. A message beyond them is refused before it is looked at any further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageLimits {
    /// Octets of a message; default 65,535, which is as much as a datagram carries.
    pub message_bytes: usize,
    /// Octets before the body; default 16,384.
    pub head_bytes: usize,
    /// Header fields, a line with several values counted once; default 200.
    pub header_lines: usize,
    /// Octets of the body; default 32,768. Raise it for those who send more than session descriptions.
    pub body_bytes: usize,
    /// Values of one list header field, such as Via; default 70, as many as Max-Forwards starts with (RFC 3261 §8.1.1.6).
    pub list_values: usize,
}

impl Default for MessageLimits {
    fn default() -> Self {
        Self {
            message_bytes: 65_535,
            head_bytes: 16_384,
            header_lines: 200,
            body_bytes: 32_768,
            list_values: 70,
        }
    }
}
