//! Whether a tag is signed by somebody whom the person knows.

use gix::bstr::ByteSlice as _;

use crate::program::Reach;
use crate::{Error, ObjectId, TagName, Work, text};

/// What is known of a tag's signature.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TagVerification {
    /// The signature is good, and its key one that the person's settings accept.
    pub verified: bool,
    /// None when the tag is not signed.
    pub kind: Option<SignatureKind>,
    /// Who signed, as the keyring or the list of allowed signers has it.
    pub signer: Option<String>,
    /// The key, or its fingerprint.
    pub key: Option<String>,
    /// Why it is not verified, or what else to mind.
    pub warning: Option<String>,
}

/// How a tag is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureKind {
    Gpg,
    Ssh,
    X509,
}

const ALLOWED_SIGNERS: &str = "gpg.ssh.allowedsignersfile";

/// Settings that say which signatures are good, each with a value that lets none in. Where the person has none,
/// the repository's do not count either.
const REPOSITORY_HAS_NO_SAY: &[(&str, &str)] = &[
    (ALLOWED_SIGNERS, "/dev/null"),
    ("gpg.ssh.revocationfile", "/dev/null"),
    ("gpg.mintrustlevel", "undefined"),
];

impl Work<'_> {
    /// Checks the signature of a tag against the person's own keys. The repository has no say in which keys and
    /// programs those are.
    pub fn verify_tag(&self, name: &TagName) -> Result<TagVerification, Error> {
        let object = self.existing_tag(name)?;
        let Some(kind) = self.signature_kind(&object)? else {
            return Ok(TagVerification {
                warning: Some("the tag is not signed".to_owned()),
                ..TagVerification::default()
            });
        };
        let mut invocation = self.invoke("verify-tag").word("--raw").reach(Reach::Signing);
        let mut knows_signers = true;
        for (key, nothing) in REPOSITORY_HAS_NO_SAY {
            let own = self
                .git()
                .personal_setting(self.repository(), key, self.cancel())?;
            if own.is_none() {
                invocation = invocation.setting(*key, *nothing);
                knows_signers &= *key != ALLOWED_SIGNERS;
            }
        }
        let finished = invocation
            .end_of_options()
            .object(&object)
            .run_whatever_it_answers()?;
        let said = text::without_controls(&String::from_utf8_lossy(&finished.errors));
        let verified = finished.code == Some(0);
        let found = match kind {
            SignatureKind::Ssh if !knows_signers => TagVerification {
                warning: Some(
                    "the person has no list of allowed signers (gpg.ssh.allowedSignersFile)".to_owned(),
                ),
                ..of_ssh(&said)
            },
            SignatureKind::Ssh => of_ssh(&said),
            SignatureKind::Gpg | SignatureKind::X509 => of_gpg(&said),
        };
        Ok(TagVerification {
            verified,
            kind: Some(kind),
            warning: found.warning.or_else(|| (!verified).then(|| first_line(&said))),
            ..found
        })
    }

    fn signature_kind(&self, object: &ObjectId) -> Result<Option<SignatureKind>, Error> {
        let local = self.repository().local();
        let object = local
            .find_object(gix::ObjectId::from(*object))
            .map_err(Error::read("the tag"))?;
        if object.kind != gix::objs::Kind::Tag {
            return Ok(None);
        }
        let mut kinds = object.data.lines().rev().filter_map(|line| {
            let line = line.strip_prefix(b"gpgsig ").unwrap_or(line);
            let line = line.strip_prefix(b"gpgsig-sha256 ").unwrap_or(line);
            match line {
                b"-----BEGIN PGP SIGNATURE-----" | b"-----BEGIN PGP MESSAGE-----" => Some(SignatureKind::Gpg),
                b"-----BEGIN SSH SIGNATURE-----" => Some(SignatureKind::Ssh),
                b"-----BEGIN SIGNED MESSAGE-----" => Some(SignatureKind::X509),
                _ => None,
            }
        });
        Ok(kinds.next())
    }
}

