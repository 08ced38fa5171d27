//! The registered numbers of SCTP with their names: chunk types, parameter types, error causes, payload
//! protocol identifiers, and those of the extensions. Extensions are named before the stack speaks them, so that
//! traces read well.

use core::fmt;

macro_rules! codepoints {
    (
        $(#[$doc:meta])* $name:ident($int:ty)
        { $($constant:ident = $value:literal, $label:literal, $source:literal;)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name($int);

        impl $name {
            $(
                #[doc = concat!($label, " (", $source, ").")]
                pub const $constant: Self = Self($value);
            )*

            /// Creates the code point `value`, registered or not.
            #[must_use]
            pub const fn new(value: $int) -> Self {
                Self(value)
            }

            /// Returns the plain number.
            #[must_use]
            pub const fn get(self) -> $int {
                self.0
            }

            /// Returns the registered name, if it has one here.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($label),)*
                    _ => None,
                }
            }

            /// Returns the document that defines the code point, if it has a name here.
            #[must_use]
            pub const fn source(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($source),)*
                    _ => None,
                }
            }
        }
    };
}

codepoints! {
    /// The type of a chunk (RFC 9260 §3.2).
    ChunkType(u8) {
        DATA = 0, "DATA", "RFC 9260 §3.3.1";
        INIT = 1, "INIT", "RFC 9260 §3.3.2";
        INIT_ACK = 2, "INIT ACK", "RFC 9260 §3.3.3";
        SACK = 3, "SACK", "RFC 9260 §3.3.4";
        HEARTBEAT = 4, "HEARTBEAT", "RFC 9260 §3.3.5";
        HEARTBEAT_ACK = 5, "HEARTBEAT ACK", "RFC 9260 §3.3.6";
        ABORT = 6, "ABORT", "RFC 9260 §3.3.7";
        SHUTDOWN = 7, "SHUTDOWN", "RFC 9260 §3.3.8";
        SHUTDOWN_ACK = 8, "SHUTDOWN ACK", "RFC 9260 §3.3.9";
        ERROR = 9, "ERROR", "RFC 9260 §3.3.10";
        COOKIE_ECHO = 10, "COOKIE ECHO", "RFC 9260 §3.3.11";
        COOKIE_ACK = 11, "COOKIE ACK", "RFC 9260 §3.3.12";
        ECNE = 12, "ECNE", "RFC 9260 §3.2, reserved";
        CWR = 13, "CWR", "RFC 9260 §3.2, reserved";
        SHUTDOWN_COMPLETE = 14, "SHUTDOWN COMPLETE", "RFC 9260 §3.3.13";
        AUTH = 15, "AUTH", "RFC 4895 §5.1";
        I_DATA = 64, "I-DATA", "RFC 8260 §2.1";
        ASCONF_ACK = 128, "ASCONF-ACK", "RFC 5061 §4.1.2";
        RE_CONFIG = 130, "RE-CONFIG", "RFC 6525 §3.1";
        PAD = 132, "PAD", "RFC 4820 §3";
        FORWARD_TSN = 192, "FORWARD TSN", "RFC 3758 §3.2";
        ASCONF = 193, "ASCONF", "RFC 5061 §4.1.1";
        I_FORWARD_TSN = 194, "I-FORWARD-TSN", "RFC 8260 §2.3.1";
    }
}

