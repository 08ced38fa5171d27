//! The options of the command line.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use dcsctp::api::ZERO_CHECKSUM_ALTERNATE_ERROR_DETECTION_METHOD_LOWER_LAYER_DTLS as OVER_DTLS;

/// The wishes of the command line; `peer/main.c` explains the options.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) is_server: bool,
    pub(crate) to: Option<IpAddr>,
    pub(crate) port: u16,
    pub(crate) from: u16,
    pub(crate) encap: u16,
    pub(crate) udp: u16,
    pub(crate) time: Duration,
    pub(crate) end: End,
    pub(crate) expect: End,
    pub(crate) mode: Mode,
    pub(crate) load: Load,
    /// The default is what the stack does by itself.
    pub(crate) offer: Option<Vec<String>>,
}

/// The messages that are sent.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) messages: u32,
    pub(crate) bytes: usize,
    pub(crate) streams: u16,
    pub(crate) is_unordered: bool,
    pub(crate) wants_answers: bool,
    pub(crate) allows_gaps: bool,
    pub(crate) spoil: u32,
    /// The number of messages after which streams are reset, and which.
    pub(crate) reset: Option<(u32, Vec<u16>)>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) retransmissions: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Wait,
    Shutdown,
    Abort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) echoes: bool,
    pub(crate) verifies: bool,
}

impl Options {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let is_server = match words.next().as_deref() {
            Some("serve") => true,
            Some("send") => false,
            other => return Err(format!("say serve or send, not {other:?}")),
        };
        let mut options = Self::of(is_server);
        while let Some(name) = words.next() {
            match name.as_str() {
                "--unordered" => options.load.is_unordered = true,
                "--no-answers" => options.load.wants_answers = false,
                "--gaps" => options.load.allows_gaps = true,
                name => options.take(name, &words.next().ok_or(format!("{name} needs a word"))?)?,
            }
        }
        if !is_server && options.to.is_none() {
            return Err("--to: where to?".to_owned());
        }
        Ok(options)
    }

    fn of(is_server: bool) -> Self {
        let end = if is_server { End::Wait } else { End::Shutdown };
        let load = Load {
            messages: 100,
            bytes: 100,
            streams: 1,
            is_unordered: false,
            wants_answers: true,
            allows_gaps: false,
            spoil: 0,
            reset: None,
            ttl: None,
            retransmissions: None,
        };
        let mode = Mode { echoes: true, verifies: false };
        let time = Duration::from_secs(60);
        Self {
            is_server,
            to: None,
            port: 5000,
            from: 50_000,
            encap: 9899,
            udp: 9899,
            time,
            end,
            expect: End::Shutdown,
            mode,
            load,
            offer: None,
        }
    }

    /// Takes one option with its word.
    fn take(&mut self, name: &str, word: &str) -> Result<(), String> {
        match name {
            "--to" => self.to = Some(number(name, word)?),
            "--port" => self.port = number(name, word)?,
            "--from" => self.from = number(name, word)?,
            "--encap" => self.encap = number(name, word)?,
            "--udp" => self.udp = number(name, word)?,
            "--seconds" => self.time = Duration::from_secs(number(name, word)?),
            "--messages" => self.load.messages = number(name, word)?,
            "--bytes" => self.load.bytes = number(name, word)?,
            "--streams" => self.load.streams = number(name, word)?,
            "--spoil" => self.load.spoil = number(name, word)?,
            "--end" => self.end = an_end(name, word)?,
            "--expect" => self.expect = an_end(name, word)?,
            "--offer" => self.offer = Some(word.split(',').map(str::to_owned).collect()),
            "--mode" => {
                self.mode = Mode { echoes: word != "verify", verifies: word != "echo" };
            }
            "--pr" => match word.split_once(':') {
                Some(("ttl", value)) => self.load.ttl = Some(Duration::from_millis(number(name, value)?)),
                Some(("rtx", value)) => self.load.retransmissions = Some(number(name, value)?),
                Some(_) | None => return Err(format!("{name}: must be ttl:N or rtx:N")),
            },
            "--do" => match word.split_once(":reset-out=") {
                Some((after, list)) => {
                    let streams = list.split(',').map(|stream| number(name, stream));
                    self.load.reset = Some((number(name, after)?, streams.collect::<Result<_, _>>()?));
                }
                None => return Err(format!("{name}: this stack only does N:reset-out=STREAMS")),
            },
            other => return Err(format!("{other}: no such option")),
        }
        Ok(())
    }

    /// Returns the options of the stack.
    pub(crate) fn stack(&self) -> dcsctp::api::Options {
        let (local_port, remote_port) =
            if self.is_server { (self.port, self.from) } else { (self.from, self.port) };
        let mut stack = dcsctp::api::Options { local_port, remote_port, ..Default::default() };
        if !self.is_server {
            stack.announced_maximum_outgoing_streams = self.load.streams;
        }
        if let Some(list) = &self.offer {
            let offers = |name: &str| list.iter().any(|offered| offered == name);
            stack.enable_partial_reliability = offers("pr");
            stack.enable_message_interleaving = offers("interleaving");
            if offers("zero-checksum") {
                stack.zero_checksum_alternate_error_detection_method = OVER_DTLS;
            }
        }
        stack
    }
}

fn number<T: FromStr>(name: &str, word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("{name}: {word} cannot be read"))
}

fn an_end(name: &str, word: &str) -> Result<End, String> {
    match word {
        "wait" => Ok(End::Wait),
        "shutdown" => Ok(End::Shutdown),
        "abort" => Ok(End::Abort),
        other => Err(format!("{name}: must be wait, shutdown or abort, not {other}")),
    }
}
