//! The events of an association that concern those who send and receive in the simulator.

use sctp_core::Event;

/// An event, for a client or a server of the simulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The association is up.
    Up,
    /// There are messages to take.
    Readable,
    /// There is room to send again.
    Writable,
    /// Nothing more will be carried, and why.
    Ended(String),
    /// Nothing that they act upon.
    Nothing,
}

impl From<Event> for News {
    fn from(event: Event) -> Self {
        match event {
            Event::CommunicationUp { .. } => Self::Up,
            Event::MessageReady => Self::Readable,
            Event::SendBufferAvailable => Self::Writable,
            Event::CommunicationLost(error) | Event::CannotStart(error) => Self::Ended(error.to_string()),
            Event::ShutdownReceived | Event::ShutdownComplete => {
                Self::Ended("the server shut the association down".to_owned())
            }
            Event::Restart { .. }
            | Event::StreamsReset { .. }
            | Event::AssociationReset { .. }
            | Event::StreamsAdded { .. }
            | Event::PeerAddressChange { .. }
            | Event::RemoteError(_)
            | Event::SendFailed { .. }
            | Event::NewPeerKey(_)
            | Event::PartialDeliveryAborted { .. }
            | Event::AddressChangeAnswered { .. }
            | Event::PeerPrimary(_)
            | Event::TrainReceived { .. }
            | Event::SenderDry
            | _ => Self::Nothing,
        }
    }
}
