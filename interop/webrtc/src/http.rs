//! The web server: a page, its script, and two things that the script posts. One request for each connection; for a browser on the same host
//! and nobody else.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

/// Something that the page posted.
pub(crate) struct Post {
    /// The path that it was posted to: `/offer/…` or `/result`.
    pub(crate) path: String,
    pub(crate) body: String,
    /// The way back for the answer.
    pub(crate) answer: Sender<String>,
}

/// Serves until the process ends.
pub(crate) fn serve(listener: &TcpListener, posts: &Sender<Post>) {
    for stream in listener.incoming().flatten() {
        let posts = posts.clone();
        std::thread::spawn(move || {
            if let Err(error) = exchange(stream, &posts) {
                eprintln!("http: {error}");
            }
        });
    }
}

fn exchange(stream: TcpStream, posts: &Sender<Post>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    if line.is_empty() {
        // A connection for later, which the browser has not needed.
        return Ok(());
    }
    let mut words = line.split_whitespace();
    let (method, path) =
        (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let body = read_body(&mut reader)?;
    let (status, kind, content) = match (method.as_str(), path.as_str()) {
        ("GET", path) if path == "/" || path.starts_with("/?") => ("200 OK", "text/html", PAGE.to_owned()),
        ("GET", path) if path.starts_with("/two-peers.html") => ("200 OK", "text/html", TWO_PEERS.to_owned()),
        ("GET", "/page.js") => ("200 OK", "text/javascript", SCRIPT.to_owned()),
        ("POST", _) => ("200 OK", "text/plain", post(posts, path, body)),
        _ => ("404 Not Found", "text/plain", String::new()),
    };
    let length = content.len();
    write!(
        reader.get_mut(),
        "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{content}"
    )
}

/// Reads to the empty line, and then as many octets as the header says.
fn read_body(reader: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; std::cmp::min(length, BODY_AT_MOST)];
    reader.read_exact(&mut body)?;
    String::from_utf8(body).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a body that is not text"))
}

/// Hands on what was posted, and waits for the answer.
fn post(posts: &Sender<Post>, path: String, body: String) -> String {
    let (answer, answered) = mpsc::channel();
    if posts.send(Post { path, body, answer }).is_err() {
        return String::new();
    }
    answered.recv_timeout(PATIENCE).unwrap_or_default()
}

const PAGE: &str = include_str!("../page/index.html");
const TWO_PEERS: &str = include_str!("../page/two-peers.html");
const SCRIPT: &str = include_str!("../page/page.js");
/// How long a request or an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest body: descriptions and results are some kilobytes.
const BODY_AT_MOST: usize = 1 << 20;
