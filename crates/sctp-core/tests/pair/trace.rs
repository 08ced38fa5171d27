//! What associations tell of themselves: the events of `sctp_core::trace`, collected by a subscriber of our own.

use core::cell::Cell;
use core::fmt::{Debug, Write};
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::mpsc;

use netem::{Impairments, Probability};
use sctp_core::trace::{EVENTS, TARGET};
use sctp_core::{AuthKeys, ChunkType, Offer, ResetDirection, SharedKeyId};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

use crate::net::{End, LEFT_PORT, Pair, Setup, ms, ordered};

/// Fields as text.
type Fields = BTreeMap<&'static str, String>;

enum Said {
    Span(u64, Fields),
    Entered(u64),
    Exited,
    Event(Fields),
}

thread_local! {
    /// Who listens to this thread.
    static SAID: Cell<Option<mpsc::Sender<Said>>> = const { Cell::new(None) };
}

/// Passes on whatever is said; what belongs together is found out afterwards. One for the whole process: subscribers that
/// come and go with threads race for what `tracing` remembers of its call sites.
#[derive(Default)]
struct Listener {
    spans: AtomicU64,
}

impl Listener {
    fn say(&self, said: Said) {
        let listener = SAID.take();
        if let Some(listener) = &listener {
            listener.send(said).unwrap();
        }
        SAID.set(listener);
    }
}

impl Subscriber for Listener {
    fn register_callsite(&self, _site: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let listener = SAID.take();
        let is_heard = listener.is_some();
        SAID.set(listener);
        is_heard && metadata.target() == TARGET
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let number = self.spans.fetch_add(1, Ordering::Relaxed) + 1;
        let mut fields = Texts::default();
        span.record(&mut fields);
        self.say(Said::Span(number, fields.0));
        Id::from_u64(number)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Texts::default();
        event.record(&mut fields);
        self.say(Said::Event(fields.0));
    }

    fn enter(&self, span: &Id) {
        self.say(Said::Entered(span.into_u64()));
    }

    fn exit(&self, _span: &Id) {
        self.say(Said::Exited);
    }
}

#[derive(Default)]
struct Texts(Fields);

