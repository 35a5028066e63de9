//! Regular expressions in the files of a tree.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use agentyard_git::{Error, FileTree, SearchCase, SearchMode, SearchPlace, SearchQuery};

use crate::files_support::{found, path, search};
use crate::support::{GO_ON, Yard};

fn yard() -> Yard {
    let yard = Yard::with_commit();
    yard.write(".gitignore", "/target/\n*.min.js\n");
    yard.write(
        "src/main.rs",
        "fn main() {\n    let total = 1;\n    print(total);\n}\n",
    );
    yard.write("src/lib/part.rs", "// TOTAL\npub fn total() {}\n");
    yard.write("docs/guide.md", "the total\r\n");
    yard.write("target/out.rs", "let total = 0;\n");
    yard.write("x.min.js", "total\n");
    yard.write(".hidden/total.txt", "total\n");
    yard.write("binary", b"total\0total\n");
    yard
}

#[test]
fn lines_are_found_in_what_is_not_ignored() {
    let yard = yard();
    let page = yard.search_files(&search("tot.l"));
    assert_eq!(
        found(&page),
        [
            ".hidden/total.txt:1:total",
            "docs/guide.md:1:the total",
            "src/lib/part.rs:2:pub fn total() {}",
            "src/main.rs:2:    let total = 1;",
            "src/main.rs:3:    print(total);",
        ]
    );
    assert_eq!(
        (page.searched, page.left_out, page.next, page.out_of_time),
        (6, 1, None, false)
    );
    let ignored = SearchQuery {
        ignored: true,
        ..search("total")
    };
    let ignored = found(&yard.search_files(&ignored));
    assert!(
        ignored.contains(&"target/out.rs:1:let total = 0;".to_owned()),
        "{ignored:?}"
    );
    assert!(ignored.contains(&"x.min.js:1:total".to_owned()));
}

#[test]
fn a_search_is_narrowed_by_path_globs_case_and_kind() {
    let yard = yard();
    let narrowed = |query: SearchQuery| found(&yard.search_files(&query));
    let total = || search("total");
    assert_eq!(
        narrowed(SearchQuery {
            include: vec!["*.rs".to_owned()],
            exclude: vec!["src/lib".to_owned()],
            ..total()
        }),
        [
            "src/main.rs:2:    let total = 1;",
            "src/main.rs:3:    print(total);"
        ]
    );
    assert_eq!(
        narrowed(SearchQuery {
            path: path("src/lib"),
            case: SearchCase::Insensitive,
            ..total()
        }),
        [
            "src/lib/part.rs:1:// TOTAL",
            "src/lib/part.rs:2:pub fn total() {}"
        ]
    );
    assert_eq!(
        narrowed(SearchQuery {
            case: SearchCase::Smart,
            ..search("Total")
        }),
        [""; 0]
    );
    assert_eq!(
        narrowed(SearchQuery {
            fixed: true,
            path: path("src/main.rs"),
            ..search("main() {")
        }),
        ["src/main.rs:1:fn main() {"]
    );
    // A carriage return is no part of a line.
    assert_eq!(narrowed(search("the total$")), ["docs/guide.md:1:the total"]);
}

#[test]
fn lines_around_are_shown() {
    let yard = yard();
    let query = SearchQuery {
        context: 1,
        ..search("let")
    };
    assert_eq!(
        found(&yard.search_files(&query)),
        [
            "src/main.rs-1-fn main() {",
            "src/main.rs:2:    let total = 1;",
            "src/main.rs-3-    print(total);"
        ]
    );
}

#[test]
fn files_and_counts_instead_of_lines() {
    let yard = yard();
    let counts = |mode| {
        let page = yard.search_files(&SearchQuery {
            mode,
            path: path("src"),
            ..search("total")
        });
        let files: Vec<_> = page
            .files
            .iter()
            .map(|file| (file.path.clone(), file.count))
            .collect();
        assert!(page.files.iter().all(|file| file.lines.is_empty()));
        files
    };
    assert_eq!(
        counts(SearchMode::Counts),
        [("src/lib/part.rs".to_owned(), 1), ("src/main.rs".to_owned(), 2)]
    );
    assert_eq!(
        counts(SearchMode::Files),
        [("src/lib/part.rs".to_owned(), 1), ("src/main.rs".to_owned(), 1)]
    );
}