/// Reads GnuPG's status lines (`[GNUPG:] GOODSIG key name`).
fn of_gpg(said: &str) -> TagVerification {
    let mut found = TagVerification::default();
    for line in said.lines().filter_map(|line| line.strip_prefix("[GNUPG:] ")) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (key, name) = rest.split_once(' ').unwrap_or((rest, ""));
        let warning = match word {
            "GOODSIG" | "EXPSIG" | "EXPKEYSIG" | "REVKEYSIG" | "BADSIG" => {
                found.signer = Some(name.to_owned());
                found.key.get_or_insert_with(|| key.to_owned());
                match word {
                    "GOODSIG" => continue,
                    "EXPSIG" => "the signature has expired".to_owned(),
                    "EXPKEYSIG" => "the key has expired".to_owned(),
                    "REVKEYSIG" => "the key was revoked".to_owned(),
                    _ => "the signature is bad: the tag was changed after it was signed".to_owned(),
                }
            }
            "VALIDSIG" => {
                found.key = Some(key.to_owned());
                continue;
            }
            "NO_PUBKEY" => {
                found.key = Some(key.to_owned());
                format!("the key {key} is not in the keyring")
            }
            "TRUST_UNDEFINED" | "TRUST_NEVER" => {
                "nothing says that the key belongs to whom it names".to_owned()
            }
            _ => continue,
        };
        found.warning.get_or_insert(warning);
    }
    found
}

/// Reads what `ssh-keygen` says: `Good "git" signature for ada@example.org with ED25519 key SHA256:…`.
fn of_ssh(said: &str) -> TagVerification {
    let mut found = TagVerification::default();
    for line in said.lines() {
        if let Some((before, key)) = line.rsplit_once(" key ")
            && let Some(rest) = before.strip_prefix("Good \"git\" signature ")
        {
            found.key = Some(key.trim().to_owned());
            found.signer = rest
                .strip_prefix("for ")
                .and_then(|rest| rest.rsplit_once(" with "))
                .map(|(signer, _)| signer.to_owned());
        }
        let warning = if line.contains("No principal matched") {
            "the key is not among the allowed signers"
        } else if line.contains("revoked") {
            "the key was revoked"
        } else if line.contains("incorrect signature") || line.contains("Could not verify signature") {
            "the signature is bad: the tag was changed after it was signed"
        } else {
            continue;
        };
        found.warning.get_or_insert_with(|| warning.to_owned());
    }
    found
}

fn first_line(said: &str) -> String {
    const MAX_LENGTH: usize = 300;
    let line = said.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or("the signature could not be checked")
        .chars()
        .take(MAX_LENGTH)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(found: TagVerification, signer: Option<&str>, key: Option<&str>, warning: Option<&str>) {
        let actual = (
            found.signer.as_deref(),
            found.key.as_deref(),
            found.warning.as_deref(),
        );
        assert_eq!(actual, (signer, key, warning));
    }

    #[test]
    fn status_lines_of_gnupg_are_understood() {
        check(
            of_gpg(
                "[GNUPG:] NEWSIG\n[GNUPG:] GOODSIG 0123 Ada <a@b>\n[GNUPG:] VALIDSIG FFFF 2026-11-15 1\n[GNUPG:] TRUST_ULTIMATE 0 pgp",
            ),
            Some("Ada <a@b>"),
            Some("FFFF"),
            None,
        );
        check(
            of_gpg("[GNUPG:] ERRSIG 0123 1 8 00 1 9\n[GNUPG:] NO_PUBKEY 0123"),
            None,
            Some("0123"),
            Some("the key 0123 is not in the keyring"),
        );
        check(
            of_gpg("[GNUPG:] BADSIG 0123 Ada"),
            Some("Ada"),
            Some("0123"),
            Some("the signature is bad: the tag was changed after it was signed"),
        );
        check(
            of_gpg("GOODSIG 0123 Mallory, in another's words"),
            None,
            None,
            None,
        );
    }

    #[test]
    fn words_of_ssh_are_understood() {
        check(
            of_ssh("Good \"git\" signature for a with b@c with ED25519 key SHA256:x\n"),
            Some("a with b@c"),
            Some("SHA256:x"),
            None,
        );
        check(
            of_ssh("Good \"git\" signature with ED25519 key SHA256:x\nNo principal matched.\n"),
            None,
            Some("SHA256:x"),
            Some("the key is not among the allowed signers"),
        );
    }
}
