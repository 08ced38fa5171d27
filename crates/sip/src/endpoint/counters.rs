//! Every message that is not simply handed on counts somewhere.

/// The counters of an endpoint since its creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Requests that came, repetitions not counted.
    pub requests: u64,
    /// Responses that came and fitted a transaction.
    pub responses: u64,
    /// Messages sent, repetitions included.
    pub sent: u64,
    /// Messages sent once more by a timer, or because the peer repeated its own.
    pub repeated: u64,
    /// Repetitions of the peer that were absorbed or answered as before.
    pub repetitions: u64,
    /// Line ends that keep a connection or binding alive.
    pub keep_alives: u64,
    /// Octets that are no message.
    pub unreadable: u64,
    /// Requests without a transaction of their own: malformed, looped, beyond a limit. Answered where that is possible.
    pub refused: u64,
    /// Requests that were refused with 503 because there were too many transactions; `refused` counts them, too.
    pub overloaded: u64,
    /// Requests so malformed that there is nobody to answer.
    pub unanswerable: u64,
    /// Responses that fit no transaction, or are malformed.
    pub stray_responses: u64,
    /// ACKs that fit neither a transaction nor a 2xx that was sent.
    pub stray_acks: u64,
    /// Final responses to INVITE that nobody has acknowledged.
    pub unacknowledged: u64,
    /// Requests that went over TCP for their length, and over UDP after all for TCP did not get through.
    pub fallen_back: u64,
    /// Successes of more forks than are followed.
    pub surplus_forks: u64,
}
