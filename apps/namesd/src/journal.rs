//! The journal: every update that was acknowledged, on the disk before its answer is sent.
//!
//! ```text
//!  names.snapshot   all zones at some number, in messages as a secondary would get them
//!  names.journal    the updates since, as they came; each with its number
//!  names.lock       held by the server that has the folder
//! ```
//!
//! Both files are frames: a mark, the number, the length, a checksum, a DNS message. What a crash leaves at the end of the journal, a
//! frame cut short, was acknowledged to nobody and is cut off; a bad frame with a good one behind it is damage, and the server does
//! not start.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The journal of this server, open and locked.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: PathBuf,
    file: File,
    _lock: File,
    /// The octets of the file that count.
    length: u64,
    /// The number of the last frame.
    number: u64,
    /// There may be more in the file than counts.
    is_torn: bool,
    /// Frames that are not on the disk yet.
    waiting: Vec<u8>,
}

/// The content of the folder when it was opened.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The messages of the snapshot.
    pub(crate) zones: Vec<Vec<u8>>,
    /// The updates since.
    pub(crate) updates: Vec<Vec<u8>>,
    /// Octets at the end that were no frame, and were cut off.
    pub(crate) cut_off: u64,
}

/// The reason why what is kept cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JournalError {
    /// Another server has the folder.
    #[error("server.folder = {}: another namesd has it", folder.display())]
    Taken { folder: PathBuf },
    /// A file cannot be read or written.
    #[error("{}: {because}", path.display())]
    File { path: PathBuf, because: io::Error },
    /// A frame is damaged that others follow.
    #[error(
        "{} is damaged from octet {at} on, with updates behind it that are whole; restore it from a copy, or cut it there and lose them",
        path.display()
    )]
    Damaged { path: PathBuf, at: u64 },
}

impl Journal {
    /// Opens the folder's journal, and returns what is in it.
    pub(crate) fn open(folder: &Path) -> Result<(Self, Kept), JournalError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |because| JournalError::File { path, because }
        };
        let lock_path = folder.join("names.lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&lock_path);
        let lock = lock.map_err(failed(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Taken { folder: folder.to_owned() }),
            Err(TryLockError::Error(because)) => {
                return Err(JournalError::File { path: lock_path, because });
            }
        }
        let mut kept = Kept::default();
        let snapshot_path = folder.join(SNAPSHOT);
        let mut number = 0;
        match std::fs::read(&snapshot_path) {
            Ok(octets) => {
                let (frames, end) = frames(&octets);
                if end != octets.len() {
                    return Err(JournalError::Damaged { path: snapshot_path, at: offset(end) });
                }
                number = frames.last().map_or(0, |(number, _)| *number);
                kept.zones = frames.into_iter().map(|(_, octets)| octets.to_vec()).collect();
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(because) => return Err(JournalError::File { path: snapshot_path, because }),
        }
        let path = folder.join(JOURNAL);
        let open = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
        let mut file = open.map_err(failed(&path))?;
        let mut octets = Vec::new();
        file.read_to_end(&mut octets).map_err(failed(&path))?;
        let (frames, end) = frames(&octets);
        if (end + 1..octets.len()).any(|at| frame(&octets[at..]).is_some()) {
            return Err(JournalError::Damaged { path, at: offset(end) });
        }
        // A crash between snapshot and journal leaves updates that the snapshot has already.
        let newer = frames.into_iter().filter(|(of, _)| *of > number);
        let newer: Vec<(u64, &[u8])> = newer.collect();
        number = newer.last().map_or(number, |(number, _)| *number);
        kept.updates = newer.into_iter().map(|(_, octets)| octets.to_vec()).collect();
        kept.cut_off = offset(octets.len() - end);
        let length = offset(end);
        file.set_len(length).and_then(|()| file.seek(SeekFrom::Start(length))).map_err(failed(&path))?;
        let journal = Self {
            folder: folder.to_owned(),
            file,
            _lock: lock,
            length,
            number,
            is_torn: false,
            waiting: Vec::new(),
        };
        Ok((journal, kept))
    }

    /// Returns the octets of the journal.
    pub(crate) const fn length(&self) -> u64 {
        self.length
    }

    /// Takes in an update that is to be kept with the next [`commit`](Self::commit).
    pub(crate) fn append(&mut self, octets: &[u8]) {
        self.number += 1;
        write_frame(&mut self.waiting, self.number, octets);
    }

    /// Puts what waits on the disk; one call for many updates, since it waits for the disk once.
    ///
    /// # Errors
    ///
    /// Nothing of it is kept then.
    pub(crate) fn commit(&mut self) -> io::Result<()> {
        let waiting = core::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        self.mend()?;
        self.is_torn = true;
        let written = self.file.write_all(&waiting).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // If this fails, too, the next one tries again before it writes.
            let _ = self.mend();
            return Err(error);
        }
        self.is_torn = false;
        self.length += offset(waiting.len());
        Ok(())
    }

    /// Takes out of the file what does not count.
    fn mend(&mut self) -> io::Result<()> {
        if self.is_torn {
            self.file.set_len(self.length)?;
            self.file.seek(SeekFrom::Start(self.length))?;
            self.is_torn = false;
        }
        Ok(())
    }

    /// Keeps all zones as they are now, so that the journal begins anew.
    ///
    /// # Errors
    ///
    /// Snapshot and journal are what they were.
    pub(crate) fn compact<'a>(&mut self, zones: impl Iterator<Item = &'a [u8]>) -> io::Result<()> {
        let mut octets = Vec::new();
        zones.for_each(|zone| write_frame(&mut octets, self.number, zone));
        let draft = self.folder.join("names.snapshot.new");
        let mut file = File::create(&draft)?;
        file.write_all(&octets)?;
        file.sync_all()?;
        std::fs::rename(&draft, self.folder.join(SNAPSHOT))?;
        File::open(&self.folder)?.sync_all()?;
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.length = 0;
        self.file.sync_all()
    }
}

