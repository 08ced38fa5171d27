use workload::MessageSize;

use super::*;
use crate::compare::{CompareConfig, run_compare};
use crate::lanes::Carriage;
use crate::traffic::sip_simco::SipSimco;
use crate::traffic::{Kind, Terms};
use crate::{BackendChoice, Simulator};

/// An agent and its middlebox, over streams of messages.
fn both() -> (BackToBack, Box<dyn Service>) {
    let terms = Terms {
        carriage: Carriage::Messages,
        lanes: 2,
        interval: Duration::from_millis(30),
        most: 10,
        size: MessageSize::MIN,
        deadline: None,
    };
    (BackToBack::new(Framing::Messages { streams: 2 }, 1), SipSimco.service(Some(terms)))
}

/// Hands a message to the middlebox, and after so long its answer to the agent; returns what the agent tells, and says next.
fn turn(
    agent: &mut BackToBack,
    middlebox: &mut dyn Service,
    now: &mut Instant,
    asked: Asked,
    takes: Duration,
) -> (Vec<Told>, Vec<Asked>) {
    let Reaction::Answers(answers) = middlebox.on_message(*now, *now, asked.stream, asked.octets) else {
        panic!("the middlebox says nothing")
    };
    *now += takes;
    let told =
        answers.iter().flat_map(|(stream, wire)| agent.handle_response(*now, *stream, wire, None).unwrap());
    let told = told.collect();
    (told, core::iter::from_fn(|| agent.poll_message()).collect())
}

/// Study S4: PER towards the caller before the callee hears of the call, PER towards the callee before the caller hears the answer. What the second
/// one takes is what is timed, and the first one is not.
#[test]
fn the_answer_waits_for_the_second_pinhole_and_both_are_deleted_in_the_end() {
    let (mut agent, mut middlebox) = both();
    let mut now = Instant::EPOCH;
    let Greeting::Message(hello) = agent.begin(now) else { panic!("no session is opened") };
    let (told, none) = turn(&mut agent, &mut *middlebox, &mut now, hello, Duration::from_millis(20));
    assert_eq!((told, none.len()), (vec![Told::Open], 0));

    let first = agent.ask(7, now).unwrap();
    assert!(first.is_timed && agent.poll_message().is_none(), "one pinhole at a time");
    let (told, mut said) = turn(&mut agent, &mut *middlebox, &mut now, first, Duration::from_millis(300));
    assert_eq!((told, said.len()), (Vec::new(), 1));
    let asked_at = now;
    let (told, said) = turn(&mut agent, &mut *middlebox, &mut now, said.remove(0), Duration::from_millis(70));
    assert_eq!(told, [Told::Done { number: 7, due: asked_at, is_timed: true }]);
    assert_eq!((now.since(asked_at).as_millis(), said.len(), agent.open.len()), (70, 0, 2));

    // The caller hangs up after ten seconds.
    now += Duration::from_secs(10);
    assert_eq!(agent.handle_timeout(now).unwrap(), []);
    let deletions: Vec<Asked> = core::iter::from_fn(|| agent.poll_message()).collect();
    assert_eq!(deletions.len(), 2);
    for deletion in deletions {
        turn(&mut agent, &mut *middlebox, &mut now, deletion, Duration::from_millis(20));
    }
    assert!(agent.open.is_empty() && agent.calls.is_empty() && agent.agent.known_rules().count() == 0);
}

#[test]
fn the_answer_of_every_call_is_held_back_a_round_trip_over_every_transport_that_carries_simco() {
    let mut config = CompareConfig {
        transports: "tcp,sctp:1,sctp:6,quic:1".parse().unwrap(),
        workload: "sip-simco".parse().unwrap(),
        backend: BackendChoice::Simulator,
        ..CompareConfig::default()
    };
    for path in [&mut config.request_path, &mut config.response_path] {
        path.delay = Duration::from_millis(10);
        path.loss = netem::Loss::None;
    }
    config.traffic.duration = Duration::from_secs(5);
    for run in run_compare(&config, &mut Simulator, &mut Simulator).unwrap().runs {
        assert_eq!((run.ended_early, run.counters.strange), (None, 0), "{}", run.transport);
        assert!((400..600).contains(&run.samples.len()), "{}", run.samples.len());
        for sample in &run.samples {
            let held = sample.response.expect("every call comes up").as_secs_f64() * 1e3;
            assert!((20.0..20.5).contains(&held), "{}: {held} ms", run.transport);
        }
    }
}
