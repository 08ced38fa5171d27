//! The file of call records: a line of JSON for each call.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use call_core::Record;

use crate::server::StartError;

/// Lines that wait, and the file they go to. What cannot be written, on a full disk for instance, waits within a bound; lines
/// beyond it are lost whole, and counted.
#[derive(Debug)]
pub(crate) struct Records {
    file: Option<File>,
    waiting: Vec<u8>,
    is_failing: bool,
    pub(crate) lost: u64,
}

impl Records {
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, StartError> {
        let file = path.map(|path| {
            OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .map_err(|because| StartError::Records { path: path.to_owned(), because })
        });
        Ok(Self { file: file.transpose()?, waiting: Vec::new(), is_failing: false, lost: 0 })
    }

    /// Goes on in another file; what waits goes there.
    pub(crate) fn go_on_in(&mut self, other: Self) {
        self.flush();
        self.file = other.file;
    }

    pub(crate) fn write(&mut self, record: &Record) {
        if self.file.is_none() {
            return;
        }
        let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let line = record.line(unix_s).to_string();
        if self.waiting.len() + line.len() > MOST_WAITING_BYTES {
            self.lost += 1;
            return;
        }
        self.waiting.extend_from_slice(line.as_bytes());
        self.waiting.push(b'\n');
    }

    /// Writes what waits, as far as that goes.
    pub(crate) fn flush(&mut self) {
        let Some(file) = &mut self.file else { return };
        while !self.waiting.is_empty() {
            match file.write(&self.waiting) {
                Ok(count @ 1..) => {
                    self.waiting.drain(..count);
                    self.is_failing = false;
                }
                Ok(0) => return,
                Err(error) => {
                    if !std::mem::replace(&mut self.is_failing, true) {
                        tracing::error!(%error, "call records cannot be written; they wait");
                    }
                    return;
                }
            }
        }
    }
}

const MOST_WAITING_BYTES: usize = 1 << 20;
