//! The drivers of an endpoint that has no runtime: one thread at a time, the one in the seat.
//!
//! A thread that has to wait takes the seat if it is free, and drives until what it waits for has come. Threads that
//! find it taken sleep; each that leaves wakes one of them. A thread of the endpoint's takes it while nobody calls: a watchdog
//! wakes it, which those who call feed.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::sync::{Arc, PoisonError, TryLockError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use sctp_io::{AddressWatch, Notice, Room, Woken};

use super::looks::Looks;
use crate::endpoint::Descriptors;
use crate::error::{CommunicationLost, TimedOut};
use crate::shared::{Next, Received, Shared};
use crate::state::Openness;
use crate::surroundings::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::surroundings::thread::{self, Thread};
use crate::surroundings::{Clock, Doorbell, Mutex, MutexGuard, Sources, Watchdog};

/// The state that all threads of a blocking endpoint share.
pub(super) struct ThreadDriver {
    shared: Arc<Shared>,
    seat: Mutex<Seat>,
    bell: Doorbell,
    waiting: Mutex<Waiting>,
    /// Wakes the endpoint's own thread when nobody has called for a while.
    watchdog: Watchdog,
    /// The alarm of the last call, for the next one of its thread.
    spare_alarm: Mutex<Option<Arc<Alarm>>>,
    /// Advances with every call that has to wait.
    calls: AtomicU64,
}

/// Threads that wait for somebody to leave the seat, by their numbers: one that stops waiting is found without a search.
#[derive(Default)]
struct Waiting {
    threads: BTreeMap<u64, Thread>,
    numbers: u64,
    /// The watchdog has fired, and rests until the seat is free again.
    is_unwatched: bool,
}

impl Waiting {
    fn push(&mut self, thread: Thread) -> u64 {
        self.numbers += 1;
        self.threads.insert(self.numbers, thread);
        self.numbers
    }

    /// Takes out the thread that came last: what it needs is most likely at hand.
    fn pop(&mut self) -> Option<Thread> {
        self.threads.pop_last().map(|(_, thread)| thread)
    }

    fn remove(&mut self, number: u64) {
        self.threads.remove(&number);
    }
}

/// The state that only the thread needs that drives.
struct Seat {
    sources: Sources,
    addresses: Option<AddressWatch>,
    /// The last receive call did not bring all there was.
    expects_more: bool,
    looks: Looks,
}

impl ThreadDriver {
    /// Starts the endpoint's own thread, which ends when the endpoint is closed and its last association over.
    pub(super) fn start(shared: &Arc<Shared>, descriptors: Descriptors) -> io::Result<Arc<Self>> {
        let Descriptors { timer, addresses } = descriptors;
        let bell = Doorbell::new()?;
        shared.signals.driver.set_bell(bell.clone());
        shared.set_notice(Notice::Again);
        let sources = Sources::new(&*shared.io, timer, &bell, addresses.as_ref())?;
        let seat = Seat { sources, addresses, expects_more: false, looks: Looks::default() };
        let driver = Arc::new(Self {
            shared: Arc::clone(shared),
            seat: Mutex::new(seat),
            bell,
            waiting: Mutex::default(),
            watchdog: Watchdog::new(Clock::start(), GRACE)?,
            spare_alarm: Mutex::default(),
            calls: AtomicU64::new(0),
        });
        let own = Arc::clone(&driver);
        thread::Builder::new().name("sctp".to_owned()).spawn(move || own.look_after())?;
        Ok(driver)
    }

