//! The load beside the test: loops that keep cores busy, and processes that come and go.

use std::hint::spin_loop;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// Load that lasts until it is dropped.
pub(super) struct Load {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// Starts `loops` busy loops, and one that starts a process after the other.
    pub(super) fn start(loops: usize) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let start = |body: fn(&AtomicBool)| {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || body(&is_over))
        };
        let mut threads: Vec<_> = (0..loops).map(|_| start(keep_busy)).collect();
        threads.push(start(spawn_children));
        Self { is_over, threads }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A loop that panicked is no load any more, and no reason to say so.
            let _ended = thread.join();
        }
    }
}

fn keep_busy(is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        (0..10_000).for_each(|_| spin_loop());
    }
}

/// Numbers of processes are used up and descriptors are inherited while the test runs.
fn spawn_children(is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        // A machine that refuses one more process is loaded enough.
        let _status = Command::new("true").stdin(Stdio::null()).stdout(Stdio::null()).status();
    }
}

/// Returns how many cores there are.
pub(super) fn cores() -> usize {
    thread::available_parallelism().map_or(2, usize::from)
}
