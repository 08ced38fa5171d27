//! Names, and the keys by which updates of them are signed (TSIG, RFC 8945).

use std::path::Path;
use std::str::FromStr;

use data_encoding::BASE64;
use hickory_proto::rr::rdata::tsig::TsigAlgorithm;
use hickory_proto::rr::{Name, TSigner};

use crate::config::{ConfigError, value};

/// Returns a name, from the root on, that a configuration has under `key`.
///
/// # Errors
///
/// [`ConfigError::Value`]: it is no name.
pub fn name(key: &str, text: &str) -> Result<Name, ConfigError> {
    let mut name = Name::from_str(text).map_err(|error| value(key, text, &error.to_string()))?;
    name.set_fqdn(true);
    Ok(name)
}

/// Returns what signs by the key `name`, whose secret is in a file as `tsig-keygen` writes it; the algorithm is `hmac-sha256` unless the
/// configuration says another. `table` is the name of the table with `algorithm` and `secret_file`.
///
/// # Errors
///
/// [`ConfigError::Value`], with the key that has the fault.
pub fn signer(
    table: &str,
    name: Name,
    algorithm: Option<&str>,
    secret_file: &Path,
) -> Result<TSigner, ConfigError> {
    let wanted = algorithm.unwrap_or("hmac-sha256");
    let known = [
        ("hmac-sha256", TsigAlgorithm::HmacSha256),
        ("hmac-sha384", TsigAlgorithm::HmacSha384),
        ("hmac-sha512", TsigAlgorithm::HmacSha512),
    ];
    let Some((_, algorithm)) = known.into_iter().find(|(known, _)| *known == wanted) else {
        let bound = "hmac-sha256, hmac-sha384 or hmac-sha512";
        return Err(value(&format!("{table}.algorithm"), wanted, bound));
    };
    let refused = |bound: &str| value(&format!("{table}.secret_file"), secret_file.display(), bound);
    let text = std::fs::read_to_string(secret_file).map_err(|error| refused(&error.to_string()))?;
    let secret = BASE64.decode(text.trim().as_bytes());
    let secret = secret.map_err(|_| refused("the secret in base64 is needed, as tsig-keygen writes it"))?;
    if secret.len() < SHORTEST_SECRET {
        return Err(refused("a secret of at least 16 octets is needed"));
    }
    TSigner::new(secret, algorithm, name, FUDGE_S).map_err(|error| refused(&error.to_string()))
}

const SHORTEST_SECRET: usize = 16;
/// How much clocks may differ, in what is signed.
const FUDGE_S: u16 = 300;
