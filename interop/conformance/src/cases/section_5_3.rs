//! Cases of §5 once more: tags, addresses and cookies.

use sctp_core::Event;

use crate::packet::{ABORT, COOKIE_ACK, Chunk, HEARTBEAT, INIT, SACK, init, item, sack};
use crate::script::{Mismatch, Peer, STATE_COOKIE, Verdict, chunk, holds, same};
use crate::wire::Call;

use super::section_5::{both_addresses, establish_with_two_addresses};
use super::section_6::two_addresses;

cases! {
    Should "3.3.3, 5.1, 5.3.1" Both Plain init_acks_have_random_tags_and_tsns:
        "among many INIT ACKs no initiate tag and no initial TSN comes twice, and each bit of them changes";
    Should "3.3.2, 5.1, 5.3.1" VirtualTime Plain inits_have_random_tags_and_tsns:
        "so it is among many INITs";
    Must "3.3.2.1.2" VirtualTime Listed listed_addresses_are_of_their_families:
        "INIT lists IPv4 addresses as such, and none of them as an IPv6 address";
    Must "3.3.5" VirtualTime Plain nonces_of_heartbeats_differ:
        "HEARTBEATs that verify an address have different nonces";
    Should "5.1" VirtualTime Plain each_address_has_its_own_t1:
        "INIT waits for each address with an RTO of its own";
    Must "5.1" Both Plain sack_for_the_tsn_before_the_first_counts:
        "a SACK for the TSN before the initial one is no old one: its window counts";
    Must "5.1.2 (C)" VirtualTime Plain source_counts_beside_the_list:
        "the source of INIT is a destination, also if INIT lists another address alone";
    Should "5.1.2 (C)" VirtualTime Plain nothing_goes_beyond_the_list:
        "but for an ABORT nothing goes to an address that INIT neither came from nor listed";
    Must "5.1.2 (D)" VirtualTime Plain init_from_another_address_of_the_peer_is_about_its_association:
        "INIT from any address of the peer that lists the others is a restart of the association";
    Must "5.1.2 (D)" Both Plain init_of_a_stranger_that_lists_a_known_address_changes_nothing:
        "INIT from a new address that lists one of an association gets another tag, and the association goes on";
    Must "5.1.3" Both Plain cookie_of_a_restart_shows_no_tag_of_the_association:
        "the cookie for an INIT to an association shows neither of its tags";
    Should "5.1.5 (7)" VirtualTime Plain data_after_the_cookie_is_acknowledged_by_the_rules:
        "what follows the DATA of COOKIE ECHO is acknowledged with delay";
    Must "5.4" VirtualTime Plain large_cookie_goes_to_confirmed_addresses_alone:
        "COOKIE ECHO that leaves a HEARTBEAT no room does not go to an unconfirmed address";
}

/// Expects numbers that are drawn by chance: none comes twice, and each bit is set in some and clear in others.
fn random(what: &str, numbers: &[u32]) -> Verdict {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    same(&format!("the number of different {what}"), sorted.len(), numbers.len())?;
    let (set, clear) = numbers.iter().fold((0, 0), |(set, clear), number| (set | number, clear | !number));
    same(&format!("the bits that change in {what}"), set & clear, u32::MAX)
}

fn init_acks_have_random_tags_and_tsns(peer: &mut Peer) -> Verdict {
    let (mut tags, mut tsns) = (Vec::new(), Vec::new());
    for _ in 0..64 {
        peer.tag += 1;
        peer.init(&[])?;
        tags.push(peer.their_tag);
        tsns.push(peer.their_tsn);
    }
    random("tags", &tags)?;
    random("TSNs", &tsns)
}

fn inits_have_random_tags_and_tsns(peer: &mut Peer) -> Verdict {
    let (mut tags, mut tsns) = (Vec::new(), Vec::new());
    for _ in 0..64 {
        peer.be_called()?;
        tags.push(peer.their_tag);
        tsns.push(peer.their_tsn);
        peer.say(&[Chunk::new(ABORT, [])])?;
    }
    random("tags", &tags)?;
    random("TSNs", &tsns)
}

fn listed_addresses_are_of_their_families(peer: &mut Peer) -> Verdict {
    let heard = peer.be_called()?;
    let items = chunk(&heard, INIT)?.items(16);
    let listed = |kind| items.iter().filter(move |(each, _)| *each == kind).map(|(_, content)| content);
    let v4: Vec<&[u8]> = listed(5).map(Vec::as_slice).collect();
    same("the IPv4 addresses", v4, vec![&[10, 99, 1, 1][..], &[10, 99, 1, 2]])?;
    same("the IPv6 addresses", listed(6).count(), 1)?;
    holds("none of them is mapped", listed(6).all(|content| content.starts_with(&[0xfd])))
}

fn nonces_of_heartbeats_differ(peer: &mut Peer) -> Verdict {
    establish_with_two_addresses(peer)?;
    let mut seen = Vec::new();
    for _ in 0..4 {
        let probe = peer.hear_within(60_000, "HEARTBEAT")?;
        let value = chunk(&probe, HEARTBEAT)?.value.clone();
        holds("it has room for a nonce", value.len() >= 4 + 8)?;
        holds("it is another one", !seen.contains(&value))?;
        seen.push(value);
    }
    Ok(())
}

