//! Attributes: kind, length, value, padded to four octets.

/// Appends attributes to a message.
#[derive(Debug)]
pub(crate) struct Attributes<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Attributes<'a> {
    pub(crate) const fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    pub(crate) fn octets(&mut self, kind: u16, value: &[u8]) {
        let start = self.open(kind);
        self.out.extend_from_slice(value);
        self.close(start);
    }

    pub(crate) fn u32(&mut self, kind: u16, value: u32) {
        self.octets(kind, &value.to_be_bytes());
    }

    pub(crate) fn u64(&mut self, kind: u16, value: u64) {
        self.octets(kind, &value.to_be_bytes());
    }

    pub(crate) fn text(&mut self, kind: u16, value: &str) {
        let start = self.open(kind);
        self.out.extend_from_slice(value.as_bytes());
        self.out.push(0);
        self.close(start);
    }

    pub(crate) fn nested(&mut self, kind: u16, write: impl FnOnce(&mut Attributes<'_>)) {
        let start = self.open(kind | NESTED);
        write(&mut Attributes::new(self.out));
        self.close(start);
    }

    fn open(&mut self, kind: u16) -> usize {
        let start = self.out.len();
        self.out.extend_from_slice(&[0, 0]);
        self.out.extend_from_slice(&kind.to_ne_bytes());
        start
    }

    /// Writes the length. Nothing we send comes near 64 KiB; the kernel would refuse what was cut here.
    fn close(&mut self, start: usize) {
        let length = u16::try_from(self.out.len() - start).unwrap_or(u16::MAX);
        self.out[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self.out.resize(self.out.len().next_multiple_of(ALIGNMENT), 0);
    }
}

/// Returns the attributes in `octets`, up to the first that is broken.
pub(crate) fn attributes(mut octets: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    core::iter::from_fn(move || {
        let (&[length0, length1, kind0, kind1], _) = octets.split_first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([length0, length1]));
        let value = octets.get(4..length)?;
        octets = octets.get(length.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
        Some((u16::from_ne_bytes([kind0, kind1]) & KIND_MASK, value))
    })
}

/// Returns the first attribute of a kind.
pub(crate) fn attribute(octets: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(octets).find(|(found, _)| *found == kind).map(|(_, value)| value)
}

const ALIGNMENT: usize = 4;
const NESTED: u16 = 0x8000;
const KIND_MASK: u16 = 0x3FFF;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_read_back_as_written() {
        let mut out = Vec::new();
        let mut writer = Attributes::new(&mut out);
        writer.text(1, "abc");
        writer.nested(2, |inner| {
            inner.u32(3, 7);
            inner.octets(4, &[1, 2, 3, 4, 5]);
        });
        assert_eq!(out.len() % 4, 0);
        assert_eq!(attribute(&out, 1), Some(&b"abc\0"[..]));
        let inner = attribute(&out, 2).unwrap();
        assert_eq!(attribute(inner, 3), Some(&[0, 0, 0, 7][..]));
        assert_eq!(attribute(inner, 4), Some(&[1, 2, 3, 4, 5][..]));
        assert_eq!(attribute(inner, 9), None);
    }

    #[test]
    fn broken_attributes_end_the_walk() {
        assert_eq!(attributes(&[8, 0, 1, 0, 9]).count(), 0);
        assert_eq!(attributes(&[3, 0, 1, 0]).count(), 0);
        assert_eq!(attributes(&[]).count(), 0);
    }
}
