//! Tells the extension module which engine it is: a number over all sources that a run depends on.
//!
//! Results of different engines are not to be mixed, and two builds of one version need not give the same ones.

use std::path::{Path, PathBuf};
use std::{fs, io};

fn main() -> io::Result<()> {
    let crates = Path::new("../../crates");
    let mut files = vec![PathBuf::from("Cargo.lock")];
    for member in fs::read_dir(crates)? {
        let member = member?.path();
        files.push(member.join("Cargo.toml"));
        sources(&member.join("src"), &mut files)?;
        println!("cargo:rerun-if-changed={}", member.join("src").display());
    }
    files.sort();
    let mut sum = OFFSET;
    for file in files.iter().filter(|file| file.exists()) {
        println!("cargo:rerun-if-changed={}", file.display());
        let name = file.to_string_lossy().into_owned();
        sum = digest(digest(sum, name.as_bytes()), &fs::read(file)?);
    }
    let variable = |name| std::env::var(name).unwrap_or_default();
    let (version, system) = (variable("CARGO_PKG_VERSION"), variable("CARGO_CFG_TARGET_OS"));
    let faults = if std::env::var_os("CARGO_FEATURE_FAULTS").is_some() { ".faults" } else { "" };
    println!(
        "cargo:rustc-env=HEADWAY_ENGINE={version}+{sum:016x}.{}-{system}{faults}",
        variable("CARGO_CFG_TARGET_ARCH")
    );
    Ok(())
}

/// Adds all sources below a folder.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// Continues a sum over octets (FNV-1a); length first, so that octets do not move from one file to the next unseen.
fn digest(sum: u64, octets: &[u8]) -> u64 {
    let length = (octets.len() as u64).to_be_bytes();
    length.iter().chain(octets).fold(sum, |sum, octet| (sum ^ u64::from(*octet)).wrapping_mul(PRIME))
}

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;
