//! Objects and who wrote their lines, held against the git program.

use agentyard_git::{
    BlameQuery, Error, MAX_BLAME_LINES, Moves, Object, ObjectName, RepositoryPath, Revision,
};

use crate::support::{GO_ON, Yard, message};

fn object(yard: &Yard, name: &str) -> Object {
    yard.open()
        .object(&ObjectName::new(name, None).unwrap(), &GO_ON)
        .unwrap()
}

fn sample(format: &[&str]) -> Yard {
    let yard = Yard::empty();
    let mut init = vec!["init", "--quiet", "--initial-branch=main"];
    init.extend(format);
    yard.git(&init);
    yard.write("a", "one\n");
    yard.write("dir/b c", "two\r\n\x1b[31m");
    yard.write("bin", b"\0\0");
    yard.link("a", "link");
    yard.commit("first\n\nbody");
    yard.write("a", "one\nthree\n");
    yard.commit("second");
    yard.git(&["tag", "--annotate", "--message", "release\n\nnotes", "v1"]);
    yard
}

#[test]
fn commits_come_with_what_they_are_compared_with() {
    for format in [&[][..], &["--object-format=sha256"]] {
        let yard = sample(format);
        let Object::Commit(second) = object(&yard, "HEAD") else {
            panic!()
        };
        assert_eq!(second.commit.subject, "second");
        assert_eq!(second.base.to_string(), yard.git(&["rev-parse", "HEAD~1"]).trim());
        assert_eq!(second.signature, None);
        let Object::Commit(first) = object(&yard, "HEAD~1") else {
            panic!()
        };
        assert_eq!(first.commit.body, "body");
        let empty = yard.git(&["hash-object", "-t", "tree", "/dev/null"]);
        assert_eq!(first.base.to_string(), empty.trim());
    }
}

#[test]
fn tags_say_what_they_point_to() {
    let yard = sample(&[]);
    let Object::Tag(tag) = object(&yard, "v1") else {
        panic!()
    };
    assert_eq!(
        (tag.name.as_str(), tag.target_kind, tag.signed),
        ("v1", "commit", false)
    );
    assert_eq!(tag.message, "release\n\nnotes");
    assert_eq!(
        tag.target.to_string(),
        yard.git(&["rev-parse", "v1^{commit}"]).trim()
    );
    assert_eq!(tag.tagger.unwrap().name, "Grace");
}

#[test]
fn a_signature_is_seen_and_left_out() {
    let yard = sample(&[]);
    let head = yard.git(&["rev-parse", "HEAD"]);
    let raw = format!(
        "object {}\ntype commit\ntag signed\ntagger A <a@b> 1 +0000\n\nhello\n-----BEGIN SSH SIGNATURE-----\nxx\n",
        head.trim()
    );
    yard.write("raw", raw);
    let id = yard.git(&["hash-object", "-t", "tag", "-w", "raw"]);
    let Object::Tag(tag) = object(&yard, id.trim()) else {
        panic!()
    };
    assert_eq!((tag.message.as_str(), tag.signed), ("hello", true));
}

#[test]
fn trees_are_listed_like_git_lists_them() {
    let yard = sample(&[]);
    for (name, git_name) in [("HEAD:", "HEAD"), ("HEAD:dir", "HEAD:dir"), ("v1^{tree}", "HEAD")] {
        let Object::Tree(tree) = object(&yard, name) else {
            panic!()
        };
        let listed: String = tree
            .entries
            .iter()
            .map(|entry| {
                let size = entry.size.map_or_else(|| "-".to_owned(), |size| size.to_string());
                format!(
                    "{} {} {} {size:>7}\t{}\n",
                    entry.mode, entry.kind, entry.id, entry.name
                )
            })
            .collect();
        assert_eq!(listed, yard.git(&["ls-tree", "--long", git_name]));
    }
}

#[test]
fn files_are_shown_without_what_steers_a_terminal() {
    let yard = sample(&[]);
    let Object::Blob(blob) = object(&yard, "HEAD:dir/b c") else {
        panic!()
    };
    assert_eq!(blob.text.as_deref(), Some("two\\r\n\\x1b[31m"));
    assert_eq!(blob.size, 10);
    let Object::Blob(binary) = object(&yard, "HEAD~1:bin") else {
        panic!()
    };
    assert_eq!((binary.text, binary.size), (None, 2));
    let Object::Blob(link) = object(&yard, "HEAD:link") else {
        panic!()
    };
    assert_eq!(
        link.text.as_deref(),
        Some("a"),
        "a link is its target's name, never its content"
    );
}

#[test]
fn what_is_not_there_says_so() {
    let yard = sample(&[]);
    let find = |name: &str| yard.open().object(&ObjectName::new(name, None).unwrap(), &GO_ON);
    assert!(message(find("HEAD:nothing")).contains("nothing is not in HEAD"));
    assert!(matches!(find("nowhere"), Err(Error::UnknownRevision { .. })));
    assert!(matches!(find("HEAD~1..HEAD"), Err(Error::InvalidRevision { .. })));
}

