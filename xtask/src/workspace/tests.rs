use super::{crate_name, parse_tree};

#[test]
fn repeated_and_marked_lines_count_once_and_the_package_itself_not_at_all() {
    let text = "sctp-core v0.1.0 (/x/crates/sctp-core)\nbytes v1.12.1\nsctp-wire v0.1.0 (/x)\nbytes v1.12.1\n\
                sctp-wire v0.1.0 (/x) (*)\n";
    let tree = parse_tree(text);
    assert_eq!(tree.iter().map(|entry| crate_name(entry)).collect::<Vec<_>>(), ["bytes", "sctp-wire"]);
}

#[test]
fn two_versions_of_a_crate_count_twice() {
    assert_eq!(parse_tree("a v1.0.0\nrand v0.9.0\nrand v0.10.0\n").len(), 2);
}
