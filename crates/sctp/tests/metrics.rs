//! Statistics in a recorder of the crate `metrics`, with the feature of that name.
#![cfg(all(feature = "metrics", feature = "tokio"))]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, Key, KeyName, Label, Metadata, Recorder, SharedString,
    Unit,
};
use sctp::{Endpoint, EndpointConfig, Message, SctpPort, StreamId};

type Values = Arc<Mutex<BTreeMap<String, f64>>>;

/// Keeps the last value of everything under its name and labels.
#[derive(Default)]
struct Register(Values);

struct Cell(Values, String);

impl Cell {
    fn new(values: &Values, key: &Key) -> Arc<Self> {
        let labels = key.labels().map(|label| format!("{}={}", label.key(), label.value()));
        let name = format!("{}{{{}}}", key.name(), labels.collect::<Vec<_>>().join(","));
        Arc::new(Self(Arc::clone(values), name))
    }

    fn set_to(&self, value: f64) {
        self.0.lock().unwrap().insert(self.1.clone(), value);
    }
}

impl CounterFn for Cell {
    fn increment(&self, _value: u64) {
        unreachable!("counters are told by their value");
    }

    fn absolute(&self, value: u64) {
        self.set_to(f64::from(u32::try_from(value).unwrap()));
    }
}

impl GaugeFn for Cell {
    fn increment(&self, _value: f64) {
        unreachable!("gauges are told by their value");
    }

    fn decrement(&self, _value: f64) {
        unreachable!("gauges are told by their value");
    }

    fn set(&self, value: f64) {
        self.set_to(value);
    }
}

impl Recorder for Register {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(Cell::new(&self.0, key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(Cell::new(&self.0, key))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

#[tokio::test]
async fn counters_and_gauges_are_recorded_with_the_labels_given() {
    let port = SctpPort::try_from(3863).unwrap();
    let server = Endpoint::bind(EndpointConfig::new(port), "127.0.0.1:0".parse().unwrap()).await.unwrap();
    let client = Endpoint::client("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let (opened, accepted) = tokio::join!(client.connect(server.local_address(), port), server.accept());
    let (here, there) = (opened.unwrap(), accepted.unwrap());
    for _ in 0..3 {
        here.send(Message::ordered(StreamId::new(0), "x")).await.unwrap();
        there.recv().await.unwrap().unwrap();
    }
    here.drained_to(0).await.unwrap();
    let register = Register::default();
    metrics::with_local_recorder(&register, || {
        let labels = [Label::new("side", "client")];
        client.record_metrics(&labels);
        // Twice counts nothing twice.
        here.record_metrics(&labels);
        here.record_metrics(&labels);
    });
    let values = register.0.lock().unwrap();
    assert_eq!(values["sctp.sender.messages{side=client}"], 3.0);
    assert_eq!(values["sctp.endpoint.initiated{side=client}"], 1.0);
    assert_eq!(values["sctp.buffered.unsent_bytes{side=client}"], 0.0);
    assert!(values["sctp.socket.packets_sent{side=client}"] >= 5.0);
    assert!(values["sctp.path.packets_sent{side=client,path=127.0.0.1}"] >= 5.0);
    assert!(values["sctp.path.srtt_seconds{side=client,path=127.0.0.1}"] > 0.0);
}
