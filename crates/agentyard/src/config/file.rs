//! Configuration files: which ones are read, and how they become a layer.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::ConfigError;
use super::environment::Environment;
use super::source::Source;
use super::tree::{Entry, Node, Table};

/// The largest configuration file.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// The file of the whole machine.
const MACHINE_FILE: &str = "/etc/agentyard/agentyard.toml";

/// The file below a person's configuration directory.
const PERSON_FILE: &str = "agentyard/agentyard.toml";

/// A configuration file that was read.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    pub(crate) path: Arc<Path>,
    pub(crate) mode: u32,
    pub(crate) table: Table,
}

/// Reads the files that count, the weakest first.
///
/// A file that was asked for stands alone and must be there. Otherwise the machine's file
/// and the person's are read if they exist. The current directory is not looked at:
/// `agentyard mcp` is started inside repositories that somebody else wrote, and an
/// `agentyard.toml` among their files could open roots, switch off authorization or send
/// the state elsewhere.
pub(crate) fn read_all(
    asked_for: Option<&Path>,
    environment: &Environment,
) -> Result<Vec<ConfigFile>, ConfigError> {
    let named = asked_for.or_else(|| environment.value("AGENTYARD_CONFIG").map(Path::new));
    if let Some(path) = named {
        return read(path)
            .and_then(|file| file.ok_or_else(|| unreadable(path, io::ErrorKind::NotFound.into())))
            .map(|file| vec![file]);
    }
    let person_file = environment
        .config_home()
        .map(|directory| directory.join(PERSON_FILE));
    let candidates = [Some(PathBuf::from(MACHINE_FILE)), person_file];
    candidates
        .into_iter()
        .flatten()
        .filter_map(|path| read(&path).transpose())
        .collect()
}

/// Reads one file; nothing when it does not exist.
fn read(path: &Path) -> Result<Option<ConfigFile>, ConfigError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(path, error)),
    };
    let metadata = file.metadata().map_err(|error| unreadable(path, error))?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return Err(ConfigError::NotAFile {
            path: path.to_path_buf(),
            limit: MAX_FILE_BYTES,
        });
    }
    let mut text = String::new();
    // The bound holds even if the file grows while it is read.
    file.take(MAX_FILE_BYTES)
        .read_to_string(&mut text)
        .map_err(|error| unreadable(path, error))?;
    let path: Arc<Path> = std::path::absolute(path)
        .map_err(|error| unreadable(path, error))?
        .into();
    let table = parse(&path, &text)?;
    let mode = metadata.permissions().mode();
    Ok(Some(ConfigFile { path, mode, table }))
}

fn unreadable(path: &Path, source: io::Error) -> ConfigError {
    ConfigError::Unreadable {
        path: path.to_path_buf(),
        source,
    }
}

/// Turns the text of a file into a layer.
pub(crate) fn parse(path: &Arc<Path>, text: &str) -> Result<Table, ConfigError> {
    let lines = Lines::of(text);
    let document = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
        path: path.to_path_buf(),
        line: error.span().map_or(1, |span| lines.line_at(span.start)),
        message: error.message().to_owned(),
    })?;
    let reader = Reader { path, lines };
    Ok(reader.table(document.get_ref()))
}

struct Reader<'a> {
    path: &'a Arc<Path>,
    lines: Lines,
}

impl Reader<'_> {
    fn table(&self, table: &DeTable<'_>) -> Table {
        let mut result = Table::default();
        for (key, value) in table {
            let entry = Entry {
                node: self.node(value.get_ref()),
                source: self.source(key.span().start),
            };
            result.insert(key.get_ref().to_string(), entry);
        }
        result
    }

    fn node(&self, value: &DeValue<'_>) -> Node {
        match value {
            DeValue::String(text) => Node::Text(text.to_string()),
            // A number too large for the type is kept as text, which the setting then refuses.
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or_else(|_| Node::Text(number.to_string()), Node::Integer),
            DeValue::Float(number) => number
                .as_str()
                .parse()
                .map_or_else(|_| Node::Text(number.to_string()), Node::Float),
            DeValue::Boolean(boolean) => Node::Boolean(*boolean),
            DeValue::Datetime(time) => Node::Text(time.to_string()),
            DeValue::Array(items) => Node::List(items.iter().map(|item| self.item(item)).collect()),
            DeValue::Table(table) => Node::Table(self.table(table)),
        }
    }

    fn item(&self, item: &Spanned<DeValue<'_>>) -> Entry {
        Entry {
            node: self.node(item.get_ref()),
            source: self.source(item.span().start),
        }
    }

    fn source(&self, offset: usize) -> Source {
        Source::File {
            path: Arc::clone(self.path),
            line: self.lines.line_at(offset),
        }
    }
}

/// Where the lines of a text begin.
struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    fn of(text: &str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(offset, _)| offset + 1);
        Self {
            starts: std::iter::once(0).chain(after_breaks).collect(),
        }
    }

    /// The line that holds a byte, counted from one.
    fn line_at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }
}