codepoints! {
    /// The type of a parameter; unique across all chunks (RFC 9260 §3.2.1).
    ParameterType(u16) {
        HEARTBEAT_INFO = 1, "Heartbeat Info", "RFC 9260 §3.3.5";
        IPV4_ADDRESS = 5, "IPv4", "RFC 9260 §3.3.2.1.1";
        IPV6_ADDRESS = 6, "IPv6", "RFC 9260 §3.3.2.1.2";
        STATE_COOKIE = 7, "State Cookie", "RFC 9260 §3.3.3.1.1";
        UNRECOGNIZED_PARAMETER = 8, "Unrecognized Parameter", "RFC 9260 §3.3.3.1.2";
        COOKIE_PRESERVATIVE = 9, "Cookie Preservative", "RFC 9260 §3.3.2.1.3";
        HOST_NAME_ADDRESS = 11, "Host Name", "RFC 9260 §3.3.2.1.4, deprecated";
        SUPPORTED_ADDRESS_TYPES = 12, "Supported Address Types", "RFC 9260 §3.3.2.1.5";
        OUTGOING_SSN_RESET_REQUEST = 13, "Outgoing SSN Reset Request", "RFC 6525 §4.1";
        INCOMING_SSN_RESET_REQUEST = 14, "Incoming SSN Reset Request", "RFC 6525 §4.2";
        SSN_TSN_RESET_REQUEST = 15, "SSN/TSN Reset Request", "RFC 6525 §4.3";
        RE_CONFIGURATION_RESPONSE = 16, "Re-configuration Response", "RFC 6525 §4.4";
        ADD_OUTGOING_STREAMS_REQUEST = 17, "Add Outgoing Streams Request", "RFC 6525 §4.5";
        ADD_INCOMING_STREAMS_REQUEST = 18, "Add Incoming Streams Request", "RFC 6525 §4.6";
        ECN_CAPABLE = 0x8000, "ECN Capable", "RFC 9260 §3.3.2, reserved";
        ZERO_CHECKSUM_ACCEPTABLE = 0x8001, "Zero Checksum Acceptable", "RFC 9653";
        RANDOM = 0x8002, "Random", "RFC 4895 §3.1";
        CHUNK_LIST = 0x8003, "Chunk List", "RFC 4895 §3.2";
        HMAC_ALGORITHMS = 0x8004, "HMAC Algorithms", "RFC 4895 §3.3";
        PADDING = 0x8005, "Padding", "RFC 4820 §4";
        SUPPORTED_EXTENSIONS = 0x8008, "Supported Extensions", "RFC 5061 §4.2.7";
        FORWARD_TSN_SUPPORTED = 0xC000, "Forward-TSN-Supported", "RFC 3758 §3.1";
        ADD_IP_ADDRESS = 0xC001, "Add IP Address", "RFC 5061 §4.2.1";
        DELETE_IP_ADDRESS = 0xC002, "Delete IP Address", "RFC 5061 §4.2.2";
        ERROR_CAUSE_INDICATION = 0xC003, "Error Cause Indication", "RFC 5061 §4.2.3";
        SET_PRIMARY_ADDRESS = 0xC004, "Set Primary Address", "RFC 5061 §4.2.4";
        SUCCESS_INDICATION = 0xC005, "Success Indication", "RFC 5061 §4.2.5";
        ADAPTATION_LAYER_INDICATION = 0xC006, "Adaptation Layer Indication", "RFC 5061 §4.2.6";
    }
}

codepoints! {
    /// Why an ABORT or ERROR was sent (RFC 9260 §3.3.10).
    CauseCode(u16) {
        INVALID_STREAM_IDENTIFIER = 1, "Invalid Stream Identifier", "RFC 9260 §3.3.10.1";
        MISSING_MANDATORY_PARAMETER = 2, "Missing Mandatory Parameter", "RFC 9260 §3.3.10.2";
        STALE_COOKIE = 3, "Stale Cookie", "RFC 9260 §3.3.10.3";
        OUT_OF_RESOURCE = 4, "Out of Resource", "RFC 9260 §3.3.10.4";
        UNRESOLVABLE_ADDRESS = 5, "Unresolvable Address", "RFC 9260 §3.3.10.5";
        UNRECOGNIZED_CHUNK_TYPE = 6, "Unrecognized Chunk Type", "RFC 9260 §3.3.10.6";
        INVALID_MANDATORY_PARAMETER = 7, "Invalid Mandatory Parameter", "RFC 9260 §3.3.10.7";
        UNRECOGNIZED_PARAMETERS = 8, "Unrecognized Parameters", "RFC 9260 §3.3.10.8";
        NO_USER_DATA = 9, "No User Data", "RFC 9260 §3.3.10.9";
        COOKIE_RECEIVED_WHILE_SHUTTING_DOWN = 10, "Cookie Received While Shutting Down", "RFC 9260 §3.3.10.10";
        RESTART_WITH_NEW_ADDRESSES = 11, "Restart of an Association with New Addresses", "RFC 9260 §3.3.10.11";
        USER_INITIATED_ABORT = 12, "User-Initiated Abort", "RFC 9260 §3.3.10.12";
        PROTOCOL_VIOLATION = 13, "Protocol Violation", "RFC 9260 §3.3.10.13";
        DELETE_LAST_ADDRESS = 0xA0, "Request to Delete Last Remaining IP Address", "RFC 5061 §4.3.1";
        RESOURCE_SHORTAGE = 0xA1, "Operation Refused Due to Resource Shortage", "RFC 5061 §4.3.2";
        DELETE_SOURCE_ADDRESS = 0xA2, "Request to Delete Source IP Address", "RFC 5061 §4.3.3";
        ILLEGAL_ASCONF_ACK = 0xA3, "Association Aborted Due to Illegal ASCONF-ACK", "RFC 5061 §4.3.4";
        NO_AUTHORIZATION = 0xA4, "Request Refused - No Authorization", "RFC 5061 §4.3.5";
        UNSUPPORTED_HMAC_IDENTIFIER = 0x105, "Unsupported HMAC Identifier", "RFC 4895 §4.1";
    }
}