fn query(path: &str) -> BlameQuery {
    BlameQuery {
        path: RepositoryPath::new(path).unwrap(),
        revision: None,
        first_line: 1,
        last_line: None,
        ignore_whitespace: false,
        moves: Moves::None,
    }
}

/// One line per line of the file: commit, number, content.
fn blamed(yard: &Yard, query: &BlameQuery) -> Vec<String> {
    let blame = yard.work(|work| work.blame(query)).unwrap();
    let mut lines = Vec::new();
    for block in blame.blocks {
        for (offset, line) in block.lines.iter().enumerate() {
            let commit = block
                .commit
                .map_or_else(|| "none".to_owned(), |id| id.to_string());
            lines.push(format!("{commit} {} {line}", block.first_line + offset));
        }
    }
    lines
}

/// The same from git, which tells uncommitted lines by a null id.
fn by_git(yard: &Yard, arguments: &[&str]) -> Vec<String> {
    let mut words = vec!["blame", "--line-porcelain"];
    words.extend(arguments);
    let mut lines = Vec::new();
    let mut head = String::new();
    let output = yard.git(&words);
    let mut starts = true;
    for line in output.lines() {
        if let Some(content) = line.strip_prefix('\t') {
            lines.push(format!("{head} {content}"));
            starts = true;
        } else if starts {
            let words: Vec<&str> = line.split(' ').collect();
            let commit = if words[0].bytes().all(|digit| digit == b'0') {
                "none"
            } else {
                words[0]
            };
            head = format!("{commit} {}", words[2]);
            starts = false;
        }
    }
    lines
}

#[test]
fn lines_are_blamed_like_git_blames_them() {
    for format in [&[][..], &["--object-format=sha256"]] {
        let yard = sample(format);
        let body: String = (0..30)
            .map(|number| format!("long enough line number {number}\n"))
            .collect();
        yard.write("long", &body);
        yard.commit("long");
        yard.write(
            "long",
            body.replace("number 3\n", "number three\n")
                .replace("number 9\n", "number  9\n"),
        );
        yard.commit("edit");
        yard.git(&["mv", "long", "odd \"name\""]);
        yard.commit("move");
        yard.write("odd \"name\"", format!("uncommitted\n{body}"));
        let name = "odd \"name\"";
        assert_eq!(blamed(&yard, &query(name)), by_git(&yard, &["--", name]));
        let committed = BlameQuery {
            revision: Some(Revision::new("HEAD").unwrap()),
            ignore_whitespace: true,
            first_line: 2,
            last_line: Some(12),
            ..query(name)
        };
        assert_eq!(
            blamed(&yard, &committed),
            by_git(&yard, &["-w", "-L2,12", "HEAD", "--", name])
        );
        for (moves, option) in [(Moves::File, "-M"), (Moves::Commit, "-C")] {
            let moved = BlameQuery { moves, ..query(name) };
            assert_eq!(blamed(&yard, &moved), by_git(&yard, &[option, "--", name]));
        }
        let blame = yard.work(|work| work.blame(&committed)).unwrap();
        let block = &blame.blocks[0];
        assert_eq!((block.author.as_str(), block.summary.as_str()), ("Ada", "long"));
        assert_eq!(block.old_path.as_deref(), Some("long"));
        assert!(block.commit.unwrap().to_string().starts_with(&block.short_id));
    }
}

#[test]
fn long_files_are_blamed_in_pages() {
    let yard = Yard::new();
    let count = MAX_BLAME_LINES + 3;
    yard.write(
        "f",
        (0..count).map(|number| format!("{number}\n")).collect::<String>(),
    );
    yard.commit("first");
    let first = yard.work(|work| work.blame(&query("f"))).unwrap();
    assert_eq!((first.more, first.blocks[0].lines.len()), (true, MAX_BLAME_LINES));
    let rest = BlameQuery {
        first_line: MAX_BLAME_LINES + 1,
        ..query("f")
    };
    let rest = yard.work(|work| work.blame(&rest)).unwrap();
    assert_eq!((rest.more, rest.blocks[0].lines.len()), (false, 3));
    let beyond = BlameQuery {
        first_line: 9000,
        ..query("f")
    };
    assert!(message(yard.work(|work| work.blame(&beyond))).contains("has only 2003 lines"));
}

#[test]
fn no_link_leads_a_blame_out_of_the_repository() {
    let yard = Yard::new();
    yard.write("d/file", "inside\n");
    yard.commit("first");
    std::fs::write(yard.outside().join("file"), "secret\n").unwrap();
    std::fs::remove_dir_all(yard.path("d")).unwrap();
    yard.link(yard.outside(), "d");
    for work in [
        yard.work(|work| work.blame(&query("d/file"))),
        yard.trusted_work(|work| work.blame(&query("d/file"))),
    ] {
        assert!(message(work).contains("leads out of the repository"));
    }
    assert!(message(yard.work(|work| work.blame(&query("nothing")))).contains("not in the working tree"));
}
