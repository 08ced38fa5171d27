//! `docs/conformance.md`: each requirement with its judge, each case with its result.

use std::collections::BTreeMap;

use crate::case::{Case, Over, Strength, all};
use crate::law::RULES;
use crate::requirement::{self, Judge, NotOurs, NotVisible, Section};
use crate::virtual_time::VirtualWire;

/// Runs all cases in virtual time and writes the page.
///
/// # Errors
/// What in the list of requirements is at odds.
pub fn page() -> Result<String, String> {
    let sections = requirement::sections().map_err(|error| error.to_string())?;
    let faults = requirement::faults(&sections);
    if !faults.is_empty() {
        return Err(faults.join("\n"));
    }
    Ok([HEAD, &requirements(&sections), &rules(), &cases()].concat())
}

/// Returns the part about the requirements: how many each section has, and which no script judges, and why.
fn requirements(sections: &[Section]) -> String {
    let mut total = Tally::default();
    let mut rows = String::new();
    let (mut open, mut departures) = (BTreeMap::<Reason, Vec<String>>::new(), String::new());
    for Section { number, requirements, .. } in sections {
        let mut tally = Tally::default();
        for requirement in requirements {
            let Some(judge) = requirement.judge() else { continue };
            tally.count(&judge);
            let place = format!("{number} ({})", requirement.n);
            match judge {
                Judge::NotVisible(reason) => open.entry(Reason::NotVisible(reason)).or_default().push(place),
                Judge::NotOurs(reason) => open.entry(Reason::NotOurs(reason)).or_default().push(place),
                Judge::Departs(why) => {
                    departures += &format!("* §{place}, {}: {why}\n", requirement.what);
                }
                Judge::Cases(_) | Judge::EveryPacket(_) => {}
            }
        }
        total.add(&tally);
        rows += &tally.row(number);
    }
    let reasons: String = open.iter().map(|(reason, places)| reason.line(places)).collect();
    let (sum, judged) = (total.sum(), total.case + total.every_packet);
    format!(
        "## Requirements\n\n{sum} keywords: {judged} are judged by a case or in every packet.\n\n{TALLY}{rows}{}\n\
         Not visible or for others (the number in parentheses counts the keywords of the section):\n\n{reasons}\n\
         Departures:\n\n{departures}",
        total.row("all")
    )
}

/// The requirements of a section, by their judges.
#[derive(Default)]
struct Tally {
    case: usize,
    every_packet: usize,
    not_visible: usize,
    not_ours: usize,
    departs: usize,
}

impl Tally {
    fn count(&mut self, judge: &Judge<'_>) {
        let count = match judge {
            Judge::Cases(_) => &mut self.case,
            Judge::EveryPacket(_) => &mut self.every_packet,
            Judge::NotVisible(_) => &mut self.not_visible,
            Judge::NotOurs(_) => &mut self.not_ours,
            Judge::Departs(_) => &mut self.departs,
        };
        *count += 1;
    }

    fn add(&mut self, other: &Self) {
        self.case += other.case;
        self.every_packet += other.every_packet;
        self.not_visible += other.not_visible;
        self.not_ours += other.not_ours;
        self.departs += other.departs;
    }

    fn sum(&self) -> usize {
        self.case + self.every_packet + self.not_visible + self.not_ours + self.departs
    }

    fn row(&self, section: &str) -> String {
        let counts =
            [self.sum(), self.case, self.every_packet, self.not_visible, self.not_ours, self.departs];
        let shown = counts.map(|count| if count == 0 { String::new() } else { count.to_string() });
        format!("| {section} | {} |\n", shown.join(" | "))
    }
}

/// The reason for which no script judges a requirement.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    /// No packet shows whether it is met.
    NotVisible(NotVisible),
    /// The requirement speaks to others.
    NotOurs(NotOurs),
}

impl Reason {
    fn line(&self, places: &[String]) -> String {
        let why = match self {
            Self::NotVisible(NotVisible::Inside) => "state that no packet shows",
            Self::NotVisible(NotVisible::Quality) => "how good a key or a function is",
            Self::NotVisible(NotVisible::Degree) => "no bound that a script could hold a stack to",
            Self::NotVisible(NotVisible::Configuration) => "values that the configuration refuses",
            Self::NotVisible(NotVisible::Advice) => "something to consider when writing or tuning a stack",
            Self::NotOurs(NotOurs::Registry) => "for those who assign numbers",
            Self::NotOurs(NotOurs::Hardware) => "for hardware",
            Self::NotOurs(NotOurs::Option) => "for stacks that leave out, or have, what is optional",
            Self::NotOurs(NotOurs::NeverSent) => "about what is never sent",
        };
        format!("* {why}: §§{}\n", places.join(", "))
    }
}

fn rules() -> String {
    let row =
        |rule: &crate::law::Rule| format!("| {} | {} | `{}` |\n", rule.section, rule.requirement, rule.name);
    let rows: String = RULES.iter().map(row).collect();
    format!(
        "\n## In every packet\n\nEvery packet that a script hears keeps these rules, or its case fails.\n\n{RULE_COLUMNS}{rows}"
    )
}

fn cases() -> String {
    let cases = all();
    let rows: Vec<String> = cases.iter().map(row).collect();
    let both = cases.iter().filter(|case| case.over == Over::Both).count();
    let (total, timed) = (cases.len(), cases.len() - both);
    format!(
        "\n## Cases\n\n{total} cases: {both} over both wires, {timed} in virtual time alone, because times decide them.\n\n{COLUMNS}{}\n",
        rows.join("\n")
    )
}

fn row(case: &Case) -> String {
    let strength = match case.strength {
        Strength::Must => "must",
        Strength::Should => "should",
    };
    let over = match case.over {
        Over::Both => "virtual time, raw IP",
        Over::VirtualTime => "virtual time",
    };
    let Case { section, requirement, name, .. } = case;
    format!("| {section} | {strength} | {requirement} | `{name}` | {over} | {} |", result(case))
}

/// Runs a case in virtual time.
fn result(case: &Case) -> &'static str {
    let run = VirtualWire::new(case.settings).map(|wire| case.run(Box::new(wire)));
    if matches!(run, Ok(Ok(()))) { "passes" } else { "fails" }
}

const HEAD: &str = "\
# RFC 9260, packet by packet

Written by `cargo xtask conformance-table` from what the cases give; `cargo test -p conformance` compares it. Each MUST, MUST NOT, SHOULD, SHOULD NOT,
SHALL and RECOMMENDED of §§3, 5, 6, 8 and 9 of RFC 9260 is an entry of [interop/conformance](../interop/conformance/requirements), in our
words, with what judges it: a case, a rule for every packet, or the reason why no packet can. A case is a script in
[interop/conformance](../interop/conformance/src/cases): a peer that says a packet, and hears what has to come. The same scripts
run over the core in virtual time and over protocol 132, in a network namespace, against a process with the stack that ships.
`cargo run -p conformance -- run NAME` runs one and prints its packets.

";
const TALLY: &str = "\
| § | keywords | by case | in every packet | not visible | for others | departs |
|---|---|---|---|---|---|---|
";
const RULE_COLUMNS: &str = "\
| § | rule | name |
|---|---|---|
";
const COLUMNS: &str = "\
| § | | requirement | case | over | result |
|---|---|---|---|---|---|
";