    /// Waits for a future of this endpoint, driving it meanwhile if nobody else does.
    pub(super) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        loop {
            // Without a limit it comes at the first attempt.
            if let Some(output) = self.wait_until(None, future.as_mut()) {
                return output;
            }
        }
    }

    /// Waits as [`wait`](Self::wait) does, at most for `limit`: then the future is dropped.
    pub(super) fn wait_timeout<T>(
        &self,
        limit: Duration,
        future: impl Future<Output = T>,
    ) -> Result<T, TimedOut> {
        // What is too far away for the clock is never.
        self.wait_until(Instant::now().checked_add(limit), pin!(future)).ok_or(TimedOut(limit))
    }

    fn wait_until<T>(
        &self,
        deadline: Option<Instant>,
        mut future: Pin<&mut impl Future<Output = T>>,
    ) -> Option<T> {
        let alarm = self.alarm();
        let waker = Waker::from(Arc::clone(&alarm));
        let mut context = Context::from_waker(&waker);
        let mut leaving = None;
        let output = loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                break Some(output);
            }
            if is_past(deadline) {
                break None;
            }
            leaving.get_or_insert_with(|| Leaving(self));
            self.calls.fetch_add(1, Ordering::Relaxed);
            self.until_raised(&alarm, deadline);
        };
        *self.spare_alarm.lock().unwrap_or_else(PoisonError::into_inner) = Some(alarm);
        output
    }

    /// Returns an alarm of this thread. It does no harm that the alarm may be raised by what an earlier call
    /// waited for.
    fn alarm(&self) -> Arc<Alarm> {
        let thread = thread::current();
        let spare = self.spare_alarm.lock().unwrap_or_else(PoisonError::into_inner).take();
        spare
            .filter(|alarm| alarm.thread.id() == thread.id())
            .unwrap_or_else(|| Arc::new(Alarm::of(thread, &self.bell)))
    }

    fn until_raised(&self, alarm: &Alarm, deadline: Option<Instant>) {
        while !alarm.lower() && !is_past(deadline) {
            if let Some(mut seat) = self.take_seat() {
                self.drive(&mut seat, alarm, deadline, || true);
                continue;
            }
            let number = self.lock_waiting().push(thread::current());
            // Whoever has just left may not have seen us.
            if let Some(mut seat) = self.take_seat() {
                self.drive(&mut seat, alarm, deadline, || true);
            } else {
                // The endpoint's own thread gives way.
                self.bell.ring();
                left(deadline).map_or_else(thread::park, thread::park_timeout);
            }
            self.lock_waiting().remove(number);
        }
    }

    /// Takes in what has come, unless somebody drives: for calls that do not wait.
    pub(super) fn look(&self) {
        let mut leaving = None;
        if let Some(mut seat) = self.take_seat() {
            // Dropped behind the seat, also when a turn panics.
            leaving.get_or_insert_with(|| Leaving(self));
            self.calls.fetch_add(1, Ordering::Relaxed);
            let _one = self.turn_or_stop(&mut seat, Some(Instant::now()));
        }
    }

    /// Drives until the alarm is raised, the time is over, or somebody else should.
    fn drive(&self, seat: &mut Seat, alarm: &Alarm, deadline: Option<Instant>, goes_on: impl Fn() -> bool) {
        alarm.is_seated.store(true, Ordering::SeqCst);
        while !alarm.is_raised.load(Ordering::SeqCst) && !is_past(deadline) && goes_on() {
            if self.turn_or_stop(seat, deadline).is_break() {
                break;
            }
        }
        alarm.is_seated.store(false, Ordering::SeqCst);
    }

    /// Waits for one thing to happen and deals with it; if the socket is broken, that was the last.
    fn turn_or_stop(&self, seat: &mut Seat, deadline: Option<Instant>) -> ControlFlow<()> {
        match self.turn(seat, deadline) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.shared.stop(&CommunicationLost::Socket(error.kind()));
                ControlFlow::Break(())
            }
        }
    }

    fn turn(&self, seat: &mut Seat, deadline: Option<Instant>) -> io::Result<()> {
        let Next { is_look, is_blocked } = self.shared.next_turn(seat.looks.are_left());
        let room = if is_blocked { Room::Awaited } else { Room::Irrelevant };
        // What certainly is readable need not be waited for; whatever else is ready can wait a turn.
        let is_certain = std::mem::take(&mut seat.expects_more) && room == Room::Irrelevant;
        let woken = if is_certain || is_look {
            Woken { is_readable: true, ..Woken::default() }
        } else {
            seat.sources.wait(room, left(deadline))?
        };
        if woken.has_error {
            while self.shared.io.receive_error()?.is_some() {}
        }
        if woken.is_readable {
            let taken = self.shared.receive()?;
            seat.expects_more = taken.has_more && !is_certain;
            if let Some(at) = taken.at {
                self.watchdog.feed(at);
            }
            if is_look {
                seat.looks.have_brought(taken.octets);
            } else {
                seat.looks.begin_behind(taken.octets);
            }
            match taken.what {
                // An answer of the application may travel with what is left to send.
                Received::News => {}
                Received::Packets => self.shared.complete(),
                Received::Nothing => thread::yield_now(),
            }
        }
        if woken.is_due {
            self.shared.change(|state, now| {
                state.acknowledge_timer();
                state.handle_timeout(now);
            });
        } else if woken.has_room || (room == Room::Awaited && woken.is_readable) {
            self.shared.change(|_, _| ());
        }
        if woken.has_address
            && let Some(addresses) = &mut seat.addresses
        {
            while let Some(event) = addresses.poll_event()? {
                self.shared.change(|state, now| state.on_address(now, event));
            }
        }
        Ok(())
    }

    /// The endpoint's own thread: drives while nobody calls.
    fn look_after(self: Arc<Self>) {
        // Nothing raises it: whoever has changed something for this thread rings the bell.
        let alarm = Alarm::of(thread::current(), &self.bell);
        let mut seen = (0, 0);
        self.watchdog.start();
        while !self.is_over() {
            self.watchdog.wait();
            let acts = self.acts();
            if std::mem::replace(&mut seen, acts) == acts {
                self.step_in(&alarm, acts);
            } else {
                self.watchdog.start();
            }
        }
    }

    /// Drives until somebody calls. Who is in the seat already starts the watchdog when leaving it.
    fn step_in(&self, alarm: &Alarm, acts: (u64, u64)) {
        self.lock_waiting().is_unwatched = true;
        if let Some(mut seat) = self.take_seat() {
            let nobody_calls = || self.acts() == acts && !self.is_over();
            self.drive(&mut seat, alarm, None, nobody_calls);
            drop(seat);
            self.call_next();
        }
    }

    /// Returns the numbers of acts of callers for the endpoint: of calls that had to wait, and of looks at the
    /// socket while they sent.
    fn acts(&self) -> (u64, u64) {
        (self.calls.load(Ordering::Relaxed), self.shared.looks())
    }

    fn is_over(&self) -> bool {
        let state = self.shared.lock();
        match state.openness {
            Openness::Open => false,
            Openness::Closed => state.is_idle() && !state.outbox.is_blocked(),
            Openness::Stopped => true,
        }
    }

    fn take_seat(&self) -> Option<MutexGuard<'_, Seat>> {
        match self.seat.try_lock() {
            Ok(seat) => Some(seat),
            Err(TryLockError::Poisoned(seat)) => Some(seat.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The seat is free, or will be soon: one of those who wait may take it, or else the endpoint's own thread after a while.
    fn call_next(&self) {
        let mut waiting = self.lock_waiting();
        if let Some(next) = waiting.pop() {
            next.unpark();
        } else if std::mem::take(&mut waiting.is_unwatched) {
            self.watchdog.start();
        }
    }

    fn lock_waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ThreadDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadDriver").finish_non_exhaustive()
    }
}

