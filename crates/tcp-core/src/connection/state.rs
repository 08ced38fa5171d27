//! The states of a connection (RFC 9293 §3.3.2) without those in which there is none.

/// The state of a connection (RFC 9293 §3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// SYN was sent, and not answered yet.
    SynSent,
    /// SYN received and answered.
    SynReceived,
    /// The connection is open: data flows.
    Established,
    /// Closed here, FIN not acknowledged.
    FinWait1,
    /// Closed here, waiting for the peer's FIN.
    FinWait2,
    /// The peer has closed its side.
    CloseWait,
    /// The connection was closed by both sides at once.
    Closing,
    /// Closed by the peer and then here.
    LastAck,
    /// The connection is over; late segments are still answered.
    TimeWait,
    /// The connection is over, and nothing is left of it.
    Closed,
}

impl State {
    /// Returns the state after the peer acknowledged our SYN.
    pub(crate) fn on_syn_acknowledged(self) -> Self {
        match self {
            Self::SynSent | Self::SynReceived => Self::Established,
            Self::Established
            | Self::FinWait1
            | Self::FinWait2
            | Self::CloseWait
            | Self::Closing
            | Self::LastAck
            | Self::TimeWait
            | Self::Closed => self,
        }
    }

    /// Returns the state after our side said that it has nothing more to send.
    pub(crate) fn on_finish(self) -> Self {
        match self {
            Self::Established => Self::FinWait1,
            Self::CloseWait => Self::LastAck,
            Self::SynSent
            | Self::SynReceived
            | Self::FinWait1
            | Self::FinWait2
            | Self::Closing
            | Self::LastAck
            | Self::TimeWait
            | Self::Closed => self,
        }
    }

    /// Returns the state after the peer's FIN arrived, and everything before it.
    pub(crate) fn on_fin(self) -> Self {
        match self {
            Self::Established => Self::CloseWait,
            Self::FinWait1 => Self::Closing,
            Self::FinWait2 => Self::TimeWait,
            Self::SynSent
            | Self::SynReceived
            | Self::CloseWait
            | Self::Closing
            | Self::LastAck
            | Self::TimeWait
            | Self::Closed => self,
        }
    }

    /// Returns the state after our FIN was acknowledged.
    pub(crate) fn on_fin_acknowledged(self) -> Self {
        match self {
            Self::FinWait1 => Self::FinWait2,
            Self::Closing => Self::TimeWait,
            Self::LastAck => Self::Closed,
            Self::SynSent
            | Self::SynReceived
            | Self::Established
            | Self::FinWait2
            | Self::CloseWait
            | Self::TimeWait
            | Self::Closed => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::State::{self, *};

    /// RFC 9293 figure 5.
    #[test]
    fn both_orders_of_closing_end() {
        assert_eq!(Established.on_finish().on_fin_acknowledged().on_fin(), TimeWait);
        assert_eq!(Established.on_finish().on_fin().on_fin_acknowledged(), TimeWait);
        assert_eq!(Established.on_fin().on_finish().on_fin_acknowledged(), Closed);
        assert_eq!([SynSent, SynReceived].map(State::on_syn_acknowledged), [Established; 2]);
        assert_eq!(TimeWait.on_fin().on_finish().on_fin_acknowledged().on_syn_acknowledged(), TimeWait);
    }
}
