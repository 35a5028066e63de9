//! Files are read by lines and by bytes.

use agentyard_git::{BytesQuery, Error, LineEndings, ReadQuery};

use crate::files_support::{path, text};
use crate::support::{GO_ON, Yard};

#[test]
fn a_file_is_read_with_its_hash_and_its_number_of_lines() {
    let yard = Yard::with_commit();
    yard.write("src/a.txt", "one\ntwo\n\nfour");
    yard.set_executable("src/a.txt", true);
    let file = yard.read_file("src/a.txt").unwrap();
    assert_eq!(text(&file), "one\ntwo\n\nfour\n");
    assert_eq!(
        (
            file.path.as_str(),
            file.size,
            file.executable,
            file.content.total_lines
        ),
        ("src/a.txt", 13, true, Some(4))
    );
    let digest = yard.shell("sha256sum src/a.txt");
    assert_eq!(file.hash.unwrap().to_string(), &digest[..16]);
    assert!(!file.content.ends_with_newline);
    assert_eq!((file.binary, file.content.next_line), (None, None));
}

#[test]
fn a_window_says_where_the_rest_begins() {
    let yard = Yard::empty();
    yard.write(
        "a",
        (1..=100)
            .map(|number| format!("line {number}\n"))
            .collect::<String>(),
    );
    let window = |first_line, max_lines, max_bytes| {
        let query = ReadQuery {
            first_line,
            max_lines,
            max_bytes,
            ..ReadQuery::default()
        };
        let file = yard.files().read(&path("a"), &query, &GO_ON).unwrap();
        (text(&file), file.content.next_line, file.content.total_lines)
    };
    assert_eq!(
        window(99, 10, 1000),
        ("line 99\nline 100\n".to_owned(), None, Some(100))
    );
    assert_eq!(window(2, 1, 1000), ("line 2\n".to_owned(), Some(3), Some(100)));
    assert_eq!(
        window(1, 10, 15),
        ("line 1\nline 2\n".to_owned(), Some(3), Some(100))
    );
    assert_eq!(window(101, 10, 1000), (String::new(), None, Some(100)));
    // Something is always shown, or nobody could go on.
    assert_eq!(window(1, 10, 1).0, "line 1\n");
}

#[test]
fn long_lines_are_cut_between_characters() {
    let yard = Yard::empty();
    yard.write("a", format!("{}\nshort\n", "ä".repeat(3000)));
    let query = ReadQuery {
        max_line_bytes: 101,
        ..ReadQuery::default()
    };
    let file = yard.files().read(&path("a"), &query, &GO_ON).unwrap();
    let lines = &file.content.lines;
    assert_eq!(
        (lines[0].text.as_str(), lines[0].left_out),
        ("ä".repeat(50).as_str(), 5900)
    );
    assert_eq!(
        (lines[1].text.as_str(), lines[1].left_out, lines[1].number),
        ("short", 0, 2)
    );
    assert!(!file.content.invalid_utf8);
}

#[test]
fn what_cannot_be_shown_as_it_is_is_told() {
    let yard = Yard::empty();
    yard.write("crlf", "\u{feff}one\r\ntwo\r\n");
    yard.write("mixed", "one\r\ntwo\n");
    yard.write("latin", b"gr\xfcn\n");
    yard.write("escape", "\x1b[31mred\u{202e}\n");
    let read = |name| yard.read_file(name).unwrap();
    let crlf = read("crlf");
    assert_eq!(text(&crlf), "one\ntwo\n");
    assert_eq!(
        (
            crlf.content.line_endings,
            crlf.content.byte_order_mark,
            crlf.content.escaped
        ),
        (LineEndings::CrLf, true, false)
    );
    assert_eq!(read("mixed").content.line_endings, LineEndings::Mixed);
    let latin = read("latin");
    assert_eq!(
        (text(&latin).as_str(), latin.content.invalid_utf8),
        ("gr\u{fffd}n\n", true)
    );
    let escape = read("escape");
    assert_eq!(
        (text(&escape).as_str(), escape.content.escaped),
        ("\\x1b[31mred\\u{202e}\n", true)
    );
}

#[test]
fn binary_files_are_described_and_read_by_bytes() {
    let yard = Yard::empty();
    yard.write("logo", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    let file = yard.read_file("logo").unwrap();
    assert_eq!(
        (file.binary, file.size, file.content.lines.len()),
        (Some("image/png"), 16, 0)
    );
    let query = BytesQuery {
        offset: 12,
        max_bytes: 100,
    };
    let bytes = yard.files().read_bytes(&path("logo"), query, &GO_ON).unwrap();
    assert_eq!(
        (bytes.content.bytes.as_slice(), bytes.hash),
        (&b"IHDR"[..], file.hash)
    );
    let beyond = BytesQuery {
        offset: 1 << 40,
        max_bytes: 1,
    };
    let beyond = yard.files().read_bytes(&path("logo"), beyond, &GO_ON).unwrap();
    assert_eq!(beyond.content.bytes, b"");
}

#[test]
fn fifty_megabytes_pass_through_a_small_window() {
    let yard = Yard::empty();
    yard.shell("yes 'a line of this very long file' | head -c 50M > large; echo END >> large");
    let total = yard.shell("wc -l < large").trim().parse().unwrap();
    let query = ReadQuery {
        first_line: total,
        max_lines: 10,
        ..ReadQuery::default()
    };
    let file = yard.files().read(&path("large"), &query, &GO_ON).unwrap();
    assert!(text(&file).ends_with("END\n"), "{:?}", file.content.lines);
    assert_eq!(
        (file.content.total_lines, file.content.lines.len()),
        (Some(total), 1)
    );
    assert_eq!(
        file.hash.unwrap().to_string(),
        &yard.shell("sha256sum large")[..16]
    );
}

#[test]
fn empty_absent_and_other_things_are_told_apart() {
    let yard = Yard::with_commit();
    yard.write("empty", "");
    let empty = yard.read_file("empty").unwrap();
    assert_eq!(
        (empty.size, empty.content.total_lines, text(&empty).as_str()),
        (0, Some(0), "")
    );
    let message = |name| yard.read_file(name).unwrap_err().to_string();
    assert!(matches!(yard.read_file("nothing"), Err(Error::Missing { .. })));
    assert!(message(".").contains("is a directory"), "{}", message("."));
    assert!(matches!(
        yard.read_file("file/x"),
        Err(Error::NotADirectory { .. })
    ));
}
