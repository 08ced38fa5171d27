//! Damage to messages: octets changed, pieces doubled or cut, lines lost, doubled, moved or taken from other messages.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Changes a message in up to five ways, with pieces of others among them.
pub(crate) fn damage(dice: &mut Xoshiro256PlusPlus, message: &mut Vec<u8>, others: &[&[u8]]) {
    for _ in 0..dice.random_range(0..6) {
        if dice.random_ratio(1, 3) {
            damage_lines(dice, message, others);
        } else {
            damage_octets(dice, message, others);
        }
    }
}

fn damage_octets(dice: &mut Xoshiro256PlusPlus, text: &mut Vec<u8>, others: &[&[u8]]) {
    let at = dice.random_range(0..text.len().max(1));
    match dice.random_range(0..6) {
        0 => text.truncate(at),
        1 => text.extend_from_slice(others[dice.random_range(0..others.len())]),
        2 if at < text.len() => text[at] = dice.random(),
        3 if at < text.len() => text[at] = ODD[dice.random_range(0..ODD.len())],
        4 => {
            let end = dice.random_range(at..=text.len().max(at));
            let piece = text[at.min(end)..end.min(text.len())].to_vec();
            text.splice(at.min(text.len())..at.min(text.len()), piece);
        }
        _ if at < text.len() => drop(text.remove(at)),
        _ => {}
    }
}

/// Damage that keeps lines whole, so that it reaches what stands behind the reader.
fn damage_lines(dice: &mut Xoshiro256PlusPlus, text: &mut Vec<u8>, others: &[&[u8]]) {
    let split = |text: &[u8]| text.split(|octet| *octet == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let mut lines = split(text);
    let at = dice.random_range(0..lines.len());
    match dice.random_range(0..5) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[at].clone()),
        2 => {
            let with = dice.random_range(0..lines.len());
            lines.swap(at, with);
        }
        3 => {
            let other = split(others[dice.random_range(0..others.len())]);
            lines[at].clone_from(&other[dice.random_range(0..other.len())]);
        }
        _ => {
            let number = NUMBERS[dice.random_range(0..NUMBERS.len())];
            let value = lines[at].iter().position(u8::is_ascii_digit).unwrap_or(lines[at].len());
            let end = lines[at][value..].iter().take_while(|octet| octet.is_ascii_digit()).count() + value;
            lines[at].splice(value..end, number.bytes());
        }
    }
    *text = lines.join(&b'\n');
}

const ODD: &[u8] = b"\r\n\t ,;:<>\"\\@=?%[]";
/// Numbers at the ends of the ranges that fields have.
const NUMBERS: [&str; 8] =
    ["0", "-1", "255", "65536", "2147483648", "4294967296", "18446744073709551616", "1e9"];
