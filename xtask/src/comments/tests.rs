use std::path::Path;

use super::{Fault, Share};
use crate::comments::{collect::doc_comments, faults};
use crate::sources::{Rust, Source};

fn found(text: &str) -> Vec<Vec<Fault>> {
    let source = Source::new(Path::new("crates/x/src/lib.rs"), text.to_owned());
    let Rust::Parsed(file) = &source.rust else { panic!("does not parse: {text}") };
    doc_comments(file).iter().map(faults).collect()
}

#[test]
fn first_words_that_lean_on_something_are_fragments() {
    for comment in [
        "Of no message at all.",
        "The same for streams.",
        "It does.",
        "Without that.",
        "What a peer said of it.",
    ] {
        assert_eq!(found(&format!("/// {comment}\nstruct S;")), [[Fault::Fragment]], "{comment}");
    }
    assert_eq!(found("/// The number of octets in flight.\nstruct S;"), [[]]);
}

#[test]
fn a_function_with_a_result_says_what_it_does() {
    assert_eq!(found("/// The number of octets in flight.\nfn f() -> u8 { 1 }"), [[Fault::Fragment]]);
    assert_eq!(found("/// Octets that are in flight.\nfn f() -> u8 { 1 }"), [[Fault::Fragment]]);
    assert_eq!(found("/// Returns the number of octets in flight.\nfn f() -> u8 { 1 }"), [[]]);
    assert_eq!(found("/// The peer has answered.\nfn f() {}"), [[]]);
}

#[test]
fn public_items_and_their_parts_need_more_than_a_word() {
    let text = "/// Every way to end it all now.\npub enum E {\n/// The peer ended it.\nA,\n}";
    assert_eq!(found(text), [vec![], vec![Fault::TooShort]]);
    assert_eq!(found(&text.replace("pub ", "")), [[], []]);
}

#[test]
fn section_numbers_alone_are_found() {
    for comment in ["RFC 9260 §6.3.1 (C3).", "A5 to A8, F0.", "§5.2"] {
        assert_eq!(found(&format!("/// {comment}\nstruct S;")), [[Fault::SectionAlone]], "{comment}");
    }
    assert_eq!(found("/// Rule C3 of RFC 9260 §6.3.1.\nstruct S;"), [[]]);
}

#[test]
fn a_crate_fails_above_the_share_and_tests_do_not_count() {
    let judged = |text: String| {
        let mut share = Share::default();
        share.read(&Source::new(Path::new("crates/x/src/lib.rs"), text));
        share.judge(Path::new("crates/x")).len()
    };
    let sound = "/// The number of octets.\nconst A: u8 = 1;\n".repeat(40);
    let fragment = "/// Of those it has.\nconst A: u8 = 1;\n";
    assert_eq!(judged(format!("{sound}{fragment}")), 0);
    assert_eq!(judged(format!("{sound}{fragment}{fragment}")), 3);
    assert_eq!(judged(format!("{sound}{fragment}#[cfg(test)]\nmod tests {{\n{fragment}}}")), 0);
}
