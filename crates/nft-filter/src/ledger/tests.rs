use super::*;
use crate::ruleset::Shape;

fn element(port: u8) -> Element {
    let shape: Shape = "4_32_32_p_16_0".parse().unwrap();
    let lookup: Lookup = format!("in_{shape}").parse().unwrap();
    Element { place: Place::Set(lookup), key: Key::from_slice(&[port]) }
}

const fn at(seconds: u64) -> Instant {
    Instant::from_millis(seconds * 1000)
}

const fn id(number: u32) -> PolicyRuleId {
    PolicyRuleId::new(number)
}

#[test]
fn an_element_lives_as_long_as_the_last_rule_that_holds_it() {
    let (mut ledger, none) = (Ledger::default(), Key::new());
    assert_eq!(ledger.hold(element(1), &none, id(1), at(10)), Ok(Effect::Add(at(10))));
    assert_eq!(ledger.hold(element(1), &none, id(2), at(5)), Ok(Effect::None));
    assert_eq!(ledger.hold(element(1), &none, id(3), at(20)), Ok(Effect::Retime(at(20))));
    assert_eq!(ledger.release(element(1), id(3)), Effect::Retime(at(10)));
    assert_eq!(ledger.release(element(1), id(1)), Effect::Retime(at(5)));
    assert_eq!(ledger.release(element(1), id(2)), Effect::Remove);
    assert_eq!(ledger.release(element(1), id(2)), Effect::None);
}

#[test]
fn a_rule_that_changes_its_lifetime_holds_once() {
    let (mut ledger, none) = (Ledger::default(), Key::new());
    ledger.hold(element(1), &none, id(1), at(10)).unwrap();
    assert_eq!(ledger.hold(element(1), &none, id(1), at(3)), Ok(Effect::Retime(at(3))));
    assert_eq!(ledger.release(element(1), id(1)), Effect::Remove);
}

#[test]
fn a_refused_transaction_leaves_no_trace() {
    let (mut ledger, none) = (Ledger::default(), Key::new());
    ledger.hold(element(1), &none, id(1), at(10)).unwrap();
    ledger.hold(element(2), &none, id(1), at(10)).unwrap();
    ledger.commit();
    let before: Vec<_> = ledger.iter().map(|(element, entry)| (element.clone(), entry.clone())).collect();
    ledger.hold(element(1), &none, id(2), at(30)).unwrap();
    ledger.release(element(1), id(1));
    ledger.release(element(2), id(1));
    ledger.hold(element(3), &none, id(2), at(30)).unwrap();
    ledger.roll_back();
    assert_eq!(ledger.iter().count(), before.len());
    for (element, entry) in ledger.iter() {
        assert!(before.contains(&(element.clone(), entry.clone())));
    }
}

#[test]
fn a_translation_that_contradicts_another_is_refused() {
    let mut ledger = Ledger::default();
    let (one, other) = (Key::from_slice(&[1]), Key::from_slice(&[2]));
    ledger.hold(element(1), &one, id(1), at(10)).unwrap();
    assert_eq!(ledger.hold(element(1), &other, id(2), at(10)), Err(Contradiction));
    assert_eq!(ledger.hold(element(1), &one, id(2), at(10)), Ok(Effect::None));
}
