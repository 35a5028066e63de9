//! Whose a file is: the names of users and groups inside.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;

/// How much of a list is read. Whoever is further down is told by number.
const MOST_BYTES: u64 = 1024 * 1024;

/// The names of users and groups.
#[derive(Debug, Default)]
pub(super) struct Names {
    users: BTreeMap<u32, String>,
    groups: BTreeMap<u32, String>,
}

impl Names {
    /// As they are now. Lists that are not there name nobody.
    pub(super) fn read() -> Self {
        Self {
            users: numbered(&text("/etc/passwd")),
            groups: numbered(&text("/etc/group")),
        }
    }

    pub(super) fn user(&self, number: u32) -> String {
        named(&self.users, number)
    }

    pub(super) fn group(&self, number: u32) -> String {
        named(&self.groups, number)
    }
}

fn named(names: &BTreeMap<u32, String>, number: u32) -> String {
    names.get(&number).cloned().unwrap_or_else(|| number.to_string())
}

fn text(path: &str) -> String {
    let mut bytes = Vec::new();
    // What could be read is used.
    let _ = File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Both lists begin alike: name, password, number. The first of a number counts.
fn numbered(list: &str) -> BTreeMap<u32, String> {
    let mut names = BTreeMap::new();
    for line in list.lines() {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty());
        let number = fields.nth(1).and_then(|number| number.parse().ok());
        if let (Some(name), Some(number)) = (name, number) {
            names.entry(number).or_insert_with(|| name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_number() {
        let names = Names {
            users: numbered(
                "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/bash\nbroken\n:x:7\n",
            ),
            groups: numbered("wheel:x:0:\nroot:x:0:\nuser:x:1000:user\n"),
        };
        assert_eq!(
            [names.user(0), names.user(1000), names.user(7)],
            ["root", "user", "7"]
        );
        assert_eq!([names.group(0), names.group(1000)], ["wheel", "user"]);
    }
}
