use std::io::Write as _;

use super::super::{Config, Environment, Loaded, load};

fn from_file(text: &str) -> Result<Loaded<Config>, String> {
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    load(&Environment::of(&[("HOME", "/home/ada")]), Some(file.path()), &[])
        .map_err(|error| error.to_string())
}

fn shown(loaded: &Loaded<Config>) -> Vec<(String, String, Option<String>)> {
    let entries = loaded.settings.repos.iter();
    entries
        .map(|it| {
            let branch = it.default_branch.as_ref().map(ToString::to_string);
            (it.name.to_string(), it.url.to_string(), branch)
        })
        .collect()
}

#[test]
fn a_file_names_repositories_by_address_or_path() {
    let loaded = from_file(
        r#"
        [[repos]]
        name = "web"
        url = "https://ada@a.example/web.git"
        default_branch = "trunk"

        [[repos]]
        name = "notes"
        path = "~/notes"
        "#,
    )
    .unwrap();
    assert_eq!(
        shown(&loaded),
        [
            (
                "web".to_owned(),
                "https://a.example/web.git".to_owned(),
                Some("trunk".to_owned())
            ),
            ("notes".to_owned(), "/home/ada/notes".to_owned(), None),
        ]
    );
    let text = super::super::to_text(&loaded.shown().unwrap());
    assert!(text.contains("https://a.example/web.git"), "{text}");
}

#[test]
fn a_variable_names_them_too() {
    let environment = Environment::of(&[("AGENTYARD_REPOS", "web=https://a.example/web, notes=/srv/notes")]);
    let loaded = load(&environment, None, &[]).unwrap();
    let names: Vec<_> = shown(&loaded)
        .into_iter()
        .map(|(name, url, _)| (name, url))
        .collect();
    assert_eq!(
        names,
        [
            ("web".to_owned(), "https://a.example/web".to_owned()),
            ("notes".to_owned(), "/srv/notes".to_owned()),
        ]
    );
}

#[test]
fn what_is_wrong_is_told_without_what_may_be_secret() {
    for (text, expected) in [
        ("name = \"web\"", "either `url` or `path`"),
        (
            "name = \"web\"\nurl = \"/a\"\npath = \"/b\"",
            "either `url` or `path`",
        ),
        ("url = \"https://a.example/b\"", "name"),
        ("name = \"Web\"\nurl = \"https://a.example/b\"", "Web"),
        (
            "name = \"web\"\nurl = \"https://me:hunter2@a.example/b\"",
            "password or token",
        ),
        ("name = \"web\"\nurl = \"ext::sh\"", "https://"),
        (
            "name = \"web\"\nurl = \"https://a.example/b\"\ndefault_branch = \"-x\"",
            "-x",
        ),
        (
            "name = \"web\"\nurl = \"https://a.example/b\"\nbranch = \"x\"",
            "branch",
        ),
    ] {
        let error = from_file(&format!("[[repos]]\n{text}\n")).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    let environment = Environment::of(&[("AGENTYARD_REPOS", "hunter2")]);
    let error = load(&environment, None, &[]).unwrap_err().to_string();
    assert!(error.contains("`repos`") && !error.contains("hunter2"), "{error}");
}
