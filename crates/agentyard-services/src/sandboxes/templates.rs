//! From what sandboxes are made.

use agentyard_model::{Caller, Snapshot};
use agentyard_sandbox::Backend;

use super::Sandboxes;
use super::owners::{Wish, owner_of};
use crate::error::{Error, ErrorKind, Result, from_store};

/// The templates that are always there: what the settings give to every sandbox.
const BUILT_IN: &[&str] = &["base", "code-interpreter-v1"];

/// From what a sandbox is to be made.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub(super) template: String,
    pub(super) image: Option<String>,
    /// Whose files it begins with, if not with none.
    pub(super) snapshot: Option<Snapshot>,
}

impl Sandboxes {
    /// What a template's name means.
    ///
    /// # Errors
    /// When there is no such template, none of that kind can be made here, or it is a snapshot of somebody else's.
    pub(super) async fn origin(&self, caller: &Caller, template: Option<&str>) -> Result<Origin> {
        let template = template.unwrap_or("base");
        if let Some(image) = self.0.parts.settings.templates.get(template) {
            self.must_have_images(template, image)?;
            return Ok(Origin {
                template: template.to_owned(),
                image: Some(image.clone()),
                snapshot: None,
            });
        }
        if BUILT_IN.contains(&template) {
            return Ok(Origin {
                template: template.to_owned(),
                image: None,
                snapshot: None,
            });
        }
        let snapshots = self.0.parts.store.sandbox_snapshots();
        let found = snapshots.get(caller.tenant, template).await;
        let found = found.map_err(|error| from_store("looking up a snapshot", error))?;
        let snapshot = found.ok_or_else(|| self.unknown(template))?;
        // Whoever is given its files may read them all.
        if snapshot.owner != owner_of(caller) {
            caller.require(Wish::Use.of_others())?;
        }
        if snapshot.remote.is_some() != self.backend()?.backend().is_elsewhere() {
            return Err(kept_elsewhere(&snapshot));
        }
        Ok(Origin {
            template: snapshot.id.to_string(),
            // To a service its snapshots are images.
            image: snapshot.remote.clone().or_else(|| snapshot.image.clone()),
            snapshot: Some(snapshot),
        })
    }

    fn must_have_images(&self, template: &str, image: &str) -> Result<()> {
        let backend = self.0.parts.sandbox.as_ref().map(|sandbox| sandbox.backend());
        match backend {
            Some(backend @ (Backend::Bubblewrap | Backend::Host)) => Err(Error::invalid(format!(
                "the template `{template}` is the image {image}, and `{backend}` makes sandboxes without images"
            ))
            .hint(
                "use the template `base`; or whoever runs Agentyard sets `sandbox.backend = \"podman\"`, or takes the \
                 template out of `e2b.templates`",
            )),
            _ => Ok(()),
        }
    }

    fn unknown(&self, template: &str) -> Error {
        let configured = self.0.parts.settings.templates.keys().map(String::as_str);
        let mut known: Vec<&str> = BUILT_IN.iter().copied().chain(configured).collect();
        known.sort_unstable();
        known.dedup();
        let shown: String = template.escape_debug().take(80).collect();
        Error::not_found(format!("there is no template `{shown}`")).hint(format!(
            "the templates are {}, and the ids and names that sandbox_snapshots shows; whoever runs Agentyard adds \
             others with `e2b.templates`",
            known.join(", ")
        ))
    }
}

/// The settings were others when the snapshot was made, and its files are where no sandbox is made now.
pub(super) fn kept_elsewhere(snapshot: &Snapshot) -> Error {
    let (place, backend) = match snapshot.remote {
        Some(_) => ("with a service", "`e2b`"),
        None => ("on this machine", "`bubblewrap` or `podman`"),
    };
    Error::new(
        ErrorKind::Unavailable,
        format!(
            "the files of snapshot {} are {place}, and sandboxes are made elsewhere now",
            snapshot.id
        ),
    )
    .hint(format!(
        "whoever runs Agentyard sets `sandbox.backend` to {backend}, as it was when the snapshot was made"
    ))
}
