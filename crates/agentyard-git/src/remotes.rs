//! Other repositories that a repository knows by name.

use std::collections::BTreeMap;

use gix::bstr::{BStr, ByteSlice as _};

use crate::{Repository, display_path, remote_url};

/// Another repository that this one knows by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub name: String,
    /// Without credentials, as all URLs here.
    pub fetch_url: String,
    /// The same as `fetch_url`, unless the repository sets another one.
    pub push_url: String,
}

impl Repository {
    /// The remotes of the configuration, by name.
    ///
    /// Rewriting rules (`url.*.insteadOf`) are not applied: nothing connects from here.
    pub fn remotes(&self) -> Vec<Remote> {
        let local = self.local();
        let config = local.config_snapshot();
        let mut remotes: BTreeMap<String, (Option<String>, Option<String>)> = BTreeMap::new();
        for section in config.sections_by_name("remote").into_iter().flatten() {
            let Some(name) = section.header().subsection_name() else {
                continue;
            };
            let (fetch, push) = remotes.entry(display_path(name)).or_default();
            let first = |key: &str| {
                section
                    .values(key)
                    .first()
                    .map(|url| remote_url::without_credentials(shown(url.as_bstr())))
            };
            *fetch = fetch.take().or_else(|| first("url"));
            *push = push.take().or_else(|| first("pushurl"));
        }
        remotes
            .into_iter()
            .filter_map(|(name, (fetch, push))| {
                let fetch_url = fetch.or_else(|| push.clone())?;
                Some(Remote {
                    name,
                    push_url: push.unwrap_or_else(|| fetch_url.clone()),
                    fetch_url,
                })
            })
            .collect()
    }
}

fn shown(url: &BStr) -> String {
    url.to_str_lossy().into_owned()
}
