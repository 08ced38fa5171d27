//! COOKIE ECHO for an association that exists: the table of RFC 9260 §5.2.4 as a pure function.

use sctp_wire::VerificationTag;

/// The tags of the existing association and those in the cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tags {
    /// Our tag and the peer's, as the association has them; the peer's is `None` before INIT ACK.
    pub(crate) ours: (VerificationTag, Option<VerificationTag>),
    /// Our tag and the peer's, as the cookie has them.
    pub(crate) cookie: (VerificationTag, VerificationTag),
    /// The comparison of the cookie's tie-tags with the association's.
    pub(crate) ties: TieTags,
    /// The sender of the COOKIE ECHO, as far as the addresses tell.
    pub(crate) provenance: Provenance,
}

/// The origin of a COOKIE ECHO and its cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provenance {
    /// The COOKIE ECHO, and the INIT that the cookie was made for, came from addresses of the peer, and they may be of the
    /// exchange that sets the association up.
    Peer,
    /// The addresses are the peer's; but the association is up, and INITs that crossed its own are long past.
    PeerLate,
    /// One of them did not.
    Stranger,
}

/// Tie-tags are random numbers of the association, put into a cookie that is made while it exists (§5.2.2). They
/// stand for the live tags, which a cookie must not reveal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TieTags {
    /// The cookie was made when there was no association.
    None,
    /// The tie-tags are this association's.
    Match,
    /// The tie-tags are another association's.
    Differ,
}

/// The action on a COOKIE ECHO for an existing association (RFC 9260 §5.2.4, Table 12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollisionAction {
    /// A: the peer restarted.
    Restart,
    /// B: both sides sent INIT at the same time.
    Initialise,
    /// C: a cookie of an attempt long past: discard.
    Late,
    /// D: the same COOKIE ECHO again.
    Duplicate,
    /// Any other combination: discard.
    Discard,
}

impl CollisionAction {
    /// Returns the action with the letter of its row in Table 12, for the trace.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Restart => "A: restart",
            Self::Initialise => "B: both sent INIT",
            Self::Late => "C: late",
            Self::Duplicate => "D: duplicate",
            Self::Discard => "discard",
        }
    }
}

/// Decides by comparing tags: "matches" and "differs" as the table uses the words.
pub(crate) fn decide(tags: Tags) -> CollisionAction {
    let local_matches = tags.cookie.0 == tags.ours.0;
    let peer_matches = tags.ours.1 == Some(tags.cookie.1);
    match (local_matches, peer_matches) {
        (true, true) => CollisionAction::Duplicate,
        // The peer's tag is what makes our packets count there: nobody else replaces it, and no cookie that was kept.
        (true, false) if tags.provenance == Provenance::Peer => CollisionAction::Initialise,
        (false, true) if tags.ties == TieTags::None => CollisionAction::Late,
        (false, false) if tags.ties == TieTags::Match && tags.provenance != Provenance::Stranger => {
            CollisionAction::Restart
        }
        (true | false, _) => CollisionAction::Discard,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: VerificationTag = VerificationTag::new(1);
    const PEERS: VerificationTag = VerificationTag::new(2);
    const OTHER: VerificationTag = VerificationTag::new(3);

    fn row(cookie: (VerificationTag, VerificationTag), ties: TieTags) -> Tags {
        Tags { ours: (OURS, Some(PEERS)), cookie, ties, provenance: Provenance::Peer }
    }

    #[test]
    fn robustness_03_table_of_section_5_2_4_row_by_row() {
        let rows = [
            (row((OTHER, OTHER), TieTags::Match), CollisionAction::Restart),
            (row((OURS, OTHER), TieTags::None), CollisionAction::Initialise),
            (row((OURS, OTHER), TieTags::Differ), CollisionAction::Initialise),
            (row((OTHER, PEERS), TieTags::None), CollisionAction::Late),
            (row((OURS, PEERS), TieTags::None), CollisionAction::Duplicate),
            (row((OURS, PEERS), TieTags::Differ), CollisionAction::Duplicate),
            (row((OTHER, OTHER), TieTags::None), CollisionAction::Discard),
            (row((OTHER, OTHER), TieTags::Differ), CollisionAction::Discard),
            (row((OTHER, PEERS), TieTags::Match), CollisionAction::Discard),
        ];
        for (tags, action) in rows {
            assert_eq!(decide(tags), action, "{tags:?}");
        }
    }

    #[test]
    fn matching_local_tag_before_the_peers_is_known_is_a_collision() {
        let row = row((OURS, PEERS), TieTags::None);
        let tags = Tags { ours: (OURS, None), ..row };
        assert_eq!(decide(tags), CollisionAction::Initialise);
    }

    #[test]
    fn robustness_25_strangers_and_kept_cookies_change_no_tag() {
        let restart = row((OTHER, OTHER), TieTags::Match);
        let crossing = row((OURS, OTHER), TieTags::None);
        let again = row((OURS, PEERS), TieTags::None);
        let table = [
            (Provenance::Peer, [CollisionAction::Restart, CollisionAction::Initialise]),
            (Provenance::PeerLate, [CollisionAction::Restart, CollisionAction::Discard]),
            (Provenance::Stranger, [CollisionAction::Discard, CollisionAction::Discard]),
        ];
        for (provenance, actions) in table {
            assert_eq!([restart, crossing].map(|tags| decide(Tags { provenance, ..tags })), actions);
            assert_eq!(decide(Tags { provenance, ..again }), CollisionAction::Duplicate);
        }
    }
}
