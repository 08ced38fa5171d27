//! Laws that hold whatever users and networks do: sequences of random operations on two hosts with three addresses
//! each, checked after every step. Then the network heals, and everything that was sent reliably has to arrive.
//!
//! A seed gives one sequence of each [`Repertoire`]: a plain one, a wide one in which packets come again, too, and one of hosts that
//! move.
//!
//! | module | owns |
//! |---|---|
//! | `operation` | what can be done, and how often it is |
//! | `case` | how the ends of a sequence are configured |
//! | `endings` | why associations may end |
//! | `ledger` | every message: sent, failed, arrived |
//! | `run` | carrying a sequence out, and what must hold after each step |
//! | `shrink` | the shortest sequence that still breaks a law |

mod case;
mod endings;
mod ledger;
mod operation;
mod run;
mod shrink;

use sctp_core::{AssociationConfig, Delivery, Extensions, Offer, Profile, Reliability};

use self::case::Case;
use self::operation::{Damage, Operation, Repertoire, Sending};
use crate::dice::{Dice, seeds};
use crate::net::End;

/// Sequences that broke a law once, and how. They run first. What was found before an operation was added is a test of
/// its own: the same seed now gives another sequence.
const KEPT_SEEDS: [(Repertoire, u64, &str); 29] = [
    (Repertoire::Plain, 83_480, "an end reboots and gives up while its former COOKIE ECHO is on its way"),
    (
        Repertoire::Plain,
        94_679,
        "an end aborts unheard, and the COOKIE ECHO that comes again built the association once more",
    ),
    (Repertoire::Plain, 94, "an ABORT overtook the SHUTDOWN COMPLETE"),
    (Repertoire::Wide, 289, "an INIT came again after one of its addresses was deleted"),
    (Repertoire::Wide, 359, "both ends reset the association, and a SACK came from before both"),
    (Repertoire::Wide, 1327, "likewise, the other way round"),
    (Repertoire::Wide, 23_210, "a reset of the association was answered unheard, and its end shut down"),
    (Repertoire::Wide, 4084, "an end went on from an address that the peer had been asked to forget"),
    (
        Repertoire::Wide,
        69_420,
        "a peer that hears authenticated ABORTs alone has to find out by itself that it is alone",
    ),
    (Repertoire::Plain, 4868, "a SHUTDOWN was lost, and HEARTBEATs kept T2 from sending it again"),
    (Repertoire::Wide, 9109, "likewise"),
    (Repertoire::Plain, 316, "a change of the engine that was not kept broke a law here"),
    (Repertoire::Wide, 667, "likewise"),
    (
        Repertoire::Moving,
        711,
        "a SHUTDOWN COMPLETE that returned the tag was lost on a peer whose only address was unconfirmed",
    ),
    (Repertoire::Moving, 2844, "a COOKIE ACK came from an address that had come after the INIT ACK"),
    (
        Repertoire::Moving,
        11_693,
        "a COOKIE ACK came from elsewhere, for all that the INIT ACK had listed was gone",
    ),
    (Repertoire::Moving, 6365, "an ASCONF was sent again and again where the peer was only believed to be"),
    (
        Repertoire::Moving,
        8768,
        "likewise, for the peer had deleted all of its addresses from which it had been heard, and none of the others was tried",
    ),
    (
        Repertoire::Moving,
        12_906,
        "both ends had asked for the end of all addresses that they had again, and used none of them until then",
    ),
    (
        Repertoire::Moving,
        80_224,
        "all that the INIT ACK had listed was gone at the COOKIE ECHO, and was not used when it came back",
    ),
    (Repertoire::Moving, 110_824, "likewise"),
    (
        Repertoire::Moving,
        116_298,
        "one ASCONF added an address and deleted it again, and its sender went on from there",
    ),
    (
        Repertoire::Moving,
        223_299,
        "an INIT left a host without addresses, and those that came later were not the one that its INIT ACK went to",
    ),
    (
        Repertoire::Moving,
        229_251,
        "a SHUTDOWN was acknowledged from an address that the peer had been asked to add and did not know",
    ),
    (
        Repertoire::Moving,
        279_030,
        "an address that the user had suggested, and the peer then added, was withdrawn with the suggestion",
    ),
    (Repertoire::Moving, 370_159, "likewise"),
    (Repertoire::Moving, 326_698, "a send buffer that grows with the window held more than the law said"),
    (Repertoire::Moving, 367_471, "likewise"),
    (
        Repertoire::Moving,
        233_517,
        "an address could not be added behind a deletion whose answer went to one that its asker had lost",
    ),
];

