use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use schemars::JsonSchema;
use serde::Deserialize;

use super::*;
use crate::config::show::to_text;

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Sample {
    store: Store,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Store {
    // As some settings do; the key must be known all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<Secret>,
    size: u32,
    words: Vec<String>,
    note: String,
}

/// A home directory with a configuration file, and what is read from it.
struct Home {
    directory: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl Home {
    fn with_file(text: &str, mode: u32) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join(".config/agentyard");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("agentyard.toml");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let home = directory.path().to_str().unwrap().to_owned();
        Self {
            directory,
            variables: vec![("HOME".to_owned(), home)],
        }
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    fn load(&self, overrides: &[Override]) -> Result<Loaded<Sample>, String> {
        let pairs: Vec<_> = self
            .variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let loaded = load(Layers {
            computed: &Table::default(),
            file: None,
            environment: &Environment::of(&pairs),
            overrides,
        });
        loaded.map_err(|error| self.without_home(&error.to_string()))
    }

    fn without_home(&self, text: &str) -> String {
        text.replace(self.directory.path().to_str().unwrap(), "~")
    }
}

const FILE: &str =
    "[store]\nurl = \"postgres://ada:pw@db\"\nsize = 1\nwords = [\"a\", \"b\"]\nnote = \"n\"\n";

#[test]
fn layers_cover_each_other_and_every_value_knows_its_source() {
    let home = Home::with_file(FILE, 0o600)
        .variable("AGENTYARD_STORE_SIZE", "2")
        .variable("AGENTYARD_STORE_WORDS", "c,d");
    let loaded = home
        .load(&[
            Override::new("store.words", "e", "--words"),
            Override::parse_set("store.note=a=b").unwrap(),
        ])
        .unwrap();
    let text = home.without_home(&to_text(&loaded.shown().unwrap()));
    assert_eq!(
        text,
        "store.note = \"a=b\"  # --set\n\
         store.size = 2  # $AGENTYARD_STORE_SIZE\n\
         store.url = \"********\"  # ~/.config/agentyard/agentyard.toml:2\n\
         store.words = [\"e\"]  # --words\n"
    );
    assert_eq!(
        loaded.settings.store.url.unwrap().expose(),
        "postgres://ada:pw@db"
    );
    assert_eq!(loaded.warnings, [""; 0]);
}

#[test]
fn values_are_shown_as_json_too() {
    let home = Home::with_file("[store]\nsize = 1\n", 0o600);
    let shown = home.load(&[]).unwrap().shown().unwrap();
    let json = home.without_home(&serde_json::to_string(&shown).unwrap());
    assert_eq!(
        json,
        r#"[{"key":"store.note","value":"","source":"default"},{"key":"store.size","value":1,"source":"~/.config/agentyard/agentyard.toml:2"},{"key":"store.url","value":null,"source":"default"},{"key":"store.words","value":[],"source":"default"}]"#
    );
}

#[test]
fn a_secret_that_everybody_can_read_is_worth_a_warning() {
    let warnings = |mode| Home::with_file(FILE, mode).load(&[]).unwrap().warnings;
    assert_eq!(warnings(0o600).len(), 0);
    assert_eq!(warnings(0o640).len(), 0);
    let [warning] = &warnings(0o644)[..] else { panic!() };
    assert!(
        warning.contains("`store.url`") && warning.contains("chmod 600"),
        "{warning}"
    );
    let [warning] = &warnings(0o602)[..] else { panic!() };
    assert!(warning.contains("chmod o-w"), "{warning}");
    assert_eq!(
        Home::with_file("[store]\nsize = 1", 0o644)
            .load(&[])
            .unwrap()
            .warnings
            .len(),
        0
    );
}

#[test]
fn an_unknown_variable_is_a_warning_with_the_nearest_right_one() {
    let home = Home::with_file("", 0o600)
        .variable("AGENTYARD_STORE_SIZ", "2")
        .variable("AGENTYARD_UNRELATED_THING", "2")
        .variable("AGENTYARD_TEST_POSTGRES", "2")
        .variable("AGENTYARD_TOKEN", "2");
    assert_eq!(
        home.load(&[]).unwrap().warnings,
        [
            "the environment variable AGENTYARD_STORE_SIZ sets nothing; did you mean AGENTYARD_STORE_SIZE?",
            "the environment variable AGENTYARD_UNRELATED_THING sets nothing",
        ]
    );
}

#[test]
fn mistakes_name_their_place() {
    let error = |text: &str| Home::with_file(text, 0o600).load(&[]).unwrap_err();
    assert_eq!(
        error("[store]\nsiez = 1"),
        "~/.config/agentyard/agentyard.toml:2: there is no setting `store.siez`; did you mean `store.size`? \
         `agentyard config reference` lists all of them"
    );
    assert_eq!(
        error("[store]\nsize = = 1"),
        "~/.config/agentyard/agentyard.toml:2: the configuration file is not valid TOML: \
         extra `=`, expected nothing"
    );
    let home = Home::with_file("", 0o600);
    let unknown = home
        .load(&[Override::parse_set("store.siez=1").unwrap()])
        .unwrap_err();
    assert!(
        unknown.starts_with("--set: there is no setting `store.siez`; did you mean `store.size`?"),
        "{unknown}"
    );
    let invalid = home
        .load(&[Override::new("store.size", "x", "--size")])
        .unwrap_err();
    assert_eq!(
        invalid,
        "--size: the value of `store.size` cannot be used: expected a whole number, found `x`"
    );
}

#[test]
fn a_file_that_was_asked_for_stands_alone_and_must_be_there() {
    let home = Home::with_file(FILE, 0o600);
    let other = home.directory.path().join("other.toml");
    let home = home.variable("AGENTYARD_CONFIG", other.to_str().unwrap());
    let error = home.load(&[]).unwrap_err();
    assert!(
        error.starts_with("could not read the configuration file ~/other.toml"),
        "{error}"
    );
    fs::write(&other, "[store]\nsize = 9\n").unwrap();
    let loaded = home.load(&[]).unwrap();
    assert_eq!(
        (loaded.settings.store.size, loaded.settings.store.note.as_str()),
        (9, "")
    );
}

#[test]
fn what_is_no_plain_small_file_is_refused() {
    let home = Home::with_file("", 0o600);
    let directory = home.directory.path().to_str().unwrap().to_owned();
    let error = home
        .variable("AGENTYARD_CONFIG", &directory)
        .load(&[])
        .unwrap_err();
    assert_eq!(
        error,
        "the configuration file ~ is no plain file of at most 262144 bytes"
    );
    let error = Home::with_file(&"#".repeat(300_000), 0o600)
        .load(&[])
        .unwrap_err();
    assert!(error.contains("262144"), "{error}");
}
