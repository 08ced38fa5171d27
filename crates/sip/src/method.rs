//! Methods of requests, by which they say what they ask for.

use core::fmt;

use crate::text;

/// The method of a request. Methods are compared with regard to case (RFC 3261 §7.1).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Method {
    /// INVITE, which begins a session or changes one (RFC 3261).
    Invite,
    /// ACK, which confirms the final response to an INVITE (RFC 3261).
    Ack,
    /// BYE, which ends a session (RFC 3261).
    Bye,
    /// CANCEL, which takes back a request that is not answered yet (RFC 3261).
    Cancel,
    /// OPTIONS, which asks what the other side can do (RFC 3261).
    Options,
    /// REGISTER, which tells a registrar where a user is reached (RFC 3261).
    Register,
    /// PRACK, which confirms a provisional response (RFC 3262).
    Prack,
    /// UPDATE, which changes a session without a new INVITE (RFC 3311).
    Update,
    /// INFO, which carries data of an application within a dialog (RFC 6086).
    Info,
    /// MESSAGE, which carries an instant message (RFC 3428).
    Message,
    /// REFER, which asks the other side to contact a third one (RFC 3515).
    Refer,
    /// SUBSCRIBE, which asks to be told of events (RFC 6665).
    Subscribe,
    /// NOTIFY, which tells a subscriber of an event (RFC 6665).
    Notify,
    /// PUBLISH, which hands in the state that others are told of (RFC 3903).
    Publish,
    /// A method that is none of these.
    Other(Box<str>),
}

impl Method {
    /// Reads a method; `None` if it is no token.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if !text::is_token(text) {
            return None;
        }
        let known = KNOWN.iter().find(|(_, name)| *name == text).map(|(method, _)| method.clone());
        Some(known.unwrap_or_else(|| Self::Other(text.into())))
    }

    /// Returns the method as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        if let Self::Other(name) = self {
            return name;
        }
        KNOWN.iter().find(|(method, _)| method == self).map_or("", |(_, name)| name)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

const KNOWN: [(Method, &str); 14] = [
    (Method::Invite, "INVITE"),
    (Method::Ack, "ACK"),
    (Method::Bye, "BYE"),
    (Method::Cancel, "CANCEL"),
    (Method::Options, "OPTIONS"),
    (Method::Register, "REGISTER"),
    (Method::Prack, "PRACK"),
    (Method::Update, "UPDATE"),
    (Method::Info, "INFO"),
    (Method::Message, "MESSAGE"),
    (Method::Refer, "REFER"),
    (Method::Subscribe, "SUBSCRIBE"),
    (Method::Notify, "NOTIFY"),
    (Method::Publish, "PUBLISH"),
];
