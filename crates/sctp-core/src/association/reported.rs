//! The content of the peer's ABORT and ERROR, as a line of text that is bounded whatever it says.

use core::fmt::{self, Write};

use sctp_wire::{Cause, Causes};

use crate::error::RemoteError;

/// Returns the first cause of an ABORT or ERROR. What of it would not be kept is not looked at either.
pub(super) fn remote_error(causes: Causes<'_>) -> RemoteError {
    let Some(cause) = causes.iter().flatten().next() else { return RemoteError::default() };
    let mut line = BoundedText::default();
    // Says only that the line is full.
    let _is_whole = if let Cause::UserInitiatedAbort(reason) = cause
        && !reason.is_empty()
    {
        write_escaped(reason, &mut line)
    } else {
        write!(line, "{cause}")
    };
    RemoteError { cause: Some(cause.code().get()), text: line.text.into() }
}

fn write_escaped(octets: &[u8], line: &mut BoundedText) -> fmt::Result {
    // An octet makes an octet of text at least, and one more says that there are more.
    let octets = &octets[..octets.len().min(LINE_BYTES + 1)];
    for chunk in octets.utf8_chunks() {
        write!(line, "{}", chunk.valid().escape_debug())?;
        if !chunk.invalid().is_empty() {
            line.write_char(char::REPLACEMENT_CHARACTER)?;
        }
    }
    Ok(())
}

/// Text up to [`LINE_BYTES`]. Who writes more is stopped, and what was cut shows.
#[derive(Debug, Default)]
struct BoundedText {
    text: String,
}

impl Write for BoundedText {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.text.len() + more.len() <= LINE_BYTES {
            self.text.push_str(more);
            return Ok(());
        }
        let room = LINE_BYTES - MARK.len();
        for character in more.chars() {
            if self.text.len() + character.len_utf8() > room {
                break;
            }
            self.text.push(character);
        }
        while self.text.len() > room {
            self.text.pop();
        }
        self.text.push_str(MARK);
        Err(fmt::Error)
    }
}

/// The most octets of a line: what an operator can read on a few lines of a terminal.
const LINE_BYTES: usize = 256;
/// Stands for what was cut.
const MARK: &str = "…";

#[cfg(test)]
mod tests {
    use sctp_wire::CauseCode;

    use super::*;

    fn text(cause: Cause<'_>) -> String {
        let chunk = sctp_wire::ChunkBuf::error(&[cause]).unwrap();
        let causes = Causes::new(&chunk.as_bytes()[4..]);
        remote_error(causes).text.to_string()
    }

    #[test]
    fn what_is_short_stands_there_as_it_is() {
        assert_eq!(text(Cause::UserInitiatedAbort("läuft ab\n".as_bytes())), "läuft ab\\n");
        let just = [b'x'; LINE_BYTES];
        assert_eq!(text(Cause::UserInitiatedAbort(&just)).as_bytes(), just);
        assert_eq!(remote_error(Causes::new(&[])), RemoteError::default());
    }

    #[test]
    fn what_is_long_is_cut_and_marked() {
        let long = [b'x'; LINE_BYTES + 1];
        let parameters = [0xc0, 0xfe, 0, 4].repeat(10_000);
        let cut = [
            text(Cause::UserInitiatedAbort(&long)),
            text(Cause::UserInitiatedAbort(&[0xff; 20_000])),
            text(Cause::UserInitiatedAbort(&[1; 20_000])),
            text(Cause::UserInitiatedAbort("ä".repeat(1000).as_bytes())),
            text(Cause::UnrecognizedParameters(&parameters)),
        ];
        for text in cut {
            assert!(text.ends_with(MARK) && text.len() <= LINE_BYTES, "{} octets: {text}", text.len());
            assert!(text.len() > LINE_BYTES - 20, "{text}");
        }
        let unknown = text(Cause::Unknown { code: CauseCode::new(99), value: &[0; 20_000] });
        assert!(unknown.ends_with("20000 B"), "{unknown}");
    }
}
