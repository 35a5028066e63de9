//! The spellings in which a value can turn up.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

/// The shortest text that is masked. Anything shorter would turn up everywhere by chance.
pub(crate) const SHORTEST: usize = 4;

/// The shortest line of a value that is masked by itself.
const SHORTEST_LINE: usize = 8;

/// Every spelling of a value that is masked.
pub(super) fn of(value: &str) -> impl Iterator<Item = String> {
    let mut spellings = BTreeSet::new();
    spellings.insert(value.to_owned());
    spellings.insert(value.trim().to_owned());
    // A key in several lines is often printed line by line.
    if value.lines().count() > 1 {
        let lines = value.lines().map(str::trim);
        spellings.extend(
            lines
                .filter(|line| line.len() >= SHORTEST_LINE)
                .map(str::to_owned),
        );
    }
    if let Ok(quoted) = serde_json::to_string(value) {
        spellings.insert(quoted[1..quoted.len() - 1].to_owned());
    }
    spellings.extend(base64_of(value.as_bytes()));
    let hexadecimal = hex::encode(value);
    spellings.insert(hexadecimal.to_uppercase());
    spellings.insert(hexadecimal);
    spellings.extend(percent_encoded(value));
    spellings
        .into_iter()
        .filter(|spelling| spelling.len() >= SHORTEST)
}

/// In Base64 a value looks different depending on how many bytes come before it. What is the same whatever comes before
/// and after is looked for, in each of the three cases and in both alphabets; and the value encoded alone, as a whole.
fn base64_of(value: &[u8]) -> Vec<String> {
    let mut found = vec![STANDARD.encode(value), URL_SAFE.encode(value)];
    for before in 0..3 {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(value);
        // Characters of six bits: those that hold a bit of what is before or after are not the value's alone.
        let first = (before * 8).div_ceil(6);
        let end = bytes.len() * 8 / 6;
        for encoded in [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
            found.extend(encoded.get(first..end).map(str::to_owned));
        }
    }
    found
}

/// As in URLs and in forms, with either case of digits.
fn percent_encoded(value: &str) -> Vec<String> {
    let encode = |keep: fn(u8) -> bool, space: &str, upper: bool| {
        let mut encoded = String::new();
        for byte in value.bytes() {
            match byte {
                b' ' if !space.is_empty() => encoded.push_str(space),
                kept if keep(kept) => encoded.push(char::from(kept)),
                // Writing into a string cannot fail.
                other if upper => drop(write!(encoded, "%{other:02X}")),
                other => drop(write!(encoded, "%{other:02x}")),
            }
        }
        encoded
    };
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    // What `encodeURIComponent` and Python's `quote` leave as it is beside that.
    let component = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!*'()".contains(&byte);
    let path = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let mut found = Vec::new();
    for upper in [true, false] {
        found.push(encode(unreserved, "", upper));
        found.push(encode(unreserved, "+", upper));
        found.push(encode(component, "", upper));
        found.push(encode(path, "", upper));
    }
    found
}
