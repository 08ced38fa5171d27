//! How often a blocking receiver looks at its socket before it sleeps.

/// Looks at the socket before it is waited for again. Behind many packets more are soon to come: to sleep in between
/// costs their sender a wake-up each time, and one SACK answers what several looks bring.
///
/// A look that brings nothing is a system call for nothing, and a flow of single packets would have all of them behind
/// each. So looks in vain halve how many there are behind the next burst, and what arrives close together restores them.
#[derive(Debug)]
pub(super) struct Looks {
    left: usize,
    granted: usize,
}

impl Default for Looks {
    fn default() -> Self {
        Self { left: 0, granted: MOST }
    }
}

impl Looks {
    /// Returns whether to look before waiting.
    pub(super) const fn are_left(&self) -> bool {
        self.left > 0
    }

    /// Takes note of what a wait brought.
    pub(super) fn begin_behind(&mut self, octets: usize) {
        if octets >= SURGE_BYTES {
            self.granted = MOST;
        }
        self.left = if octets < BURST_BYTES { 0 } else { self.granted.saturating_sub(octets / LOOK_BYTES) };
    }

    /// Takes note of what a look brought.
    pub(super) fn have_brought(&mut self, octets: usize) {
        // What came counts as looks, too: who has much to take in does not wait anyway.
        self.left = self.left.saturating_sub(1 + octets / LOOK_BYTES);
        if octets > 0 {
            self.granted = MOST;
        } else if self.left == 0 {
            self.granted = FEWEST.max(self.granted / 2);
        }
    }
}

/// Some 30 µs: what a sender without segmentation offload needs for a run of packets.
const MOST: usize = 64;
/// With a few there is still a chance to notice that they pay again.
const FEWEST: usize = 2;
/// The octets that count as a look: 64 KiB are answered without further ones.
const LOOK_BYTES: usize = 1 << 10;
/// The octets that arrive at once from a peer that sends much: a full packet, if the receiver is the faster one.
const BURST_BYTES: usize = 1 << 10;
/// The octets that no single packet of a thin flow brings over Ethernet.
const SURGE_BYTES: usize = 1 << 12;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many looks in vain follow a wait that brought this.
    fn in_vain(looks: &mut Looks, octets: usize) -> usize {
        looks.begin_behind(octets);
        let mut count = 0;
        while looks.are_left() {
            looks.have_brought(0);
            count += 1;
        }
        count
    }

    #[test]
    fn looks_follow_a_burst_that_was_soon_taken_in_and_nothing_else() {
        let behind = |octets| in_vain(&mut Looks::default(), octets);
        assert_eq!(behind(500), 0, "a request");
        assert_eq!(behind(14_000), 51);
        assert_eq!(behind(70_000), 0, "the sender is the faster one");
    }

    #[test]
    fn each_look_and_each_kibibyte_brings_the_answer_nearer() {
        let mut looks = Looks { left: 50, granted: MOST };
        looks.have_brought(0);
        assert_eq!(looks.left, 49);
        looks.have_brought(2_800);
        assert_eq!(looks.left, 46);
        looks.have_brought(60_000);
        assert!(!looks.are_left());
    }

    #[test]
    fn single_packets_soon_have_few_looks_behind_them() {
        let mut looks = Looks::default();
        let counts: Vec<usize> = (0..8).map(|_| in_vain(&mut looks, 1_200)).collect();
        assert_eq!(counts, [63, 31, 15, 7, 3, 1, 1, 1]);
    }

    #[test]
    fn looks_that_pay_are_granted_again() {
        for wait in [1_200, 4_800] {
            let mut looks = Looks { left: 0, granted: FEWEST };
            looks.begin_behind(wait);
            looks.have_brought(1_200);
            assert_eq!(looks.granted, MOST, "{wait}");
        }
    }
}
