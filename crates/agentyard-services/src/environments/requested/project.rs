//! `pyproject.toml`: what a project says that it depends on, by the standard or in Poetry's own way.

use toml::{Table, Value};

use super::{Requested, wrong};
use crate::environments::requirement::Requirement;
use crate::error::{Error, Result};

/// How deep groups may name one another.
const MAX_DEPTH: usize = 10;

/// Reads what a project depends on, and what these optional groups add.
pub(super) fn read(path: &str, content: &str, groups: &[String], requested: &mut Requested) -> Result<()> {
    let mistake = |what: &str| wrong(path, 0, what);
    let document: Table = content
        .parse()
        .map_err(|error: toml::de::Error| mistake(&format!("it is not TOML: {}", error.message())))?;
    let project = Project { document: &document };
    let mut lines = project.dependencies().map_err(|what| mistake(&what))?;
    for group in groups {
        lines.extend(project.group(group, 0).map_err(|what| mistake(&what))?);
    }
    for line in lines {
        let requirement = Requirement::read(&line).map_err(|error| mistake(Error::message(&error)))?;
        requested.requirements.push(requirement);
    }
    Ok(())
}

struct Project<'document> {
    document: &'document Table,
}

impl Project<'_> {
    fn at(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter()
            .try_fold(self.document.get(*first)?, |value, key| value.get(*key))
    }

    fn dependencies(&self) -> Result<Vec<String>, String> {
        if let Some(list) = self.at(&["project", "dependencies"]) {
            return texts("project.dependencies", list);
        }
        match self.at(&["tool", "poetry", "dependencies"]).map(Value::as_table) {
            Some(Some(table)) => poetry(table),
            Some(None) => Err("`tool.poetry.dependencies` is no table".to_owned()),
            None => Ok(Vec::new()),
        }
    }

    /// What a group adds: an extra, a dependency group (PEP 735), or one of Poetry's.
    fn group(&self, name: &str, depth: usize) -> Result<Vec<String>, String> {
        if depth == MAX_DEPTH {
            return Err("its groups include one another without end".to_owned());
        }
        if let Some(list) = self.at(&["project", "optional-dependencies", name]) {
            return texts(name, list);
        }
        if let Some(Value::Array(list)) = self.at(&["dependency-groups", name]) {
            let mut lines = Vec::new();
            for item in list {
                match (item, item.get("include-group")) {
                    (Value::String(line), _) => lines.push(line.clone()),
                    (_, Some(Value::String(other))) => lines.extend(self.group(other, depth + 1)?),
                    _ => {
                        return Err(format!(
                            "the group `{}` holds something else than text",
                            name.escape_debug()
                        ));
                    }
                }
            }
            return Ok(lines);
        }
        if let Some(Value::Table(table)) = self.at(&["tool", "poetry", "group", name, "dependencies"]) {
            return poetry(table);
        }
        Err(format!(
            "it has no group `{}`{}",
            name.escape_debug(),
            self.known_groups()
        ))
    }

    fn known_groups(&self) -> String {
        let tables = [
            self.at(&["project", "optional-dependencies"]),
            self.at(&["dependency-groups"]),
            self.at(&["tool", "poetry", "group"]),
        ];
        let tables = tables.into_iter().flatten().filter_map(Value::as_table);
        let names: Vec<String> = tables
            .flat_map(Table::keys)
            .take(20)
            .map(|name| format!("`{}`", name.escape_debug()))
            .collect();
        if names.is_empty() {
            String::new()
        } else {
            format!("; there are {}", names.join(", "))
        }
    }
}

fn texts(key: &str, list: &Value) -> Result<Vec<String>, String> {
    let texts = list.as_array().and_then(|list| {
        let texts = list.iter().map(|item| item.as_str().map(ToOwned::to_owned));
        texts.collect::<Option<Vec<_>>>()
    });
    texts.ok_or_else(|| format!("`{}` is no list of texts", key.escape_debug()))
}

/// Poetry's table: names, and versions in its own notation.
fn poetry(table: &Table) -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    for (name, value) in table.iter().filter(|(name, _)| *name != "python") {
        let (version, extras) = match value {
            Value::String(version) => (version.as_str(), Vec::new()),
            Value::Table(details) => {
                if details.get("optional").and_then(Value::as_bool) == Some(true) {
                    continue;
                }
                let version = details.get("version").and_then(Value::as_str);
                let version = version
                    .ok_or_else(|| format!("`{}` comes from elsewhere than an index", name.escape_debug()))?;
                let extras = details
                    .get("extras")
                    .map_or(Ok(Vec::new()), |extras| texts("extras", extras))?;
                (version, extras)
            }
            _ => {
                return Err(format!(
                    "`{}`: its version is not understood",
                    name.escape_debug()
                ));
            }
        };
        let extras = if extras.is_empty() {
            String::new()
        } else {
            format!("[{}]", extras.join(","))
        };
        lines.push(format!("{name}{extras}{}", poetry_versions(version)?));
    }
    Ok(lines)
}

