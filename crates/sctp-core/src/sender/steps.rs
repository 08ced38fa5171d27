//! How many steps loops over chunks and ranges take, counted where tests run: what a peer's packet may cost is a bound on
//! work, which a clock cannot show.

#[cfg(test)]
thread_local! {
    static STEPS: core::cell::Cell<u64> = const { core::cell::Cell::new(0) };
}

/// A chunk or a range is looked at.
#[inline(always)]
pub(crate) fn step() {
    #[cfg(test)]
    STEPS.with(|steps| steps.set(steps.get() + 1));
}

/// Steps taken by this thread while `work` was done.
#[cfg(test)]
pub(crate) fn counted(work: impl FnOnce()) -> u64 {
    let before = STEPS.with(core::cell::Cell::get);
    work();
    STEPS.with(core::cell::Cell::get) - before
}
