//! Passing rights on: a child never holds more than its parent holds now.

use crate::{Permission, Permissions};

/// How often rights may be passed on: a person's token, a session's, one more below it.
pub const MAX_DELEGATION_DEPTH: u32 = 3;

/// What became of the permissions that were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delegated {
    /// What the child gets.
    pub granted: Permissions,
    /// What it asked for and does not get, because its parent does not hold it.
    pub dropped: Permissions,
}

impl Delegated {
    /// Cuts what was asked for down to what the parent holds. Asking for nothing in
    /// particular means all that the parent holds, save what must be asked for by name.
    #[must_use]
    pub fn from_parent(held: Permissions, asked: Option<Permissions>) -> Self {
        let asked = asked.unwrap_or_else(|| {
            held.iter()
                .filter(|permission| !Permission::must_be_asked_for(*permission))
                .collect()
        });
        Self {
            granted: asked.intersection(held),
            dropped: asked.without(held),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_said() {
        let held: Permissions = "project:read deploy:read".parse().unwrap();
        let asked = "project:read project:write deploy:read".parse().unwrap();
        let delegated = Delegated::from_parent(held, Some(asked));
        assert_eq!(delegated.granted, held);
        assert_eq!(delegated.dropped.to_string(), "project:write");
    }

    #[test]
    fn deployment_is_passed_on_only_when_asked_for() {
        let held: Permissions = "project:read deploy:promote".parse().unwrap();
        assert_eq!(
            Delegated::from_parent(held, None).granted.to_string(),
            "project:read"
        );
    }
}