/// More files than one batch has, and more lines than one file.
#[test]
fn page_by_page_everything_is_found_once() {
    let yard = Yard::empty();
    for number in 0..300 {
        yard.write(
            format!("d{}/{number}.txt", number % 7),
            "needle\nhay\nneedle\nneedle\nhay\n",
        );
    }
    for mode in [SearchMode::Lines, SearchMode::Files] {
        let query = SearchQuery {
            mode,
            context: 1,
            limit: 2000,
            ..search("needle")
        };
        let tell = |page: &agentyard_git::SearchPage| -> Vec<String> {
            match mode {
                SearchMode::Lines => found(page)
                    .into_iter()
                    .filter(|line| line.contains(':'))
                    .collect(),
                _ => page.files.iter().map(|file| file.path.clone()).collect(),
            }
        };
        let whole = yard.search_files(&query);
        assert_eq!(whole.next, None);
        let all = tell(&whole);
        assert_eq!(all.len(), if mode == SearchMode::Lines { 900 } else { 300 });
        for limit in [7, 64, 299] {
            let mut pages = Vec::new();
            let mut after = None;
            loop {
                let page = yard.search_files(&SearchQuery {
                    limit,
                    after,
                    ..query.clone()
                });
                pages.extend(tell(&page));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(pages, all, "{limit}");
        }
    }
}

#[test]
fn long_lines_are_cut_around_the_match_and_endless_ones_left_out() {
    let yard = Yard::empty();
    yard.write(
        "long",
        format!("{}needle{}\n", "ä".repeat(5000), "ö".repeat(5000)),
    );
    yard.shell("head -c 20M /dev/zero | tr '\\0' 'x' > endless; echo needle >> endless");
    let page = yard.search_files(&search("needle"));
    let line = &page.files[0].lines[0];
    assert!(
        line.cut && line.text.len() <= 400 && line.text.contains("äneedleö"),
        "{line:?}"
    );
    assert_eq!((page.files.len(), page.left_out), (1, 1));
}

#[test]
fn control_characters_are_made_visible() {
    let yard = Yard::empty();
    yard.write("x", "needle\x1b[2J\u{202e}\n");
    assert_eq!(
        found(&yard.search_files(&search("needle"))),
        ["x:1:needle\\x1b[2J\\u{202e}"]
    );
}

#[test]
fn expressions_that_cannot_be_searched_for_are_refused() {
    let yard = yard();
    for pattern in ["(", "", "a\\nb", &"(a{1000}){1000}".repeat(3), &"(".repeat(300)] {
        let refused = yard.files().search(&search(pattern), &GO_ON);
        assert!(
            matches!(refused, Err(Error::Invalid { .. })),
            "{pattern}: {refused:?}"
        );
    }
}

#[test]
fn a_search_ends_when_its_time_is_up_or_nobody_waits() {
    let yard = yard();
    let hurried = SearchQuery {
        time: Duration::ZERO,
        ..search("total")
    };
    let page = yard.search_files(&hurried);
    assert!(page.out_of_time && page.files.is_empty());
    let place = SearchPlace {
        path: "src/main.rs".to_owned(),
        line: Some(2),
    };
    let resumed = SearchQuery {
        after: Some(place.clone()),
        ..hurried
    };
    assert_eq!(yard.search_files(&resumed).next, Some(place));
    let gone = AtomicBool::new(true);
    let cancelled = yard.files().search(&search("total"), &gone);
    assert!(matches!(cancelled, Err(Error::Cancelled)), "{cancelled:?}");
}

#[test]
fn a_search_below_the_top_heeds_the_rules_above() {
    let yard = yard();
    yard.write("src/y.min.js", "total\n");
    let below = FileTree::open(&yard.confined("src")).unwrap();
    let page = below.search(&search("total"), &GO_ON).unwrap();
    let files: Vec<_> = page.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["lib/part.rs", "main.rs"]);
}
