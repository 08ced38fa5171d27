use super::*;

#[test]
fn durations_with_units_are_read_exactly() {
    for (text, nanos) in [
        ("20ms", 20_000_000),
        ("1.5s", 1_500_000_000),
        ("250us", 250_000),
        ("0s", 0),
        ("2min", 120_000_000_000),
        ("1h", 3_600_000_000_000),
        ("7ns", 7),
        ("3µs", 3_000),
        ("3μs", 3_000),
        ("0ms", 0),
    ] {
        assert_eq!(parse_duration(text), Ok(Duration::from_nanos(nanos)), "{text}");
    }
}

#[test]
fn bare_numbers_unknown_units_and_negative_values_are_refused() {
    assert_eq!(parse_duration("20"), Err(DurationError::NoUnit("20".into())));
    assert!(matches!(parse_duration("20parsec"), Err(DurationError::UnknownUnit { .. })));
    assert!(matches!(parse_duration("-1s"), Err(DurationError::OutOfRange(_))));
    assert!(matches!(
        parse_duration("1e300s"),
        Err(DurationError::NotANumber(_) | DurationError::UnknownUnit { .. })
    ));
    assert!(matches!(parse_duration("999999999999h"), Err(DurationError::OutOfRange(_))));
    for text in ["", "ms", "1.2.3s", "NaNs", "infs"] {
        assert!(matches!(parse_duration(text), Err(DurationError::NotANumber(_))), "{text}");
    }
}
