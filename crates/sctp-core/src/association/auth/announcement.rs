//! The announcements of INIT and INIT ACK: the material of the association's keys (RFC 4895 §3, §6.1).

use std::sync::Arc;

use sctp_wire::{
    ChunkSet, ChunkType, ChunkTypes, HmacAlgorithm, HmacId, HmacIds, Parameter, encode_parameters,
};
use smallvec::SmallVec;

use crate::association::{Commons, ParameterList};
use crate::config::{AssociationConfig, NEVER_AUTHENTICATED, Offer};

/// RANDOM, CHUNKS and HMAC-ALGO of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Announcement {
    random: [u8; RANDOM_BYTES],
    lists: Arc<AnnouncedLists>,
}

/// CHUNKS and HMAC-ALGO of one side: those of both sides are mostly the same, and the same in all associations, which have one copy.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AnnouncedLists {
    /// CHUNKS as it was sent, in its order, and HMAC-ALGO behind it.
    octets: SmallVec<[u8; 16]>,
    /// How much of that is CHUNKS; `None` if it was not sent.
    chunks_bytes: Option<u16>,
    /// The chunks in the list that can be authenticated.
    accepted: ChunkSet,
}

/// The announcements of both sides: all that the keys are made of, but for the shared keys themselves, which no
/// cookie may hold (RFC 4895 §6.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyMaterial {
    pub(crate) ours: Announcement,
    pub(crate) peer: Announcement,
}

impl KeyMaterial {
    pub(crate) fn of(ours: Option<Announcement>, peer: Option<Announcement>) -> Option<Self> {
        ours.zip(peer).map(|(ours, peer)| Self { ours, peer })
    }

    /// Returns whether both announced the same, but for RANDOM.
    pub(crate) fn is_alike(&self) -> bool {
        self.ours.lists == self.peer.lists
    }

    /// Encodes the material as the state cookie keeps it; announcements that are [alike](Self::is_alike) once.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.ours.random);
        self.ours.lists.encode(out);
        out.extend_from_slice(&self.peer.random);
        if !self.is_alike() {
            self.peer.lists.encode(out);
        }
    }

    /// Returns what [`encode`](Self::encode) wrote; `known` are lists that may be the same.
    pub(crate) fn decode(
        rest: &mut &[u8],
        is_alike: bool,
        known: Option<&Arc<AnnouncedLists>>,
    ) -> Option<Self> {
        let ours = Announcement { random: take(rest)?, lists: AnnouncedLists::decode(rest, known)? };
        let random = take(rest)?;
        let lists = if is_alike { Arc::clone(&ours.lists) } else { AnnouncedLists::decode(rest, known)? };
        Some(Self { ours, peer: Announcement { random, lists } })
    }
}

/// The parameters of the peer, as they are found one by one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found<'a> {
    random: Option<&'a [u8]>,
    chunks: Option<ChunkTypes<'a>>,
    hmacs: Option<HmacIds<'a>>,
}

/// RANDOM is not 32 octets long: the association cannot be (RFC 4895 §6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrongRandomLength {
    pub(crate) octets: usize,
}

impl<'a> Found<'a> {
    /// Notes a parameter; each may come once (RFC 4895 §3), and of several the first counts.
    pub(crate) fn note(&mut self, parameter: Parameter<'a>) {
        if let Parameter::Random(random) = parameter {
            self.random.get_or_insert(random);
        } else if let Parameter::ChunkList(chunks) = parameter {
            self.chunks.get_or_insert(chunks);
        } else if let Parameter::HmacAlgorithms(hmacs) = parameter {
            self.hmacs.get_or_insert(hmacs);
        }
    }

    /// Returns whether there is an announcement.
    pub(crate) fn is_usable(&self) -> bool {
        self.random.is_some_and(|random| random.len() == RANDOM_BYTES) && self.lists().is_some()
    }

    /// Returns the announcement; `None` if the peer does no authentication, or none that we could do. Its lists may be the `known` ones.
    pub(crate) fn announcement(
        &self,
        known: Option<&Arc<AnnouncedLists>>,
    ) -> Result<Option<Announcement>, WrongRandomLength> {
        let Some(random) = self.random else { return Ok(None) };
        let random = random.try_into().map_err(|_other| WrongRandomLength { octets: random.len() })?;
        let Some((chunks, hmacs)) = self.lists() else { return Ok(None) };
        let lists = AnnouncedLists::of(chunks, hmacs.iter().map(HmacId::to_wire), known);
        Ok(Some(Announcement { random, lists }))
    }

    /// Returns CHUNKS and HMAC-ALGO, if they are within their bounds and we know one of the HMACs.
    fn lists(&self) -> Option<(Option<&'a [u8]>, HmacIds<'a>)> {
        let chunks = self.chunks.map(|chunks| chunks.as_bytes());
        let fits = chunks.is_none_or(|chunks| chunks.len() <= CHUNKS_MAX);
        let hmacs = self.hmacs.filter(|hmacs| fits && hmacs.iter().len() <= HMACS_MAX)?;
        hmacs.iter().any(|id| HmacAlgorithm::of(id).is_some()).then_some((chunks, hmacs))
    }
}

impl Announcement {
    /// Ours; `None` with the extension off.
    pub(crate) fn ours(commons: &Commons, random: [u8; RANDOM_BYTES]) -> Option<Self> {
        commons.announced().map(|lists| Self { random, lists: Arc::clone(lists) })
    }

