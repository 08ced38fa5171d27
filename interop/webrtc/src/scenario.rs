//! The server's part on the channels of a connection, and whether the browser does its own: the label of a channel says what it is for. The other side is page/page.js.
//!
//! | label | opened by | what happens |
//! |---|---|---|
//! | `control` | both (`negotiated`) | words of the page that begin what follows |
//! | `echo-…` | page | every message goes back |
//! | `ours-…` | server | the page sends every message back |
//! | `upload` | page | 10 MB, then its SHA-256 as text from the server |
//! | `download` | server | a greeting and a word of the page, then 10 MB and its SHA-256 as text of the server, which then closes it |
//! | `close-by-page` | page | 20 messages of the page, which then closes it |
//! | `close-by-server` | server | a greeting and a word of the page, then 20 messages of the server, which then closes it |

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use bytes::Bytes;
use data_channel::{ChannelConfig, ChannelEvent, Payload, SendError};
use sctp_core::{Delivery, Reliability, StreamId};
use sha2::{Digest, Sha256};

use crate::judgement::Checks;
use crate::peer::{Failure, Peer};

/// The channels of a connection.
pub(crate) struct Scenario {
    tasks: BTreeMap<StreamId, Task>,
    pub(crate) checks: Checks,
    /// Whether the page has asked for the end of the association.
    pub(crate) is_ending: bool,
    /// Whether the page has asked for the last thing that happens before the end.
    pub(crate) is_late: bool,
}

/// A channel: what it is for, and what is to be sent on it.
struct Task {
    purpose: Purpose,
    label: String,
    queue: VecDeque<Payload>,
    /// Whether it is closed when all is sent.
    then_closes: bool,
}

/// The use of a channel.
enum Purpose {
    Control,
    Echo,
    /// The server's messages, until they are all back.
    Ours {
        sent: Vec<Payload>,
        back: Vec<Payload>,
        delivery: Delivery,
    },
    Upload {
        digest: Sha256,
        octets: usize,
    },
    /// Messages of the page, before it closes the channel.
    Counted {
        messages: usize,
    },
    /// The server sends these messages and closes the channel, as soon as the page has said a word.
    Farewell(VecDeque<Payload>),
    /// The server alone sends.
    OneWay,
}

impl Scenario {
    /// Begins with the channel that both ends know beforehand.
    pub(crate) fn new() -> Self {
        Self { tasks: BTreeMap::new(), checks: Checks::default(), is_ending: false, is_late: false }
    }

    /// Opens that channel, once there is an association.
    pub(crate) fn begin(&mut self, peer: &mut Peer) -> Result<(), Failure> {
        let Some(channels) = &mut peer.channels else { return Ok(()) };
        let control = ChannelConfig::reliable("control");
        channels.open_negotiated(&mut peer.sctp, CONTROL, control)?;
        self.tasks.insert(CONTROL, Task::new(Purpose::Control, "control"));
        Ok(())
    }

    /// Takes note of what happened to a channel.
    pub(crate) fn handle(
        &mut self,
        now: Instant,
        peer: &mut Peer,
        event: ChannelEvent,
    ) -> Result<(), Failure> {
        match event {
            ChannelEvent::Opened(stream) => self.on_opened(peer, stream),
            ChannelEvent::Confirmed(_) => {}
            ChannelEvent::Message { channel, payload } => self.on_message(now, peer, channel, payload)?,
            ChannelEvent::Closing(stream) => self.on_closing(stream),
            ChannelEvent::Closed(stream) => {
                let task = self.tasks.remove(&stream);
                if let Some(label) = task.map(|task| task.label)
                    && label == "close-by-server"
                {
                    self.checks.note("our own channel is closed in both directions", true, "");
                }
            }
            ChannelEvent::Violation { stream, violation } => {
                self.checks.note("no violation", false, &format!("{stream}: {violation}"));
            }
            other => self.checks.note("no violation", false, &format!("{other:?}")),
        }
        Ok(())
    }

