//! Secrets are taken out of whatever git or a remote says: a remote that was given a token can send it back.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use super::Credential;

/// What must not be said, in the forms in which it travels.
#[derive(Clone, Default)]
pub(crate) struct Redactions(Vec<Vec<u8>>);

const STARS: &[u8] = b"********";

impl Redactions {
    pub(super) fn of<'a>(credentials: impl IntoIterator<Item = &'a Credential>) -> Self {
        let mut forms: Vec<Vec<u8>> = Vec::new();
        for credential in credentials {
            let secret = credential.secret.expose();
            if secret.is_empty() {
                continue;
            }
            forms.push(secret.into());
            forms.push(
                url::form_urlencoded::byte_serialize(secret.as_bytes())
                    .collect::<String>()
                    .into(),
            );
            for text in [secret.to_owned(), format!("{}:{secret}", credential.username)] {
                for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                    forms.push(encoded.trim_end_matches('=').into());
                }
            }
        }
        // The longest first, so that no part of one stays behind.
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        forms.dedup();
        Self(forms)
    }

    /// The bytes with stars in the place of every secret.
    pub(crate) fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        use gix::bstr::ByteSlice as _;
        self.0.iter().fold(bytes.to_vec(), |bytes, form| {
            if bytes.contains_str(form) {
                bytes.replace(form, STARS)
            } else {
                bytes
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use agentyard_model::Secret;

    use super::super::HostPatterns;
    use super::*;

    #[test]
    fn every_form_of_a_secret_is_taken_out() {
        let credential = Credential {
            hosts: HostPatterns::default(),
            username: "me".to_owned(),
            secret: Secret::new("to/ken+1"),
        };
        let redactions = Redactions::of([&credential]);
        let said = format!(
            "a to/ken+1 b to%2Fken%2B1 c {} d {}",
            STANDARD.encode("to/ken+1"),
            STANDARD.encode("me:to/ken+1"),
        );
        let clean = String::from_utf8(redactions.apply(said.as_bytes())).unwrap();
        assert_eq!(
            clean.replace('=', ""),
            "a ******** b ******** c ******** d ********"
        );
        assert_eq!(Redactions::default().apply(b"x"), b"x");
    }
}
