//! Every message of one direction, and what became of it.

use sctp_core::{Delivery, Message, PayloadProtocolId, Received, Reliability, SendFailure, StreamId};

use super::operation::STREAMS;

/// A law that does not hold, in words.
pub(super) type Broken = String;

#[derive(Debug)]
struct Entry {
    message: Message,
    has_arrived: bool,
    /// Since it arrived the receiving end has begun anew: what travelled with COOKIE ECHO may come to its successor too.
    may_come_again: bool,
    /// It came back; whether a part of it had been sent.
    failed: Option<bool>,
    /// The association it was sent on ended or began anew before it had to arrive.
    is_excused: bool,
}

/// What was sent in one direction. A message says in its first four octets which it is.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    entries: Vec<Entry>,
    /// By stream: the number of the next ordered message at least.
    next_ordered: [usize; STREAMS as usize],
}

impl Ledger {
    /// The next message, which counts as sent once [`accepted`](Self::accepted).
    pub(super) fn next(
        &self,
        stream: u16,
        len: usize,
        delivery: Delivery,
        reliability: Reliability,
    ) -> Message {
        let number = u32::try_from(self.entries.len()).unwrap();
        let mut payload = number.to_be_bytes().to_vec();
        payload.extend((4..len).map(|index| (index * 7 + self.entries.len()).to_le_bytes()[0]));
        let message = Message::new(StreamId::new(stream), delivery, payload);
        let message = message.with_ppid(PayloadProtocolId::new(number ^ 0x5a5a)).with_context(number.into());
        Message { reliability, ..message }
    }

    pub(super) fn accepted(&mut self, message: Message) {
        self.entries.push(Entry {
            message,
            has_arrived: false,
            may_come_again: false,
            failed: None,
            is_excused: false,
        });
    }

    /// What is on its way need not arrive any more.
    pub(super) fn excuse(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.is_excused = true);
    }

    /// The receiving end is another association now.
    pub(super) fn receiver_replaced(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.may_come_again = entry.has_arrived);
    }

    /// RFC 9260 §1.5.2, §6.6: whole, once, in order. (Context and reliability stay with the sender.)
    pub(super) fn arrived(&mut self, received: &Received) -> Result<(), Broken> {
        let message = &received.message;
        let number = message
            .payload
            .first_chunk::<4>()
            .map_or(usize::MAX, |octets| usize::try_from(u32::from_be_bytes(*octets)).unwrap());
        let entry = self.entries.get_mut(number).ok_or("a message arrived that was never sent")?;
        let sent = &entry.message;
        let is_same = sent.payload == message.payload
            && (sent.stream, sent.delivery, sent.ppid) == (message.stream, message.delivery, message.ppid);
        if !is_same {
            return Err(format!("message {number} changed on its way"));
        }
        let may_come_again = std::mem::take(&mut entry.may_come_again);
        if std::mem::replace(&mut entry.has_arrived, true) {
            if may_come_again {
                return Ok(());
            }
            return Err(format!("message {number} arrived twice"));
        }
        if entry.failed == Some(false) {
            return Err(format!("message {number} was reported as never sent, and arrived"));
        }
        if message.delivery == Delivery::Ordered {
            let next = &mut self.next_ordered[usize::from(message.stream.get())];
            if number < *next {
                return Err(format!(
                    "message {number} arrived after message {}, which was sent later",
                    *next - 1
                ));
            }
            *next = number + 1;
        }
        Ok(())
    }

    /// It came back: once, as it was handed in, and only for a reason that its reliability allows.
    pub(super) fn failed(
        &mut self,
        message: &Message,
        was_sent: bool,
        why: &SendFailure,
    ) -> Result<(), Broken> {
        let number = usize::try_from(message.context).unwrap();
        let entry = self.entries.get_mut(number).ok_or("a message failed that was never sent")?;
        if *message != entry.message {
            return Err(format!("message {number} came back changed"));
        }
        if entry.failed.replace(was_sent).is_some() {
            return Err(format!("message {number} failed twice"));
        }
        if entry.has_arrived && !was_sent {
            return Err(format!("message {number} arrived, and is reported as never sent"));
        }
        let is_allowed = match why {
            SendFailure::Association(_) => true,
            SendFailure::LifetimeExpired => matches!(message.reliability, Reliability::Lifetime(_)),
            SendFailure::RetransmissionsExceeded => {
                matches!(message.reliability, Reliability::Retransmissions(_))
            }
            SendFailure::Displaced => matches!(message.reliability, Reliability::Priority(_)),
            other => panic!("when may {other:?} be?"),
        };
        if is_allowed { Ok(()) } else { Err(format!("message {number}: {why}: {:?}", message.reliability)) }
    }

    /// The first message that must arrive and has not.
    pub(super) fn missing(&self) -> Option<usize> {
        self.entries
            .iter()
            .position(|entry| !entry.has_arrived && entry.failed.is_none() && !entry.is_excused)
    }

    pub(super) fn sent(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn arrivals(&self) -> usize {
        self.entries.iter().filter(|entry| entry.has_arrived).count()
    }

    /// Notes a message that nobody sent.
    pub(super) fn forge(&mut self) {
        let message = self.next(0, 5, Delivery::Ordered, Reliability::Reliable);
        self.accepted(message);
    }
}
