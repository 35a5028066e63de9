//! Which references point to which commits.

use std::collections::HashMap;

use gix::bstr::ByteSlice as _;

use crate::commit::{Decoration, DecorationKind};
use crate::display_path;

/// The references of a repository, by the commit they lead to.
pub(super) struct Decorations(HashMap<gix::ObjectId, Vec<Decoration>>);

impl Decorations {
    /// Reads all branches and tags. What cannot be read decorates nothing.
    pub(super) fn read(local: &gix::Repository) -> Self {
        let mut decorations = Self(HashMap::new());
        if let Ok(id) = local.head_id() {
            decorations.add(id.detach(), DecorationKind::Head, "HEAD".to_owned());
        }
        let Ok(references) = local.references() else {
            return decorations;
        };
        for (prefix, kind) in [
            ("refs/heads/", DecorationKind::Branch),
            ("refs/remotes/", DecorationKind::RemoteBranch),
            ("refs/tags/", DecorationKind::Tag),
        ] {
            let found = references.prefixed(prefix).into_iter().flatten().flatten();
            for mut reference in found {
                let full_name = reference.name().as_bstr();
                let name = display_path(
                    full_name
                        .strip_prefix(prefix.as_bytes())
                        .unwrap_or(full_name)
                        .as_bstr(),
                );
                if let Ok(id) = reference.peel_to_id() {
                    decorations.add(id.detach(), kind, name);
                }
            }
        }
        decorations
            .0
            .values_mut()
            .for_each(|of_commit| of_commit.sort_unstable());
        decorations
    }

    pub(super) fn of(&self, id: gix::ObjectId) -> Vec<Decoration> {
        self.0.get(&id).cloned().unwrap_or_default()
    }

    fn add(&mut self, id: gix::ObjectId, kind: DecorationKind, name: String) {
        self.0.entry(id).or_default().push(Decoration { kind, name });
    }
}
