//! `git tag`: tags are made, moved, deleted and verified.

mod verify;

use crate::message::Message;
use crate::work::branch::short;
use crate::work::loss::unconfirmed;
use crate::work::signing::signing_failure;
use crate::{Error, Kept, ObjectId, Revision, TagName, Work};
pub use verify::{SignatureKind, TagVerification};

/// A tag to be made.
#[derive(Debug, Clone)]
pub struct TagCreation {
    pub name: TagName,
    /// What it stands for; HEAD by default.
    pub target: Option<Revision>,
    /// With a message it is an object of its own, with a date and a tagger.
    pub message: Option<String>,
    /// It must be such an object.
    pub annotated: bool,
    /// Whether it is signed; as the server's settings or the person's own say, when left out.
    pub sign: Option<bool>,
    /// Move it when it exists.
    pub force: bool,
    /// The caller knows that what it stood for loses its name then.
    pub confirm: bool,
}

/// What became of a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagChange {
    pub name: String,
    /// The commit that it stands for, or stood for.
    pub commit: ObjectId,
    /// It is an object of its own.
    pub annotated: bool,
    pub signed: bool,
    /// Where what it stood for before is kept.
    pub kept: Option<Kept>,
}

impl Work<'_> {
    /// Makes a tag, or moves one.
    pub fn create_tag(&self, creation: &TagCreation) -> Result<TagChange, Error> {
        let name = &creation.name;
        let message = creation.message.as_deref().map(Message::new).transpose()?;
        let annotated = creation.annotated || message.is_some() || creation.sign == Some(true);
        if annotated && message.is_none() {
            return Err(Error::invalid(
                format!("the annotated tag `{name}` without a message"),
                "pass `message`, or neither `annotated` nor `sign`",
            ));
        }
        let commit = match &creation.target {
            Some(revision) => revision.resolve_commit(&self.repository().local())?.into(),
            None => self.head()?.ok_or_else(|| {
                Error::state(
                    format!("the tag `{name}` cannot be made: there is no commit yet for it to stand for"),
                    "make the first commit (git_commit)",
                )
            })?,
        };
        let signed = annotated && self.signs(creation.sign, "tag.gpgsign")?;
        let kept = match self.tag_object(name)? {
            Some(old) if old == commit && !annotated => None,
            Some(old) => Some(self.replaced(creation, &old, &commit)?),
            None => None,
        };
        let mut invocation = self
            .invoke("tag")
            .word_if(kept.is_some(), "--force")
            .word_if(annotated && !signed, "--annotate")
            .word_if(signed, "--sign");
        if let Some(message) = &message {
            invocation = invocation
                .words(&["--cleanup=whitespace", "--file=-"])
                .input(message.as_str().as_bytes());
        }
        if signed {
            invocation = self.signing(invocation)?;
        }
        let unchanged = kept.is_none() && self.tag_object(name)?.is_some();
        if !unchanged {
            let made = invocation.end_of_options().operand(name).object(&commit).run();
            made.map_err(|error| match &error {
                Error::GitFailed { said, .. } if signed => {
                    signing_failure(&format!("the tag `{name}`"), said).unwrap_or(error)
                }
                _ => error,
            })?;
        }
        Ok(TagChange {
            name: name.to_string(),
            commit,
            annotated,
            signed,
            kept,
        })
    }

    /// Deletes a tag. What it stood for is kept, and the tag object where there is one.
    pub fn delete_tag(&self, name: &TagName, confirm: bool) -> Result<TagChange, Error> {
        let object = self.existing_tag(name)?;
        let commit = self.tip(&name.reference())?.unwrap_or(object);
        if !confirm {
            return Err(unconfirmed(format!(
                "the tag `{name}` at {} would be deleted",
                short(&commit)
            )));
        }
        let kept = self.keep("tag", &object)?;
        self.invoke("tag")
            .word("--delete")
            .end_of_options()
            .operand(name)
            .run()?;
        Ok(TagChange {
            name: name.to_string(),
            commit,
            annotated: object != commit,
            signed: false,
            kept: Some(kept),
        })
    }

    fn replaced(&self, creation: &TagCreation, old: &ObjectId, new: &ObjectId) -> Result<Kept, Error> {
        let name = &creation.name;
        if !creation.force {
            return Err(Error::state(
                format!("the tag `{name}` exists already, at {}", short(old)),
                "choose another name, or pass `force` and `confirm` to move it",
            ));
        }
        if !creation.confirm {
            return Err(unconfirmed(format!(
                "the tag `{name}` would be moved from {} to {}",
                short(old),
                short(new)
            )));
        }
        self.keep("tag", old)
    }

    /// The object that a tag points to: a tag object, or what the tag stands for.
    fn tag_object(&self, name: &TagName) -> Result<Option<ObjectId>, Error> {
        let local = self.repository().local();
        let found = local
            .try_find_reference(name.reference().as_str())
            .map_err(Error::read("the tags"))?;
        Ok(found.and_then(|found| Some(found.try_id()?.detach().into())))
    }

    fn existing_tag(&self, name: &TagName) -> Result<ObjectId, Error> {
        self.tag_object(name)?.ok_or_else(|| Error::Missing {
            what: format!("there is no tag `{name}`; git_tag with mode `list` names those there are"),
        })
    }
}
