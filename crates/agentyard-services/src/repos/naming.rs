//! What a repository is called when nobody says.

use agentyard_git::RemoteUrl;
use agentyard_model::{RepoId, RepoName};

use crate::error::{Error, Result};

/// Of an address with nothing in it that could be a name.
const NAMELESS: &str = "repository";

/// As many characters of an address become a name, so that there is room for a number behind it.
const MAX_DERIVED: usize = 56;

/// The name that a caller chose. One that reads like an id would hide the repository with that id.
pub(super) fn chosen(name: RepoName) -> Result<RepoName> {
    if name.as_str().parse::<RepoId>().is_ok() {
        return Err(Error::invalid(format!(
            "`name`: `{name}` reads like the id of a repository; choose another"
        )));
    }
    Ok(name)
}

/// Names for a repository at this address, the best first: its own, and then with a number behind it.
pub(super) fn derived(url: &RemoteUrl) -> impl Iterator<Item = RepoName> {
    let stem = stem(url.name().unwrap_or_default());
    (1..).filter_map(move |number| match number {
        1 => stem.parse().ok(),
        _ => format!("{stem}-{number}").parse().ok(),
    })
}

fn stem(text: &str) -> String {
    let plain = |character: char| {
        let character = character.to_ascii_lowercase();
        let allowed =
            character.is_ascii_lowercase() || character.is_ascii_digit() || "._-".contains(character);
        if allowed { character } else { '-' }
    };
    let name: String = text.chars().take(MAX_DERIVED).map(plain).collect();
    let name = name.trim_matches(['.', '_', '-']);
    if name.is_empty() || name.parse::<RepoId>().is_ok() {
        NAMELESS.to_owned()
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_addresses() {
        let long = format!("https://a.example/{}", "x".repeat(100));
        for (address, expected) in [
            ("https://a.example/team/Web_Shop.git", ["web_shop", "web_shop-2"]),
            ("git@a.example:web.git", ["web", "web-2"]),
            ("/srv/some project/", ["some-project", "some-project-2"]),
            ("/srv/.dotfiles", ["dotfiles", "dotfiles-2"]),
            ("https://a.example/%C3%A4", ["c3-a4", "c3-a4-2"]),
            ("/srv/___", ["repository", "repository-2"]),
            (&long, [&"x".repeat(56), &format!("{}-2", "x".repeat(56))]),
        ] {
            let url = RemoteUrl::parse(address).unwrap();
            let names: Vec<String> = derived(&url).take(2).map(|name| name.to_string()).collect();
            assert_eq!(names, expected, "{address}");
        }
    }

    #[test]
    fn no_name_reads_like_an_id() {
        let id = RepoId::new().to_string();
        let url = RemoteUrl::parse(&format!("/srv/{id}")).unwrap();
        assert_eq!(derived(&url).next().unwrap().as_str(), NAMELESS);
        assert!(chosen(id.parse().unwrap()).is_err());
        assert!(chosen("rep_1".parse().unwrap()).is_ok());
    }
}
