use super::*;

/// Of an association whose first data has been acknowledged.
fn schedule() -> SackSchedule {
    let mut schedule = SackSchedule::new(2);
    assert_eq!(packet_of_new_data(&mut schedule, false), SackDemand::Immediate);
    schedule.on_sent();
    schedule
}

#[test]
fn sack_that_is_left_out_is_due_with_the_next_one_until_that_is_sent() {
    let mut schedule = schedule();
    packet_of_new_data(&mut schedule, false);
    packet_of_new_data(&mut schedule, false);
    assert!(schedule.has_fallen_due());
    schedule.on_left_out();
    assert!(!schedule.has_fallen_due(), "it is left out once");
    assert_eq!(packet_of_new_data(&mut schedule, false), SackDemand::Delayed);
    assert_eq!(schedule.owed(), SackDemand::Immediate);
    schedule.on_sent();
    assert_eq!(schedule.owed(), SackDemand::None);
}

fn packet_of_new_data(schedule: &mut SackSchedule, has_gap: bool) -> SackDemand {
    schedule.on_new(false);
    schedule.on_new(false);
    schedule.on_packet_end(has_gap)
}

#[test]
fn every_second_packet_is_acknowledged_at_once_whatever_its_chunks() {
    let mut schedule = schedule();
    for _ in 0..3 {
        assert_eq!(packet_of_new_data(&mut schedule, false), SackDemand::Delayed);
        assert_eq!(packet_of_new_data(&mut schedule, false), SackDemand::Immediate);
        schedule.on_sent();
        assert_eq!(schedule.owed(), SackDemand::None);
    }
}

#[test]
fn the_timer_makes_a_delayed_sack_due_and_nothing_else() {
    let mut schedule = schedule();
    schedule.hurry();
    assert_eq!(schedule.owed(), SackDemand::None);
    packet_of_new_data(&mut schedule, false);
    schedule.hurry();
    assert_eq!(schedule.owed(), SackDemand::Immediate);
}

#[test]
fn a_gap_and_the_packet_that_fills_it_are_acknowledged_at_once() {
    let mut schedule = schedule();
    for has_gap in [true, true, false] {
        assert_eq!(packet_of_new_data(&mut schedule, has_gap), SackDemand::Immediate);
        schedule.on_sent();
    }
    assert_eq!(packet_of_new_data(&mut schedule, false), SackDemand::Delayed);
}

#[test]
fn the_i_bit_a_duplicate_and_a_dropped_chunk_are_acknowledged_at_once() {
    let reasons: [fn(&mut SackSchedule); 3] = [
        |schedule| schedule.on_new(true),
        |schedule| schedule.on_duplicate(Tsn::new(1)),
        SackSchedule::on_dropped,
    ];
    for reason in reasons {
        let mut schedule = schedule();
        reason(&mut schedule);
        assert_eq!(schedule.on_packet_end(false), SackDemand::Immediate);
    }
}

#[test]
fn an_immediate_demand_survives_a_packet_that_could_wait() {
    let mut schedule = schedule();
    schedule.on_duplicate(Tsn::new(1));
    schedule.on_packet_end(false);
    assert_eq!(packet_of_new_data(&mut schedule, false), SackDemand::Delayed);
    assert_eq!(schedule.owed(), SackDemand::Immediate);
}

#[test]
fn a_packet_whose_chunks_were_all_refused_owes_nothing() {
    assert_eq!(schedule().on_packet_end(true), SackDemand::None);
}

#[test]
fn duplicates_are_reported_once_and_their_number_is_bounded() {
    let mut schedule = schedule();
    (0..100).for_each(|tsn| schedule.on_duplicate(Tsn::new(tsn)));
    assert_eq!(schedule.duplicates().len(), DUPLICATE_LIMIT);
    schedule.on_sent();
    assert!(schedule.duplicates().is_empty());
}