/// Returns the frames from the beginning on, and where they end.
fn frames(octets: &[u8]) -> (Vec<(u64, &[u8])>, usize) {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some((number, payload)) = frame(&octets[at..]) {
        found.push((number, payload));
        at += HEAD + payload.len();
    }
    (found, at)
}

/// Returns the frame that these octets begin with.
fn frame(octets: &[u8]) -> Option<(u64, &[u8])> {
    let rest = octets.strip_prefix(MARK)?;
    let (number, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (sum, rest) = rest.split_at_checked(SUM)?;
    let payload = rest.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    (sum == checksum(number, payload)).then_some((u64::from_be_bytes(*number), payload))
}

fn write_frame(into: &mut Vec<u8>, number: u64, payload: &[u8]) {
    let number = number.to_be_bytes();
    into.extend_from_slice(MARK);
    into.extend_from_slice(&number);
    into.extend_from_slice(&u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes());
    into.extend_from_slice(&checksum(&number, payload));
    into.extend_from_slice(payload);
}

fn checksum(number: &[u8; 8], payload: &[u8]) -> [u8; SUM] {
    let whole = Sha256::new().chain_update(number).chain_update(payload).finalize();
    whole.first_chunk().copied().unwrap_or_default()
}

fn offset(octets: usize) -> u64 {
    u64::try_from(octets).unwrap_or(u64::MAX)
}

const SNAPSHOT: &str = "names.snapshot";
const JOURNAL: &str = "names.journal";
const MARK: &[u8] = b"HNJ1";
const SUM: usize = 8;
/// Octets of a frame before its payload.
const HEAD: usize = 4 + 8 + 4 + SUM;

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that goes with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("namesd-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn path(&self) -> PathBuf {
            self.0.join(JOURNAL)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn write(folder: &Folder, updates: &[&[u8]]) {
        let (mut journal, _) = Journal::open(&folder.0).unwrap();
        updates.iter().for_each(|update| journal.append(update));
        journal.commit().unwrap();
    }

    fn read(folder: &Folder) -> Kept {
        Journal::open(&folder.0).unwrap().1
    }

    #[test]
    fn what_was_committed_is_there_again_and_nothing_else() {
        let folder = Folder::new("again");
        write(&folder, &[b"one", b"two"]);
        let (mut journal, _) = Journal::open(&folder.0).unwrap();
        journal.append(b"never committed");
        drop(journal);
        assert_eq!(read(&folder).updates, [b"one", b"two"]);
    }

    #[test]
    fn a_frame_cut_short_anywhere_is_cut_off() {
        let folder = Folder::new("torn");
        write(&folder, &[b"one", b"two"]);
        let whole = std::fs::read(folder.path()).unwrap();
        for length in 0..whole.len() {
            std::fs::write(folder.path(), &whole[..length]).unwrap();
            let kept = read(&folder);
            let expected = usize::from(length >= whole.len() / 2);
            assert_eq!((kept.updates.len(), kept.cut_off > 0), (expected, length % (whole.len() / 2) != 0));
        }
    }

    #[test]
    fn damage_in_the_middle_is_not_taken_for_an_end() {
        let folder = Folder::new("damage");
        write(&folder, &[b"one", b"two", b"three"]);
        let whole = std::fs::read(folder.path()).unwrap();
        for at in 0..whole.len() - HEAD - 5 {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            std::fs::write(folder.path(), &damaged).unwrap();
            let error = Journal::open(&folder.0).unwrap_err();
            assert!(matches!(error, JournalError::Damaged { .. }), "{at}: {error}");
        }
    }

    #[test]
    fn a_snapshot_takes_the_place_of_the_updates_before_it() {
        let folder = Folder::new("snapshot");
        write(&folder, &[b"one"]);
        let before = std::fs::read(folder.path()).unwrap();
        let (mut journal, _) = Journal::open(&folder.0).unwrap();
        journal.compact([b"zone".as_slice()].into_iter()).unwrap();
        journal.append(b"two");
        journal.commit().unwrap();
        drop(journal);
        let kept = read(&folder);
        assert_eq!((kept.zones, kept.updates), (vec![b"zone".to_vec()], vec![b"two".to_vec()]));
        // As after a crash between the two.
        std::fs::write(folder.path(), before).unwrap();
        assert!(read(&folder).updates.is_empty());
    }

    #[test]
    fn a_folder_has_one_server() {
        let folder = Folder::new("lock");
        let _first = Journal::open(&folder.0).unwrap();
        let error = Journal::open(&folder.0).unwrap_err().to_string();
        assert!(error.ends_with("another namesd has it"), "{error}");
    }
}
