//! The checks: what must have been seen, by the page and by the server, and whether it was.

use serde::Deserialize;

/// The result that the page posts at its end.
#[derive(Debug, Deserialize)]
pub(crate) struct PageResult {
    pub(crate) browser: String,
    checks: Vec<Check>,
    pub(crate) measured: serde_json::Value,
    /// The reason why it stopped; empty if it came to its end.
    failure: String,
}

/// Something that was looked at.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Check {
    name: String,
    ok: bool,
    detail: String,
}

/// Everything that was looked at, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks(Vec<Check>);

impl Checks {
    pub(crate) fn note(&mut self, name: &str, ok: bool, detail: &str) {
        self.0.push(Check { name: name.to_owned(), ok, detail: detail.to_owned() });
    }

    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }
}

/// Prints what each check has found. Whether all there must be are there, once, and good.
pub(crate) fn judge(page: PageResult, mut checks: Checks) -> bool {
    let mut ok = page.failure.is_empty();
    if !ok {
        println!("the page failed: {}", page.failure);
    }
    checks.0.extend(page.checks);
    for Check { name, ok, detail } in &checks.0 {
        println!(
            "{} {name}{}{detail}",
            if *ok { "ok    " } else { "FAILED" },
            if detail.is_empty() { "" } else { ": " }
        );
    }
    for wanted in WANTED {
        let seen = checks.0.iter().filter(|check| check.name == *wanted).count();
        if seen != 1 {
            println!("FAILED {wanted}: seen {seen} times, not once");
            ok = false;
        }
    }
    ok && checks.0.iter().all(|check| check.ok)
}

/// Every check there must be.
const WANTED: &[&str] = &[
    "echo ordered",
    "echo unordered",
    "echo retransmits",
    "echo lifetime",
    "opened by the page ordered",
    "opened by the page unordered",
    "opened by the page retransmits",
    "opened by the page lifetime",
    "opened by the server ordered",
    "opened by the server unordered",
    "opened by the server retransmits",
    "opened by the server lifetime",
    "ours-ordered back",
    "ours-unordered back",
    "ours-retransmits back",
    "ours-lifetime back",
    "the server has its messages back",
    "upload of 10 MB",
    "bufferedAmount holds the upload back",
    "download of 10 MB",
    "the server closes the download",
    "the page closes a channel",
    "the page closes a channel, after all its messages",
    "a stream is used again",
    "the server closes a channel, after all its messages",
    "our own channel is closed in both directions",
    "echo again",
    "the page ends the connection",
    "echo other way round",
    "the server ends the association",
    "the association is shut down",
];
