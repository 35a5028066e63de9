//! What a project says about itself in the files at its top. Nothing of it is run.

use agentyard_git::ProjectFile;
use serde_json::Value;

use super::tasks;

/// What one file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectPart {
    /// The file.
    pub file: String,
    /// What reads it: `make`, `npm`.
    pub tool: &'static str,
    /// The version that it asks for.
    pub requires: Option<String>,
    /// What can be run: make's targets, the scripts of a package.
    pub tasks: Vec<String>,
}

/// How many tasks of one file are told, and how long each may be.
const MAX_TASKS: usize = 100;
const MAX_TEXT: usize = 100;

/// The files that are looked for, and what reads each.
const FILES: &[(&str, &str)] = &[
    ("GNUmakefile", "make"),
    ("makefile", "make"),
    ("Makefile", "make"),
    ("justfile", "just"),
    ("Taskfile.yml", "task"),
    ("CMakeLists.txt", "cmake"),
    ("meson.build", "meson"),
    ("Cargo.toml", "cargo"),
    ("rust-toolchain.toml", "rustup"),
    ("package.json", "npm"),
    ("package-lock.json", "npm"),
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("deno.json", "deno"),
    (".nvmrc", "node"),
    ("pyproject.toml", "python"),
    ("setup.py", "python"),
    ("requirements.txt", "pip"),
    ("uv.lock", "uv"),
    ("poetry.lock", "poetry"),
    (".python-version", "python"),
    ("tox.ini", "tox"),
    ("go.mod", "go"),
    ("pom.xml", "mvn"),
    ("build.gradle", "gradle"),
    ("build.gradle.kts", "gradle"),
    ("Gemfile", "bundle"),
    ("composer.json", "composer"),
    ("mix.exs", "mix"),
    (".tool-versions", "asdf"),
    ("Dockerfile", "docker"),
    ("compose.yaml", "docker"),
    ("docker-compose.yml", "docker"),
    ("AGENTS.md", "instructions"),
    ("CLAUDE.md", "instructions"),
    ("CONTRIBUTING.md", "instructions"),
];

/// The names of these files.
pub(super) const NAMES: &[&str] = &names();

const fn names() -> [&'static str; FILES.len()] {
    let mut names = [""; FILES.len()];
    let mut index = 0;
    while index < FILES.len() {
        names[index] = FILES[index].0;
        index += 1;
    }
    names
}

/// What these files say.
pub(super) fn parts(files: &[ProjectFile]) -> Vec<ProjectPart> {
    files.iter().filter_map(part).collect()
}

fn part(file: &ProjectFile) -> Option<ProjectPart> {
    let (_, tool) = FILES.iter().find(|(name, _)| *name == file.path)?;
    let content = file.content.as_str();
    let (requires, tasks) = match file.path.as_str() {
        "GNUmakefile" | "makefile" | "Makefile" => (None, tasks::make_targets(content)),
        "justfile" => (None, tasks::just_recipes(content)),
        "package.json" | "composer.json" | "deno.json" => package(content),
        "Cargo.toml" => (toml_text(content, &["package", "rust-version"]), Vec::new()),
        "rust-toolchain.toml" => (toml_text(content, &["toolchain", "channel"]), Vec::new()),
        "pyproject.toml" => python(content),
        "go.mod" => (line_after(content, "go "), Vec::new()),
        ".nvmrc" | ".python-version" => (content.lines().next().map(ToOwned::to_owned), Vec::new()),
        _ => (None, Vec::new()),
    };
    Some(ProjectPart {
        file: file.path.clone(),
        tool,
        requires: requires.map(|text| text.trim().chars().take(MAX_TEXT).collect()),
        tasks: bounded(tasks),
    })
}

fn bounded(tasks: Vec<String>) -> Vec<String> {
    tasks
        .into_iter()
        .filter(|task| task.len() <= MAX_TEXT)
        .take(MAX_TASKS)
        .collect()
}

/// The scripts of a package, and the node that it asks for.
fn package(content: &str) -> (Option<String>, Vec<String>) {
    let Ok(package) = serde_json::from_str::<Value>(content) else {
        return (None, Vec::new());
    };
    let tasks = ["scripts", "tasks"]
        .iter()
        .filter_map(|key| package[key].as_object())
        .flat_map(|scripts| scripts.keys().cloned());
    let requires = package["engines"]["node"]
        .as_str()
        .map(|node| format!("node {node}"));
    (requires, tasks.collect())
}

fn python(content: &str) -> (Option<String>, Vec<String>) {
    let requires = toml_text(content, &["project", "requires-python"]);
    let scripts = toml_at(content, &["project", "scripts"]);
    let tasks = match scripts {
        Some(toml::Value::Table(scripts)) => scripts.keys().cloned().collect(),
        _ => Vec::new(),
    };
    (requires, tasks)
}

fn toml_text(content: &str, path: &[&str]) -> Option<String> {
    toml_at(content, path)?.as_str().map(ToOwned::to_owned)
}

fn toml_at(content: &str, path: &[&str]) -> Option<toml::Value> {
    let document: toml::Table = content.parse().ok()?;
    path.iter()
        .try_fold(toml::Value::Table(document), |value, key| value.get(key).cloned())
}

fn line_after(content: &str, beginning: &str) -> Option<String> {
    content
        .lines()
        .find_map(|line| line.strip_prefix(beginning))
        .map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str, content: &str) -> (Option<String>, Vec<String>) {
        let file = ProjectFile {
            path: path.to_owned(),
            content: content.to_owned(),
        };
        let part = part(&file).unwrap();
        (part.requires, part.tasks)
    }

    #[test]
    fn files_are_read_for_what_they_ask_for_and_offer() {
        let some = |text: &str| Some(text.to_owned());
        let none: Vec<String> = Vec::new();
        assert_eq!(
            told(
                "package.json",
                r#"{"scripts":{"test":"x","build":"y"},"engines":{"node":">=20"}}"#
            ),
            (some("node >=20"), vec!["test".to_owned(), "build".to_owned()])
        );
        assert_eq!(
            told("Cargo.toml", "[package]\nname='x'\nrust-version = \"1.80\"\n"),
            (some("1.80"), none.clone())
        );
        assert_eq!(
            told(
                "pyproject.toml",
                "[project]\nrequires-python = '>=3.11'\n[project.scripts]\nserve = 'x:y'\n"
            ),
            (some(">=3.11"), vec!["serve".to_owned()])
        );
        assert_eq!(
            told("go.mod", "module x\n\ngo 1.22\n"),
            (some("1.22"), none.clone())
        );
        assert_eq!(told(".nvmrc", "20\n"), (some("20"), none.clone()));
    }

    #[test]
    fn what_cannot_be_read_says_nothing() {
        for (path, content) in [
            ("package.json", "{"),
            ("package.json", r#"{"scripts":[1]}"#),
            ("Cargo.toml", "[[["),
            ("pyproject.toml", "project = 1"),
        ] {
            assert_eq!(told(path, content), (None, Vec::new()), "{content}");
        }
    }
}
