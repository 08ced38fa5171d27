//! Dialogs (RFC 3261 §12): what two user agents remember of each other between requests.

use crate::essentials::Essentials;
use crate::message::{HeaderName, Headers, Request, Response};
use crate::method::Method;
use crate::uri::{NameAddr, SipUri};

/// One side's state of a dialog.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dialog {
    call_id: String,
    local: NameAddr,
    remote: NameAddr,
    local_number: u32,
    /// `None` until the other side has sent a request.
    remote_number: Option<u32>,
    /// The values of Route, in the order in which a request goes through them.
    routes: Vec<String>,
    target: String,
}

/// The verdict on whether a request within a dialog is in order (RFC 3261 §12.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The request has a higher number than all before it, and is to be handled.
    Next,
    /// The request has a number that was seen already, or a lower one; it is to be refused with 500.
    OutOfOrder,
}

/// The reason why no dialog can be made of a request and its response.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DialogError {
    /// There is no Contact, or more than one, or it is no SIP URI.
    #[error("no usable Contact")]
    Contact,
    /// A Record-Route cannot be read.
    #[error("malformed Record-Route")]
    RecordRoute,
}

impl Dialog {
    /// Creates the dialog of the side that sent `request`, once a response with a tag has come (§12.1.2).
    ///
    /// # Errors
    ///
    /// See [`DialogError`].
    pub fn of_client(
        request: &Request,
        response: &Response,
        essentials: &Essentials,
    ) -> Result<Self, DialogError> {
        let mut routes = record_routes(&response.headers)?;
        routes.reverse();
        let target = contact(&response.headers).ok_or(DialogError::Contact)?;
        let local = request.headers.first(&HeaderName::From).and_then(NameAddr::parse);
        Ok(Self {
            call_id: essentials.call_id.clone(),
            local: local.unwrap_or_else(|| essentials.from.clone()),
            remote: essentials.to.clone(),
            local_number: essentials.cseq.number,
            remote_number: None,
            routes,
            target,
        })
    }

    /// Creates the dialog of the side that received `request` and answers with `tag` (§12.1.1).
    ///
    /// # Errors
    ///
    /// See [`DialogError`].
    pub fn of_server(request: &Request, essentials: &Essentials, tag: &str) -> Result<Self, DialogError> {
        Ok(Self {
            call_id: essentials.call_id.clone(),
            local: essentials.to.clone().with_tag(tag),
            remote: essentials.from.clone(),
            local_number: 0,
            remote_number: Some(essentials.cseq.number),
            routes: record_routes(&request.headers)?,
            target: contact(&request.headers).ok_or(DialogError::Contact)?,
        })
    }

    /// Returns the Call-ID of the dialog.
    #[must_use]
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Returns the tag of this side.
    #[must_use]
    pub fn local_tag(&self) -> &str {
        self.local.tag().unwrap_or_default()
    }

    /// Returns the tag of the other side; empty with peers of RFC 2543.
    #[must_use]
    pub fn remote_tag(&self) -> &str {
        self.remote.tag().unwrap_or_default()
    }

    /// Returns the URI that the next request goes to first: the first of the route set, or the remote target.
    #[must_use]
    pub fn next_hop(&self) -> Option<SipUri> {
        let first = self.routes.first().and_then(|route| NameAddr::parse(route)).map(|route| route.uri);
        SipUri::parse(first.as_deref().unwrap_or(&self.target)).ok()
    }

    /// Creates the next request of this side (§12.2.1.1), all but Via and Contact.
    pub fn request(&mut self, method: Method) -> Request {
        self.local_number += 1;
        self.build(method, self.local_number)
    }

    /// Creates the ACK for a 2xx to the INVITE with this number (§13.2.2.4).
    #[must_use]
    pub fn ack(&self, number: u32) -> Request {
        self.build(Method::Ack, number)
    }

    /// Takes note of a request of the other side (§12.2.2). An ACK has the number of its INVITE and is not asked about.
    pub fn accept(&mut self, number: u32) -> Order {
        match self.remote_number {
            Some(seen) if number <= seen => Order::OutOfOrder,
            Some(_) | None => {
                self.remote_number = Some(number);
                Order::Next
            }
        }
    }

    /// Goes on from a dialog that a provisional response has made and this one, of a 2xx, takes the place of (§13.2.2.4): the
    /// numbers of requests go on.
    pub fn continue_from(&mut self, early: &Self) {
        self.local_number = self.local_number.max(early.local_number);
        self.remote_number = self.remote_number.max(early.remote_number);
    }

    /// Takes over where the other side wants to be reached from now on, if a request or 2xx that refreshes the target says so
    /// (§12.2).
    pub fn refresh_target(&mut self, headers: &Headers) {
        if let Some(target) = contact(headers) {
            self.target = target;
        }
    }

    fn build(&self, method: Method, number: u32) -> Request {
        let first = self.routes.first().and_then(|route| NameAddr::parse(route));
        let is_strict = first.as_ref().is_some_and(|first| !is_loose(&first.uri));
        let (uri, routes) = match first {
            // The next hop is a router of RFC 2543: it wants to be the Request-URI itself.
            Some(first) if is_strict => {
                let last = format!("<{}>", self.target);
                (first.uri, self.routes.iter().skip(1).cloned().chain([last]).collect())
            }
            Some(_) | None => (self.target.clone(), self.routes.clone()),
        };
        let mut request = Request::new(method.clone(), uri);
        let headers = &mut request.headers;
        for route in routes {
            headers.push(HeaderName::Route, route);
        }
        headers.push(HeaderName::MaxForwards, MAX_FORWARDS);
        headers.push(HeaderName::From, self.local.to_string());
        headers.push(HeaderName::To, self.remote.to_string());
        headers.push(HeaderName::CallId, self.call_id.as_str());
        headers.push(HeaderName::CSeq, format!("{number} {method}"));
        request
    }
}

fn record_routes(headers: &Headers) -> Result<Vec<String>, DialogError> {
    let values = headers.list(&HeaderName::RecordRoute).ok_or(DialogError::RecordRoute)?;
    if values.len() > MOST_ROUTES || values.iter().any(|value| NameAddr::parse(value).is_none()) {
        return Err(DialogError::RecordRoute);
    }
    Ok(values.into_iter().map(str::to_owned).collect())
}

fn contact(headers: &Headers) -> Option<String> {
    let values = headers.list(&HeaderName::Contact)?;
    let [only] = values.as_slice() else { return None };
    let contact = NameAddr::parse(only)?;
    SipUri::parse(&contact.uri).ok().map(|_| contact.uri)
}

fn is_loose(uri: &str) -> bool {
    SipUri::parse(uri).is_ok_and(|uri| uri.parameters.contains("lr"))
}

/// The initial value of Max-Forwards (RFC 3261 §8.1.1.6).
const MAX_FORWARDS: &str = "70";
/// No request comes over more hops than Max-Forwards lets it.
const MOST_ROUTES: usize = 70;

#[cfg(test)]
mod tests;
