//! Stacks without IO of their own.

pub mod dcsctp;
pub mod headway;
pub mod proto;
pub mod rtc;

/// Octets a stack may hold before they are sent.
const BUFFER_BYTES: usize = 4 << 20;

/// Which stream is next to send on, and which have something to read.
struct Turns {
    known: Vec<bool>,
    next: usize,
    readable: Vec<u16>,
}

impl Turns {
    fn new(streams: u16) -> Self {
        Self { known: vec![false; streams.into()], next: 0, readable: Vec::new() }
    }

    fn streams(&self) -> usize {
        self.known.len()
    }

    fn next_stream(&self) -> u16 {
        u16::try_from(self.next).expect("streams have numbers of 16 bits")
    }

    /// Whether this was asked before.
    fn is_known(&mut self, stream: u16) -> bool {
        std::mem::replace(&mut self.known[usize::from(stream)], true)
    }

    fn advance(&mut self) {
        self.next = (self.next + 1) % self.known.len();
    }

    fn note_readable(&mut self, stream: u16) {
        if !self.readable.contains(&stream) {
            self.readable.push(stream);
        }
    }

    fn readable(&self) -> Option<u16> {
        self.readable.last().copied()
    }

    /// Nothing is left on the stream last named by [`readable`](Self::readable).
    fn note_empty(&mut self) {
        self.readable.pop();
    }
}
