//! Counts, in tests, the steps of loops whose length a peer decides: what a packet makes an endpoint do is bounded, and a
//! test that counts says so on any machine.

/// One more step was taken.
#[inline(always)]
pub(crate) fn step() {
    #[cfg(test)]
    TAKEN.with(|taken| taken.set(taken.get() + 1));
}

#[cfg(test)]
std::thread_local! {
    static TAKEN: core::cell::Cell<u64> = const { core::cell::Cell::new(0) };
}

/// Returns the result of `act`, and the number of steps it took.
#[cfg(test)]
pub(crate) fn of<T>(act: impl FnOnce() -> T) -> (T, u64) {
    let before = TAKEN.get();
    let result = act();
    (result, TAKEN.get() - before)
}
