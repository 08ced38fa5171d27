//! Types of messages and attributes as registered in RFC 4540 §4.

use core::fmt;

/// Octets of a message header: types, length, transaction identifier.
pub const HEADER_BYTES: usize = 8;
/// The longest message, header included (RFC 4540 §4.1).
pub const MESSAGE_BYTES: usize = 65_536;
/// The largest number of octets in a payload.
pub const PAYLOAD_BYTES: usize = MESSAGE_BYTES - HEADER_BYTES;
/// The longest authentication challenge or token.
pub const CHALLENGE_BYTES: usize = 4096;
/// The longest policy rule owner.
pub const OWNER_BYTES: usize = 255;
/// The port of SIMCO over TCP and over SCTP.
pub const PORT: u16 = 7626;
/// The SCTP payload protocol identifier of SIMCO.
pub const PAYLOAD_PROTOCOL: u32 = 15;

macro_rules! codepoints {
    ($(#[$doc:meta])* $name:ident($int:ty) { $($(#[$each:meta])* $variant:ident = $value:literal, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name {
            $($(#[$each])* $variant,)*
        }

        impl $name {
            /// All of them, in the order of their values.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The value on the wire.
            #[must_use]
            pub const fn get(self) -> $int {
                match self {
                    $(Self::$variant => $value,)*
                }
            }

            /// The one with this value.
            #[must_use]
            pub const fn from_value(value: $int) -> Option<Self> {
                match value {
                    $($value => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// What it means, for people.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.meaning())
            }
        }
    };
}

codepoints! {
    /// Who says what: the first octet of a message (RFC 4540 §4.1.1).
    BasicType(u8) {
        /// Agent to middlebox.
        Request = 0x01, "request";
        /// Middlebox to agent: done.
        PositiveReply = 0x02, "positive reply";
        /// Middlebox to agent: refused.
        NegativeReply = 0x03, "negative reply";
        /// Middlebox to agent, unasked.
        Notification = 0x04, "notification";
    }
}

codepoints! {
    /// Sub-types of requests (RFC 4540 §4.1.2).
    RequestType(u8) {
        /// SE.
        SessionEstablishment = 0x01, "session establishment";
        /// SA.
        SessionAuthentication = 0x02, "session authentication";
        /// ST.
        SessionTermination = 0x03, "session termination";
        /// PRR.
        Reserve = 0x11, "policy reserve rule";
        /// PER.
        Enable = 0x12, "policy enable rule";
        /// PEA.
        EnableReserved = 0x13, "policy enable rule after reservation";
        /// PDR.
        Disable = 0x14, "policy disable rule";
        /// PLC.
        LifetimeChange = 0x15, "policy rule lifetime change";
        /// PRS.
        Status = 0x21, "policy rule status";
        /// PRL.
        List = 0x22, "policy rule list";
    }
}

codepoints! {
    /// Sub-types of positive replies (RFC 4540 §4.1.2).
    PositiveType(u8) {
        /// SE.
        SessionEstablishment = 0x01, "session established";
        /// SA.
        SessionAuthentication = 0x02, "session authentication";
        /// ST.
        SessionTermination = 0x03, "session terminated";
        /// PRR.
        Reserve = 0x11, "policy rule reserved";
        /// PER, also the answer to PEA.
        Enable = 0x12, "policy rule enabled";
        /// PDR.
        Disable = 0x14, "policy disable rule set up";
        /// PLC.
        LifetimeChange = 0x15, "lifetime changed";
        /// PRD.
        Deletion = 0x16, "policy rule deleted";
        /// PRS, the status of a reserve rule.
        ReserveStatus = 0x21, "status of a policy reserve rule";
        /// PRL.
        List = 0x22, "policy rule list";
        /// PES.
        EnableStatus = 0x23, "status of a policy enable rule";
        /// PDS.
        DisableStatus = 0x24, "status of a policy disable rule";
    }
}

codepoints! {
    /// Sub-types of notifications (RFC 4540 §4.1.4).
    NotificationType(u8) {
        /// BFM.
        BadlyFormedMessage = 0x01, "badly formed message received";
        /// AST.
        SessionTermination = 0x02, "asynchronous session termination";
        /// ARE.
        RuleEvent = 0x03, "asynchronous policy rule event";
    }
}

codepoints! {
    /// Why a request was refused: sub-types of negative replies (RFC 4540 §4.1.3).
    ///
    /// `docs/simco.md` lists when the middlebox sends each.
    NegativeCode(u8) {
        /// 0x0310: the basic type is not that of a request.
        WrongBasicType = 0x10, "wrong basic request message type";
        /// 0x0311: no such request, or none for this state of the session.
        WrongSubType = 0x11, "wrong request message sub-type";
        /// 0x0312: the attributes do not fit the request.
        BadlyFormedRequest = 0x12, "badly formed request";
        /// 0x0313: the list of policy rules does not fit into a message.
        ReplyTooBig = 0x13, "reply message too big";
        /// 0x0320: not in this state of the session.
        NotApplicable = 0x20, "request not applicable";
        /// 0x0321: no room for another session.
        LackOfResources = 0x21, "lack of resources";
        /// 0x0322: comes with a version that the middlebox speaks.
        VersionMismatch = 0x22, "protocol version mismatch";
        /// 0x0323: the token is wrong or missing.
        AuthenticationFailed = 0x23, "authentication failed";
        /// 0x0324: a known agent that may not open a session.
        NoAuthorization = 0x24, "no authorization";
        /// 0x0325: the connection has unacceptable parameters.
        TransportProblem = 0x25, "transport protocol problem";
        /// 0x0326: the layers below protect too little.
        InsufficientSecurity = 0x26, "security of underlying protocol layers insufficient";
        /// 0x0340: the middlebox does not offer this transaction.
        TransactionNotSupported = 0x40, "transaction not supported";
        /// 0x0341: the agent may not ask for this.
        TransactionNotAuthorized = 0x41, "agent not authorized for this transaction";
        /// 0x0342: rule table full, or too many requests.
        NoResources = 0x42, "no resources available for this transaction";
        /// 0x0343: no such policy rule.
        NoSuchRule = 0x43, "specified policy rule does not exist";
        /// 0x0344: no such group.
        NoSuchGroup = 0x44, "specified policy rule group does not exist";
        /// 0x0345: somebody else's policy rule.
        RuleNotAuthorized = 0x45, "not authorized for accessing this policy rule";
        /// 0x0346: somebody else's group.
        GroupNotAuthorized = 0x46, "not authorized for accessing specified group";
        /// 0x0347: these addresses are blocked here.
        AddressSpaceNotAvailable = 0x47, "requested address space not available";
        /// 0x0348: the translator has no address left.
        LackOfAddresses = 0x48, "lack of IP addresses";
        /// 0x0349: the translator has no suitable block of ports left.
        LackOfPorts = 0x49, "lack of port numbers";
        /// 0x034A: the packet filter refused, or the lifetime would have been zero.
        ConfigurationFailed = 0x4A, "middlebox configuration failed";
        /// 0x034B: what the request says contradicts itself.
        InconsistentRequest = 0x4B, "inconsistent request";
        /// 0x034C: a wildcard that the middlebox cannot do.
        WildcardNotSupported = 0x4C, "requested wildcarding not supported";
        /// 0x034D: not the protocol that was reserved.
        ProtocolMismatch = 0x4D, "protocol type doesn't match";
        /// 0x034E: not the translation that this middlebox does.
        NatModeNotSupported = 0x4E, "NAT mode not supported";
        /// 0x034F: not an IP version of that side.
        IpVersionMismatch = 0x4F, "IP version mismatch";
        /// 0x0350: an existing rule is against it.
        Conflict = 0x50, "conflict with existing rule";
        /// 0x0351: this lifetime is not the agent's to change.
        LifetimeNotAuthorized = 0x51, "not authorized to change lifetime";
        /// 0x0352: the lifetime has reached its limit.
        LifetimeNotExtensible = 0x52, "lifetime can't be extended";
        /// 0x0353: no address of a host of that side.
        IllegalAddress = 0x53, "illegal IP address";
        /// 0x0354: the middlebox does not know this protocol.
        ProtocolNotSupported = 0x54, "protocol type not supported";
        /// 0x0355: ports that do not exist.
        IllegalPort = 0x55, "illegal port number";
        /// 0x0356: a number of subsequent ports that cannot be.
        IllegalPortRange = 0x56, "illegal number of subsequent ports";
        /// 0x0357: enabled before.
        AlreadyEnabled = 0x57, "already enabled PID";
        /// 0x0358: the ports cannot have the same parity.
        ParityMismatch = 0x58, "parity doesn't match";
    }
}

impl NegativeCode {
    /// Returns both octets of the code, as it is usually written: 0x0350.
    #[must_use]
    pub const fn code(self) -> u16 {
        u16::from_be_bytes([BasicType::NegativeReply.get(), self.get()])
    }
}

codepoints! {
    /// Types of attributes (RFC 4540 §4.2).
    AttributeType(u16) {
        /// 4 octets.
        Version = 0x0001, "SIMCO protocol version";
        /// At most 4096 octets.
        Challenge = 0x0002, "authentication challenge";
        /// At most 4096 octets.
        Token = 0x0003, "authentication token";
        /// 8 octets.
        Capabilities = 0x0004, "middlebox capabilities";
        /// 4 octets.
        PolicyRuleId = 0x0005, "policy rule identifier";
        /// 4 octets.
        GroupId = 0x0006, "group identifier";
        /// 4 octets.
        Lifetime = 0x0007, "policy rule lifetime";
        /// At most 255 octets.
        Owner = 0x0008, "policy rule owner";
        /// 4, 12 or 24 octets.
        AddressTuple = 0x0009, "address tuple";
        /// 4 octets.
        ReserveParameters = 0x000A, "PRR parameter set";
        /// 4 octets.
        EnableParameters = 0x000B, "PER parameter set";
    }
}
