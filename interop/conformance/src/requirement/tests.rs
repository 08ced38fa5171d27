//! The list as it stands, and lists with a fault each.

use super::*;

fn list(requirements: &str, count: usize) -> Vec<String> {
    let text = format!("[[section]]\nnumber = \"1\"\ncount = {count}\nrequirements = [{requirements}]");
    toml::from_str::<File>(&text)
        .map_or_else(|error| vec![error.message().to_owned()], |file| faults(&file.section))
}

#[test]
fn list_is_at_odds_with_nothing() -> Result<(), toml::de::Error> {
    assert_eq!(faults(&sections()?), Vec::<String>::new());
    Ok(())
}

#[test]
fn each_fault_is_found() {
    let sound = "{ n = 1, keyword = \"MUST\", what = \"x\", every_packet = \"alone\" }";
    assert!(list(sound, 1).is_empty());
    assert_eq!(list(sound, 2).len(), 1);
    for (from, to) in [
        ("n = 1", "n = 2"),
        ("\"x\"", "\"1 2 3 4 5 6 7 8 9 10 11 12 13\""),
        ("\"alone\"", "\"together\""),
        ("every_packet", "case"),
        ("every_packet", "not_visible"),
        ("\"alone\"", "\"alone\", departs = \"why\""),
        (", every_packet = \"alone\"", ""),
        ("MUST", "MAY"),
    ] {
        assert_eq!(list(&sound.replace(from, to), 1).len(), 1, "{from} → {to}");
    }
}
