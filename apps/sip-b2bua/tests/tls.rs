//! Calls over TLS, between real sockets on loopback: who is believed, what Via says, and what SIPS demands.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests; clippy knows only functions marked as such")]

use std::net::SocketAddr;
use std::path::PathBuf;

use bytes::Bytes;
use daemon::TlsIdentity;
use simco_agent::TlsTrust;
use sip::{Framer, HeaderName, Message, MessageLimits, Method, Request, Response, Status};
use sip_b2bua::{Server, Settings};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// A folder with a certificate for 127.0.0.1 and `sip.example`, its own authority.
struct Folder(PathBuf, String);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sip-b2bua-tls-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let names = ["127.0.0.1", "sip.example"].map(str::to_owned);
        let rcgen::CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(names).unwrap();
        std::fs::write(path.join("tls.pem"), cert.pem()).unwrap();
        std::fs::write(path.join("tls.key"), signing_key.serialize_pem()).unwrap();
        Self(path, cert.pem())
    }

    fn identity(&self) -> TlsIdentity {
        TlsIdentity::read(&self.0.join("tls.pem"), &self.0.join("tls.key")).unwrap()
    }

    fn trust(&self) -> TlsTrust {
        TlsTrust::new(self.1.as_bytes(), "sip.example").unwrap()
    }

    /// Starts an agent whose calls go to `to`; returns its address for TLS, and what ends it when dropped.
    async fn agent(
        &self,
        to: SocketAddr,
        route: &str,
    ) -> (SocketAddr, mpsc::Sender<daemon::Control<sip_b2bua::Settings>>) {
        let text = format!(
            "[listen]\ntls = [\"127.0.0.1:0\"]\ntcp = [\"127.0.0.1:0\"]\n[calls]\ndrain_s = 0\n\
             [tls]\ncertificate = \"tls.pem\"\nkey = \"tls.key\"\nauthorities = \"tls.pem\"\n[[routes]]\nto = \"{to}\"\n{route}\n"
        );
        let server = Server::new(&Settings::parse(&text, &self.0).unwrap()).await.unwrap();
        let own =
            |(transport, address): &(sip::Transport, SocketAddr)| transport.is_secure().then_some(*address);
        let address = server.endpoint().config().addresses.iter().find_map(own).unwrap();
        let (control, controls) = mpsc::channel(1);
        tokio::spawn(server.run(controls));
        (address, control)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _left = std::fs::remove_dir_all(&self.0);
    }
}