/// A call that has had the seat, or waited for it: the next one is called when it ends, however it does.
struct Leaving<'a>(&'a ThreadDriver);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.call_next();
    }
}

/// Tells a thread that what it waits for may have come.
struct Alarm {
    bell: Doorbell,
    thread: Thread,
    is_raised: AtomicBool,
    /// Whether the thread waits on the socket instead of being parked.
    is_seated: AtomicBool,
}

impl Alarm {
    fn of(thread: Thread, bell: &Doorbell) -> Self {
        Self {
            bell: bell.clone(),
            thread,
            is_raised: AtomicBool::new(false),
            is_seated: AtomicBool::new(false),
        }
    }

    /// Lowers the alarm, and returns whether it had been raised.
    fn lower(&self) -> bool {
        self.is_raised.swap(false, Ordering::SeqCst)
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_raised.store(true, Ordering::SeqCst);
        if thread::current().id() == self.thread.id() {
            return; // it drives, and looks before it waits
        }
        if self.is_seated.load(Ordering::SeqCst) {
            self.bell.ring();
        } else {
            self.thread.unpark();
        }
    }
}

/// Returns whether a time has come; never, where there is none.
fn is_past(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// Returns how much time is left.
fn left(deadline: Option<Instant>) -> Option<Duration> {
    deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
}

/// How long nobody calls before the endpoint's own thread steps in.
const GRACE: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_is_called_once_and_the_last_first() {
        let mut waiting = Waiting::default();
        let numbers: Vec<u64> = (0..3).map(|_| waiting.push(thread::current())).collect();
        waiting.remove(numbers[2]);
        assert!(waiting.pop().is_some());
        assert_eq!(waiting.threads.keys().collect::<Vec<_>>(), [&numbers[0]]);
        waiting.remove(numbers[1]);
        assert!(waiting.pop().is_some() && waiting.pop().is_none());
    }
}
