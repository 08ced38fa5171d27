//! A file of what associations do: an event a line, as JSON.
//!
//! The events are those of [`sctp_core::trace`], each with the fields of the spans around it: the time of the protocol and
//! the association, and the run where a comparison has several. No calendar, no clock of this host: in the simulator
//! equal seeds write equal files.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs::File;
use std::io::{self, LineWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sctp_core::trace::TARGET;
use serde::Serializer;
use serde::ser::SerializeMap;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

/// Writes the events of all associations of this process to `path`, from now until it ends. A line is written at once;
/// after the first that cannot be, no more are, and what is returned knows why.
///
/// # Errors
/// The file cannot be made, or events are written already.
pub fn write_events(path: &Path) -> io::Result<EventFile> {
    let file = File::create(path)?;
    let writer = EventWriter::new(LineWriter::new(Box::new(file)));
    let state = Arc::clone(&writer.state);
    tracing::subscriber::set_global_default(writer).map_err(io::Error::other)?;
    Ok(EventFile(state))
}

/// The file that events are written to.
#[derive(Clone)]
pub struct EventFile(Arc<Mutex<State>>);

impl EventFile {
    /// Returns the reason why the file is not complete, if it is not.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.output.as_ref().err().map(io::Error::to_string)
    }
}

impl Debug for EventFile {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("EventFile").field("failure", &self.failure()).finish()
    }
}

/// Returns the span that all events of a run belong to.
pub(crate) fn run_span(transport: crate::TransportSpec, repetition: u32) -> tracing::Span {
    tracing::debug_span!(target: TARGET, "run", transport = %transport, repetition)
}

/// A subscriber that writes lines.
struct EventWriter {
    state: Arc<Mutex<State>>,
    /// Numbers of spans given out.
    spans: AtomicU64,
}

struct State {
    open: BTreeMap<u64, OpenSpan>,
    /// An error after a line could not be written.
    output: io::Result<LineWriter<Box<dyn Write + Send>>>,
}

struct OpenSpan {
    fields: Fields,
    metadata: &'static Metadata<'static>,
    /// The number of those who still have the span.
    holders: usize,
}

/// Names and values in their order.
#[derive(Clone, Default)]
struct Fields(Vec<(&'static str, Value)>);

thread_local! {
    /// The spans this thread is in, the innermost last.
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

impl EventWriter {
    fn new(output: LineWriter<Box<dyn Write + Send>>) -> Self {
        let state = State { open: BTreeMap::new(), output: Ok(output) };
        Self { state: Arc::new(Mutex::new(state)), spans: AtomicU64::new(1) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscriber for EventWriter {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == TARGET
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let number = self.spans.fetch_add(1, Ordering::Relaxed);
        let mut fields = Fields::default();
        span.record(&mut fields);
        self.lock().open.insert(number, OpenSpan { fields, metadata: span.metadata(), holders: 1 });
        Id::from_u64(number)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        if let Some(open) = self.lock().open.get_mut(&span.into_u64()) {
            values.record(&mut open.fields);
        }
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut state = self.lock();
        let mut fields = Fields::default();
        // The time first, whatever is around it.
        fields.set("at_ns", Value::Null);
        ENTERED.with_borrow(|entered| {
            for open in entered.iter().filter_map(|number| state.open.get(number)) {
                open.fields.0.iter().for_each(|(name, value)| fields.set(name, value.clone()));
            }
        });
        event.record(&mut fields);
        let Ok(output) = &mut state.output else { return };
        if let Err(error) = fields.write(output) {
            state.output = Err(error);
        }
    }

    fn enter(&self, span: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(span.into_u64()));
    }

    fn exit(&self, span: &Id) {
        ENTERED.with_borrow_mut(|entered| {
            if let Some(place) = entered.iter().rposition(|number| *number == span.into_u64()) {
                entered.remove(place);
            }
        });
    }

    fn clone_span(&self, span: &Id) -> Id {
        if let Some(open) = self.lock().open.get_mut(&span.into_u64()) {
            open.holders += 1;
        }
        span.clone()
    }

    /// Returns the current span, so that a task can belong to the span it was spawned in.
    fn current_span(&self) -> Current {
        let innermost = ENTERED.with_borrow(|entered| entered.last().copied());
        let state = self.lock();
        let span = innermost.and_then(|number| Some((number, state.open.get(&number)?.metadata)));
        span.map_or_else(Current::none, |(number, metadata)| Current::new(Id::from_u64(number), metadata))
    }

    fn try_close(&self, span: Id) -> bool {
        let number = span.into_u64();
        let mut state = self.lock();
        let Some(open) = state.open.get_mut(&number) else { return false };
        open.holders -= 1;
        let is_last = open.holders == 0;
        if is_last {
            state.open.remove(&number);
        }
        is_last
    }
}

impl Fields {
    /// Sets a field; what is said later counts.
    fn set(&mut self, name: &'static str, value: Value) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name, value)),
        }
    }

    fn write(&self, output: &mut impl Write) -> io::Result<()> {
        let mut line = Vec::new();
        let mut serializer = serde_json::Serializer::new(&mut line);
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()?;
        line.push(b'\n');
        output.write_all(&line)
    }
}

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field.name(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field.name(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field.name(), value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field.name(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.set(field.name(), format!("{value:?}").into());
    }
}
