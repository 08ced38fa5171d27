//! An association during a call into it, for whoever listens to its events.

use virtual_time::Instant;

use super::Association;
use crate::trace::{self, ChunkCounters, EnteredSpan};

/// An association during a call into it.
pub(crate) struct Watched<'a> {
    association: &'a mut Association,
    /// Elsewhere: while nobody listens, a call is not to clear the room for it.
    telling: Option<Box<Telling>>,
}

/// The state that it takes to tell somebody who listens.
struct Telling {
    before: ChunkCounters,
    _span: Option<EnteredSpan>,
}

impl<'a> Watched<'a> {
    /// Watches an association during a call; `number` is unique among the associations of the endpoint.
    #[inline]
    pub(crate) fn new(now: Instant, number: u32, association: &'a mut Association) -> Self {
        let telling = trace::is_enabled().then(|| Telling::new(now, number, association));
        Self { association, telling }
    }
}

impl Telling {
    #[cold]
    fn new(now: Instant, number: u32, association: &Association) -> Box<Self> {
        let peer = association.peer();
        let span = trace::association(now, number, (peer.local_port, peer.peer_port));
        Box::new(Self { before: association.chunk_counters(), _span: span })
    }

    #[cold]
    fn end(self: Box<Self>, association: &Association) {
        trace::chunks_discarded(&self.before, &association.chunk_counters());
    }
}

/// Tells of the chunks that were discarded meanwhile.
impl Drop for Watched<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(telling) = self.telling.take() {
            telling.end(self.association);
        }
    }
}

impl core::ops::Deref for Watched<'_> {
    type Target = Association;

    fn deref(&self) -> &Association {
        self.association
    }
}

impl core::ops::DerefMut for Watched<'_> {
    fn deref_mut(&mut self) -> &mut Association {
        self.association
    }
}
