//! Names in the order of the numbers in them.

use std::cmp::Ordering;

/// Compares two names as git's `version:refname` does: numbers by value, the rest byte by byte. Digits after a
/// leading zero are a fraction, so `1.01` comes before `1.1`.
pub(super) fn compare(one: &[u8], other: &[u8]) -> Ordering {
    let common = one
        .iter()
        .zip(other)
        .take_while(|(one, other)| one == other)
        .count();
    let digits_before = trailing_digits(&one[..common]);
    let (one, other) = (&one[common..], &other[common..]);
    let by_byte = one.first().cmp(&other.first());
    let (length, other_length) = (leading_digits(one), leading_digits(other));
    match digits_before {
        // The names differ inside a number: the longer one is larger.
        [b'1'..=b'9', ..] => length.cmp(&other_length).then(by_byte),
        // They differ in the number of zeros that a fraction begins with: the more, the smaller.
        [_, ..] if is_zero(digits_before) && (length == 0) != (other_length == 0) => {
            other_length.cmp(&length)
        }
        [_, ..] => by_byte,
        // They differ where a number begins in both, and neither is a fraction.
        [] if starts_number(one) && starts_number(other) => length.cmp(&other_length).then(by_byte),
        [] => by_byte,
    }
}

fn is_zero(digits: &[u8]) -> bool {
    digits.iter().all(|&digit| digit == b'0')
}

fn starts_number(text: &[u8]) -> bool {
    matches!(text, [b'1'..=b'9', ..])
}

fn leading_digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn trailing_digits(text: &[u8]) -> &[u8] {
    let length = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    &text[text.len() - length..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_by_value() {
        let sorted = [
            "v0.9", "v1", "v1.0", "v1.0.1", "v1.00", "v1.01", "v1.1", "v1.1-rc1", "v1.2", "v1.9", "v1.10",
            "v1.10.2", "v1.10.10", "v2", "v10", "v10a", "v100",
        ];
        // A leading zero makes a fraction, of which one with more zeros is smaller.
        let mut shuffled = sorted;
        shuffled.reverse();
        shuffled.sort_by(|one, other| compare(one.as_bytes(), other.as_bytes()));
        assert_eq!(
            shuffled,
            [
                "v0.9", "v1", "v1.00", "v1.01", "v1.0", "v1.0.1", "v1.1", "v1.1-rc1", "v1.2", "v1.9",
                "v1.10", "v1.10.2", "v1.10.10", "v2", "v10", "v10a", "v100",
            ]
        );
    }
}