codepoints! {
    /// The number of the HMAC algorithm of an AUTH chunk (RFC 4895 §3.3).
    HmacId(u16) {
        SHA_1 = 1, "SHA-1", "RFC 4895 §3.3";
        SHA_256 = 3, "SHA-256", "RFC 4895 §3.3";
    }
}

codepoints! {
    /// The number of the method that detects errors where a checksum of zero is accepted (RFC 9653).
    ErrorDetectionMethod(u32) {
        SCTP_OVER_DTLS = 1, "SCTP over DTLS", "RFC 9653";
    }
}

codepoints! {
    /// The payload protocol identifier: what the user of SCTP says a message is; SCTP carries it unread (RFC 9260 §3.3.1).
    PayloadProtocolId(u32) {
        UNSPECIFIED = 0, "unspecified", "RFC 9260 §3.3.1; SIP: RFC 4168";
        IUA = 1, "IUA", "IANA";
        M2UA = 2, "M2UA", "IANA";
        M3UA = 3, "M3UA", "IANA";
        SUA = 4, "SUA", "IANA";
        M2PA = 5, "M2PA", "IANA";
        V5UA = 6, "V5UA", "IANA";
        H248 = 7, "H.248", "IANA";
        BICC = 8, "BICC", "IANA";
        TALI = 9, "TALI", "IANA";
        DUA = 10, "DUA", "IANA";
        ASAP = 11, "ASAP", "IANA";
        ENRP = 12, "ENRP", "IANA";
        H323 = 13, "H.323", "IANA";
        Q_IPC = 14, "Q.IPC", "IANA";
        SIMCO = 15, "SIMCO", "draft-kiesel-midcom-simco-sctp; IANA";
        DDP_SEGMENT = 16, "DDP segment", "IANA";
        DDP_SESSION_CONTROL = 17, "DDP session control", "IANA";
        S1AP = 18, "S1AP", "IANA";
        RUA = 19, "RUA", "IANA";
        HNBAP = 20, "HNBAP", "IANA";
        FORCES_HP = 21, "ForCES-HP", "IANA";
        FORCES_MP = 22, "ForCES-MP", "IANA";
        FORCES_LP = 23, "ForCES-LP", "IANA";
        SBC_AP = 24, "SBc-AP", "IANA";
        NBAP = 25, "NBAP", "IANA";
        X2AP = 27, "X2AP", "IANA";
        SSH = 45, "SSH", "IANA";
        DIAMETER = 46, "Diameter", "IANA";
        DIAMETER_DTLS = 47, "Diameter over DTLS", "IANA";
        WEBRTC_DCEP = 50, "WebRTC DCEP", "RFC 8832";
        WEBRTC_STRING = 51, "WebRTC string", "RFC 8831";
        WEBRTC_BINARY_PARTIAL = 52, "WebRTC binary partial", "RFC 8831, deprecated";
        WEBRTC_BINARY = 53, "WebRTC binary", "RFC 8831";
        WEBRTC_STRING_PARTIAL = 54, "WebRTC string partial", "RFC 8831, deprecated";
        WEBRTC_STRING_EMPTY = 56, "WebRTC string empty", "RFC 8831";
        WEBRTC_BINARY_EMPTY = 57, "WebRTC binary empty", "RFC 8831";
        NGAP = 60, "NGAP", "IANA";
        XNAP = 61, "XnAP", "IANA";
        F1AP = 62, "F1AP", "IANA";
    }
}

