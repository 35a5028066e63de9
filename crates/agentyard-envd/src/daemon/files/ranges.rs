//! Which part of a file is asked for, and whether compressed.

use http::{HeaderMap, header};

/// What of a file goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Portion {
    /// All of it.
    Whole,
    /// So many bytes from here on.
    Part {
        /// The first byte.
        from: u64,
        /// How many.
        length: u64,
    },
    /// None: it ends before what is asked for.
    Beyond,
}

/// What is asked for of a file of this length. Several parts at once, and what is not to be understood, are the whole
/// file, as HTTP allows. So is a part of a certain version, because files have no versions here.
pub(super) fn portion(headers: &HeaderMap, length: u64) -> Portion {
    let range = headers.get(header::RANGE).and_then(|value| value.to_str().ok());
    let Some((first, last)) = range
        .filter(|_| !headers.contains_key(header::IF_RANGE))
        .and_then(|range| range.trim().strip_prefix("bytes="))
        .and_then(|range| range.split_once('-'))
    else {
        return Portion::Whole;
    };
    let (first, last) = (first.trim(), last.trim());
    let (from, end) = match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(from), Ok(last)) if last >= from => (from, last.saturating_add(1).min(length)),
        (Ok(from), Err(_)) if last.is_empty() => (from, length),
        (Err(_), Ok(0)) if first.is_empty() => return Portion::Beyond,
        (Err(_), Ok(most)) if first.is_empty() => (length.saturating_sub(most), length),
        _ => return Portion::Whole,
    };
    if from >= length {
        return Portion::Beyond;
    }
    Portion::Part {
        from,
        length: end - from,
    }
}

/// Whether a client wants gzip. One that lists several encodings only tells what it knows, as most do without being
/// asked: to it goes the file as it is, which costs neither side work and tells its length.
pub(super) fn wants_gzip(headers: &HeaderMap) -> bool {
    let mut wanted = headers
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|encoding| {
            let (name, weight) = encoding.split_once(';').unwrap_or((encoding, ""));
            let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
            let is_wanted = weight.parse::<f32>().is_ok_and(|weight| weight > 0.0);
            is_wanted.then(|| name.trim()).filter(|name| *name != "identity")
        });
    wanted
        .next()
        .is_some_and(|name| name.eq_ignore_ascii_case("gzip"))
        && wanted.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn parts_are_cut_out_as_http_says() {
        let part = |from, length| Portion::Part { from, length };
        for (range, expected) in [
            ("bytes=0-0", part(0, 1)),
            ("bytes=2-4", part(2, 3)),
            ("bytes=2-400", part(2, 8)),
            ("bytes=7-", part(7, 3)),
            ("bytes=-3", part(7, 3)),
            ("bytes=-30", part(0, 10)),
            ("bytes=10-", Portion::Beyond),
            ("bytes=10-12", Portion::Beyond),
            ("bytes=-0", Portion::Beyond),
            ("bytes=4-2", Portion::Whole),
            ("bytes=0-1,4-5", Portion::Whole),
            ("bytes=-", Portion::Whole),
            ("lines=1-2", Portion::Whole),
            ("bytes=0-18446744073709551615", part(0, 10)),
        ] {
            assert_eq!(portion(&with(header::RANGE, range), 10), expected, "{range}");
        }
        assert_eq!(portion(&HeaderMap::new(), 10), Portion::Whole);
        let mut conditional = with(header::RANGE, "bytes=0-1");
        conditional.insert(header::IF_RANGE, "\"a\"".parse().unwrap());
        assert_eq!(portion(&conditional, 10), Portion::Whole);
    }

    #[test]
    fn only_who_asks_for_gzip_gets_it() {
        for (accepted, expected) in [
            ("gzip", true),
            ("GZIP;q=0.5", true),
            ("gzip, identity", true),
            ("gzip;q=0", false),
            ("identity", false),
            ("gzip, deflate, br", false),
            ("*", false),
            ("", false),
        ] {
            assert_eq!(
                wants_gzip(&with(header::ACCEPT_ENCODING, accepted)),
                expected,
                "{accepted}"
            );
        }
        assert!(!wants_gzip(&HeaderMap::new()));
    }
}
