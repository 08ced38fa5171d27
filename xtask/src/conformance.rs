//! `docs/conformance.md`: RFC 9260 packet by packet, as the cases of `interop/conformance` give it.
//!
//! The program runs its cases in virtual time and prints the page; here it is written. Its tests compare it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::finding::Finding;
use crate::workspace::WorkspaceError;

const PAGE: &str = "docs/conformance.md";

/// Writes the page below `root`.
pub(crate) fn write(root: &Path) -> Result<Vec<Finding>, WorkspaceError> {
    let page = printed(root)?;
    let written = std::fs::write(root.join(PAGE), &page).map_err(|error| error.to_string());
    let finding = |what| Finding::error(Path::new(PAGE), 1, what, "mend it and write the page again");
    Ok(written.err().map(finding).into_iter().chain(failures(&page)).collect())
}

/// Returns a finding for each row whose case did not pass.
fn failures(page: &str) -> Vec<Finding> {
    let rows = (1..).zip(page.lines()).filter(|(_, line)| line.ends_with("| fails |"));
    let finding = |(line, row): (usize, &str)| {
        let name = row.split('`').nth(1).unwrap_or(row);
        let what = format!("`{name}` fails");
        Finding::error(
            Path::new(PAGE),
            line,
            what,
            "run `cargo run -p conformance -- run NAME` and mend the stack",
        )
    };
    rows.map(finding).collect()
}

/// Returns what the program prints.
fn printed(root: &Path) -> Result<String, WorkspaceError> {
    let mut command = Command::new("cargo");
    command.args(["run", "--quiet", "--package", "conformance", "--", "table"]).current_dir(root);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let program = "cargo run -p conformance".to_owned();
    let output = match output {
        Ok(output) => output,
        Err(source) => return Err(WorkspaceError::Start { program, source }),
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // The list of requirements is at odds with itself or with the cases.
    if output.status.success() { Ok(said) } else { Err(WorkspaceError::Failed { program, message: said }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "| 5.1 | must | an INIT is answered | `init_is_answered` | virtual time |";

    #[test]
    fn each_case_that_fails_is_a_finding_with_its_name() {
        let page = format!("{ROW} passes |\n{ROW} fails |\n");
        let findings = failures(&page);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].line == 2 && findings[0].what.contains("`init_is_answered`"));
    }
}
