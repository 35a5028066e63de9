//! Names of images: read strictly, since they come from agents and end up in requests and storage.

use std::fmt;

/// The longest name, with everything.
const MAX_NAME: usize = 500;
const MAX_TAG: usize = 128;
const DIGEST_DIGITS: usize = 64;

/// Where images are that are on this machine only.
const LOCAL: &str = "localhost";

/// Where an image comes from whose name says nothing about it.
const USUAL_REGISTRY: &str = "docker.io";

/// The registries that are asked for images unless the settings say otherwise.
pub const IMAGE_REGISTRIES: &[&str] = &[
    "docker.io",
    "gcr.io",
    "ghcr.io",
    "mcr.microsoft.com",
    "public.ecr.aws",
    "quay.io",
];

/// The name of an image, with its registry and its version: `docker.io/library/golang:1.23`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ImageName {
    registry: String,
    path: String,
    /// With the sign before it: `:1.23`, `@sha256:…`, or both.
    version: String,
}

/// A name that is not one of an image that may be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{shown}` cannot be used as an image: {reason}")]
pub struct InvalidImage {
    shown: String,
    reason: String,
}

/// The image for a command: that of the session, or else that of the project, or else the usual one.
///
/// # Errors
/// When the name that is chosen is not one of an image that may be used. A later one does not stand in for it.
pub fn choose_image(
    session: Option<&str>,
    project: Option<&str>,
    default: &str,
    registries: &[String],
) -> Result<ImageName, InvalidImage> {
    ImageName::parse(session.or(project).unwrap_or(default), registries)
}

impl ImageName {
    /// Reads a name as people write it: `golang:1.23`, `ghcr.io/owner/image@sha256:…`, `localhost/mine`. Its registry must
    /// be among these; what is on this machine may always be used.
    ///
    /// # Errors
    /// When it is not the name of an image, or its registry is not among those.
    pub fn parse(text: &str, registries: &[String]) -> Result<Self, InvalidImage> {
        let invalid = |reason: String| InvalidImage {
            shown: text.chars().filter(|c| !c.is_control()).take(100).collect(),
            reason,
        };
        let name = Self::read(text).map_err(|reason| invalid(reason.to_owned()))?;
        if name.is_local() || registries.contains(&name.registry) {
            return Ok(name);
        }
        Err(invalid(format!(
            "images are taken from {} only; use one of those, or let whoever runs the server add `{}` to \
             `sandbox.image_registries`",
            registries.join(", "),
            name.registry
        )))
    }

    /// Reads a name that whoever runs the server has chosen, from whichever registry.
    pub(super) fn chosen(text: &str) -> Result<Self, InvalidImage> {
        Self::read(text).map_err(|reason| InvalidImage {
            shown: text.chars().filter(|c| !c.is_control()).take(100).collect(),
            reason: reason.to_owned(),
        })
    }

    /// Whether it is on this machine only, and never asked for elsewhere.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.registry == LOCAL
    }

    fn read(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() || text.len() > MAX_NAME {
            return Err("a name has 1 to 500 characters");
        }
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        if digest.is_some_and(|digest| !is_digest(digest)) {
            return Err("a digest is `sha256:` and 64 digits from 0 to f");
        }
        let last = rest.rfind('/').map_or(0, |slash| slash + 1);
        let (name, tag) = match rest[last..].split_once(':') {
            Some((_, tag)) => (&rest[..rest.len() - tag.len() - 1], Some(tag)),
            None => (rest, None),
        };
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(
                "a version is letters, digits, `_`, `.` and `-`, and begins with none of the last two",
            );
        }
        let (registry, path) = match name.split_once('/') {
            Some((first, path)) if first == LOCAL || first.contains(['.', ':']) => (first, path.to_owned()),
            Some(_) => (USUAL_REGISTRY, name.to_owned()),
            None => (USUAL_REGISTRY, format!("library/{name}")),
        };
        if !is_registry(registry) {
            return Err("its registry is not the name of a host");
        }
        if !path.split('/').all(is_component) {
            return Err(
                "a path is small letters and digits, with `.`, `_` or `-` between them, in parts between `/`",
            );
        }
        let version = match (tag, digest) {
            (None, None) => ":latest".to_owned(),
            (Some(tag), None) => format!(":{tag}"),
            (None, Some(digest)) => format!("@{digest}"),
            // The digest alone says which one it is; a name with both is not understood everywhere.
            (Some(_), Some(digest)) => format!("@{digest}"),
        };
        Ok(Self {
            registry: registry.to_owned(),
            path,
            version,
        })
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}{}", self.registry, self.path, self.version)
    }
}

fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|digits| {
        digits.len() == DIGEST_DIGITS
            && digits
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

fn is_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= MAX_TAG
        && text.bytes().next().is_some_and(is_word)
        && text
            .bytes()
            .all(|byte| is_word(byte) || byte == b'.' || byte == b'-')
}

fn is_registry(text: &str) -> bool {
    let (host, port) = text.split_once(':').unwrap_or((text, "443"));
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    host.split('.').all(is_label)
        && port.bytes().all(|byte| byte.is_ascii_digit())
        && port.parse::<u16>().is_ok_and(|port| port != 0)
}

fn is_component(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_separator = |byte: u8| matches!(byte, b'.' | b'_' | b'-');
    let edges = [text.bytes().next(), text.bytes().next_back()];
    edges.iter().all(|edge| edge.is_some_and(is_inner))
        && text.bytes().all(|byte| is_inner(byte) || is_separator(byte))
        && !text.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registries() -> Vec<String> {
        IMAGE_REGISTRIES.iter().map(|&host| host.to_owned()).collect()
    }

    #[test]
    fn names_are_completed() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        for (text, whole) in [
            ("golang", "docker.io/library/golang:latest"),
            ("golang:1.23", "docker.io/library/golang:1.23"),
            ("owner/image", "docker.io/owner/image:latest"),
            ("ghcr.io/a/b-c/d_e:v1.0-rc_1", "ghcr.io/a/b-c/d_e:v1.0-rc_1"),
            ("localhost/mine:2", "localhost/mine:2"),
            (&format!("quay.io/a/b@{digest}"), &format!("quay.io/a/b@{digest}")),
            (
                &format!("golang:1@{digest}"),
                &format!("docker.io/library/golang@{digest}"),
            ),
        ] {
            assert_eq!(ImageName::parse(text, &registries()).unwrap().to_string(), whole);
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let long = "a".repeat(501);
        for text in [
            "",
            " ",
            "-v",
            "--privileged",
            "a b",
            "a;b",
            "a|b",
            "a&b",
            "$(id)",
            "`id`",
            "a\nb",
            "a'b",
            "a\\b",
            "A",
            "a/",
            "/a",
            "a//b",
            "a/../b",
            "../a",
            "a:",
            "a:-x",
            "a:.x",
            "a@sha256:00",
            "a@md5:00",
            "a@",
            "docker://a",
            "https://ghcr.io/a",
            "oci-archive:/etc/passwd",
            "dir:/etc",
            "ghcr.io:0/a",
            "ghcr.io:x/a",
            "user@ghcr.io/a",
            "ghcr.io./a",
            long.as_str(),
        ] {
            assert!(ImageName::parse(text, &registries()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn only_known_registries_are_asked() {
        for text in [
            "evil.example/a",
            "ghcr.io:8443/a",
            "ghcr.io.evil.example/a",
            "127.0.0.1:5000/a",
        ] {
            let error = ImageName::parse(text, &registries()).unwrap_err();
            assert!(
                error.to_string().contains("`sandbox.image_registries`"),
                "{text}: {error}"
            );
        }
        let more = ["registry.example:5000".to_owned()];
        assert!(ImageName::parse("registry.example:5000/a", &more).is_ok());
        assert!(ImageName::parse("golang", &more).is_err());
        assert!(ImageName::parse("localhost/a", &[]).is_ok());
    }

    #[test]
    fn the_session_comes_before_the_project_before_the_default() {
        let chosen =
            |session, project| choose_image(session, project, "c", &registries()).map(|image| image.path);
        assert_eq!(chosen(Some("a"), Some("b")).unwrap(), "library/a");
        assert_eq!(chosen(None, Some("b")).unwrap(), "library/b");
        assert_eq!(chosen(None, None).unwrap(), "library/c");
        assert!(chosen(Some(""), Some("b")).is_err());
    }
}
