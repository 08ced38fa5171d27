//! Writes the tables of `docs/models.md` and `docs/startup.md`: the models against the simulation.
//!
//! ```text
//! cargo run --release -p model-errors -- write [PART…]   simulates (all parts, or these), writes results and documents
//! cargo run --release -p model-errors -- show [PART…]    the same, but prints the tables and writes nothing
//! cargo run --release -p model-errors -- check           are the documents what docs/models.json says?
//! ```
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a program that reports to a person")]

use std::process::ExitCode;

use model_errors::{CompareError, Part, Results, document};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("model-errors: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Why nothing came of it.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Compare(#[from] CompareError),
    #[error("there is no part '{0}': write {names}", names = Part::ALL.map(|(name, _)| name).join(", "))]
    NoPart(String),
    #[error("write `write`, `show` or `check`")]
    NoTask,
}

fn run(words: &[&str]) -> Result<String, Failure> {
    let root = document::root();
    match words {
        ["check"] => {
            document::check_tables(&root, &document::read_results(&root)?)?;
            Ok("the documents are what docs/models.json says".to_owned())
        }
        ["write", parts @ ..] => {
            let results = simulate(parts)?;
            document::write_results(&root, &results)?;
            document::write_tables(&root, &results)?;
            Ok("docs/models.json and the tables of the documents are written".to_owned())
        }
        ["show", parts @ ..] => {
            let tables = simulate(parts)?.tables().into_iter();
            Ok(tables
                .map(|table| format!("{} ({})\n\n{}\n", table.name, table.document, table.markdown))
                .collect())
        }
        _ => Err(Failure::NoTask),
    }
}

/// The results with these parts, or all of them, computed anew.
fn simulate(parts: &[&str]) -> Result<Results, Failure> {
    let named = |name: &&str| {
        let part = Part::ALL.iter().find(|(known, _)| known == name);
        part.map(|(_, part)| *part).ok_or_else(|| Failure::NoPart((*name).to_owned()))
    };
    let mut chosen = parts.iter().map(named).collect::<Result<Vec<Part>, Failure>>()?;
    let mut results = if chosen.is_empty() {
        chosen = Part::ALL.map(|(_, part)| part).to_vec();
        Results::default()
    } else {
        document::read_results(&document::root())?
    };
    for part in chosen {
        results.renew(part)?;
    }
    Ok(results)
}