    /// Adds the parameters that say so.
    pub(crate) fn add_to<'a>(&'a self, parameters: &mut ParameterList<'a>) {
        parameters.push(Parameter::Random(&self.random));
        if let Some(chunks) = self.lists.chunks() {
            parameters.push(Parameter::ChunkList(ChunkTypes::new(chunks)));
        }
        parameters.push(Parameter::HmacAlgorithms(HmacIds::new(self.lists.hmacs())));
    }

    /// Returns the key vector (RFC 4895 §6.1): the parameters one after the other, without padding.
    pub(super) fn key_vector(&self) -> Vec<u8> {
        let mut parameters = ParameterList::new();
        self.add_to(&mut parameters);
        let encoded = parameters.iter().map(|parameter| encode_parameters(core::slice::from_ref(parameter)));
        encoded.flat_map(Result::unwrap_or_default).collect()
    }

    /// Returns the chunks its sender takes authenticated only; those that cannot be do not count (RFC 4895
    /// §3.2).
    pub(crate) fn accepted_authenticated_only(&self) -> &ChunkSet {
        &self.lists.accepted
    }

    /// Returns the first of its sender's HMACs that we know (RFC 4895 §6.1).
    pub(super) fn preferred_hmac(&self) -> Option<HmacAlgorithm> {
        self.lists.hmacs().iter().find_map(|id| HmacAlgorithm::of(HmacId::from(*id)))
    }

    pub(super) fn lists(&self, hmac: HmacId) -> bool {
        self.lists.hmacs().contains(&hmac.to_wire())
    }
}

impl AnnouncedLists {
    /// Ours; `None` with the extension off.
    pub(crate) fn ours(config: &AssociationConfig) -> Option<Arc<Self>> {
        if config.extensions.authentication == Offer::Off {
            return None;
        }
        let chunks = config.authentication.accepted_authenticated_only(&config.extensions);
        let chunks: SmallVec<[u8; 16]> = chunks.iter().map(ChunkType::get).collect();
        let hmacs = config.authentication.hmacs.algorithms().iter().map(|hmac| hmac.id().to_wire());
        Some(Self::of(Some(&chunks[..]).filter(|chunks| !chunks.is_empty()), hmacs, None))
    }

    /// Returns these lists; the `known` ones if they are the same.
    fn of(
        chunks: Option<&[u8]>,
        hmacs: impl Iterator<Item = [u8; 2]> + Clone,
        known: Option<&Arc<Self>>,
    ) -> Arc<Self> {
        let is_same =
            |known: &&Arc<Self>| known.chunks() == chunks && known.hmacs().iter().copied().eq(hmacs.clone());
        known.filter(is_same).map_or_else(|| Arc::new(Self::new(chunks, hmacs)), Arc::clone)
    }

    fn new(chunks: Option<&[u8]>, hmacs: impl Iterator<Item = [u8; 2]>) -> Self {
        let listed = chunks.unwrap_or_default();
        let accepted = listed.iter().map(|kind| ChunkType::new(*kind));
        let accepted = accepted.filter(|kind| !NEVER_AUTHENTICATED.contains(kind)).collect();
        let mut octets = SmallVec::from_slice(listed);
        hmacs.for_each(|id| octets.extend_from_slice(&id));
        let chunks_bytes = chunks.map(|chunks| u16::try_from(chunks.len()).unwrap_or(u16::MAX));
        Self { octets, chunks_bytes, accepted }
    }

    fn chunks(&self) -> Option<&[u8]> {
        self.octets.get(..usize::from(self.chunks_bytes?))
    }

    fn hmacs(&self) -> &[[u8; 2]] {
        let hmacs = self.octets.get(usize::from(self.chunks_bytes.unwrap_or(0))..);
        hmacs.unwrap_or_default().as_chunks().0
    }

    fn encode(&self, out: &mut Vec<u8>) {
        // Zero for no CHUNKS, so that an empty one stays one: it is part of the key vector.
        out.extend_from_slice(&self.chunks_bytes.map_or(0, |chunks| chunks + 1).to_be_bytes());
        out.extend_from_slice(self.chunks().unwrap_or_default());
        out.push(u8::try_from(self.hmacs().len()).unwrap_or(0));
        out.extend_from_slice(self.hmacs().as_flattened());
    }

    /// Returns what [`encode`](Self::encode) wrote; the `known` lists if they are the same.
    fn decode(rest: &mut &[u8], known: Option<&Arc<Self>>) -> Option<Arc<Self>> {
        let chunks = usize::from(u16::from_be_bytes(take(rest)?));
        let (listed, tail) = rest.split_at_checked(chunks.saturating_sub(1))?;
        let (hmacs, tail) = tail.split_first()?;
        let (ids, tail) = tail.split_at_checked(2 * usize::from(*hmacs))?;
        *rest = tail;
        let chunks = (chunks > 0).then_some(listed);
        Some(Self::of(chunks, ids.as_chunks().0.iter().copied(), known))
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(*head)
}

/// Octets of RANDOM (RFC 4895 §6.1).
const RANDOM_BYTES: usize = 32;

/// Chunk types in CHUNKS at most (RFC 4895 §3.2: 260 octets).
const CHUNKS_MAX: usize = 256;

/// HMAC identifiers of a peer at most: what the cookie carries is bounded. Two are defined.
const HMACS_MAX: usize = 32;
