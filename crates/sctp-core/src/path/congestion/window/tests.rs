use super::*;
use crate::config::{AssociationConfig, Pacing, Profile};

const PMDCS: usize = 1000;
const RTO: Duration = Duration::from_secs(1);

fn capacity() -> PathCapacity {
    PathCapacity { pmdcs: PMDCS, initial_window: 4000 }
}

fn congestion() -> Congestion {
    with(Profile::Rfc9260)
}

fn with(profile: Profile) -> Congestion {
    Congestion::new(AssociationConfig::profile(profile).congestion, capacity(), 4)
}

fn grown(packets: usize) -> Congestion {
    grown_with(Profile::Rfc9260, packets)
}

fn grown_with(profile: Profile, packets: usize) -> Congestion {
    let mut congestion = with(profile);
    for _ in 4..packets {
        congestion.on_acknowledged(&acked(usize::MAX));
    }
    assert_eq!(congestion.cwnd(), packets * PMDCS);
    congestion
}

fn acked(flight_before: usize) -> Acknowledged {
    Acknowledged { bytes: PMDCS, flight_before, ..Acknowledged::default() }
}

/// RFC 9260 §7.2.1, first point, and the old rule of S1 and S4.
#[test]
fn initial_window_depends_on_what_a_packet_carries() {
    let window = |rule, pmdcs, is_ipv4| PathCapacity::new(rule, pmdcs, pmdcs + 32, is_ipv4).initial_window;
    assert_eq!(window(InitialWindow::Rfc9260, 1000, true), 4000);
    assert_eq!(window(InitialWindow::Rfc9260, 1460, true), 4404);
    assert_eq!(window(InitialWindow::Rfc9260, 1440, false), 4344);
    assert_eq!(window(InitialWindow::Rfc9260, 8960, true), 17_920);
    assert_eq!(window(InitialWindow::TenPackets, 1200, true), 12_000);
    assert_eq!(window(InitialWindow::TenPackets, 1460, true), 14_600);
    assert_eq!(window(InitialWindow::TenPackets, 8960, true), 17_920);
    assert_eq!(window(InitialWindow::Rfc4960, 1468, true), 4380);
    assert_eq!(window(InitialWindow::Rfc4960, 968, false), 4000);
    assert_eq!(window(InitialWindow::Rfc4960, 3968, true), 8000);
}

/// RFC 9260 §7.2.1, last point.
#[test]
fn idle_window_shrinks_once_per_rto_down_to_four_packets() {
    let mut congestion = grown(32);
    congestion.on_send(Instant::EPOCH, RTO, 0);
    congestion.on_send(Instant::from_millis(2500), RTO, 0);
    assert_eq!(congestion.window(), CongestionWindow { cwnd: 8000, ssthresh: 32_000 });
    congestion.on_send(Instant::from_millis(60_000), RTO, 0);
    assert_eq!(congestion.cwnd(), 4000);
}

#[test]
fn idleness_never_raises_a_window() {
    let mut congestion = congestion();
    congestion.on_send(Instant::EPOCH, RTO, 0);
    congestion.on_timeout();
    congestion.on_send(Instant::from_millis(60_000), RTO, 0);
    assert_eq!(congestion.cwnd(), PMDCS);
}

/// RFC 9260 §7.2.1, second point, and §7.2.3.
#[test]
fn after_a_timeout_one_packet_at_a_time_until_one_is_acknowledged() {
    let mut congestion = congestion();
    assert!(congestion.admits(3999) && !congestion.admits(4000));
    congestion.on_timeout();
    assert!(congestion.admits(0) && !congestion.admits(80));
    congestion.on_acknowledged(&acked(80));
    assert!(congestion.admits(80) && !congestion.admits(PMDCS));
}

/// The window of one packet alone, as the stacks of the studies had it.
#[test]
fn after_a_timeout_small_packets_go_on_where_only_the_window_counts() {
    let mut congestion = with(Profile::Studies);
    congestion.on_timeout();
    assert!(congestion.admits(80) && congestion.admits(PMDCS - 1) && !congestion.admits(PMDCS));
}

/// RFC 9260 §7.2.5.
#[test]
fn another_network_begins_with_the_initial_window() {
    let mut congestion = grown(20);
    congestion.on_timeout();
    congestion.reinitialise();
    assert_eq!(
        congestion.window(),
        CongestionWindow { cwnd: 4000, ssthresh: CongestionWindow::NO_THRESHOLD }
    );
    assert!(congestion.admits(80));
}

/// RFC 7661 §4.3, §4.4.1: the window outlives a pause; a loss then leaves half of what was in flight.
#[test]
fn signalling_keeps_an_unused_window_and_a_loss_cuts_to_what_was_in_use() {
    let mut congestion = grown_with(Profile::Signalling, 64);
    for millis in 1000..2500 {
        let now = Instant::from_millis(millis);
        let srtt = Duration::from_millis(20);
        congestion.on_acknowledged(&Acknowledged { now, bytes: 500, srtt, ..Acknowledged::default() });
    }
    congestion.on_send(Instant::from_millis(60_000), RTO, 0);
    assert_eq!(congestion.cwnd(), 64_000);
    congestion.on_acknowledged(&Acknowledged { flight_before: 24_000, ..acked(24_000) });
    congestion.on_loss();
    assert_eq!(congestion.window(), CongestionWindow { cwnd: 12_000, ssthresh: 12_000 });
    congestion.on_resent(4000);
    congestion.on_acknowledged(&Acknowledged { now: Instant::from_millis(60_100), ..acked(4000) });
    assert_eq!(congestion.cwnd(), 10_000);
    assert_eq!(congestion.counters().unvalidated_losses, 1);
}

#[test]
fn pacing_begins_with_the_first_round_trip_and_holds_what_exceeds_a_burst() {
    let mut congestion = grown(20);
    congestion.config.pacing = Pacing::On;
    let now = Instant::from_millis(1000);
    congestion.on_sent(now, 60_000);
    assert_eq!(congestion.paced_until(now), None);
    let srtt = Duration::from_millis(100);
    congestion.on_acknowledged(&Acknowledged { now, srtt, ..acked(1000) });
    let sent = (0..20).take_while(|_| {
        let admitted = congestion.paced_until(now).is_none();
        congestion.on_sent(now, PMDCS);
        admitted
    });
    assert_eq!(sent.count(), 4);
    let mut unpaced = grown(20);
    unpaced.on_acknowledged(&Acknowledged { now, srtt, ..acked(1000) });
    unpaced.on_sent(now, 20_000);
    assert!(!unpaced.is_paced() && unpaced.paced_until(now).is_none());
}

/// RFC 4015 §3.2.
#[test]
fn needless_cut_is_taken_back_whichever_rule_made_it() {
    for profile in [Profile::Rfc9260, Profile::Signalling] {
        let mut congestion = grown_with(profile, 40);
        for millis in 1000..2500 {
            let (now, srtt) = (Instant::from_millis(millis), Duration::from_millis(20));
            congestion.on_acknowledged(&Acknowledged { now, bytes: 500, srtt, ..Acknowledged::default() });
        }
        let before = congestion.window();
        congestion.on_loss();
        assert!(congestion.cwnd() < before.cwnd);
        congestion.on_spurious();
        assert_eq!(congestion.window(), before, "{profile}");
        congestion.on_timeout();
        congestion.on_spurious();
        assert!(congestion.window() == before && congestion.admits(80), "{profile}");
    }
}
