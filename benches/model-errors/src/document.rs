//! Where the numbers are kept and where their tables stand.
//!
//! `docs/models.json` holds every number. In the documents each table stands between two marks and is made of nothing
//! but those numbers, so that a look tells whether a document is what the program wrote.

use std::path::{Path, PathBuf};

use crate::error::CompareError;
use crate::results::Results;

/// The documents with tables, below the root of the repository.
pub const DOCUMENTS: [&str; 2] = ["docs/models.md", "docs/startup.md"];
const RESULTS: &str = "docs/models.json";

/// The root of the repository that this program was built in.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads `docs/models.json`.
///
/// # Errors
/// [`CompareError::File`], [`CompareError::Results`].
pub fn read_results(root: &Path) -> Result<Results, CompareError> {
    let path = root.join(RESULTS);
    let text = read(&path)?;
    serde_json::from_str(&text).map_err(|source| CompareError::Results { path, source })
}

/// Writes `docs/models.json`.
///
/// # Errors
/// [`CompareError::File`], [`CompareError::Results`].
pub fn write_results(root: &Path, results: &Results) -> Result<(), CompareError> {
    let path = root.join(RESULTS);
    let text = serde_json::to_string_pretty(results)
        .map_err(|source| CompareError::Results { path: path.clone(), source })?;
    std::fs::write(&path, text + "\n").map_err(|source| CompareError::File { path, source })
}

/// Writes the tables into the documents.
///
/// # Errors
/// [`CompareError::File`], [`CompareError::NoPlace`].
pub fn write_tables(root: &Path, results: &Results) -> Result<(), CompareError> {
    for document in DOCUMENTS {
        let path = root.join(document);
        let written = with_tables(document, &read(&path)?, results)?;
        std::fs::write(&path, written).map_err(|source| CompareError::File { path, source })?;
    }
    Ok(())
}

/// Looks whether the documents hold the tables that the results make.
///
/// # Errors
/// [`CompareError::Outdated`] names the first that does not; [`CompareError::File`], [`CompareError::NoPlace`].
pub fn check_tables(root: &Path, results: &Results) -> Result<(), CompareError> {
    for document in DOCUMENTS {
        let text = read(&root.join(document))?;
        if with_tables(document, &text, results)? != text {
            return Err(CompareError::Outdated { document });
        }
    }
    Ok(())
}

/// The document with its tables as they are now.
fn with_tables(document: &'static str, text: &str, results: &Results) -> Result<String, CompareError> {
    let mut text = text.to_owned();
    for table in results.tables().into_iter().filter(|table| table.document == document) {
        let begin = format!("<!-- table {}: written by `{COMMAND}` -->\n", table.name);
        let end = format!("<!-- end of table {} -->\n", table.name);
        let no_place = |mark: &str| CompareError::NoPlace { document, mark: mark.trim_end().to_owned() };
        let (head, rest) = text.split_once(&begin).ok_or_else(|| no_place(&begin))?;
        let (_, tail) = rest.split_once(&end).ok_or_else(|| no_place(&end))?;
        text = format!("{head}{begin}{}{end}{tail}", table.markdown);
    }
    Ok(text)
}

fn read(path: &Path) -> Result<String, CompareError> {
    std::fs::read_to_string(path).map_err(|source| CompareError::File { path: path.to_owned(), source })
}

/// What writes everything.
pub const COMMAND: &str = "cargo run --release -p model-errors -- write";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_what_the_results_say() {
        let root = root();
        check_tables(&root, &read_results(&root).unwrap()).unwrap();
    }

    #[test]
    fn a_changed_number_shows() {
        let root = root();
        let mut results = read_results(&root).unwrap();
        results.startup[12].simulated_penalty_ms += 1.0;
        assert!(matches!(
            check_tables(&root, &results),
            Err(CompareError::Outdated { document: "docs/models.md" })
        ));
    }
}
