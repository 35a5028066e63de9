//! Hosts that whoever runs the server allows by name.

/// Hosts by pattern: `git.example.org`, `*.example.org`, either with a port, or an address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostPatterns(Vec<Pattern>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    host: String,
    port: Option<u16>,
}

impl HostPatterns {
    /// The hosts that match one of these. Patterns compare without regard to case.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Self {
        Self(patterns.into_iter().map(Pattern::parse).collect())
    }

    /// Whether a host is one of them. IPv6 addresses stand in brackets.
    pub(crate) fn cover(&self, host: &str, port: u16) -> bool {
        self.0.iter().any(|pattern| pattern.covers(host, port))
    }
}

impl Pattern {
    fn parse(text: &str) -> Self {
        let text = text.trim().to_ascii_lowercase();
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && (!host.contains(':') || host.ends_with(']')) => {
                match port.parse() {
                    Ok(port) => (host.to_owned(), Some(port)),
                    Err(_) => (text.clone(), None),
                }
            }
            _ => (text.clone(), None),
        };
        // An IPv6 address without brackets means the same.
        let host = match host.parse::<std::net::Ipv6Addr>() {
            Ok(address) => format!("[{address}]"),
            Err(_) => host.trim_end_matches('.').to_owned(),
        };
        Self { host, port }
    }

    fn covers(&self, host: &str, port: u16) -> bool {
        let same_port = self.port.is_none_or(|own| own == port);
        let same_host = match self.host.strip_prefix("*.") {
            Some(parent) => host
                .strip_suffix(parent)
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
            None => self.host == host,
        };
        same_port && same_host
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_cover_what_they_say_and_no_more() {
        let patterns = HostPatterns::new([
            "Git.Example.org",
            "*.inner.example",
            "127.0.0.1:8080",
            "::1",
            "[fd00::1]:22",
        ]);
        for (host, port, covered) in [
            ("git.example.org", 443, true),
            ("git.example.org.evil.example", 443, false),
            ("xgit.example.org", 443, false),
            ("a.inner.example", 22, true),
            ("a.b.inner.example", 22, true),
            ("inner.example", 22, false),
            ("ainner.example", 22, false),
            (".inner.example", 22, false),
            ("127.0.0.1", 8080, true),
            ("127.0.0.1", 80, false),
            ("[::1]", 1, true),
            ("[fd00::1]", 22, true),
            ("[fd00::1]", 23, false),
        ] {
            assert_eq!(patterns.cover(host, port), covered, "{host}:{port}");
        }
        assert!(!HostPatterns::default().cover("a.example", 443));
        assert!(!HostPatterns::new([""]).cover("a.example", 443));
    }
}
