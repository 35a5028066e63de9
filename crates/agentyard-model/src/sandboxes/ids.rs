//! The ids of sandboxes and snapshots: random, as clients of E2B know them, and nothing but letters and digits, since they
//! stand in the names of hosts.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::as_text::as_text;

/// How many characters are random.
const LENGTH: usize = 20;

/// What they are.
const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// The text is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not the id of a {kind}: that is {prefix}{LENGTH} lower-case letters and digits")]
pub struct InvalidSandboxId {
    text: String,
    kind: &'static str,
    prefix: &'static str,
}

macro_rules! random_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $kind:literal, $told:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; LENGTH]);

        impl $name {
            /// What stands before the random part.
            pub const PREFIX: &'static str = $prefix;

            /// A new id, which nobody can guess.
            #[must_use]
            #[expect(clippy::new_without_default, reason = "an id is made, never defaulted")]
            pub fn new() -> Self {
                Self(random())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($prefix)?;
                self.0.iter().try_for_each(|byte| write!(f, "{}", char::from(*byte)))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidSandboxId;

            fn from_str(text: &str) -> Result<Self, InvalidSandboxId> {
                parse($prefix, text).map(Self).ok_or_else(|| InvalidSandboxId {
                    text: text.escape_debug().take(80).collect(),
                    kind: $kind,
                    prefix: $told,
                })
            }
        }

        as_text!($name, { "type": "string" });
    };
}

random_id!(
    /// A sandbox that stays.
    SandboxId, "", "sandbox", ""
);
random_id!(
    /// The files of a sandbox as they were.
    SnapshotId, "snap-", "snapshot", "`snap-` and "
);

fn parse(prefix: &str, text: &str) -> Option<[u8; LENGTH]> {
    let random: [u8; LENGTH] = text.strip_prefix(prefix)?.as_bytes().try_into().ok()?;
    random
        .iter()
        .all(|byte| ALPHABET.contains(byte))
        .then_some(random)
}

fn random() -> [u8; LENGTH] {
    // One has 122 random bits, which is more than the hundred that an id holds; what is left over does not favour any
    // character by more than a part in a million.
    let mut rest = Uuid::new_v4().as_u128();
    std::array::from_fn(|_| {
        let place = usize::try_from(rest % 36).unwrap_or_default();
        rest /= 36;
        ALPHABET.get(place).copied().unwrap_or(b'a')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_as_itself_and_as_nothing_else() {
        let (sandbox, snapshot) = (SandboxId::new(), SnapshotId::new());
        assert_eq!(sandbox.to_string().parse(), Ok(sandbox));
        assert_eq!(snapshot.to_string().parse(), Ok(snapshot));
        assert_ne!(SandboxId::new(), sandbox);
        assert_eq!(sandbox.to_string().len(), LENGTH);
        for bad in ["", "ABCDEFGHIJKLMNOPQRST", "../../../etc/passwd/", "snap-short"] {
            assert!(bad.parse::<SandboxId>().is_err(), "{bad}");
            assert!(bad.parse::<SnapshotId>().is_err(), "{bad}");
        }
        let error = "x\n".parse::<SnapshotId>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`x\\n` is not the id of a snapshot: that is `snap-` and 20 lower-case letters and digits"
        );
    }
}
