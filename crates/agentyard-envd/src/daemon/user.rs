//! As whom something is to be done.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::connect::{Code, Fault};

/// The one user of a sandbox.
pub(super) const USER: &str = "user";

/// Whether what is asked for is to be done as the user that there is. Who names nobody means that one.
pub(super) fn check(headers: &HeaderMap) -> Result<(), Fault> {
    named(headers).map_or(Ok(()), |name| check_name(&name))
}

/// The same for a name that came some other way.
pub(super) fn check_name(name: &str) -> Result<(), Fault> {
    if name.is_empty() || name == USER {
        return Ok(());
    }
    Err(Fault::new(
        Code::PermissionDenied,
        format!(
            "there is no user `{}` in this sandbox: everything in it is done as `{USER}`, who cannot become root; \
             ask as `{USER}` or name nobody",
            name.chars().take(64).collect::<String>().escape_debug()
        ),
    ))
}

/// Whom the header names, as E2B's clients do: as the name of a basic authentication without a password.
pub(super) fn named(headers: &HeaderMap) -> Option<String> {
    let (scheme, value) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(STANDARD.decode(value.trim()).ok()?).ok()?;
    let (name, password) = text.split_once(':')?;
    password.is_empty().then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(authorization: &str) -> Result<(), Code> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, authorization.parse().unwrap());
        check(&headers).map_err(|fault| fault.code)
    }

    #[test]
    fn there_is_one_user() {
        assert_eq!(check(&HeaderMap::new()), Ok(()));
        assert_eq!(asked(&format!("Basic {}", STANDARD.encode("user:"))), Ok(()));
        assert_eq!(
            asked(&format!("basic {}", STANDARD.encode("root:"))),
            Err(Code::PermissionDenied)
        );
        assert_eq!(asked("Bearer root"), Ok(()));
    }
}
