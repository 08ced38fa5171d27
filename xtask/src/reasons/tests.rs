use super::missing;

const MANIFEST: &str = "[workspace]\nresolver = \"3\"\n\n[workspace.dependencies]\n# Ours.\n\
    netem = { path = \"crates/netem\" }\nbytes = \"1\"\nclap = { version = \"4\", features = [\"derive\"] }\n\n\
    [workspace.lints.rust]\nmissing_docs = \"warn\"\n";

#[test]
fn dependency_without_a_reason_is_found_with_its_line() {
    let found = missing(MANIFEST, "| `bytes` | slices |");
    assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [8]);
}

#[test]
fn own_crates_and_other_sections_need_no_reason() {
    assert_eq!(missing(MANIFEST, "`bytes`, `clap`"), []);
}