/// How many sequences of each kind: what takes some seconds in a debug build.
const SEQUENCES: u64 = 1000;

/// The case and the operations of a seed.
fn sequence(repertoire: Repertoire, seed: u64) -> (Case, Vec<Operation>) {
    let mut dice = Dice::new(seed);
    let case = Case::new(seed, &mut dice, repertoire);
    let count = 10 + dice.below(50);
    let operations = (0..count).map(|_| Operation::any(&mut dice, repertoire)).collect();
    (case, operations)
}

/// The case of a plain seed, for a test with operations of its own.
fn plain_case(seed: u64) -> Case {
    sequence(Repertoire::Plain, seed).0
}

fn obeys_the_laws(repertoire: Repertoire, seed: u64) {
    let (case, operations) = sequence(repertoire, seed);
    holds(&format!("{repertoire:?} seed {seed}"), &case, operations);
}

fn holds(name: &str, case: &Case, operations: Vec<Operation>) {
    let Err(broken) = run::run(case, &operations) else { return };
    let (shortest, broken) = shrink::shrink(case, operations, broken);
    let list: String = shortest.iter().map(|operation| format!("    {operation:?}\n")).collect();
    panic!("{name} breaks a law: {broken}\n{case:?}\nshortest list of operations:\n{list}");
}

#[test]
fn sequences_that_broke_a_law_once_obey_it() {
    KEPT_SEEDS.into_iter().for_each(|(repertoire, seed, _how)| obeys_the_laws(repertoire, seed));
}

#[test]
fn robustness_21_no_sequence_of_operations_breaks_a_law_or_stalls() {
    seeds(SEQUENCES).for_each(|seed| obeys_the_laws(Repertoire::Plain, seed));
}

#[test]
fn robustness_21_no_packet_that_comes_again_or_late_breaks_a_law() {
    seeds(SEQUENCES).for_each(|seed| obeys_the_laws(Repertoire::Wide, seed));
}

#[test]
fn no_law_is_broken_where_both_hosts_move_and_say_where_the_other_may_be() {
    seeds(SEQUENCES).for_each(|seed| obeys_the_laws(Repertoire::Moving, seed));
}

/// RFC 9260 §6.5: stream sequence numbers have 16 bits.
#[test]
fn no_law_is_broken_where_stream_sequence_numbers_wrap_around() {
    for seed in seeds(SEQUENCES).step_by(200) {
        let (mut case, operations) = sequence(Repertoire::Wide, seed);
        case.warm_up_messages = 65_500 + usize::try_from(seed % 40).unwrap();
        holds(&format!("warm seed {seed}"), &case, operations);
    }
}

#[test]
fn the_same_seed_gives_the_same_sequence() {
    for seed in 0..5 {
        let (case, operations) = sequence(Repertoire::Wide, seed);
        let hashes = [(); 2].map(|()| run::run(&case, &operations).unwrap());
        assert_eq!(hashes[0], hashes[1], "seed {seed}");
    }
}