/// `^1.2.3` and `~1.2` as the standard writes them.
fn poetry_versions(text: &str) -> Result<String, String> {
    let ranges = text.split(',').map(|part| poetry_range(part.trim()));
    let ranges: Vec<String> = ranges.collect::<Result<_, _>>()?;
    Ok(ranges
        .into_iter()
        .filter(|range| !range.is_empty())
        .collect::<Vec<_>>()
        .join(","))
}

fn poetry_range(part: &str) -> Result<String, String> {
    let numbers_of = |text: &str| -> Option<Vec<u64>> {
        text.trim().split('.').map(|number| number.parse().ok()).collect()
    };
    let not_understood = || format!("the version `{}` is not understood", part.escape_debug());
    if part == "*" {
        return Ok(String::new());
    }
    if let Some(text) = part.strip_prefix('^') {
        let numbers = numbers_of(text).ok_or_else(not_understood)?;
        // Up to the first number that is not zero, or to the last that is given.
        let place = numbers
            .iter()
            .position(|number| *number != 0)
            .unwrap_or(numbers.len() - 1);
        return next(&numbers, place)
            .map(|end| format!(">={},<{end}", text.trim()))
            .ok_or_else(not_understood);
    }
    if let Some(text) = part.strip_prefix('~').filter(|text| !text.starts_with('=')) {
        let numbers = numbers_of(text).ok_or_else(not_understood)?;
        let place = 1.min(numbers.len() - 1);
        return next(&numbers, place)
            .map(|end| format!(">={},<{end}", text.trim()))
            .ok_or_else(not_understood);
    }
    match part.chars().next() {
        Some(first) if first.is_ascii_digit() => Ok(format!("=={part}")),
        Some(first) if "=<>!~".contains(first) => Ok(part.to_owned()),
        _ => Err(not_understood()),
    }
}

/// The first version after all that begin with these numbers up to a place.
fn next(numbers: &[u64], place: usize) -> Option<String> {
    let mut end: Vec<u64> = numbers.get(..=place)?.to_vec();
    let last = end.last_mut()?;
    *last = last.checked_add(1)?;
    Some(end.iter().map(ToString::to_string).collect::<Vec<_>>().join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(content: &str, groups: &[&str]) -> Result<Vec<String>, String> {
        let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
        let mut requested = Requested::default();
        read("pyproject.toml", content, &groups, &mut requested)
            .map_err(|error| error.message().to_owned())?;
        Ok(requested.requirements.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn dependencies_and_groups_of_the_standard() {
        let content = r#"
            [project]
            dependencies = ["numpy>=2", "requests[socks] ; os_name == 'posix'"]
            [project.optional-dependencies]
            web = ["flask"]
            [dependency-groups]
            test = ["pytest", { include-group = "lint" }]
            lint = ["ruff==0.9"]
        "#;
        assert_eq!(
            told(content, &[]).unwrap(),
            ["numpy>=2", "requests[socks] ; os_name == \"posix\""]
        );
        assert_eq!(
            told(content, &["web", "test"]).unwrap()[2..],
            ["flask", "pytest", "ruff==0.9"]
        );
        let unknown = told(content, &["docs"]).unwrap_err();
        assert!(
            unknown.ends_with("it has no group `docs`; there are `web`, `lint`, `test`"),
            "{unknown}"
        );
    }

    #[test]
    fn dependencies_of_poetry() {
        let content = r#"
            [tool.poetry.dependencies]
            python = "^3.11"
            a = "^1.2.3"
            b = "^0.2.3"
            c = "~1.2.3"
            d = "*"
            e = ">=1,<2"
            f = { version = "1.5", extras = ["x", "y"] }
            g = { version = "1", optional = true }
            h = "^0.0"
            i = "~=1.4"
            [tool.poetry.group.dev.dependencies]
            j = "2.*"
        "#;
        assert_eq!(
            told(content, &["dev"]).unwrap(),
            [
                "a>=1.2.3,<2",
                "b>=0.2.3,<0.3",
                "c>=1.2.3,<1.3",
                "d",
                "e>=1,<2",
                "f[x,y]==1.5",
                "h>=0.0,<0.1",
                "i~=1.4",
                "j==2.*"
            ]
        );
        for value in [
            "{ git = 'https://x' }",
            "{ path = '../x' }",
            "'^x'",
            "1",
            "'>=1 || <0'",
            "'--pre'",
        ] {
            let content = format!("[tool.poetry.dependencies]\na = {value}\n");
            assert!(told(&content, &[]).is_err(), "{value}");
        }
        assert!(told("[tool.poetry.dependencies]\n'--pre' = '*'\n", &[]).is_err());
    }

    #[test]
    fn what_is_no_project_is_refused() {
        for (content, groups) in [
            ("[[[", &[][..]),
            ("[project]\ndependencies = 'x'", &[]),
            ("[project]\ndependencies = [1]", &[]),
            ("[project]\ndependencies = ['-e .']", &[]),
            ("[dependency-groups]\na = [{ include-group = 'a' }]", &["a"]),
            ("[dependency-groups]\na = [1]", &["a"]),
        ] {
            assert!(told(content, groups).is_err(), "{content}");
        }
        assert_eq!(told("", &[]).unwrap(), Vec::<String>::new());
    }
}
