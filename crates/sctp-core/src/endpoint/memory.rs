//! Memory that the associations of an endpoint share for what they have received and nobody has read.
//!
//! Half of it is divided equally, so that whoever floods one association takes nothing from the others' share;
//! the other half goes to whoever needs more.

/// How much the associations of an endpoint hold, and may hold.
#[derive(Debug)]
pub(super) struct ReceiveMemory {
    share_bytes: usize,
    pool_bytes: usize,
    /// The octets that associations hold beyond their share.
    pooled_bytes: usize,
    held_bytes: usize,
}

impl ReceiveMemory {
    pub(super) fn new(limit_bytes: usize, association_limit: usize) -> Self {
        let pool_bytes = limit_bytes / 2;
        let share_bytes = (limit_bytes - pool_bytes) / association_limit.max(1);
        Self { share_bytes, pool_bytes, pooled_bytes: 0, held_bytes: 0 }
    }

    /// Returns what all associations hold.
    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Returns what an association that holds this much may hold in all.
    pub(super) fn allowance(&self, held_bytes: usize) -> usize {
        let others = self.pooled_bytes - self.beyond_share(held_bytes);
        self.share_bytes + self.pool_bytes.saturating_sub(others)
    }

    /// An association that held `before` holds `after`.
    pub(super) fn update(&mut self, before: usize, after: usize) {
        self.pooled_bytes = self.pooled_bytes - self.beyond_share(before) + self.beyond_share(after);
        self.held_bytes = self.held_bytes - before + after;
    }

    fn beyond_share(&self, held_bytes: usize) -> usize {
        held_bytes.saturating_sub(self.share_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robustness_13_greedy_associations_stay_within_the_limit_and_leave_the_others_their_share() {
        let mut memory = ReceiveMemory::new(10_000, 10);
        let mut held = [0; 10];
        for holder in held.iter_mut().take(9) {
            let allowance = memory.allowance(*holder);
            memory.update(*holder, allowance);
            *holder = allowance;
        }
        assert_eq!((held[0], held[1], held[8]), (5_500, 500, 500));
        assert_eq!(memory.allowance(held[9]), 500);
        assert!(memory.held_bytes() + memory.allowance(0) <= 10_000);
        memory.update(held[0], 0);
        assert_eq!((memory.allowance(held[1]), memory.held_bytes()), (5_500, 4_000));
    }
}
