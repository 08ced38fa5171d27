//! One direction between the rooms of a crate, as between crates: what a room takes from the rooms above it.
//!
//! A room is a file or folder directly below `src`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::finding::Finding;
use crate::imports::{Import, imports, module};
use crate::sources::Sources;

/// The rooms of crates that are checked, lowest first.
const ROOMS: [(&str, &[&str]); 1] = [(
    "crates/sctp-core",
    &[
        "allocation",
        "steps",
        "rng",
        "seldom",
        "stream_set",
        "transmit",
        "message",
        "error",
        "config",
        "capabilities",
        "event",
        "stats",
        "trace",
        "path",
        "receiver",
        "sender",
        "association",
        "endpoint",
    ],
)];

/// An import that runs back up: the lower room, the upper one, and the name it takes from there.
type BackUp = (String, String, String);

/// Returns an error for each import that runs back up, and for each room that has no place in the order.
pub(crate) fn check(sources: &Sources) -> Vec<Finding> {
    ROOMS.iter().flat_map(|&(folder, rooms)| check_crate(sources, Path::new(folder), rooms)).collect()
}

fn check_crate(sources: &Sources, folder: &Path, rooms: &[&str]) -> Vec<Finding> {
    let mut places: BTreeMap<BackUp, (usize, &Path)> = BTreeMap::new();
    for Import { from, path, line, to, name } in imports(sources, folder) {
        let ([from, ..], [to, ..]) = (&*from, &*to) else { continue };
        if height(rooms, to) > height(rooms, from) && rooms.contains(&from.as_str()) {
            places.entry((from.clone(), to.clone(), name)).or_insert((line, path));
        }
    }
    let mut strangers: BTreeMap<String, &Path> = BTreeMap::new();
    for source in sources.files.iter().filter(|source| source.path.starts_with(folder) && !source.is_test()) {
        let room = module(folder, &source.path).and_then(|module| module.into_iter().next());
        if let Some(room) = room.filter(|room| !rooms.contains(&room.as_str())) {
            strangers.entry(room).or_insert(&source.path);
        }
    }
    let back_up = places.iter().map(|((from, to, name), (line, path))| {
        let what = format!("`{from}` takes `{name}` from `{to}`, which is above it");
        let remedy = "move a value type that both rooms need into a room below them, or return an outcome";
        Finding::error(path, *line, what, remedy)
    });
    let unplaced = strangers.iter().map(|(room, path)| {
        let what = format!("the room `{room}` has no place in the order of rooms");
        Finding::error(
            path,
            1,
            what,
            "put it into `ROOMS` of xtask/src/rooms.rs, above all that it takes from",
        )
    });
    back_up.chain(unplaced).collect()
}

/// Returns how high a room stands; names that are no room stand below all.
fn height(rooms: &[&str], room: &str) -> Option<usize> {
    rooms.iter().position(|each| *each == room)
}

#[cfg(test)]
mod tests;
