//! Doc comments that make sense alone: the counter behind house rule 13, which `cargo xtask phrases` runs.
//!
//! The rule is mechanical. A comment is a fragment if its first sentence begins with a word that leans on something
//! before it ("Of those …", "It …", "The same …", "What …", a section number), begins with a small letter, or has
//! fewer than three words; and, on a function that returns something, if it does not begin with what the function
//! does ("Returns …", "Sends …"). Public items need [`SHORTEST_PUBLIC`] characters, and nobody's comment may be a
//! section number alone. Tests are not looked at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::finding::Finding;
use crate::sources::{Rust, Source, Sources};

use self::collect::{DocComment, Owner, doc_comments};

mod collect;

/// The largest share of fragments a crate may have, in percent.
const FRAGMENTS_PERCENT: usize = 3;
/// The least number of characters of the comment of a public item.
const SHORTEST_PUBLIC: usize = 25;
/// The least number of words of a first sentence.
const FEWEST_WORDS: usize = 3;

/// First words that need something before them to make sense.
const LEANING: &[&str] = &[
    "Of", "In", "On", "At", "By", "For", "From", "With", "Without", "To", "Under", "Over", "Beyond",
    "Behind", "Below", "Above", "Between", "Before", "After", "Until", "Since", "Through", "Within",
    "Against", "About", "Per", "Up", "Out", "Beside", "And", "But", "Or", "Nor", "So", "As", "If", "When",
    "While", "Because", "Where", "Whose", "Which", "What", "Who", "Whom", "Why", "That", "Those", "These",
    "It", "Its", "They", "Their", "Them", "Same", "Also", "Then", "Only", "Not", "Never", "None", "Neither",
    "Less", "Such", "Likewise", "Once", "Does", "Is", "Was", "Has", "Are", "Were", "Too", "Whatever",
    "Either", "Others",
];
/// Openings of more than one word that need something before them.
const LEANING_OPENINGS: &[&str] =
    &["The same", "The other", "The others", "The rest", "Both of", "Both.", "How the", "How it", "How."];
/// Nouns that look like verbs, where a function's comment should begin with a verb.
const PLURALS: &[&str] = &[
    "Octets",
    "Packets",
    "Messages",
    "Chunks",
    "Streams",
    "Requests",
    "Associations",
    "Addresses",
    "Events",
    "This",
    "Numbers",
    "Segments",
    "Recoveries",
    "Parameters",
    "Counters",
    "Losses",
    "Tags",
    "Ports",
    "Times",
    "Paths",
    "Fragments",
    "Bytes",
    "Rules",
    "Connections",
    "Milliseconds",
    "Seconds",
    "Nanoseconds",
    "Probabilities",
    "Percentiles",
    "Statistics",
    "Options",
    "Timers",
    "Words",
    "Lines",
    "Bits",
    "Samples",
    "Figures",
    "Keys",
    "Sessions",
    "Pinholes",
    "Ranges",
    "Transports",
    "Always",
    "Us",
    "Less",
    "Across",
    "Means",
    "Values",
    "Delays",
    "Ticks",
    "Errors",
    "Rows",
    "Columns",
    "Attributes",
    "Tuples",
    "Hosts",
    "Links",
    "Series",
    "Names",
    "Cells",
];

/// The share of fragments among the comments of one crate.
#[derive(Default)]
struct Share {
    comments: usize,
    fragments: usize,
    shortest: usize,
    lone: usize,
    findings: Vec<(PathBuf, usize, String)>,
}

/// Reads the doc comments of all crates.
pub(crate) fn check(sources: &Sources) -> Vec<Finding> {
    let mut shares: BTreeMap<PathBuf, Share> = BTreeMap::new();
    for source in sources.files.iter().filter(|source| !source.is_test()) {
        if let Some(folder) = source.crate_folder() {
            shares.entry(folder).or_default().read(source);
        }
    }
    shares
        .iter()
        .filter(|(_, share)| share.comments > 0)
        .flat_map(|(folder, share)| share.judge(folder))
        .collect()
}

impl Share {
    fn read(&mut self, source: &Source) {
        let Rust::Parsed(file) = &source.rust else { return };
        for comment in doc_comments(file) {
            self.comments += 1;
            for fault in faults(&comment) {
                match fault {
                    Fault::Fragment => self.fragments += 1,
                    Fault::TooShort => self.shortest += 1,
                    Fault::SectionAlone => self.lone += 1,
                }
                let what = format!("{}: \"{}\"", fault.what(), comment.sentence());
                self.findings.push((source.path.clone(), comment.line, what));
            }
        }
    }

