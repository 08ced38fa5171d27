use proptest::prelude::*;

use super::*;
use crate::arrivals::Arrivals;
use crate::message::MessageSize;

const START: Instant = Instant::from_millis(1000);

fn after(millis: u64) -> Instant {
    START + Duration::from_millis(millis)
}

/// Ten requests, one each 10 ms, then a second of drain.
fn config(lanes: u16) -> LoadConfig {
    LoadConfig {
        arrivals: Arrivals::Constant,
        duration: Duration::from_millis(100),
        drain: Duration::from_secs(1),
        lanes,
        ..LoadConfig::default()
    }
}

fn generator(lanes: u16) -> LoadGenerator {
    LoadGenerator::new(config(lanes), START).unwrap()
}

/// Releases everything at its time and hands it over.
fn send_all(generator: &mut LoadGenerator) -> Vec<Request> {
    let mut requests = Vec::new();
    while let Some(now) = generator.poll_timeout().filter(|now| *now < after(100)) {
        generator.handle_timeout(now);
        requests.extend(std::iter::from_fn(|| generator.poll_transmit(now)));
    }
    requests
}

#[test]
fn requests_leave_at_their_intended_times_dealt_round_robin() {
    let requests = send_all(&mut generator(3));
    let lanes: Vec<u16> = requests.iter().map(|request| request.lane.0).collect();
    assert_eq!(lanes, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]);
    for (request, n) in requests.iter().zip(0u64..) {
        assert_eq!((request.number, request.intended), (MessageNumber(n), after(10 * n)));
        let message = Message::decode(&request.message).unwrap();
        assert_eq!((message.number, message.sent), (request.number, SendTime::from(request.sent)));
        assert_eq!(message.size, MessageSize::default());
    }
}

#[test]
fn response_times_run_from_the_intended_time_when_the_transport_stalls() {
    let mut generator = generator(1);
    generator.defer(Lane(0));
    generator.handle_timeout(after(99));
    assert_eq!(generator.poll_transmit(after(99)), None);
    generator.resume(Lane(0));
    let requests: Vec<Request> = std::iter::from_fn(|| generator.poll_transmit(after(500))).collect();
    for request in &requests {
        generator.handle_response(after(520), request.lane, &request.message, None).unwrap();
    }
    let responses: Vec<_> =
        generator.samples().iter().map(|sample| sample.response.unwrap().as_millis()).collect();
    assert_eq!(responses, [520, 510, 500, 490, 480, 470, 460, 450, 440, 430]);
    assert_eq!((generator.counters().deferred_sends, generator.counters().late_sends), (10, 0));
}

#[test]
fn a_stalled_lane_holds_up_no_other() {
    let mut generator = generator(2);
    generator.handle_timeout(after(35));
    generator.defer(Lane(0));
    let numbers: Vec<u64> =
        std::iter::from_fn(|| generator.poll_transmit(after(35))).map(|request| request.number.0).collect();
    assert_eq!(numbers, [1, 3]);
    generator.resume_all();
    assert_eq!(generator.poll_transmit(after(36)).unwrap().number, MessageNumber(0));
}

#[test]
fn a_refused_request_is_offered_again_with_a_new_send_time() {
    let mut generator = generator(1);
    generator.handle_timeout(START);
    let refused = generator.peek_transmit(START).unwrap();
    let again = generator.peek_transmit(after(3)).unwrap();
    assert_eq!((refused.number, again.number), (MessageNumber(0), MessageNumber(0)));
    generator.commit(&again);
    assert_eq!(generator.samples()[0].sent, Some(after(3)));
    generator.commit(&again);
    assert_eq!(generator.counters().requests, 1, "a second commit changes nothing");
    generator.handle_response(after(23), Lane(0), &again.message, None).unwrap();
    assert_eq!(generator.samples()[0].response, Some(Duration::from_millis(23)));
}

#[test]
fn sends_later_than_the_bound_are_counted() {
    let mut generator = generator(1);
    generator.handle_timeout(after(11));
    generator.poll_transmit(after(11)).unwrap(); // 11 ms late
    generator.poll_transmit(after(11)).unwrap(); // 1 ms late: just within the bound
    assert_eq!(generator.counters().late_sends, 1);
}

#[test]
fn the_second_response_is_counted_and_not_sampled() {
    let mut generator = generator(1);
    let first = send_all(&mut generator).remove(0);
    let blocked = Some(Duration::from_millis(4));
    generator.handle_response(after(120), Lane(0), &first.message, blocked).unwrap();
    generator.handle_response(after(150), Lane(0), &first.message, None).unwrap();
    assert_eq!((generator.counters().responses, generator.counters().duplicates), (1, 1));
    assert_eq!(generator.samples()[0].response, Some(Duration::from_millis(120)));
    assert_eq!(generator.samples()[0].blocked, blocked);
}

