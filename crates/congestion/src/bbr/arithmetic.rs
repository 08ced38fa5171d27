//! Rates and shares in integers: octets per second, percent.

use core::time::Duration;

/// Returns how many octets per second that is; zero where no time has passed.
pub(crate) fn rate(octets: u64, span: Duration) -> u64 {
    let nanos = span.as_nanos();
    if nanos == 0 {
        return 0;
    }
    narrow(u128::from(octets) * NANOS_PER_SECOND / nanos)
}

/// Returns how many octets leave in `span` at so many octets per second.
pub(crate) fn octets(rate: u64, span: Duration) -> u64 {
    narrow(u128::from(rate).saturating_mul(span.as_nanos()) / NANOS_PER_SECOND)
}

/// Returns so many hundredths of a value; [`u64::MAX`], which stands for no bound, stays what it is.
pub(crate) fn percent(value: u64, hundredths: u64) -> u64 {
    if value == u64::MAX { value } else { narrow(u128::from(value) * u128::from(hundredths) / 100) }
}

fn narrow(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

const NANOS_PER_SECOND: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_octets_are_inverse_and_saturate() {
        let span = Duration::from_millis(100);
        assert_eq!(rate(125_000, span), 1_250_000);
        assert_eq!(octets(1_250_000, span), 125_000);
        assert_eq!(rate(1, Duration::ZERO), 0);
        assert_eq!(octets(u64::MAX, Duration::from_secs(2)), u64::MAX);
        assert_eq!(rate(u64::MAX, Duration::from_nanos(1)), u64::MAX);
    }

    #[test]
    fn share_of_no_bound_is_no_bound() {
        assert_eq!(percent(1000, 277), 2770);
        assert_eq!(percent(u64::MAX, 85), u64::MAX);
    }
}
