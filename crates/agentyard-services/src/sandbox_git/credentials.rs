//! The token for a remote: in the environment of a call, and told to no host but the remote's.

use agentyard_git::RemoteUrl;
use agentyard_model::{Caller, Permission, RequestId, Secret, SecretName};

use super::SandboxGit;
use crate::error::{Error, ErrorKind, Result};
use crate::masking::Mask;

/// The variable that the helper reads, and the secret that is used for GitHub when nobody names one.
const TOKEN: &str = "GITHUB_TOKEN";

/// The variable with the user's name.
const USER: &str = "AGENTYARD_GIT_USER";

/// What git runs to get a password. It holds none: it reads it from the environment it is run in.
const HELPER: &str = r#"!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$AGENTYARD_GIT_USER" "$GITHUB_TOKEN"; }; f"#;

/// Who we are to a remote.
#[derive(Debug, Clone)]
pub(super) struct Credentials {
    /// The host with its scheme, as git's settings name it.
    scope: String,
    user: String,
    secret: Option<Secret>,
}

impl Credentials {
    /// The address of the remote in a call: the words before it, and itself. The repository may have settings that
    /// rewrite addresses, but none for a name that is made up for this call; and what was rewritten once is not again.
    pub(super) fn address(&self, url: &RemoteUrl) -> ([String; 2], String) {
        let alias = format!("agentyard-{}:/", RequestId::new());
        let address = match url.as_str().strip_prefix(&self.scope) {
            Some(path) => format!("{alias}{path}"),
            None => url.as_str().to_owned(),
        };
        let setting = format!("url.{}.insteadOf={alias}", self.scope);
        (["-c".to_owned(), setting], address)
    }

    /// The settings of a call to the remote.
    pub(super) fn settings(&self) -> Vec<String> {
        let helper = self.helper().map(|(name, value)| format!("{name}={value}"));
        helper.into_iter().collect()
    }

    /// The setting by which git gets the token, which it does not hold.
    pub(super) fn helper(&self) -> Option<(String, &'static str)> {
        let name = format!("credential.{}.helper", self.scope);
        self.secret.as_ref().map(|_| (name, HELPER))
    }

    /// What the call's environment has more than others'.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let Some(secret) = &self.secret else {
            return Vec::new();
        };
        vec![
            (TOKEN.to_owned(), secret.expose().to_owned()),
            (USER.to_owned(), self.user.clone()),
        ]
    }

    /// What is left of them in a sandbox that is somebody else's, who made it as they liked and may read whatever is
    /// used there: nothing.
    pub(super) fn kept_back(self) -> Self {
        Self { secret: None, ..self }
    }

    /// Hides the token, in whatever spelling.
    pub(super) fn mask(&self) -> Result<Mask> {
        let name = token_name()?;
        let secret = self.secret.iter().cloned();
        Mask::new(&secret.map(|secret| (name.clone(), secret)).collect::<Vec<_>>())
    }
}

impl SandboxGit {
    /// Who a caller is to a remote: by the secret that it names, by its `GITHUB_TOKEN` where that belongs, or as the
    /// server itself.
    pub(super) async fn credentials(
        &self,
        caller: &Caller,
        url: &RemoteUrl,
        named: Option<&SecretName>,
    ) -> Result<Credentials> {
        let authority = url.authority().unwrap_or_default();
        let scheme = url.as_str().split("://").next().unwrap_or("https");
        let credentials = |user: &str, secret: Option<Secret>| Credentials {
            scope: format!("{scheme}://{authority}"),
            user: user.to_owned(),
            secret,
        };
        if let Some(name) = named {
            let granted = self.0.secrets.granted(caller, std::slice::from_ref(name)).await?;
            let secret = granted.into_iter().next().map(|(_, secret)| secret);
            return Ok(credentials("x-access-token", secret));
        }
        // Who may not use secrets, or has none of this name, has none.
        if authority == "github.com" && caller.require(Permission::SecretRead).is_ok() {
            let name = token_name()?;
            match self.0.secrets.granted(caller, &[name]).await {
                Ok(granted) => {
                    let secret = granted.into_iter().next().map(|(_, secret)| secret);
                    return Ok(credentials("x-access-token", secret));
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let own = self.0.git.credential_for(url);
        let own = own.filter(|_| self.0.settings.use_own_credentials);
        Ok(match own {
            Some(own) => credentials(&own.username, Some(own.secret.clone())),
            None => credentials("", None),
        })
    }
}

fn token_name() -> Result<SecretName> {
    TOKEN
        .parse()
        .map_err(|error| Error::internal("naming a secret", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_in_the_environment_and_nowhere_else() {
        let credentials = Credentials {
            scope: "https://github.com".to_owned(),
            user: "x-access-token".to_owned(),
            secret: Some(Secret::new("ghp_topsecret")),
        };
        let settings = credentials.settings();
        assert!(settings[0].starts_with("credential.https://github.com.helper=!f()"));
        assert!(!settings[0].contains("topsecret"));
        assert!(
            credentials
                .environment()
                .iter()
                .any(|(name, value)| name == TOKEN && value == "ghp_topsecret")
        );
        assert!(!format!("{credentials:?}").contains("topsecret"));
        assert!(
            !credentials
                .mask()
                .unwrap()
                .text("a ghp_topsecret b")
                .contains("topsecret")
        );
        let none = Credentials {
            secret: None,
            ..credentials
        };
        assert!(none.settings().is_empty() && none.environment().is_empty());
    }

    #[test]
    fn each_call_names_the_remote_by_what_no_setting_of_the_repository_knows() {
        let credentials = Credentials {
            scope: "https://github.com".to_owned(),
            user: String::new(),
            secret: None,
        };
        let url = RemoteUrl::parse("https://github.com/ada/shop.git").unwrap();
        let (settings, address) = credentials.address(&url);
        let alias = settings[1].strip_prefix("url.https://github.com.insteadOf=");
        assert_eq!(address.strip_prefix(alias.unwrap()), Some("/ada/shop.git"));
        assert_ne!(credentials.address(&url).1, address);
    }
}
