//! Responses to requests, and ACK and CANCEL, which are made out of the INVITE they belong to.

use crate::essentials::Fault;
use crate::message::{HeaderName, Request, Response};
use crate::method::Method;
use crate::status::Status;
use crate::uri::NameAddr;

impl Response {
    /// Creates the response to a request (RFC 3261 §8.2.6.2): Via, From, Call-ID and CSeq as they are there, To with `tag`
    /// unless it has one; 100 Trying goes without a tag.
    #[must_use]
    pub fn to(request: &Request, status: Status, tag: &str) -> Self {
        let mut response = Self::new(status);
        for name in COPIED {
            for value in request.headers.all(&name) {
                let value = match (&name, NameAddr::parse(value)) {
                    (HeaderName::To, Some(to)) if to.tag().is_none() && status != Status::TRYING => {
                        to.with_tag(tag).to_string()
                    }
                    _ => value.to_owned(),
                };
                response.headers.push(name.clone(), value);
            }
        }
        response
    }

    /// Creates the response that says what is wrong with a request.
    #[must_use]
    pub(crate) fn to_fault(request: &Request, fault: Fault, tag: &str) -> Self {
        let mut response = Self::to(request, fault.status, tag);
        fault.reason.clone_into(&mut response.reason);
        response
    }
}

impl Request {
    /// Creates the ACK for a failure of this INVITE (RFC 3261 §17.1.1.3): all of the INVITE, but for To, which is that of the
    /// response.
    #[must_use]
    pub(crate) fn ack_for(&self, response: &Response) -> Self {
        let mut ack = self.companion(Method::Ack);
        if let Some(to) = response.headers.first(&HeaderName::To) {
            ack.headers.set(&HeaderName::To, to);
        }
        ack
    }

    /// Creates the CANCEL for this INVITE (RFC 3261 §9.1).
    #[must_use]
    pub(crate) fn cancel(&self) -> Self {
        self.companion(Method::Cancel)
    }

    /// Creates a request that goes the way of this one, and has no Via but the topmost of this one.
    fn companion(&self, method: Method) -> Self {
        let mut request = Self::new(method.clone(), self.uri.clone());
        if let Some(via) = self.headers.first(&HeaderName::Via) {
            request.headers.push(HeaderName::Via, via);
        }
        for name in
            [HeaderName::Route, HeaderName::MaxForwards, HeaderName::From, HeaderName::To, HeaderName::CallId]
        {
            for value in self.headers.all(&name) {
                request.headers.push(name.clone(), value);
            }
        }
        let number = self.headers.first(&HeaderName::CSeq).and_then(|value| value.split(' ').next());
        request.headers.push(HeaderName::CSeq, format!("{} {method}", number.unwrap_or("1")));
        request
    }
}

const COPIED: [HeaderName; 5] =
    [HeaderName::Via, HeaderName::From, HeaderName::To, HeaderName::CallId, HeaderName::CSeq];
