//! `memory`: what an idle association end takes, by the allocator's count and by what the kernel gave the process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use headway_benches::load::Mode;
use headway_benches::pair::{Framing, Host, config, connect, hosts};
use virtual_time::Instant;

struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ASSOCIATIONS: u16 = 10_000;

fn main() {
    println!("{ASSOCIATIONS} associations, 2 ends each");
    for (name, messages) in
        [("idle since the handshake", 0), ("idle after 100 messages of 1000 octets each way", 100)]
    {
        let (allocated, resident) = measure(messages);
        println!("{name}: {allocated:.0} octets allocated, {resident:.0} resident, per association end");
    }
}

fn measure(messages: u32) -> (f64, f64) {
    let config = config(Framing::Data, 64);
    let (mut left, mut right) = hosts(&config);
    let mut now = Instant::from_millis(1000);
    // What the endpoints need for themselves exists after the first.
    connect(&mut left, &mut right, &mut now, &config, ASSOCIATIONS);
    let (allocated, resident) = (IN_USE.load(Ordering::Relaxed), resident_octets());
    for number in 0..ASSOCIATIONS {
        let (left_id, right_id) = connect(&mut left, &mut right, &mut now, &config, number);
        let mut next = Mode::Ordered.messages(1000);
        for _ in 0..messages {
            left.endpoint.send(now, left_id, next()).expect("there is room");
            right.endpoint.send(now, right_id, next()).expect("there is room");
            exchange(&mut left, &mut right, &mut now);
            left.read(now, left_id);
            right.read(now, right_id);
        }
        exchange(&mut left, &mut right, &mut now);
    }
    let ends = 2.0 * f64::from(ASSOCIATIONS);
    let per_end = |after: usize, before: usize| after.saturating_sub(before) as f64 / ends;
    (per_end(IN_USE.load(Ordering::Relaxed), allocated), per_end(resident_octets(), resident))
}

fn exchange(left: &mut Host, right: &mut Host, now: &mut Instant) {
    for _ in 0..4 {
        left.transmit(*now, 64);
        right.take(*now, left);
        right.transmit(*now, 64);
        left.take(*now, right);
        left.forget_events();
        right.forget_events();
    }
}

/// VmRSS of this process.
fn resident_octets() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<usize>().ok()).unwrap_or(0) * 1024
}
