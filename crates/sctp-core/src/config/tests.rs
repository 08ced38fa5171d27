use super::*;

#[test]
fn every_profile_is_valid_and_named() {
    for profile in Profile::ALL {
        AssociationConfig::profile(profile).validate().unwrap();
        assert_eq!(profile.to_string().parse::<Profile>().unwrap(), profile);
    }
    let error = "tcp".parse::<Profile>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no profile `tcp`; use rfc9260, signalling, signalling-redundant, studies, webrtc, linux-2.6.15 or linux-2.6.16"
    );
}

#[test]
fn rfc9260_profile_has_the_values_of_section_16() {
    let config = AssociationConfig::profile(Profile::Rfc9260);
    assert_eq!(config.rto.initial, Duration::from_secs(1));
    assert_eq!(config.rto.min, Duration::from_secs(1));
    assert_eq!(config.rto.max, Duration::from_secs(60));
    let attempts = Attempts { init: 8, path: 5, association: 10, untried: 2, persist: None };
    assert_eq!(config.attempts, attempts);
    assert_eq!(config.transmission.max_burst_packets, 4);
    assert_eq!(config.heartbeat.interval, Some(Duration::from_secs(30)));
}

#[test]
fn studies_profile_has_the_timers_and_windows_of_rfc_4960() {
    let config = AssociationConfig::profile(Profile::Studies);
    assert_eq!(config.rto.initial, Duration::from_secs(3));
    assert_eq!(config.rto.min, Duration::from_secs(1));
    assert_eq!(config.sack, SackConfig { delay: Duration::from_millis(200), every_packets: 2 });
    assert_eq!(config.congestion.initial_window, InitialWindow::Rfc4960);
    assert_eq!(config.extensions, Extensions::NONE);
}

#[test]
fn profiles_of_old_kernels_differ_from_that_of_the_studies_in_when_a_chunk_is_lost_alone() {
    let studies = AssociationConfig::profile(Profile::Studies);
    let expected = [
        (Profile::Linux2615, LossDetection::RepeatedMissingReports { reports: 4 }),
        (Profile::Linux2616, LossDetection::MissingReports),
    ];
    for (profile, loss_detection) in expected {
        let recovery = RecoveryConfig { loss_detection, ..studies.recovery };
        let expected = AssociationConfig { recovery, ..studies.clone() };
        assert_eq!(format!("{:?}", AssociationConfig::profile(profile)), format!("{expected:?}"));
    }
}

#[test]
fn values_out_of_bounds_name_field_value_and_bound() {
    let mut config = AssociationConfig::default();
    config.sack.delay = Duration::from_millis(501);
    let error = config.validate().unwrap_err();
    assert_eq!(error.to_string(), "sack.delay is 501ms; it must be from 0ns to 500ms");

    let mut config = AssociationConfig::default();
    config.buffers.message_bytes = config.buffers.receive_bytes + 1;
    let error = config.validate().unwrap_err();
    assert_eq!(error.to_string(), "buffers.message_bytes is 1048577; it must be at most 1048576");
}

#[test]
fn pauses_that_would_never_end_or_never_begin_are_refused() {
    let mut config = AssociationConfig { autoclose: Some(Duration::ZERO), ..AssociationConfig::default() };
    let error = config.validate().unwrap_err();
    assert_eq!(error.to_string(), "autoclose is 0ns; it must be from 1ms to 31536000s");
    config.autoclose = None;
    config.heartbeat.nat_keepalive = Some(Duration::from_millis(999));
    let error = config.validate().unwrap_err();
    assert_eq!(error.to_string(), "heartbeat.nat_keepalive is 999ms; it must be from 1s to 31536000s");
}
