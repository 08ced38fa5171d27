//! The frames of a flow that sends a video.

use core::time::Duration;

use super::{CallCounts, HandoverCounts};

/// The number of frames that came too late, and how late that is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounts {
    /// How old a frame may be when it is delivered.
    pub deadline: Duration,
    /// The number of frames that were delivered, but older than that; those that do not count included.
    pub late: u64,
    /// The cost of the handover to them; `None` where the client stayed.
    pub handover: Option<HandoverCounts>,
}

/// The counts that only some workloads have.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkloadCounts {
    /// The calls that the flow made, if it makes calls.
    pub calls: Option<CallCounts>,
    /// The fate of the frames that the flow sent, if it sends frames.
    pub frames: Option<FrameCounts>,
}