    /// Sends what there is room for.
    pub(crate) fn pump(&mut self, now: Instant, peer: &mut Peer) -> Result<(), Failure> {
        let at = peer.now(now);
        let Some(channels) = &mut peer.channels else { return Ok(()) };
        for (&stream, task) in &mut self.tasks {
            while let Some(payload) = task.queue.pop_front() {
                match channels.send(at, &mut peer.sctp, stream, payload) {
                    Ok(()) => {}
                    Err(SendError::BufferFull(payload)) => {
                        task.queue.push_front(payload);
                        return Ok(());
                    }
                    // The page has closed it meanwhile.
                    Err(SendError::Closing(_)) => task.queue.clear(),
                    Err(error) => return Err(error.into()),
                }
            }
            if std::mem::take(&mut task.then_closes) {
                channels.close(at, &mut peer.sctp, stream)?;
            }
        }
        Ok(())
    }

    /// Compares a channel that the page opened with what it asked for.
    fn on_opened(&mut self, peer: &Peer, stream: StreamId) {
        let Some(config) = peer.channels.as_ref().and_then(|channels| channels.config(stream)) else {
            return;
        };
        let purpose = match config.label.as_str() {
            "upload" => Purpose::Upload { digest: Sha256::new(), octets: 0 },
            "close-by-page" => Purpose::Counted { messages: 0 },
            _ => Purpose::Echo,
        };
        if let Some(kind) = config.label.strip_prefix("echo-")
            && let Some((_, delivery, reliability)) = KINDS.iter().find(|(name, ..)| *name == kind)
        {
            let is_right = (config.delivery, config.reliability, config.protocol.as_str())
                == (*delivery, *reliability, "test");
            self.checks.note(&format!("opened by the page {kind}"), is_right, &format!("{config:?}"));
        }
        self.tasks.insert(stream, Task::new(purpose, &config.label));
    }

    fn on_message(
        &mut self,
        now: Instant,
        peer: &mut Peer,
        stream: StreamId,
        payload: Payload,
    ) -> Result<(), Failure> {
        let Some(task) = self.tasks.get_mut(&stream) else {
            self.checks.note("no violation", false, &format!("a message on {stream}, which nobody opened"));
            return Ok(());
        };
        match &mut task.purpose {
            Purpose::Echo => task.queue.push_back(payload),
            Purpose::Counted { messages } => *messages += 1,
            Purpose::Farewell(messages) => {
                task.queue.append(messages);
                (task.purpose, task.then_closes) = (Purpose::OneWay, true);
            }
            Purpose::OneWay => self.checks.note("no violation", false, "a message where only we send"),
            Purpose::Upload { digest, octets } => {
                digest.update(payload.as_bytes());
                *octets += payload.len();
                if *octets >= BULK_BYTES {
                    task.queue.push_back(Payload::text(hex(&std::mem::take(digest).finalize())));
                }
            }
            Purpose::Ours { back, sent, .. } => {
                back.push(payload);
                if back.len() == sent.len() {
                    self.judge_ours(stream);
                }
            }
            Purpose::Control => return self.obey(now, peer, &payload),
        }
        Ok(())
    }

    /// All messages of one of our channels are back: the same ones, in order if it has one.
    fn judge_ours(&mut self, stream: StreamId) {
        if let Some(Task { purpose: Purpose::Ours { sent, back, delivery }, label, .. }) =
            self.tasks.get_mut(&stream)
        {
            let order =
                |payload: &Payload| (matches!(payload, Payload::Text(_)), payload.as_bytes().to_vec());
            if *delivery == Delivery::Unordered {
                sent.sort_by_key(order);
                back.sort_by_key(order);
            }
            self.checks.note(&format!("{label} back"), sent == back, "");
        }
        let is_done = |task: &Task| !matches!(&task.purpose, Purpose::Ours { sent, back, .. } if sent.len() != back.len());
        if self.tasks.values().all(is_done)
            && let Some(control) = self.tasks.get_mut(&CONTROL)
        {
            control.queue.push_back("all back".into());
        }
    }

    /// The page has closed a channel: are all its messages here?
    fn on_closing(&mut self, stream: StreamId) {
        if let Some(Task { purpose: Purpose::Counted { messages }, .. }) = self.tasks.get(&stream) {
            let said = format!("{messages} messages");
            self.checks.note("the page closes a channel, after all its messages", *messages == 20, &said);
        }
    }