/// RFC 5061 §4.2.2 takes addresses away, RFC 9260 §5.4 keeps data from those that never answered: without HEARTBEATs
/// at an interval, only asking on ends this.
#[test]
fn a_peer_that_leaves_only_unconfirmed_addresses_is_asked_on() {
    let mut case = plain_case(0);
    case.config.extensions.dynamic_addresses = Offer::On;
    case.config.extensions.authentication = Offer::On;
    case.config.heartbeat.interval = None;
    let reliable = (Delivery::Ordered, Reliability::Reliable);
    let (delivery, reliability) = reliable;
    let sending = Sending { from: End::Right, count: 1, stream: 0, len: 100, delivery, reliability };
    let operations = [
        Operation::Cut(2, 3),
        Operation::WaitMs(40_000),
        Operation::DeleteAddress(End::Left, 0),
        Operation::WaitMs(500),
        Operation::DeleteAddress(End::Left, 1),
        Operation::WaitMs(500),
        Operation::Send(sending),
        Operation::WaitMs(10_000),
    ];
    assert_eq!(run::run(&case, &operations).map(drop), Ok(()));
}

/// RFC 9260 §6.3.2 (R1): a timeout that duplicates show to have been needless is taken back, and what it had declared
/// lost is in flight again.
#[test]
fn what_a_needless_timeout_declared_lost_has_a_timer_again() {
    let mut case = plain_case(0);
    case.config = AssociationConfig::profile(Profile::Rfc9260);
    case.config.extensions = Extensions::NONE;
    let (delivery, reliability) = (Delivery::Ordered, Reliability::Reliable);
    for count in 4..8 {
        let sending = Sending { from: End::Right, count, stream: 0, len: 1032, delivery, reliability };
        let operations =
            [Operation::WaitMs(135), Operation::Send(sending), Operation::Cut(0, 3), Operation::WaitMs(1980)];
        assert_eq!(run::run(&case, &operations).map(drop), Ok(()), "{count} messages");
    }
}

/// RFC 9260 §5.1.2 (B): an end that answers from another address than its only one has to name that.
#[test]
fn the_only_address_of_an_end_is_told_to_a_peer_that_called_another_one() {
    let mut case = plain_case(0);
    case.config = AssociationConfig::profile(Profile::Rfc9260);
    let operations = [
        Operation::AddressDown(End::Right, 1),
        Operation::AddressDown(End::Right, 0),
        Operation::WaitMs(500),
    ];
    assert_eq!(run::run(&case, &operations).map(drop), Ok(()));
}

/// RFC 5061 §5.3 (F13): what was lost on its way to an address that the peer has deleted since goes to the one that is left.
/// It once went on to the deleted one for ever, and the end that shut down gave up. Found as sequence 10,410.
#[test]
fn what_a_deleted_address_never_got_goes_to_the_one_that_is_left() {
    let case = plain_case(10_410);
    let (delivery, reliability) = (Delivery::Ordered, Reliability::Reliable);
    let sending = Sending { from: End::Left, count: 4, stream: 5, len: 1156, delivery, reliability };
    let operations = [
        Operation::WaitMs(28),
        Operation::Cut(0, 3),
        Operation::WaitMs(286),
        Operation::Shutdown(End::Right),
        Operation::Impair(End::Left, Damage { loss: 0, reorder: 17, duplicate: 16, jitter_ms: 9 }),
        Operation::Send(sending),
        Operation::DeleteAddress(End::Right, 1),
        Operation::DeleteAddress(End::Right, 0),
        Operation::WaitMs(145),
        Operation::WaitMs(17),
    ];
    assert_eq!(run::run(&case, &operations).map(drop), Ok(()));
}

/// The check itself: a law that is broken is found, and the list is short.
#[test]
fn a_broken_law_is_found_and_its_sequence_is_shortened() {
    let (case, mut operations) = sequence(Repertoire::Plain, 3);
    operations.push(Operation::Forge);
    let broken = run::run(&case, &operations).unwrap_err();
    let (shortest, _) = shrink::shrink(&case, operations, broken);
    assert_eq!(shortest, [Operation::Forge]);
}