#[test]
fn responses_that_answer_nothing_are_counted_errors() {
    let mut generator = generator(2);
    let request = send_all(&mut generator).remove(0);
    let number = request.number;
    let message = Message::decode(&request.message).unwrap();
    let unknown = Message { number: MessageNumber(99), ..message }.encode();
    let bigger = Message { size: MessageSize::new(65).unwrap(), ..message }.encode();
    let altered = Message { sent: SendTime(message.sent.0 + 1), ..message }.encode();
    let mut refused = |lane: u16, wire: &[u8]| generator.handle_response(after(100), Lane(lane), wire, None);
    assert!(matches!(refused(0, b"hello"), Err(WorkloadError::NotAMessage(_))));
    assert_eq!(refused(0, &unknown), Err(WorkloadError::UnknownNumber { number: MessageNumber(99) }));
    assert_eq!(refused(0, &bigger), Err(WorkloadError::WrongSize { number, expected: 64, got: 65 }));
    assert_eq!(refused(0, &altered), Err(WorkloadError::WrongContent { number }));
    let wrong_lane = WorkloadError::WrongLane { number, expected: Lane(0), got: Lane(1) };
    assert_eq!(refused(1, &request.message), Err(wrong_lane));
    assert_eq!((generator.counters().errors(), generator.counters().responses), (5, 0));
}

#[test]
fn the_run_ends_with_the_last_response() {
    let mut generator = generator(1);
    let requests = send_all(&mut generator);
    assert!(!generator.is_finished(after(100)));
    assert_eq!(generator.poll_timeout(), Some(after(1100)));
    for request in &requests {
        generator.handle_response(after(130), request.lane, &request.message, None).unwrap();
    }
    assert!(generator.is_finished(after(130)));
    assert_eq!(generator.poll_timeout(), None);
    let last = std::iter::from_fn(|| generator.poll_event()).last();
    assert_eq!(last, Some(Event::Finished { unanswered: 0 }));
}

#[test]
fn the_drain_time_ends_a_run_and_responses_after_it_do_not_count() {
    let mut generator = generator(1);
    let requests = send_all(&mut generator);
    generator.handle_timeout(after(1100));
    assert_eq!(generator.poll_event(), Some(Event::Finished { unanswered: 10 }));
    assert_eq!(generator.poll_timeout(), None);
    generator.handle_response(after(1101), Lane(0), &requests[0].message, None).unwrap();
    assert_eq!((generator.counters().responses, generator.counters().late_responses), (0, 1));
    assert_eq!(generator.poll_event(), None, "the end is said once");
}

#[test]
fn requests_that_the_transport_never_took_stay_visible() {
    let mut generator = generator(1);
    generator.defer(Lane(0));
    generator.handle_timeout(after(99));
    generator.handle_timeout(after(1100));
    assert_eq!(generator.poll_event(), Some(Event::Finished { unanswered: 10 }));
    assert_eq!(generator.counters().requests, 0);
    assert!(generator.samples().iter().all(|sample| sample.sent.is_none()));
    generator.resume_all();
    assert_eq!(generator.poll_transmit(after(1200)), None, "nothing is sent after the run");
}

#[test]
fn a_run_without_requests_is_over_at_once() {
    let trace = Arrivals::Trace(vec![Duration::from_secs(9)]);
    let generator = LoadGenerator::new(LoadConfig { arrivals: trace, ..config(1) }, START).unwrap();
    assert_eq!(generator.poll_timeout(), None);
}

#[test]
fn configurations_without_a_run_are_refused() {
    let refused = |config| LoadGenerator::new(config, START).unwrap_err();
    assert_eq!(refused(config(0)), ConfigError::NoLane);
    assert_eq!(refused(LoadConfig { duration: Duration::ZERO, ..config(1) }), ConfigError::NoDuration);
    let no_interval = LoadConfig { interval: Duration::ZERO, ..config(1) };
    assert!(matches!(refused(no_interval), ConfigError::Arrivals(_)));
}

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Send,
    Defer(u16),
    Resume(u16),
    Answer { index: usize, lane_off: u16 },
    Noise(Vec<u8>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u64..40).prop_map(Step::Wait),
        Just(Step::Send),
        (0u16..4).prop_map(Step::Defer),
        (0u16..4).prop_map(Step::Resume),
        (0usize..12, 0u16..2).prop_map(|(index, lane_off)| Step::Answer { index, lane_off }),
        proptest::collection::vec(any::<u8>(), 0..30).prop_map(Step::Noise),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_calls_keeps_the_books_straight(steps in proptest::collection::vec(step(), 0..80)) {
        let mut generator = generator(3);
        let (mut now, mut taken) = (START, Vec::new());
        for step in steps {
            match step {
                Step::Wait(millis) => now += Duration::from_millis(millis),
                Step::Send => taken.extend(generator.poll_transmit(now)),
                Step::Defer(lane) => generator.defer(Lane(lane)),
                Step::Resume(lane) => generator.resume(Lane(lane)),
                Step::Noise(wire) => drop(generator.handle_response(now, Lane(0), &wire, None)),
                Step::Answer { index, lane_off } => {
                    if let Some(Request { lane, message, .. }) = taken.get(index) {
                        drop(generator.handle_response(now, Lane(lane.0 + lane_off), message, None));
                    }
                }
            }
            generator.handle_timeout(now);
        }
        let counters = generator.counters();
        let count = |test: fn(&Sample) -> bool| generator.samples().iter().filter(|sample| test(sample)).count();
        prop_assert_eq!(usize::try_from(counters.requests).unwrap(), count(|sample| sample.sent.is_some()));
        prop_assert_eq!(usize::try_from(counters.responses).unwrap(), count(|sample| sample.response.is_some()));
        prop_assert_eq!(taken.len(), count(|sample| sample.sent.is_some()));
        for lane in 0..3 {
            let on_lane = taken.iter().filter(|request| request.lane == Lane(lane));
            prop_assert!(on_lane.map(|request| request.number).is_sorted(), "order within a lane");
        }
    }
}