/// A peer over any stream.
struct Peer<S> {
    stream: S,
    framer: Framer,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Peer<S> {
    fn new(stream: S) -> Self {
        Self { stream, framer: Framer::new(MessageLimits::default()) }
    }

    async fn send(&mut self, octets: Bytes) {
        self.stream.write_all(&octets).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    async fn receive(&mut self) -> Message {
        loop {
            if let Some(octets) = self.framer.next_message().unwrap() {
                return Message::parse(&octets, &MessageLimits::default()).unwrap();
            }
            let mut buffer = [0; 4096];
            let length = self.stream.read(&mut buffer).await.unwrap();
            assert!(length > 0, "the connection ended");
            self.framer.push(&buffer[..length]);
        }
    }

    async fn request(&mut self) -> Request {
        let Message::Request(request) = self.receive().await else { panic!("a request") };
        request
    }

    /// Returns the next response that is not 100 Trying.
    async fn response(&mut self) -> Response {
        loop {
            let Message::Response(response) = self.receive().await else { panic!("a response") };
            if response.status != Status::TRYING {
                return response;
            }
        }
    }
}

fn message(method: Method, uri: &str, to: &str) -> Request {
    let mut request = Request::new(method.clone(), uri);
    for (name, value) in [
        (HeaderName::Via, format!("SIP/2.0/TLS 127.0.0.1:5061;branch=z9hG4bK{method}")),
        (HeaderName::MaxForwards, "70".to_owned()),
        (HeaderName::From, "<sip:a@127.0.0.1>;tag=a".to_owned()),
        (HeaderName::To, to.to_owned()),
        (HeaderName::CallId, "tls".to_owned()),
        (HeaderName::CSeq, format!("{} {method}", if method == Method::Bye { 2 } else { 1 })),
        (HeaderName::Contact, "<sip:a@127.0.0.1:5061;transport=tls>".to_owned()),
    ] {
        request.headers.push(name, value);
    }
    request
}

fn first(headers: &sip::Headers, name: &HeaderName) -> String {
    headers.first(name).unwrap_or_default().to_owned()
}

/// Calls, talks and hangs up; returns the INVITE that the called side got.
async fn call(
    caller: &mut Peer<impl AsyncRead + AsyncWrite + Unpin>,
    listener: TcpListener,
    folder: &Folder,
    uri: &str,
) -> Request {
    caller.send(message(Method::Invite, uri, &format!("<{uri}>")).encode()).await;
    let (stream, _) = listener.accept().await.unwrap();
    let own = listener.local_addr().unwrap();
    let mut callee = Peer::new(folder.identity().acceptor().accept(stream).await.unwrap());
    let invite = callee.request().await;
    let mut answer = Response::to(&invite, Status::OK, "b");
    let contact =
        format!("<{}b@{own};transport=tls>", if uri.starts_with("sips") { "sips:" } else { "sip:" });
    answer.headers.push(HeaderName::Contact, contact);
    callee.send(answer.encode()).await;
    let answer = caller.response().await;
    assert_eq!(answer.status, Status::OK);
    let to = first(&answer.headers, &HeaderName::To);
    let contact = first(&answer.headers, &HeaderName::Contact);
    assert!(contact.starts_with(if uri.starts_with("sips") { "<sips:" } else { "<sip:" }), "{contact}");
    caller.send(message(Method::Ack, uri, &to).encode()).await;
    assert_eq!(callee.request().await.method, Method::Ack);
    caller.send(message(Method::Bye, uri, &to).encode()).await;
    assert_eq!(caller.response().await.status, Status::OK);
    let bye = callee.request().await;
    assert_eq!(bye.method, Method::Bye);
    callee.send(Response::to(&bye, Status::OK, "b").encode()).await;
    invite
}

#[tokio::test]
async fn a_call_goes_over_tls_on_both_sides_and_sips_stays_sips() {
    for uri in ["sip:b@example.org", "sips:b@example.org"] {
        let folder = Folder::new(uri.split(':').next().unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let route = "transport = \"tls\"\ntls_name = \"sip.example\"";
        let (agent, _control) = folder.agent(listener.local_addr().unwrap(), route).await;
        let stream = TcpStream::connect(agent).await.unwrap();
        let mut caller = Peer::new(folder.trust().connect(stream).await.unwrap());
        let invite = call(&mut caller, listener, &folder, uri).await;
        let via = first(&invite.headers, &HeaderName::Via);
        assert!(via.starts_with(&format!("SIP/2.0/TLS {agent};branch=")), "{via}");
        let scheme = uri.split(':').next().unwrap();
        assert!(invite.uri.starts_with(&format!("{scheme}:b@127.0.0.1:")), "{}", invite.uri);
        assert_eq!(first(&invite.headers, &HeaderName::Contact).starts_with("<sips:"), scheme == "sips");
    }
}

#[tokio::test]
async fn a_next_hop_with_another_name_in_its_certificate_is_not_called() {
    let folder = Folder::new("name");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let route = "transport = \"tls\"\ntls_name = \"other.example\"";
    let (agent, _control) = folder.agent(listener.local_addr().unwrap(), route).await;
    let mut caller =
        Peer::new(folder.trust().connect(TcpStream::connect(agent).await.unwrap()).await.unwrap());
    caller.send(message(Method::Invite, "sip:b@example.org", "<sip:b@example.org>").encode()).await;
    let (stream, _) = listener.accept().await.unwrap();
    assert!(folder.identity().acceptor().accept(stream).await.is_err(), "the agent breaks the handshake off");
    assert_eq!(caller.response().await.status, Status::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn sips_is_refused_where_a_hop_is_not_secure() {
    let folder = Folder::new("plain");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (agent, _control) = folder.agent(listener.local_addr().unwrap(), "transport = \"tcp\"").await;
    let mut caller =
        Peer::new(folder.trust().connect(TcpStream::connect(agent).await.unwrap()).await.unwrap());
    caller.send(message(Method::Invite, "sips:b@example.org", "<sips:b@example.org>").encode()).await;
    assert_eq!(caller.response().await.status, Status::UNSUPPORTED_SCHEME);
}
