use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::*;

fn mask(secrets: &[(&str, &str)]) -> Mask {
    let secrets: Vec<_> = secrets
        .iter()
        .map(|(name, value)| (name.parse().unwrap(), Secret::new(*value)))
        .collect();
    Mask::new(&secrets).unwrap()
}

#[test]
fn a_value_is_replaced_by_its_name() {
    let mask = mask(&[("API_TOKEN", "hunter22"), ("OTHER", "s3cret/+ word\n")]);
    for (said, shown) in [
        ("the token is hunter22.", "the token is ***API_TOKEN***."),
        ("hunter22hunter22", "***API_TOKEN******API_TOKEN***"),
        ("hunter2", "hunter2"),
        (
            "68756e7465723232 68756E7465723232",
            "***API_TOKEN*** ***API_TOKEN***",
        ),
        ("Basic aHVudGVyMjI=", "Basic ***API_TOKEN***"),
        ("?a=s3cret%2F%2B%20word%0A&b", "?a=***OTHER***&b"),
        ("?a=s3cret%2f%2b+word%0a&b", "?a=***OTHER***&b"),
        (r#"{"a":"s3cret/+ word\n"}"#, r#"{"a":"***OTHER***"}"#),
        ("s3cret/+ word", "***OTHER***"),
        ("", ""),
    ] {
        assert_eq!(mask.text(said), shown, "{said}");
    }
}

#[test]
fn base64_is_found_wherever_the_value_stands_in_what_was_encoded() {
    let mask = mask(&[("A", "hunter22-\u{fb}\u{ff}")]);
    for before in 0..9 {
        for after in 0..4 {
            let plain = format!("{}hunter22-\u{fb}\u{ff}{}", "u".repeat(before), ":".repeat(after));
            for encoded in [STANDARD.encode(&plain), URL_SAFE_NO_PAD.encode(&plain)] {
                let shown = mask.text(&encoded);
                assert!(shown.contains("***A***"), "{plain}: {shown}");
                assert!(shown.len() < 12 + 7 + 2 * (before + after), "{plain}: {shown}");
            }
        }
    }
}

#[test]
fn of_values_in_one_another_the_longest_is_replaced() {
    let mask = mask(&[("SHORT", "abcd"), ("LONG", "xabcdefy")]);
    assert_eq!(mask.text("xabcdefy xabcde"), "***LONG*** x***SHORT***e");
}

#[test]
fn a_name_does_not_tell_a_value() {
    let mask = mask(&[("PASSWORD", "PASSWORD"), ("B", "PASS")]);
    assert_eq!(mask.text("PASSWORD PASS"), "*** ***B***");
}

#[test]
fn the_lines_of_a_key_are_values_too() {
    let mask = mask(&[("KEY", "-----BEGIN-----\nMIIEvQIBADANBg\nxyz\n-----END-----\n")]);
    assert_eq!(mask.text("line 2: MIIEvQIBADANBg"), "line 2: ***KEY***");
    assert_eq!(mask.text("xyz"), "xyz");
}

#[test]
fn without_secrets_nothing_is_held_back() {
    let mut masking = mask(&[]).stream();
    assert_eq!(masking.push("abc"), "abc");
    assert_eq!(masking.finish(), "");
    assert_eq!(Mask::nothing().text("abc"), "abc");
}

#[test]
fn only_what_could_begin_a_value_is_held_back() {
    let mask = mask(&[("A", "hunter22")]);
    let mut masking = mask.stream();
    let shown = masking.push(&"x".repeat(1000));
    assert_eq!(shown.len(), 1000 - (mask.longest - 1));
    assert_eq!(shown.len() + masking.finish().len(), 1000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_pieces_in_which_a_text_comes_change_nothing(
        values in proptest::collection::vec("[abä]{3,6}[abä /+\n]{1,5}", 1..4),
        words in proptest::collection::vec("[abä /+\n]{0,6}", 0..12),
        choices in proptest::collection::vec(0_usize..12, 0..12),
        cuts in proptest::collection::vec(0_usize..400, 0..20),
    ) {
        let secrets: Vec<(SecretName, Secret)> = values
            .iter()
            .enumerate()
            .map(|(number, value)| (format!("S{number}").parse().unwrap(), Secret::new(value.clone())))
            .collect();
        let mask = Mask::new(&secrets).unwrap();
        // Words, and among them values in one spelling or another.
        let mut text = String::new();
        for (position, choice) in choices.iter().enumerate() {
            let value = &values[choice % values.len()];
            let spellings: Vec<String> = spellings::of(value).collect();
            text.push_str(words.get(position).map_or("", String::as_str));
            text.push_str(&spellings[choice % spellings.len()]);
        }
        let whole = mask.text(&text);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| text.floor_char_boundary(cut)).collect();
        cuts.push(text.len());
        cuts.sort_unstable();
        let (mut masking, mut shown, mut from) = (mask.stream(), String::new(), 0);
        for cut in cuts {
            shown.push_str(&masking.push(&text[from..cut]));
            prop_assert!(masking.held.len() < mask.longest);
            from = cut;
        }
        shown.push_str(&masking.finish());
        prop_assert_eq!(&shown, &whole);
        for value in &values {
            for spelling in spellings::of(value) {
                prop_assert!(!shown.contains(&spelling), "{:?} in {:?}", spelling, shown);
            }
        }
    }
}