    /// Makes errors of everything in a crate that is above the limits, and one note that says how it stands.
    fn judge(&self, folder: &Path) -> Vec<Finding> {
        let Self { comments, fragments, shortest, lone, .. } = self;
        let remedy = "write what the item is or does, for somebody who meets it alone (docs of a function begin \"Returns …\")";
        let fails = fragments * 100 > comments * FRAGMENTS_PERCENT || shortest + lone > 0;
        if !fails {
            return Vec::new();
        }
        let what = format!(
            "{comments} doc comments: {fragments} fragments ({} ‰), {shortest} public ones too short, {lone} section numbers alone",
            fragments * 1000 / comments
        );
        let manifest = folder.join("Cargo.toml");
        let each =
            |(path, line, what): &(PathBuf, usize, String)| Finding::error(path, *line, what.clone(), remedy);
        let mut findings: Vec<Finding> = self.findings.iter().map(each).collect();
        findings.push(Finding::error(&manifest, 1, what, remedy));
        findings
    }
}

/// A fault of a comment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Fragment,
    TooShort,
    SectionAlone,
}

impl Fault {
    fn what(self) -> &'static str {
        match self {
            Self::Fragment => "a fragment",
            Self::TooShort => "a public item in a few characters",
            Self::SectionAlone => "a section number alone",
        }
    }
}

/// Returns what is wrong with `comment`; a section number alone is nothing else.
fn faults(comment: &DocComment) -> Vec<Fault> {
    if is_citation(&comment.text) {
        return vec![Fault::SectionAlone];
    }
    let mut faults = Vec::new();
    if is_fragment(comment) {
        faults.push(Fault::Fragment);
    }
    if comment.is_public && comment.text.chars().count() < SHORTEST_PUBLIC {
        faults.push(Fault::TooShort);
    }
    faults
}

/// Returns whether `text` consists of nothing but section numbers and names of documents.
fn is_citation(text: &str) -> bool {
    let is_number =
        |word: &str| word.chars().any(|c| c.is_ascii_digit()) && !word.chars().any(char::is_lowercase);
    let is_link =
        |word: &str| matches!(word, "RFC" | "and" | "to" | "Fig" | "Figure" | "Table" | "Section" | "§");
    let mut words =
        text.split([' ', ',', '.', ';', '(', ')', ':']).filter(|word| !word.is_empty()).peekable();
    words.peek().is_some() && words.all(|word| is_number(word) || is_link(word))
}

fn is_fragment(comment: &DocComment) -> bool {
    let sentence = comment.sentence();
    let mut words = sentence.split_whitespace();
    let Some(first) = words.next() else { return true };
    let second = words.next().unwrap_or_default();
    let bare = first.trim_end_matches([',', ':', '.', ';']);
    let leans = LEANING.contains(&bare)
        || LEANING_OPENINGS.iter().any(|opening| starts_with_words(sentence, opening))
        || bare.starts_with('§');
    let is_short = sentence.split_whitespace().count() < FEWEST_WORDS;
    let starts_small = bare.len() > 1 && bare.chars().all(|c| c.is_ascii_lowercase()) && !is_term(bare);
    let lacks_verb = comment.owner == Owner::FunctionWithResult && !is_verb(bare, second);
    leans || is_short || starts_small || lacks_verb
}

fn starts_with_words(sentence: &str, opening: &str) -> bool {
    sentence.strip_prefix(opening).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Returns whether a word is one of the RFCs' that is written small even where a sentence begins.
fn is_term(word: &str) -> bool {
    matches!(
        word,
        "cwnd" | "ssthresh" | "rwnd" | "nftables" | "usrsctp" | "dcsctp" | "pion" | "tshark" | "quinn"
    )
}

/// Returns whether `first` is a verb in the third person, as far as its form tells.
fn is_verb(first: &str, second: &str) -> bool {
    let is_word = first.chars().all(|c| c.is_alphabetic() || c == '-' || c == '’');
    let is_capitalised = first.chars().next().is_some_and(char::is_uppercase)
        && !first.chars().skip(1).any(char::is_uppercase);
    is_word
        && is_capitalised
        && first.ends_with('s')
        && !PLURALS.contains(&first)
        && !matches!(second, "of" | "are" | "is" | "per")
}

#[cfg(test)]
mod tests;
