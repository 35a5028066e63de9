//! Signatures, made with the person's own keys and programs.

use crate::program::{Invocation, Reach, Trust};
use crate::{Error, Work};

impl Work<'_> {
    /// Whether to sign: as the call says; otherwise as the server's settings or the person's own
    /// (`commit.gpgSign`, `tag.gpgSign`) do.
    pub(crate) fn signs(&self, asked: Option<bool>, setting: &str) -> Result<bool, Error> {
        if let Some(asked) = asked {
            return Ok(asked);
        }
        let own = self
            .git()
            .personal_setting(self.repository(), setting, self.cancel())?;
        let is_on =
            own.is_some_and(|value| matches!(value.to_lowercase().as_str(), "true" | "yes" | "on" | "1"));
        Ok(self.git().settings().sign || is_on)
    }

    /// Lets a call of git sign.
    pub(crate) fn signing<'b>(&self, invocation: Invocation<'b>) -> Result<Invocation<'b>, Error> {
        self.with_own_key(invocation.reach(Reach::Signing))
    }

    /// The signing program is the person's own; a repository that nobody vouches for does not choose even its kind.
    pub(super) fn with_own_key<'b>(&self, invocation: Invocation<'b>) -> Result<Invocation<'b>, Error> {
        let format = self
            .git()
            .personal_setting(self.repository(), "gpg.format", self.cancel())?;
        Ok(match format {
            None if self.trust() == Trust::Untrusted => invocation.setting("gpg.format", "openpgp"),
            _ => invocation,
        })
    }
}

/// The failure to sign, if that is what git says.
pub(crate) fn signing_failure(what: &str, said: &str) -> Option<Error> {
    const MARKS: &[&str] = &[
        "failed to sign",
        "unable to sign",
        "gpg:",
        "gpg.format",
        "cannot run gpg",
        "signing key",
        "signingkey",
        "ssh-keygen",
        "Load key",
        "Couldn't load",
        "Couldn't find key",
        "failed to write commit object",
    ];
    let lower = said.to_lowercase();
    MARKS.iter().any(|mark| lower.contains(&mark.to_lowercase())).then(|| {
        Error::state(
            format!("{what} was not made, for it could not be signed: {said}"),
            "the key and the program come from the person's own git settings: user.signingKey, gpg.format \
             (openpgp or ssh), gpg.program, gpg.ssh.program; check that the key is there and unlocked, or pass \
             `sign: false` to go without a signature",
        )
    })
}