impl Visit for Texts {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

/// All events of a run, each with the fields of the spans around it.
fn listen(run: impl FnOnce()) -> Vec<Fields> {
    let (said, heard) = mpsc::channel();
    // Fails for all but the first test of the process.
    let _is_first = tracing::subscriber::set_global_default(Listener::default());
    SAID.set(Some(said));
    run();
    SAID.set(None);
    let (mut spans, mut entered, mut events) = (BTreeMap::new(), Vec::new(), Vec::new());
    for said in heard {
        match said {
            Said::Span(number, fields) => drop(spans.insert(number, fields)),
            Said::Entered(number) => entered.push(number),
            Said::Exited => drop(entered.pop()),
            Said::Event(mut fields) => {
                fields.extend(entered.iter().flat_map(|number| spans[number].clone()));
                events.push(fields);
            }
        }
    }
    events
}

/// The events with this name that the left end tells of: the named fields, one event a line.
fn told(events: &[Fields], name: &str, fields: &[&str]) -> Vec<String> {
    let is_left = |event: &&Fields| event["local_port"] == LEFT_PORT.to_string() && event["event"] == name;
    let line = |event: &Fields| {
        fields.iter().fold(String::new(), |mut line, field| {
            let space = if line.is_empty() { "" } else { " " };
            write!(line, "{space}{}", event[field]).unwrap();
            line
        })
    };
    events.iter().filter(is_left).map(line).collect()
}

fn count(events: &[Fields], name: &str) -> u64 {
    told(events, name, &["event"]).len() as u64
}

/// Two hundred messages over a link that loses every fourteenth packet or so, and a shutdown.
fn lossy_run(mut setup: Setup, seed: u64) -> (Vec<Fields>, sctp_core::AssociationStatistics) {
    setup.seed = seed;
    let mut statistics = None;
    let events = listen(|| {
        let mut pair = setup.connected();
        let lossy = Impairments { delay: ms(10), loss: "7%".parse().unwrap(), ..Impairments::default() };
        pair.impair(End::Left, lossy);
        for number in 0..200 {
            pair.send(End::Left, ordered(0, number, 600));
            pair.run_ms(7);
        }
        pair.run_ms(60_000);
        statistics = Some(pair.statistics(End::Left));
        pair.impair(End::Left, Impairments { delay: ms(10), ..Impairments::default() });
        pair.shutdown(End::Left);
        pair.run_ms(1_000);
    });
    (events, statistics.unwrap())
}

/// RFC 9260 §4: the states in their order, each with its time.
#[test]
fn every_change_of_state_is_told_once_and_in_order() {
    let events = listen(|| {
        let mut pair: Pair = Setup::rfc9260().drop_from_left(&[1]).build();
        pair.connect();
        pair.run_ms(4_000);
        pair.shutdown(End::Left);
        pair.run_ms(1_000);
    });
    assert_eq!(
        told(&events, "association_state", &["at_ns", "association", "from", "to"]),
        [
            "0 1 CLOSED COOKIE-WAIT",
            "1020000000 1 COOKIE-WAIT COOKIE-ECHOED",
            "1040000000 1 COOKIE-ECHOED ESTABLISHED",
            "4000000000 1 ESTABLISHED SHUTDOWN-PENDING",
            "4000000000 1 SHUTDOWN-PENDING SHUTDOWN-SENT",
            "4020000000 1 SHUTDOWN-SENT CLOSED",
        ]
    );
    assert_eq!(told(&events, "t1_init_expired", &["at_ns", "path"]), ["1000000000 0"]);
    assert_eq!(told(&events, "rto_backed_off", &["rto_ns"]), ["2000000000"]);
}

/// RFC 9260 §7.2.4, RFC 8985 §6.2: as many events as the counters say, for each way to find losses.
#[test]
fn every_decision_about_losses_is_told_once() {
    for (setup, evidence) in [(Setup::rfc9260(), "missing_reports"), (Setup::signalling(), "time")] {
        let (events, statistics) = lossy_run(setup, 3);
        let (sender, path) = (statistics.sender, statistics.paths[0].counters);
        let by = told(&events, "chunk_lost", &["by"]);
        let count_by = |what: &str| by.iter().filter(|by| *by == what).count() as u64;
        assert_eq!(count_by(evidence), sender.lost_by_acknowledgment);
        assert_eq!(count_by("timeout"), sender.lost_by_timeout);
        assert!(sender.lost_by_acknowledgment > 0);
        assert_eq!(count(&events, "recovery_begun"), path.recoveries);
        assert_eq!(count(&events, "recovery_undone"), path.recoveries_undone);
        assert_eq!(count(&events, "tail_loss_probe_sent"), path.probes);
        assert_eq!(count(&events, "t3_rtx_expired"), path.timeouts);
    }
}

/// Each change begins where the one before ended, and the last ends where the statistics say.
#[test]
fn changes_of_the_congestion_window_add_up() {
    let (events, statistics) = lossy_run(Setup::rfc9260(), 3);
    let changes = told(&events, "cwnd_changed", &["from_bytes", "to_bytes"]);
    let changes: Vec<(&str, &str)> = changes.iter().map(|line| line.split_once(' ').unwrap()).collect();
    assert!(changes.windows(2).all(|pair| pair[0].1 == pair[1].0), "{changes:?}");
    assert_eq!(changes.last().unwrap().1, statistics.paths[0].cwnd_bytes.to_string());
}

/// RFC 9260 §8.4: who knocks at the wrong door is told of with the counter that it raises.
#[test]
fn discarded_packets_are_told_with_their_counter() {
    let events = listen(|| {
        let mut pair = Setup::rfc9260().connected();
        pair.inject(End::Left, crate::net::RIGHT, &[0; 3]);
        assert_eq!(pair.side(End::Left).endpoint.statistics().malformed, 1);
    });
    assert_eq!(told(&events, "packet_discarded", &["at_ns", "counter"]), ["50000000 malformed"]);
}

/// As often as the statistics count them: what an association drops of RFC 4895, RFC 5061 and RFC 6525.
#[test]
fn discarded_chunks_of_the_extensions_are_told_with_their_counters() {
    let mut counted = BTreeMap::new();
    let events = listen(|| {
        let mut setup = Setup::signalling().two_homes().configure(|config| {
            config.extensions.dynamic_addresses = Offer::On;
            config.authentication.chunks = [ChunkType::DATA].into_iter().collect();
        });
        setup.server.association.authentication.keys = AuthKeys::new(SharedKeyId::new(1), "nobody's");
        let mut pair = setup.connected();
        let twice = Impairments {
            delay: ms(10),
            duplicate: Probability::new(0.9).unwrap(),
            ..Impairments::default()
        };
        pair.impair(End::Right, twice);
        pair.with(End::Left, |side, now| {
            let id = side.id.unwrap();
            side.endpoint.reset_streams(now, id, &[], ResetDirection::Outgoing).unwrap();
        });
        pair.send(End::Right, ordered(0, 1, 100));
        pair.run_ms(1000);
        let of = pair.statistics(End::Left);
        counted.insert("authentication.unknown_keys", of.authentication.unknown_keys);
        counted.insert("reconfiguration.unexpected_responses", of.reconfiguration.unexpected_responses);
    });
    assert!(counted.values().all(|count| *count > 0), "{counted:?}");
    let told = told(&events, "chunk_discarded", &["counter"]);
    for (counter, count) in counted {
        assert_eq!(told.iter().filter(|told| *told == counter).count() as u64, count, "{counter}");
    }
}

#[test]
fn equal_seeds_tell_the_same_events_and_other_seeds_others() {
    let run = |seed| lossy_run(Setup::signalling(), seed).0;
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

/// What is told has the fields that the list of events promises, and nothing else.
#[test]
fn events_are_as_listed() {
    let (events, _) = lossy_run(Setup::signalling(), 3);
    for event in &events {
        let kind = EVENTS.iter().find(|kind| kind.name == event["event"]).unwrap();
        let around = ["event", "at_ns", "association", "local_port", "peer_port"];
        let own: Vec<&str> = event.keys().copied().filter(|field| !around.contains(field)).collect();
        let mut promised = kind.fields.to_vec();
        promised.sort_unstable();
        assert_eq!(own, promised, "{}", kind.name);
    }
}
