//! Which operations a server offers: by flags, and by who asks. Never by connection.

use agentyard_model::{Caller, Toolsets};

use crate::operation::Access;
use crate::registry::Entry;

/// Which operations are offered to anybody. Read-only is stronger than leaving out,
/// and leaving out is stronger than putting in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these toolsets; all when left out.
    pub toolsets: Option<Toolsets>,
    /// These operations beside the toolsets; alone, when no toolsets are named.
    pub include: Vec<String>,
    /// Never these.
    pub exclude: Vec<String>,
    /// Only what changes nothing.
    pub read_only: bool,
}

impl Selection {
    /// Whether it is offered.
    #[must_use]
    pub fn offers(&self, entry: &Entry) -> bool {
        let named = |list: &[String]| list.iter().any(|name| name == entry.name);
        if self.read_only && !entry.can_read() {
            return false;
        }
        if named(&self.exclude) {
            return false;
        }
        match self.toolsets {
            Some(toolsets) => toolsets.contains(entry.toolset) || named(&self.include),
            None => self.include.is_empty() || named(&self.include),
        }
    }

    /// Whether it is offered and this caller's role has it.
    #[must_use]
    pub fn offers_to(&self, entry: &Entry, caller: &Caller) -> bool {
        self.offers(entry) && caller.toolsets.contains(entry.toolset)
    }

    /// Whether this caller is shown it: offered, in its role, and it may call it.
    #[must_use]
    pub fn shows_to(&self, entry: &Entry, caller: &Caller) -> bool {
        let permitted = match entry.access {
            Access::Identity => true,
            Access::Holds(permission) => caller.permissions.contains(permission),
        };
        permitted && self.offers_to(entry, caller)
    }

    /// What is left of a caller here: where only reading is offered, nobody can change anything.
    #[must_use]
    pub fn restrict(&self, mut caller: Caller) -> Caller {
        if self.read_only {
            caller.permissions = caller.permissions.reading();
        }
        caller
    }

    /// The same, within these toolsets only.
    #[must_use]
    pub fn within(&self, toolsets: Toolsets) -> Self {
        let toolsets = self
            .toolsets
            .map_or(toolsets, |already| already.intersection(toolsets));
        Self {
            toolsets: Some(toolsets),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use agentyard_model::Toolset;

    use super::*;
    use crate::registry;

    fn offered(selection: &Selection) -> Vec<&'static str> {
        registry()
            .iter()
            .map(crate::Registered::entry)
            .filter(|entry| selection.offers(entry))
            .map(|entry| entry.name)
            .collect()
    }

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn read_only_is_stronger_than_leaving_out_is_stronger_than_putting_in() {
        let selection = Selection {
            toolsets: Some(Toolsets::of(&[Toolset::Core])),
            include: names(&["git_status", "git_set_working_dir", "git_log"]),
            exclude: names(&["git_log"]),
            read_only: true,
        };
        assert_eq!(offered(&selection), ["git_status", "whoami"]);
    }

    #[test]
    fn named_operations_stand_alone_without_toolsets() {
        let selection = Selection {
            include: names(&["git_log"]),
            ..Selection::default()
        };
        assert_eq!(offered(&selection), ["git_log"]);
    }

    #[test]
    fn a_role_sees_its_toolsets_and_what_it_may_call() {
        let entry = |name: &str| registry().find(name).unwrap().entry();
        let mut caller = Caller::local();
        let selection = Selection::default();
        assert!(selection.shows_to(entry("audit_search"), &caller));
        caller.permissions = "project:read".parse().unwrap();
        assert!(!selection.shows_to(entry("audit_search"), &caller));
        assert!(selection.shows_to(entry("git_log"), &caller));
        caller.toolsets = Toolsets::of(&[Toolset::Core]);
        assert!(!selection.shows_to(entry("git_log"), &caller));
    }
}