    /// Begins what the page asks for.
    fn obey(&mut self, now: Instant, peer: &mut Peer, word: &Payload) -> Result<(), Failure> {
        match word.as_bytes() {
            b"open" => {
                for (kind, delivery, reliability) in KINDS {
                    let sent = assortment();
                    let queue = sent.iter().cloned().collect();
                    let purpose = Purpose::Ours { sent, back: Vec::new(), delivery };
                    let config = ChannelConfig {
                        delivery,
                        reliability,
                        ..ChannelConfig::reliable(format!("ours-{kind}"))
                    };
                    self.open(now, peer, config, purpose, queue)?;
                }
            }
            b"download" => {
                let all = Bytes::from(octets(2, BULK_BYTES));
                let mut queue: VecDeque<_> = (0..BULK_BYTES)
                    .step_by(BULK_MESSAGE_BYTES)
                    .map(|from| all.slice(from..BULK_BYTES.min(from + BULK_MESSAGE_BYTES)))
                    .map(Payload::Binary)
                    .collect();
                queue.push_back(Payload::text(hex(&Sha256::digest(&all))));
                self.open_and_greet(now, peer, "download", queue)?;
            }
            b"close" => {
                let queue = (0..20).map(|n| Payload::binary(octets(n, 5000))).collect();
                self.open_and_greet(now, peer, "close-by-server", queue)?;
                self.is_late = true;
            }
            b"end" => (self.is_ending, self.is_late) = (true, true),
            other => self.checks.note("no violation", false, &String::from_utf8_lossy(other)),
        }
        Ok(())
    }

    /// Opens a channel, greets on it, and waits for a word before these messages go and it is closed: page.js tells why.
    fn open_and_greet(
        &mut self,
        now: Instant,
        peer: &mut Peer,
        label: &str,
        messages: VecDeque<Payload>,
    ) -> Result<(), Failure> {
        let greeting = VecDeque::from([Payload::text("welcome")]);
        self.open(now, peer, ChannelConfig::reliable(label), Purpose::Farewell(messages), greeting)
    }

    fn open(
        &mut self,
        now: Instant,
        peer: &mut Peer,
        config: ChannelConfig,
        purpose: Purpose,
        queue: VecDeque<Payload>,
    ) -> Result<(), Failure> {
        let at = peer.now(now);
        let Some(channels) = &mut peer.channels else { return Ok(()) };
        let label = config.label.clone();
        let config = ChannelConfig { protocol: "test".to_owned(), ..config };
        let stream = channels.open(at, &mut peer.sctp, config)?;
        self.tasks.insert(stream, Task { queue, ..Task::new(purpose, &label) });
        Ok(())
    }
}

impl Task {
    fn new(purpose: Purpose, label: &str) -> Self {
        Self { purpose, label: label.to_owned(), queue: VecDeque::new(), then_closes: false }
    }
}

/// Texts and octets of many lengths: none, one, several packets' worth.
fn assortment() -> Vec<Payload> {
    let mut messages = vec![Payload::text(""), Payload::binary(Bytes::new()), Payload::text("ä€🌊")];
    for n in 0..40 {
        let length = n * 131;
        messages.push(Payload::binary(octets(n, length)));
        messages.push(Payload::text("x".repeat(length)));
    }
    messages.push(Payload::binary(octets(41, 100_000)));
    messages
}

/// Returns message `n`, whose octet `k` is as page.js has it.
fn octets(n: usize, length: usize) -> Vec<u8> {
    (0..length).map(|k| u8::try_from((7 * n + k) % 251).unwrap_or_default()).collect()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// The channels of each side: order and reliability, as JavaScript asks for them in page.js.
const KINDS: [(&str, Delivery, Reliability); 4] = [
    ("ordered", Delivery::Ordered, Reliability::Reliable),
    ("unordered", Delivery::Unordered, Reliability::Reliable),
    ("retransmits", Delivery::Ordered, Reliability::Retransmissions(30)),
    ("lifetime", Delivery::Unordered, Reliability::Lifetime(std::time::Duration::from_secs(30))),
];
const CONTROL: StreamId = StreamId::new(1000);
const BULK_BYTES: usize = 10_000_000;
const BULK_MESSAGE_BYTES: usize = 65_536;
