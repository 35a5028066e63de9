//! Why a text is not found: what is nearly it.

use gix::bstr::ByteSlice as _;

use super::Edit;
use super::replacements::line_of;
use crate::text;

/// How many lines of a file are compared, and how much of each.
const COMPARED_LINES: usize = 50_000;
const COMPARED_BYTES: usize = 300;

/// How alike two lines must be to be worth a word, out of 100.
const MIN_LIKENESS: usize = 60;

/// How much of a line is quoted.
const QUOTED_CHARACTERS: usize = 160;

/// What to tell of a text that is not in the content, beginning with a punctuation mark; nothing when nothing is near.
pub(super) fn for_missing(content: &[u8], edit: &Edit) -> String {
    if !edit.new.is_empty()
        && edit.new.len() >= edit.old.len().min(20)
        && let Some(offset) = content.find(&edit.new)
    {
        return format!(
            " (but its `new` is, at line {}: was the edit made already?)",
            line_of(content, offset)
        );
    }
    let lines: Vec<&[u8]> = content.lines().take(COMPARED_LINES).collect();
    let wanted: Vec<&[u8]> = edit.old.as_bytes().lines().collect();
    if let Some(start) = place_of(&lines, &wanted, same_but_for_space) {
        return at(&lines, start, &wanted, "is the same but for white space");
    }
    let same_but_for_case = |one: &[u8], other: &[u8]| one.eq_ignore_ascii_case(other);
    if let Some(start) = place_of(&lines, &wanted, same_but_for_case) {
        return at(&lines, start, &wanted, "is the same but for upper and lower case");
    }
    match nearest(&lines, &wanted) {
        Some((line, wanted)) => format!(
            "; the nearest to its line {} is line {}: {}",
            wanted + 1,
            line + 1,
            quoted(lines[line])
        ),
        None => String::new(),
    }
}

/// Where the wanted lines begin, as far as `is_same` tells. The first may begin and the last may end inside a line.
fn place_of(lines: &[&[u8]], wanted: &[&[u8]], is_same: impl Fn(&[u8], &[u8]) -> bool) -> Option<usize> {
    if wanted.iter().all(|line| line.trim().is_empty()) {
        return None;
    }
    lines.windows(wanted.len()).position(|window| {
        window
            .iter()
            .zip(wanted)
            .all(|(line, wanted)| is_same(line, wanted))
    })
}

fn same_but_for_space(one: &[u8], other: &[u8]) -> bool {
    let mut words = one.fields().zip(other.fields());
    one.fields().count() == other.fields().count() && words.all(|(one, other)| one == other)
}

/// Names the first line that differs.
fn at(lines: &[&[u8]], start: usize, wanted: &[&[u8]], how: &str) -> String {
    let differing = wanted
        .iter()
        .enumerate()
        .find(|(offset, wanted)| lines[start + offset] != **wanted)
        .map_or(0, |(offset, _)| offset);
    let line = lines[start + differing];
    let space = if line.contains(&b'\t') != wanted[differing].contains(&b'\t') {
        ", one has tabs where the other has spaces"
    } else {
        ""
    };
    format!(
        "; what begins at line {} {how}{space}; line {} is: {}",
        start + 1,
        start + differing + 1,
        quoted(line)
    )
}

/// The line that is most like the first one of the wanted lines that says anything.
fn nearest(lines: &[&[u8]], wanted: &[&[u8]]) -> Option<(usize, usize)> {
    let (index, wanted) = wanted
        .iter()
        .enumerate()
        .find(|(_, line)| line.trim().len() > 2)?;
    let wanted = Pairs::of(wanted);
    let (line, likeness) = lines
        .iter()
        .enumerate()
        .map(|(number, line)| (number, wanted.likeness(&Pairs::of(line))))
        .max_by_key(|&(number, likeness)| (likeness, usize::MAX - number))?;
    (likeness >= MIN_LIKENESS).then_some((line, index))
}

fn quoted(line: &[u8]) -> String {
    let shown: String = text::escaped(line.trim_end())
        .chars()
        .take(QUOTED_CHARACTERS + 1)
        .collect();
    if shown.chars().count() > QUOTED_CHARACTERS {
        let cut: String = shown.chars().take(QUOTED_CHARACTERS).collect();
        return format!("`{cut}…`");
    }
    format!("`{shown}`")
}

/// The pairs of neighbouring bytes in a line, sorted.
struct Pairs(Vec<[u8; 2]>);

impl Pairs {
    fn of(line: &[u8]) -> Self {
        let line = line.trim();
        let line = &line[..line.len().min(COMPARED_BYTES)];
        let mut pairs: Vec<[u8; 2]> = line.windows(2).map(|pair| [pair[0], pair[1]]).collect();
        pairs.sort_unstable();
        Self(pairs)
    }

    /// Twice the pairs that both have, of all that they have together, out of 100.
    fn likeness(&self, other: &Self) -> usize {
        let total = self.0.len() + other.0.len();
        if total == 0 {
            return 0;
        }
        let (mut one, mut two) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut shared = 0;
        while let (Some(left), Some(right)) = (one.peek(), two.peek()) {
            match left.cmp(right) {
                std::cmp::Ordering::Less => _ = one.next(),
                std::cmp::Ordering::Greater => _ = two.next(),
                std::cmp::Ordering::Equal => {
                    shared += 1;
                    one.next();
                    two.next();
                }
            }
        }
        200 * shared / total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(content: &str, old: &str, new: &str) -> String {
        let edit = Edit {
            old: old.to_owned(),
            new: new.to_owned(),
            count: 1,
        };
        for_missing(content.as_bytes(), &edit)
    }

    #[test]
    fn what_is_nearly_the_text_is_named() {
        let content = "fn main() {\n\tlet total = 1;\n    println!(\"{total}\");\n}\n";
        assert_eq!(
            hint(content, "    let total = 1;\n", "x"),
            "; what begins at line 2 is the same but for white space, one has tabs where the other has spaces; line 2 is: \
             `\tlet total = 1;`"
        );
        assert_eq!(
            hint(content, "FN main() {\n", "x"),
            "; what begins at line 1 is the same but for upper and lower case; line 1 is: `fn main() {`"
        );
        assert_eq!(
            hint(content, "\nlet totals = 2;\n", "x"),
            "; the nearest to its line 2 is line 2: `\tlet total = 1;`"
        );
        assert_eq!(
            hint(content, "let sum = 1;", "let total = 1;"),
            " (but its `new` is, at line 2: was the edit made already?)"
        );
        assert_eq!(hint(content, "nothing like it at all, really", "x"), "");
        assert_eq!(hint("", "a", "b"), "");
    }

    #[test]
    fn white_space_alone_is_near_nothing() {
        assert_eq!(hint("a\n\nb\n", "\n\n\n\n", "x"), "");
    }
}
