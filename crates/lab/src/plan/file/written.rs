//! The text of a single cell: a plan of its own, in one form for whatever says the same.
//!
//! Tables are written by name, links and flows in the order of the plan, since addresses follow from it.

use std::fmt::Write as _;

use toml::de::{DeTable, DeValue};

/// Returns the plan of one cell: a line for each key of the scenario.
pub(super) fn written(scenario: &DeTable<'_>) -> String {
    let mut text = String::new();
    for (key, value) in by_name(scenario) {
        let is_ordered = key == "links" || key == "flows";
        put_key(&mut text, key);
        put(&mut text, value, if is_ordered { EntryOrder::OfPlan } else { EntryOrder::ByName });
        text.push('\n');
    }
    text
}

/// The order in which the entries of a table are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryOrder {
    ByName,
    OfPlan,
}

fn put(text: &mut String, value: &DeValue<'_>, order: EntryOrder) {
    // Writing to a string cannot fail.
    let _ = match value {
        DeValue::String(words) => write!(text, "{}", toml::Value::from(words.as_ref())),
        DeValue::Integer(number) => write!(text, "{number}"),
        DeValue::Float(number) => write!(text, "{number}"),
        DeValue::Boolean(is_so) => write!(text, "{is_so}"),
        DeValue::Datetime(time) => write!(text, "{time}"),
        DeValue::Array(list) => {
            text.push('[');
            for (index, value) in list.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { ", " });
                put(text, value.get_ref(), EntryOrder::ByName);
            }
            text.write_str("]")
        }
        DeValue::Table(table) => {
            let entries = if order == EntryOrder::OfPlan { by_place(table) } else { by_name(table) };
            text.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                text.push_str(if index == 0 { " " } else { ", " });
                put_key(text, key);
                put(text, value, EntryOrder::ByName);
            }
            text.write_str(" }")
        }
    };
}

fn put_key(text: &mut String, key: &str) {
    // Writing to a string cannot fail.
    let _ = write!(text, "{} = ", toml::Value::from(key));
}

fn by_name<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t str, &'t DeValue<'i>)> {
    let mut entries: Vec<_> =
        table.iter().map(|(key, value)| (key.get_ref().as_ref(), value.get_ref())).collect();
    entries.sort_by_key(|(key, _)| *key);
    entries
}

fn by_place<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t str, &'t DeValue<'i>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(_, value)| value.span().start);
    entries.into_iter().map(|(key, value)| (key.get_ref().as_ref(), value.get_ref())).collect()
}
