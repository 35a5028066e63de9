//! The hunks between conflict markers.

use gix::bstr::ByteSlice as _;

use crate::text;

/// A place where the two sides of a merge differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictHunk {
    /// The line of its first marker, from one.
    pub first_line: usize,
    /// The line of its last marker.
    pub last_line: usize,
    /// What is checked out: in a rebase, what the commits are put on.
    pub ours: ConflictSide,
    /// What both began with, where the markers tell.
    pub base: Option<ConflictSide>,
    /// What comes in.
    pub theirs: ConflictSide,
}

/// What one side has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConflictSide {
    /// How git calls the side.
    pub label: String,
    /// Its lines.
    pub text: String,
    /// Whether more lines follow.
    pub cut: bool,
}

/// How many hunks of a file are shown.
const MAX_HUNKS: usize = 50;

/// How much of a side is shown.
const MAX_SIDE: usize = 4096;

/// How long a label may be.
const MAX_LABEL: usize = 120;

enum Part {
    Outside,
    Ours,
    Base,
    Theirs,
}

/// The hunks of a file, and how many there are beyond those. `room` is what may be shown in all.
pub(super) fn hunks(content: &[u8], room: &mut usize) -> (Vec<ConflictHunk>, usize) {
    let mut found = Vec::new();
    let mut left_out = 0;
    let mut part = Part::Outside;
    let mut hunk = empty(0);
    for (number, line) in content.lines().enumerate() {
        match (marker(line), &part) {
            (Some((b'<', label)), _) => {
                hunk = empty(number + 1);
                hunk.ours.label = label;
                part = Part::Ours;
            }
            (Some((b'|', label)), Part::Ours) => {
                hunk.base = Some(ConflictSide {
                    label,
                    ..ConflictSide::default()
                });
                part = Part::Base;
            }
            (Some((b'=', label)), Part::Ours | Part::Base) if label.is_empty() => part = Part::Theirs,
            (Some((b'>', label)), Part::Theirs) => {
                hunk.theirs.label = label;
                hunk.last_line = number + 1;
                part = Part::Outside;
                if found.len() < MAX_HUNKS && *room > 0 {
                    *room = room.saturating_sub(hunk.size());
                    found.push(hunk);
                } else {
                    left_out += 1;
                }
                hunk = empty(0);
            }
            (_, Part::Outside) => {}
            (_, Part::Ours) => hunk.ours.push(line, *room),
            (_, Part::Base) => {
                if let Some(base) = &mut hunk.base {
                    base.push(line, *room);
                }
            }
            (_, Part::Theirs) => hunk.theirs.push(line, *room),
        }
    }
    (found, left_out)
}

/// The character of a marker and what follows it. Longer markers belong to conflicts inside a base.
fn marker(line: &[u8]) -> Option<(u8, String)> {
    const LENGTH: usize = 7;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let character = *line.first()?;
    let is_marker = b"<|=>".contains(&character)
        && line.len() >= LENGTH
        && line[..LENGTH].iter().all(|byte| *byte == character)
        && matches!(line.get(LENGTH), None | Some(b' '));
    is_marker.then(|| {
        let label = String::from_utf8_lossy(&line[LENGTH..]);
        let label = text::one_line(&label);
        (character, label.trim().chars().take(MAX_LABEL).collect())
    })
}

fn empty(first_line: usize) -> ConflictHunk {
    ConflictHunk {
        first_line,
        last_line: 0,
        ours: ConflictSide::default(),
        base: None,
        theirs: ConflictSide::default(),
    }
}

impl ConflictHunk {
    fn size(&self) -> usize {
        let base = self.base.as_ref().map_or(0, |base| base.text.len());
        // Its labels and lines count too, such that many hunks come to an end.
        64 + self.ours.text.len() + base + self.theirs.text.len()
    }
}

impl ConflictSide {
    fn push(&mut self, line: &[u8], room: usize) {
        let line = text::without_controls(&String::from_utf8_lossy(line));
        if self.cut || self.text.len() + line.len() > MAX_SIDE.min(room) {
            self.cut = true;
            return;
        }
        self.text += &line;
        self.text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(label: &str, text: &str) -> ConflictSide {
        ConflictSide {
            label: label.to_owned(),
            text: text.to_owned(),
            cut: false,
        }
    }

    #[test]
    fn hunks_are_read_with_and_without_a_base() {
        let text = b"one\n<<<<<<< HEAD\na\n||||||| 1234\nb\n<<<<<<<<< inner\n=======\nc\n\x1b[1md\n>>>>>>> side\ntwo\n<<<<<<< HEAD\r\n=======\r\nx\r\n>>>>>>> side\r\n";
        let (found, left_out) = hunks(text, &mut 1000);
        assert_eq!(
            found,
            [
                ConflictHunk {
                    first_line: 2,
                    last_line: 10,
                    ours: side("HEAD", "a\n"),
                    base: Some(side("1234", "b\n<<<<<<<<< inner\n")),
                    theirs: side("side", "c\n[1md\n"),
                },
                ConflictHunk {
                    first_line: 12,
                    last_line: 15,
                    ours: side("HEAD", ""),
                    base: None,
                    theirs: side("side", "x\n"),
                },
            ]
        );
        assert_eq!(left_out, 0);
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let one = "<<<<<<< a\nlong line\n=======\nshort\n>>>>>>> b\n";
        let (found, left_out) = hunks(one.repeat(MAX_HUNKS + 3).as_bytes(), &mut (1 << 20));
        assert_eq!((found.len(), left_out), (MAX_HUNKS, 3));
        let mut room = 8;
        let (found, left_out) = hunks(one.repeat(3).as_bytes(), &mut room);
        assert!(found[0].ours.cut && !found[0].theirs.cut);
        assert_eq!((found.len(), left_out), (1, 2));
        let long = format!("<<<<<<< a\n{}=======\n>>>>>>> b\n", "line\n".repeat(2000));
        let (found, _) = hunks(long.as_bytes(), &mut (1 << 20));
        assert!(found[0].ours.cut && found[0].ours.text.len() <= MAX_SIDE);
    }

    #[test]
    fn markers_that_make_no_hunk_are_text() {
        for text in [
            "=======\n",
            "<<<<<<< a\nx\n",
            ">>>>>>> b\n",
            "<<<<<<<a\n=======\n>>>>>>> b\n",
        ] {
            assert_eq!(hunks(text.as_bytes(), &mut 1000), (Vec::new(), 0), "{text}");
        }
    }
}
