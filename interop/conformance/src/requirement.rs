//! The list of what RFC 9260 requires, keyword by keyword, with what judges each of them.
//!
//! The list is data: `requirements/section-*.toml`, in our own words. [`faults`] finds what in it is at odds with itself, with
//! the cases and with the rules for every packet.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::case::all;
use crate::law::RULES;

/// A section of the RFC that has keywords.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// The number of the section: "3.3.1".
    pub number: String,
    /// The number of keywords in the text of the section.
    pub count: usize,
    /// The requirements, one for each keyword.
    pub requirements: Vec<Requirement>,
}

/// A keyword and what it demands.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// The ordinal of the keyword in its section, from 1.
    pub n: usize,
    /// The keyword that stands in the text.
    pub keyword: Keyword,
    /// The demand in a few words of our own.
    pub what: String,
    case: Option<String>,
    every_packet: Option<String>,
    not_visible: Option<NotVisible>,
    not_ours: Option<NotOurs>,
    departs: Option<String>,
}

/// The keywords of RFC 2119 that demand something.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Keyword {
    /// The keyword MUST, which demands.
    #[serde(rename = "MUST")]
    Must,
    /// The keyword MUST NOT, which forbids.
    #[serde(rename = "MUST NOT")]
    MustNot,
    /// The keyword SHALL, which means MUST.
    #[serde(rename = "SHALL")]
    Shall,
    /// The keyword SHOULD, which recommends.
    #[serde(rename = "SHOULD")]
    Should,
    /// The keyword SHOULD NOT, which advises against.
    #[serde(rename = "SHOULD NOT")]
    ShouldNot,
    /// The keyword RECOMMENDED, which means SHOULD.
    #[serde(rename = "RECOMMENDED")]
    Recommended,
}

/// The reasons for which no packet shows whether a requirement is met.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum NotVisible {
    /// The requirement is about state that no packet shows.
    Inside,
    /// The requirement is about the quality of chance, keys or functions.
    Quality,
    /// The requirement gives no bound that a script could hold the stack to.
    Degree,
    /// The requirement is about values that the configuration refuses.
    Configuration,
    /// The requirement asks those who write or tune a stack to consider something.
    Advice,
}

/// The reasons for which a requirement does not speak to this stack.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum NotOurs {
    /// The requirement speaks to those who assign numbers.
    Registry,
    /// The requirement speaks to hardware.
    Hardware,
    /// The requirement speaks to stacks that leave something out which this one has, or have what this one leaves out.
    Option,
    /// The requirement is about something that is never sent.
    NeverSent,
}

/// The means by which a requirement is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judge<'a> {
    /// Cases show whether it is met.
    Cases(Vec<&'a str>),
    /// A rule for every packet shows it.
    EveryPacket(&'a str),
    /// No packet shows whether it is met.
    NotVisible(NotVisible),
    /// The requirement speaks to others.
    NotOurs(NotOurs),
    /// The stack does otherwise, for this reason.
    Departs(&'a str),
}

impl Requirement {
    /// Returns the judge, if there is just one.
    #[must_use]
    pub fn judge(&self) -> Option<Judge<'_>> {
        let judges = [
            self.case.as_deref().map(|names| Judge::Cases(names.split_whitespace().collect())),
            self.every_packet.as_deref().map(Judge::EveryPacket),
            self.not_visible.map(Judge::NotVisible),
            self.not_ours.map(Judge::NotOurs),
            self.departs.as_deref().map(Judge::Departs),
        ];
        let mut judges = judges.into_iter().flatten();
        judges.next().filter(|_| judges.next().is_none())
    }
}

/// Reads the list.
///
/// # Errors
/// A file of the list that is no TOML, or has other fields.
pub fn sections() -> Result<Vec<Section>, toml::de::Error> {
    let mut sections = Vec::new();
    for text in FILES {
        sections.extend(toml::from_str::<File>(text)?.section);
    }
    Ok(sections)
}

/// Returns what is at odds in the list.
#[must_use]
pub fn faults(sections: &[Section]) -> Vec<String> {
    let cases: BTreeSet<&str> = all().iter().map(|case| case.name).collect();
    let rules: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
    let mut faults = Vec::new();
    for section in sections {
        let Section { number, count, requirements } = section;
        if requirements.len() != *count {
            faults.push(format!("§{number} has {count} keywords, and {} requirements", requirements.len()));
        }
        for (place, requirement) in (1..).zip(requirements) {
            let fault = fault(requirement, place, &cases, &rules);
            faults.extend(fault.map(|fault| format!("§{number}, {place}: {fault}")));
        }
    }
    faults
}

fn fault(
    requirement: &Requirement,
    place: usize,
    cases: &BTreeSet<&str>,
    rules: &BTreeSet<&str>,
) -> Option<String> {
    let Requirement { n, what, .. } = requirement;
    if *n != place {
        return Some(format!("its ordinal is {n}"));
    }
    if what.split_whitespace().count() > MOST_WORDS {
        return Some(format!("`{what}` has more than {MOST_WORDS} words"));
    }
    match requirement.judge() {
        None => Some("it needs one judge, and no more".to_owned()),
        Some(Judge::Cases(names)) => {
            let unknown = names.iter().find(|name| !cases.contains(**name));
            unknown.map(|name| format!("there is no case `{name}`"))
        }
        Some(Judge::EveryPacket(rule)) if !rules.contains(rule) => Some(format!("there is no rule `{rule}`")),
        Some(Judge::EveryPacket(_) | Judge::NotVisible(_) | Judge::NotOurs(_) | Judge::Departs(_)) => None,
    }
}

/// A file of the list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    section: Vec<Section>,
}

const FILES: [&str; 5] = [
    include_str!("../requirements/section-3.toml"),
    include_str!("../requirements/section-5.toml"),
    include_str!("../requirements/section-6.toml"),
    include_str!("../requirements/section-8.toml"),
    include_str!("../requirements/section-9.toml"),
];
/// The largest number of words of a description.
const MOST_WORDS: usize = 12;

#[cfg(test)]
mod tests;
