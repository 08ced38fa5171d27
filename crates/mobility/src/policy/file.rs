//! The policies as they are written, and the way from there to what holds: bounds and defaults.

use core::fmt::Display;
use core::ops::RangeInclusive;
use core::time::Duration;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    DEFAULT_QUALITY_HYSTERESIS, DEFAULT_SIGNAL_HYSTERESIS, Handing, Needs, Pattern, Policies, Policy,
    PolicyError, Preference, SignalBound,
};
use crate::damping::Damping;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PoliciesTable {
    #[serde(default)]
    damping: DampingTable,
    #[serde(default)]
    applications: BTreeMap<String, ApplicationTable>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DampingTable {
    flap_cost_ms: Option<u64>,
    suppress_ms: Option<u64>,
    reuse_ms: Option<u64>,
    limit_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ApplicationTable {
    handover: Option<Handing>,
    addresses: Option<usize>,
    better_for_ms: Option<u64>,
    primary_interval_ms: Option<u64>,
    keep_ms: Option<u64>,
    retry_ms: Option<u64>,
    probe_every_ms: Option<u64>,
    needs_default_route: Option<bool>,
    needs_verification: Option<bool>,
    #[serde(default)]
    prefer: Vec<PreferenceTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PreferenceTable {
    interface: String,
    #[serde(default)]
    cost: u16,
    min_signal_dbm: Option<i16>,
    signal_hysteresis_db: Option<u8>,
    max_rtt_ms: Option<u64>,
    max_loss_permille: Option<u16>,
    quality_hysteresis_percent: Option<u8>,
}

pub(super) fn read(text: &str) -> Result<Policies, PolicyError> {
    let file: PoliciesTable = toml::from_str(text).map_err(Box::new)?;
    let damping = damping(&file.damping)?;
    let applications = file.applications.into_iter().map(|(name, table)| {
        let policy = policy(&format!("applications.{name}"), &table)?;
        Ok((name, policy))
    });
    Ok(Policies { damping, applications: applications.collect::<Result<_, PolicyError>>()? })
}

fn damping(table: &DampingTable) -> Result<Damping, PolicyError> {
    let defaults = Damping::default();
    let of = |key: &str, written, default, range| millis(&format!("damping.{key}"), written, default, range);
    let damping = Damping {
        flap_cost: of("flap_cost_ms", table.flap_cost_ms, defaults.flap_cost, 0..=HOUR_MS)?,
        suppress: of("suppress_ms", table.suppress_ms, defaults.suppress, 1..=HOUR_MS)?,
        reuse: of("reuse_ms", table.reuse_ms, defaults.reuse, 0..=HOUR_MS)?,
        limit: of("limit_ms", table.limit_ms, defaults.limit, 1..=HOUR_MS)?,
    };
    let in_order = [
        ("reuse_ms", damping.reuse, "suppress_ms", damping.suppress),
        ("suppress_ms", damping.suppress, "limit_ms", damping.limit),
    ];
    for (key, less, greater_key, greater) in in_order {
        if less > greater {
            let bound = format!("at most {greater_key}, {}, is possible", greater.as_millis());
            return Err(value(&format!("damping.{key}"), less.as_millis(), &bound));
        }
    }
    Ok(damping)
}

fn policy(at: &str, table: &ApplicationTable) -> Result<Policy, PolicyError> {
    let defaults = Policy::default();
    let of = |key: &str, written, default, range| millis(&format!("{at}.{key}"), written, default, range);
    let rules = table.prefer.iter().enumerate();
    let prefer = rules.map(|(index, rule)| preference(&format!("{at}.prefer[{index}]"), rule));
    let prefer = prefer.collect::<Result<Vec<_>, _>>()?;
    if prefer.len() > MAX_RULES {
        return Err(value(
            &format!("{at}.prefer"),
            format!("{} rules", prefer.len()),
            &format!("at most {MAX_RULES} are possible"),
        ));
    }
    let addresses = table.addresses.unwrap_or(defaults.addresses);
    Ok(Policy {
        handing: table.handover.unwrap_or(defaults.handing),
        addresses: within(&format!("{at}.addresses"), addresses, 2..=8)?,
        better_for: of("better_for_ms", table.better_for_ms, defaults.better_for, 0..=HOUR_MS)?,
        primary_interval: of(
            "primary_interval_ms",
            table.primary_interval_ms,
            defaults.primary_interval,
            0..=HOUR_MS,
        )?,
        keep: of("keep_ms", table.keep_ms, defaults.keep, 0..=HOUR_MS)?,
        retry: of("retry_ms", table.retry_ms, defaults.retry, 100..=HOUR_MS)?,
        probe_every: of("probe_every_ms", table.probe_every_ms, defaults.probe_every, 100..=HOUR_MS)?,
        needs: Needs {
            default_route: table.needs_default_route.unwrap_or_default(),
            verification: table.needs_verification.unwrap_or_default(),
        },
        prefer: if prefer.is_empty() { defaults.prefer } else { prefer },
    })
}

fn preference(at: &str, table: &PreferenceTable) -> Result<Preference, PolicyError> {
    let key = |key: &str| format!("{at}.{key}");
    let Some(interface) = Pattern::new(&table.interface) else {
        let bound = "a name, or the beginning of names with one `*` behind it, is needed";
        return Err(value(&key("interface"), format!("{:?}", table.interface), bound));
    };
    let signal = table.min_signal_dbm.map(|dbm| {
        let hysteresis_db = table.signal_hysteresis_db.unwrap_or(DEFAULT_SIGNAL_HYSTERESIS);
        Ok::<_, PolicyError>(SignalBound {
            min_dbm: within(&key("min_signal_dbm"), dbm, -150..=0)?,
            hysteresis_db: within(&key("signal_hysteresis_db"), hysteresis_db, 0..=50)?,
        })
    });
    if let (None, Some(written)) = (signal.as_ref(), table.signal_hysteresis_db) {
        return Err(value(&key("signal_hysteresis_db"), written, "min_signal_dbm is needed, too"));
    }
    let rtt = table.max_rtt_ms.map(|written| within(&key("max_rtt_ms"), written, 1..=60_000));
    let loss = table.max_loss_permille.map(|written| within(&key("max_loss_permille"), written, 0..=1_000));
    let percent = table.quality_hysteresis_percent.unwrap_or(DEFAULT_QUALITY_HYSTERESIS);
    Ok(Preference {
        interface,
        cost: within(&key("cost"), table.cost, 0..=1_000)?,
        signal: signal.transpose()?,
        rtt: rtt.transpose()?.map(Duration::from_millis),
        loss_permille: loss.transpose()?,
        quality_hysteresis_percent: within(&key("quality_hysteresis_percent"), percent, 0..=100)?,
    })
}

fn millis(
    key: &str,
    written: Option<u64>,
    default: Duration,
    range: RangeInclusive<u64>,
) -> Result<Duration, PolicyError> {
    written.map_or(Ok(default), |written| within(key, written, range).map(Duration::from_millis))
}

/// Refuses a value that is out of bounds.
fn within<T: PartialOrd + Display>(key: &str, found: T, range: RangeInclusive<T>) -> Result<T, PolicyError> {
    if range.contains(&found) {
        return Ok(found);
    }
    let bound = format!("from {} to {} are possible", range.start(), range.end());
    Err(value(key, found, &bound))
}

fn value(key: &str, found: impl Display, bound: &str) -> PolicyError {
    PolicyError::Value { key: key.to_owned(), value: found.to_string(), bound: bound.to_owned() }
}

const HOUR_MS: u64 = 3_600_000;
/// The rules that a policy may have; each is looked at for each interface.
const MAX_RULES: usize = 32;