impl ChunkType {
    /// Returns what a receiver that does not know this type does with it: its two top bits (RFC 9260 §3.2).
    #[must_use]
    pub const fn unknown_action(self) -> UnknownAction {
        UnknownAction::from_top_bits(self.0 >> 6)
    }

    /// Returns whether it is a chunk of an extension known here, which an association may or may not speak;
    /// false for those of RFC 9260 and for types without a name.
    #[must_use]
    pub const fn is_extension(self) -> bool {
        matches!(
            self,
            Self::AUTH
                | Self::I_DATA
                | Self::ASCONF_ACK
                | Self::RE_CONFIG
                | Self::PAD
                | Self::FORWARD_TSN
                | Self::ASCONF
                | Self::I_FORWARD_TSN
        )
    }
}

impl ParameterType {
    /// Returns what a receiver that does not know this type does with it: its two top bits (RFC 9260 §3.2.1).
    #[must_use]
    pub const fn unknown_action(self) -> UnknownAction {
        UnknownAction::from_top_bits(self.to_wire()[0] >> 6)
    }

    /// Returns whether it is a parameter of an extension known here, which an association may or may not speak;
    /// false for those of RFC 9260 and for types without a name.
    #[must_use]
    pub const fn is_extension(self) -> bool {
        self.name().is_some() && (matches!(self.0, 13..=18) || self.0 > Self::ECN_CAPABLE.0)
    }

    /// Returns the two octets that stand on the wire, for building a [`ParameterTypes`](crate::ParameterTypes).
    #[must_use]
    pub const fn to_wire(self) -> [u8; 2] {
        self.0.to_be_bytes()
    }
}

impl HmacId {
    /// Returns the two octets that stand on the wire, for building a [`HmacIds`](crate::HmacIds).
    #[must_use]
    pub const fn to_wire(self) -> [u8; 2] {
        self.0.to_be_bytes()
    }
}

impl From<[u8; 2]> for ParameterType {
    fn from(octets: [u8; 2]) -> Self {
        Self(u16::from_be_bytes(octets))
    }
}

impl From<[u8; 2]> for HmacId {
    fn from(octets: [u8; 2]) -> Self {
        Self(u16::from_be_bytes(octets))
    }
}

impl fmt::Display for ChunkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(f, self.name(), "chunk", u32::from(self.0))
    }
}

impl fmt::Display for ParameterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(f, self.name(), "parameter", u32::from(self.0))
    }
}

impl fmt::Display for CauseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(f, self.name(), "cause", u32::from(self.0))
    }
}

impl fmt::Display for HmacId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(f, self.name(), "HMAC", u32::from(self.0))
    }
}

/// Returns the plain number.
impl fmt::Display for ErrorDetectionMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The plain number: traces are searched for it. [`PayloadProtocolId::name`] has the name.
impl fmt::Display for PayloadProtocolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn display(f: &mut fmt::Formatter<'_>, name: Option<&str>, what: &str, value: u32) -> fmt::Result {
    match name {
        Some(name) => f.write_str(name),
        None => write!(f, "{what} {value:#04x}"),
    }
}

/// The treatment of a chunk or parameter that a receiver does not know (RFC 9260 §3.2, §3.2.1).
///
/// For a chunk, *stop* drops the rest of the packet; for a parameter, the rest of the parameters of its chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnknownAction {
    /// `00`: processing stops, and the sender is told nothing.
    Stop,
    /// `01`: processing stops, and the sender is told.
    StopAndReport,
    /// `10`: skip it, say nothing.
    Skip,
    /// `11`: skip it and report.
    SkipAndReport,
}

impl UnknownAction {
    const fn from_top_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::Stop,
            0b01 => Self::StopAndReport,
            0b10 => Self::Skip,
            _ => Self::SkipAndReport,
        }
    }

    /// Returns whether nothing after the unknown item is processed.
    #[must_use]
    pub const fn stops(self) -> bool {
        matches!(self, Self::Stop | Self::StopAndReport)
    }

    /// Returns whether the sender of the unknown item is told.
    #[must_use]
    pub const fn reports(self) -> bool {
        matches!(self, Self::StopAndReport | Self::SkipAndReport)
    }
}

#[cfg(test)]
mod tests;