fn each_address_has_its_own_t1(peer: &mut Peer) -> Verdict {
    peer.call(Call::ConnectToBoth)?;
    same("the first destination", peer.hear("INIT")?.to, 0)?;
    for (wait, to) in [(1000, 1), (1000, 0), (2000, 1), (2000, 0)] {
        same("the destination", peer.hear_after(wait, "INIT")?.to, to)?;
    }
    Ok(())
}

fn sack_for_the_tsn_before_the_first_counts(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let before = peer.their_tsn.wrapping_sub(1);
    peer.say(&[sack(before, 0, &[])])?;
    peer.lives()?;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    peer.silence(500)?;
    peer.say(&[sack(before, 1500, &[])])?;
    peer.hear("DATA").map(drop)
}

fn source_counts_beside_the_list(peer: &mut Peer) -> Verdict {
    peer.init(&item(5, &[10, 99, 0, 2]))?;
    let echo = peer.cookie_echo();
    peer.say(&[echo])?;
    peer.hear("COOKIE_ACK")?;
    same("the destination of the probe", peer.hear_within(2000, "HEARTBEAT")?.to, 1)?;
    for from in [0, 1] {
        peer.from = from;
        peer.say(&[crate::packet::heartbeat(b"x")])?;
        same("the destination of the answer", peer.hear("HEARTBEAT_ACK")?.to, from)?;
    }
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    same("the destination of DATA", peer.hear("DATA")?.to, 0)
}

fn nothing_goes_beyond_the_list(peer: &mut Peer) -> Verdict {
    establish_with_two_addresses(peer)?;
    peer.from = 2;
    peer.say(&[crate::packet::heartbeat(b"x")])?;
    peer.from = 0;
    peer.call(Call::Send { stream: 0, octets: 10 })?;
    while peer.now_ms() < 200_000
        && let Some(heard) = peer.hear_later(61_000)
    {
        let heard = heard?;
        holds("it goes to a listed address", heard.to < 2 || heard.kinds() == "ABORT")?;
    }
    Ok(())
}

fn init_from_another_address_of_the_peer_is_about_its_association(peer: &mut Peer) -> Verdict {
    two_addresses(peer)?;
    (peer.from, peer.tag) = (1, 0x2222_2222);
    peer.init(&both_addresses())?;
    let echo = peer.cookie_echo();
    peer.say(&[echo])?;
    same("the tag", peer.hear("COOKIE_ACK")?.tag, 0x2222_2222)?;
    let restarts = |event: &Event| matches!(event, Event::Restart { .. });
    holds("the user is told of a restart", peer.events().iter().any(restarts))
}

fn init_of_a_stranger_that_lists_a_known_address_changes_nothing(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let (ours, theirs) = (peer.tag, peer.their_tag);
    (peer.from, peer.tag) = (1, 0x2222_2222);
    peer.init(&both_addresses())?;
    holds("the tag of the association is not told", peer.their_tag != theirs)?;
    (peer.from, peer.tag, peer.their_tag) = (0, ours, theirs);
    peer.lives()
}

fn cookie_of_a_restart_shows_no_tag_of_the_association(peer: &mut Peer) -> Verdict {
    peer.establish()?;
    let tags = [peer.tag, peer.their_tag].map(u32::to_be_bytes);
    peer.tag = 0x2222_2222;
    peer.init(&[])?;
    let shows = peer.cookie.windows(4).any(|octets| tags.iter().any(|tag| tag == octets));
    holds("neither tag is in the cookie", !shows)
}

fn data_after_the_cookie_is_acknowledged_by_the_rules(peer: &mut Peer) -> Verdict {
    peer.init(&[])?;
    let (echo, first) = (peer.cookie_echo(), peer.next_data(0, 0, b"first"));
    peer.say(&[echo, first])?;
    peer.gather(&[COOKIE_ACK, SACK])?;
    let second = peer.next_data(0, 1, b"second");
    peer.say(&[second])?;
    peer.hear_after(200, "SACK").map(drop)
}

fn large_cookie_goes_to_confirmed_addresses_alone(peer: &mut Peer) -> Verdict {
    peer.be_called()?;
    // It leaves twelve octets of a packet of 1380, and a HEARTBEAT with its nonce takes sixteen at least.
    let parameters = [both_addresses(), item(STATE_COOKIE, &[0xcc; 1350])].concat();
    peer.say(&[init(crate::packet::INIT_ACK, peer.tag, peer.a_rwnd, (10, 10), peer.tsn, &parameters)])?;
    peer.hear("COOKIE_ECHO")?;
    for _ in 0..5 {
        let heard = peer.hear_later(60_000).ok_or_else(|| Mismatch::new("nothing came"))??;
        let has_cookie = heard.chunk(crate::packet::COOKIE_ECHO).is_some();
        holds("the cookie goes to the confirmed address", heard.to == 0 || !has_cookie)?;
        holds("the packet fits the path MTU", heard.octets.len() <= crate::law::MTU)?;
    }
    Ok(())
}
