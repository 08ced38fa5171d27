//! The calls of a flow that makes calls.

/// The number of calls, and how many of them order has touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// The number of calls that came up.
    pub up: u64,
    /// The number of calls of which a message to the caller waited for another one that was lost; `None` over transports that do
    /// not tell, and before the first message.
    pub touched: Option<u64>,
}
