//! Finding the members of an object in a JSON text that is known to be valid.

use std::ops::Range;

/// Where an object is, and what is in it.
#[derive(Debug)]
pub(crate) struct Object {
    /// From the opening brace to behind the closing one.
    pub(crate) range: Range<usize>,
    pub(crate) members: Vec<Member>,
}

/// A member of an object.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// Where its name begins, quote included.
    pub(crate) start: usize,
    pub(crate) value: Range<usize>,
}

impl Object {
    /// The member of this name. Of several, readers take the last.
    pub(crate) fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().rev().find(|member| member.name == name)
    }
}

/// The object that begins here, after white space; nothing if it is something else.
pub(crate) fn object_at(text: &str, offset: usize) -> Option<Object> {
    let mut scanner = Scanner { text, offset };
    scanner.skip_space();
    let start = scanner.offset;
    scanner.take(b'{')?;
    let mut members = Vec::new();
    loop {
        scanner.skip_space();
        match scanner.peek()? {
            b'}' => break,
            b',' => scanner.offset += 1,
            _ => members.push(scanner.member()?),
        }
    }
    Some(Object {
        range: start..scanner.offset + 1,
        members,
    })
}

struct Scanner<'a> {
    text: &'a str,
    offset: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    fn take(&mut self, expected: u8) -> Option<()> {
        (self.peek()? == expected).then(|| self.offset += 1)
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.offset += 1;
        }
    }

    fn member(&mut self) -> Option<Member> {
        let start = self.offset;
        self.skip_text()?;
        let name = serde_json::from_str(&self.text[start..self.offset]).ok()?;
        self.skip_space();
        self.take(b':')?;
        self.skip_space();
        let value_start = self.offset;
        self.skip_value()?;
        Some(Member {
            name,
            start,
            value: value_start..self.offset,
        })
    }

    fn skip_text(&mut self) -> Option<()> {
        self.take(b'"')?;
        loop {
            match self.peek()? {
                b'"' => break,
                // Whatever is escaped, its first byte is not the end.
                b'\\' => self.offset += 2,
                _ => self.offset += 1,
            }
        }
        self.take(b'"')
    }

    fn skip_value(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => self.skip_text()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.offset += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.offset += 1;
                }
                _ if depth > 0 => {
                    self.offset += 1;
                    continue;
                }
                _ => self.skip_word(),
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// A number, `true`, `false` or `null`.
    fn skip_word(&mut self) {
        while self
            .peek()
            .is_some_and(|byte| !byte.is_ascii_whitespace() && !b",]}".contains(&byte))
        {
            self.offset += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_whatever_their_values() {
        let text = r#" { "a" : [1, {"x": "}"}] ,"b\"\\":"]\\\"{", "c": -1.5e3, "d":null,"e":{} }"#;
        let object = object_at(text, 0).unwrap();
        let found: Vec<_> = object
            .members
            .iter()
            .map(|member| (member.name.as_str(), &text[member.value.clone()]))
            .collect();
        assert_eq!(
            found,
            [
                ("a", r#"[1, {"x": "}"}]"#),
                ("b\"\\", r#""]\\\"{""#),
                ("c", "-1.5e3"),
                ("d", "null"),
                ("e", "{}"),
            ]
        );
        assert_eq!(&text[object.range], text.trim());
    }

    #[test]
    fn what_is_no_object_is_not_taken_for_one() {
        for text in ["[]", "1", "\"{}\"", ""] {
            assert!(object_at(text, 0).is_none(), "{text}");
        }
    }
}
