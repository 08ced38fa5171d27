//! Randomness that an attacker cannot predict, for tags, cookies and initial TSNs.

use std::io;

#[cfg(target_os = "linux")]
use rustix::rand::{GetRandomFlags, getrandom};

/// Returns 32 octets of the operating system's entropy (getrandom(2)), to seed a core with.
///
/// Waits for the kernel's pool only in the first moments after boot.
///
/// # Errors
///
/// If the kernel has no getrandom, or a sandbox forbids it.
#[cfg(target_os = "linux")]
pub fn os_entropy() -> io::Result<[u8; 32]> {
    let mut entropy = [0; 32];
    let mut filled = 0;
    while filled < entropy.len() {
        match getrandom(&mut entropy[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(entropy)
}

/// Returns 32 octets of the operating system's entropy, to seed a core with.
///
/// # Errors
///
/// If the system has none, or a sandbox forbids it.
#[cfg(not(target_os = "linux"))]
pub fn os_entropy() -> io::Result<[u8; 32]> {
    let mut entropy = [0; 32];
    getrandom::fill(&mut entropy).map_err(io::Error::other)?;
    Ok(entropy)
}

#[cfg(test)]
mod tests {
    use super::os_entropy;

    #[test]
    fn two_draws_differ_and_neither_is_zero() {
        let (first, second) = (os_entropy().unwrap(), os_entropy().unwrap());
        assert_ne!(first, second);
        assert_ne!(first, [0; 32]);
    }
}
