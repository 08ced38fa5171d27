//! Status codes of responses.

use core::fmt;

/// A status code, from 100 to 699.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Status(u16);

/// The class of a status code (RFC 3261 §7.2), as far as transactions and dialogs tell them apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatusClass {
    /// 1xx: the request is being processed.
    Provisional,
    /// 2xx: the request was accepted.
    Success,
    /// 3xx to 6xx: the request was not accepted.
    Failure,
}

impl Status {
    /// 100 Trying: the request has come, and nothing more is known yet.
    pub const TRYING: Self = Self(100);
    /// 180 Ringing: the user who is called is being alerted.
    pub const RINGING: Self = Self(180);
    /// 200 OK: the request has succeeded.
    pub const OK: Self = Self(200);
    /// 400 Bad Request: the request is malformed.
    pub const BAD_REQUEST: Self = Self(400);
    /// 401 Unauthorized: the sender of the request has to prove who it is.
    pub const UNAUTHORIZED: Self = Self(401);
    /// 403 Forbidden: the request was understood and is refused, whatever else comes with it.
    pub const FORBIDDEN: Self = Self(403);
    /// 404 Not Found: there is no such user here.
    pub const NOT_FOUND: Self = Self(404);
    /// 405 Method Not Allowed: the method is known, but not allowed for this address.
    pub const METHOD_NOT_ALLOWED: Self = Self(405);
    /// 408 Request Timeout: no answer came in time.
    pub const REQUEST_TIMEOUT: Self = Self(408);
    /// 413 Request Entity Too Large: the body is larger than the server takes.
    pub const TOO_LARGE: Self = Self(413);
    /// 415 Unsupported Media Type: the body has a format that the server does not read.
    pub const UNSUPPORTED_MEDIA_TYPE: Self = Self(415);
    /// 416 Unsupported URI Scheme: the Request-URI has a scheme that the server does not know.
    pub const UNSUPPORTED_SCHEME: Self = Self(416);
    /// 420 Bad Extension: the request requires an extension that the server does not know.
    pub const BAD_EXTENSION: Self = Self(420);
    /// 480 Temporarily Unavailable: the user who is called cannot be reached now.
    pub const UNAVAILABLE: Self = Self(480);
    /// 481 Call/Transaction Does Not Exist: the request belongs to nothing that the server knows.
    pub const NO_SUCH_CALL: Self = Self(481);
    /// 482 Loop Detected: the request has been here before.
    pub const LOOP_DETECTED: Self = Self(482);
    /// 483 Too Many Hops: the request has used up its Max-Forwards.
    pub const TOO_MANY_HOPS: Self = Self(483);
    /// 486 Busy Here: the user who is called is busy.
    pub const BUSY: Self = Self(486);
    /// 487 Request Terminated: the request was cancelled.
    pub const TERMINATED: Self = Self(487);
    /// 488 Not Acceptable Here: the session that is offered is not acceptable.
    pub const NOT_ACCEPTABLE: Self = Self(488);
    /// 491 Request Pending: another request of the same dialog is still open.
    pub const PENDING: Self = Self(491);
    /// 500 Server Internal Error: the server could not do what was asked.
    pub const INTERNAL_ERROR: Self = Self(500);
    /// 502 Bad Gateway: a server further on gave an answer that makes no sense.
    pub const BAD_GATEWAY: Self = Self(502);
    /// 503 Service Unavailable: the server is overloaded or out of service.
    pub const SERVICE_UNAVAILABLE: Self = Self(503);
    /// 504 Server Time-out: a server further on did not answer in time.
    pub const SERVER_TIMEOUT: Self = Self(504);
    /// 505 Version Not Supported: the request has a version that the server does not speak.
    pub const VERSION_NOT_SUPPORTED: Self = Self(505);

    /// Creates a status code; `None` outside 100 to 699.
    #[must_use]
    pub const fn new(code: u16) -> Option<Self> {
        if matches!(code, 100..=699) { Some(Self(code)) } else { None }
    }

    /// Returns the number of the status code.
    #[must_use]
    pub const fn code(self) -> u16 {
        self.0
    }

    /// Returns the class that the status code belongs to.
    #[must_use]
    pub const fn class(self) -> StatusClass {
        match self.0 {
            0..=199 => StatusClass::Provisional,
            200..=299 => StatusClass::Success,
            300.. => StatusClass::Failure,
        }
    }

    /// Returns whether the status code ends the transaction: everything but 1xx does.
    #[must_use]
    pub const fn is_final(self) -> bool {
        !matches!(self.class(), StatusClass::Provisional)
    }

    /// Returns the reason phrase that RFC 3261 §21 gives the code; for others a word for the class.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self.0 {
            100 => "Trying",
            180 => "Ringing",
            181 => "Call Is Being Forwarded",
            183 => "Session Progress",
            200 => "OK",
            400 => "Bad Request",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            413 => "Request Entity Too Large",
            415 => "Unsupported Media Type",
            416 => "Unsupported URI Scheme",
            420 => "Bad Extension",
            480 => "Temporarily Unavailable",
            481 => "Call/Transaction Does Not Exist",
            482 => "Loop Detected",
            483 => "Too Many Hops",
            486 => "Busy Here",
            487 => "Request Terminated",
            488 => "Not Acceptable Here",
            491 => "Request Pending",
            500 => "Server Internal Error",
            502 => "Bad Gateway",
            503 => "Service Unavailable",
            504 => "Server Time-out",
            505 => "Version Not Supported",
            101..=199 => "Progress",
            201..=299 => "Accepted",
            300..=399 => "Redirection",
            402..=499 => "Request Failure",
            501..=599 => "Server Failure",
            0..=99 | 600.. => "Global Failure",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
