//! The list of all operations, in a form that knows none of them by type.

use std::panic::AssertUnwindSafe;
use std::sync::OnceLock;
use std::time::Instant;

use agentyard_model::{AuditEvent, Outcome, Permission, Toolset};
use agentyard_services::{Error, ErrorKind, Result};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tracing::Instrument;

use crate::level::LevelledField;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::{Output, Presentation, Reply};
use crate::{arguments, brief, measure, schema};

/// An operation as the faces see it.
pub struct Entry {
    /// The MCP tool's name.
    pub name: &'static str,
    command: Option<&'static str>,
    /// Which MCP server lists it.
    pub toolset: Toolset,
    /// What it does to the world.
    pub effect: Effect,
    /// Those of its modes that change nothing, when others do.
    pub reading_modes: &'static [&'static str],
    /// Who may call it.
    pub access: Access,
    /// Whether it talks to other machines.
    pub reaches_out: bool,
    /// Its REST route.
    pub route: Route,
    /// Other routes to it.
    pub also: &'static [Route],
    /// The list among its arguments that a command line takes without its name.
    pub words: Option<&'static str>,
    aliases: &'static [(&'static str, &'static str)],
    levels: &'static [LevelledField],
    input_schema: fn() -> Map<String, Value>,
    output_schema: fn() -> Map<String, Value>,
    call: Call,
}

/// Reads the arguments, against their schema, and does it.
type Call = for<'a> fn(
    Context<'a>,
    Map<String, Value>,
    &'a Map<String, Value>,
    Presentation,
) -> BoxFuture<'a, Result<Reply>>;

impl Entry {
    /// The entry of an operation.
    #[must_use]
    pub const fn of<O: Operation>() -> Self {
        Self {
            name: O::NAME,
            command: O::COMMAND,
            toolset: O::TOOLSET,
            effect: O::EFFECT,
            reading_modes: O::READING_MODES,
            access: O::ACCESS,
            reaches_out: O::REACHES_OUT,
            route: O::ROUTE,
            also: O::ALSO,
            words: O::WORDS,
            aliases: O::ALIASES,
            levels: <O::Output as Output>::LEVELS,
            input_schema: schema::of_input::<O::Input>,
            output_schema: schema::of::<O::Output>,
            call: |context, arguments, schema, presentation| {
                Box::pin(async move {
                    let input = arguments::read(arguments, schema)?;
                    O::call(context, input).await?.into_reply(presentation)
                })
            },
        }
    }

    fn make_input_schema(&self) -> Map<String, Value> {
        let mut schema = (self.input_schema)();
        if !self.levels.is_empty()
            && let Some(Value::Object(properties)) = schema.get_mut("properties")
        {
            properties.insert(
                arguments::DETAIL.to_owned(),
                json!({
                    "type": "string",
                    "enum": ["minimal", "standard", "full"],
                    "description": "How much to answer.",
                }),
            );
        }
        schema
    }

    /// The permission it needs, when it needs more than an identity.
    #[must_use]
    pub fn permission(&self) -> Option<Permission> {
        match self.access {
            Access::Identity => None,
            Access::Holds(permission) => Some(permission),
        }
    }

    /// All its routes, the first of which is its own.
    pub fn routes(&self) -> impl Iterator<Item = Route> {
        std::iter::once(self.route).chain(self.also.iter().copied())
    }

    /// Whether it can be called such that nothing changes.
    #[must_use]
    pub fn can_read(&self) -> bool {
        self.effect == Effect::Read || !self.reading_modes.is_empty()
    }

    /// Where its command stands: `git status`, `token create`, `whoami`.
    #[must_use]
    pub fn command(&self) -> (&'static str, Option<&'static str>) {
        let words = match self.command {
            Some(command) => command.split_once(' '),
            None => self.name.split_once('_'),
        };
        match words {
            Some((noun, verb)) => (noun, Some(verb)),
            None => (self.command.unwrap_or(self.name), None),
        }
    }
}

/// What the tool list says of an operation.
pub struct Listed {
    /// What it does, for who has never seen it.
    pub description: String,
    /// The schema of its arguments, with only what a model needs to call it.
    pub schema: Map<String, Value>,
}

/// An entry with the schema of its arguments, which is made when first asked for: starting up must
/// not wait for it.
pub struct Registered {
    entry: &'static Entry,
    input_schema: OnceLock<Map<String, Value>>,
}

impl Registered {
    fn new(entry: &'static Entry) -> Self {
        Self {
            entry,
            input_schema: OnceLock::new(),
        }
    }

    /// What is known about it without its schemas.
    #[must_use]
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// The schema of its arguments.
    pub fn input_schema(&self) -> &Map<String, Value> {
        self.input_schema.get_or_init(|| self.entry.make_input_schema())
    }

    /// What the tool list says of it: what it does, and the schema of its arguments; where nothing may be changed, with
    /// the modes that do not. No schema is kept for it: a client asks for the list once, and calls a few of those in it.
    #[must_use]
    pub fn listed(&self, read_only: bool) -> Listed {
        let kept = self.input_schema.get().cloned();
        let mut schema = kept.unwrap_or_else(|| self.entry.make_input_schema());
        let description = match schema.shift_remove("description") {
            Some(Value::String(description)) => description,
            _ => String::new(),
        };
        brief::shorten(&mut schema);
        let modes = schema
            .get_mut("properties")
            .and_then(|properties| properties.get_mut("mode"))
            .and_then(|mode| mode.get_mut("enum"));
        if let Some(modes) = modes
            && read_only
            && !self.entry.reading_modes.is_empty()
        {
            *modes = json!(self.entry.reading_modes);
        }
        Listed { description, schema }
    }

    /// The schema of its answer. No face needs it on its way to an answer, so it is not kept.
    #[must_use]
    pub fn output_schema(&self) -> Map<String, Value> {
        (self.entry.output_schema)()
    }

    /// What it does, for who has never seen it.
    pub fn description(&self) -> &str {
        self.input_schema()
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The arguments it takes, by name.
    pub fn properties(&self) -> &Map<String, Value> {
        arguments::properties(self.input_schema())
    }

    /// Whether this argument must be given.
    pub fn requires(&self, argument: &str) -> bool {
        self.input_schema()
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|required| required.iter().any(|name| name == argument))
    }

    /// Calls it: one span, one measurement, and one audit row when a caller is turned
    /// away from something that would have changed the world.
    ///
    /// # Errors
    /// Whatever the operation fails with; logged here, and nowhere else.
    pub async fn call(
        &self,
        context: Context<'_>,
        mut arguments: Map<String, Value>,
        presentation: Presentation,
        face: Face,
    ) -> Result<Reply> {
        let entry = self.entry;
        let span = tracing::info_span!(
            "operation",
            otel.name = entry.name,
            operation = entry.name,
            toolset = entry.toolset.as_str(),
            effect = entry.effect.as_str(),
            face = face.as_str(),
            request_id = %context.caller.request_id,
            tenant = %context.caller.tenant,
            subject = %context.caller.subject,
            input_bytes = tracing::field::Empty,
            output_bytes = tracing::field::Empty,
            duration_ms = tracing::field::Empty,
            outcome = tracing::field::Empty,
            error_kind = tracing::field::Empty,
        );
        async {
            let started = Instant::now();
            context.progress.report(0, None, "started");
            let input_bytes = size_of_object(&arguments);
            let result = without_panic(async {
                arguments::respell(&mut arguments, self.input_schema(), entry.aliases);
                if entry.toolset == Toolset::Git {
                    arguments::workspace_as_path(&mut arguments, self.input_schema());
                }
                let level = if entry.levels.is_empty() {
                    None
                } else {
                    arguments::take_level(&mut arguments)?
                };
                let presentation = Presentation {
                    level: level.unwrap_or(presentation.level),
                    ..presentation
                };
                (entry.call)(context, arguments, self.input_schema(), presentation).await
            })
            .await;
            measure::finished(entry, face, started.elapsed(), input_bytes, &result);
            if let Err(error) = &result {
                self.record_refusal(context, error).await;
            }
            result
        }
        .instrument(span)
        .await
    }

    async fn record_refusal(&self, context: Context<'_>, error: &Error) {
        let changes = self.entry.effect != Effect::Read;
        if changes && error.kind() == ErrorKind::Forbidden {
            let event = AuditEvent::with_outcome(context.caller, self.entry.name, "-", Outcome::Denied);
            context.services.audit.record(event).await;
        }
    }
}

/// Through which face a call came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    /// An MCP client.
    Mcp,
    /// An HTTP client.
    Rest,
    /// A person or script at a terminal.
    CommandLine,
    /// A client that was written for E2B.
    E2b,
}

impl Face {
    /// The face as it stands in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Rest => "rest",
            Self::CommandLine => "cli",
            Self::E2b => "e2b",
        }
    }
}

/// All operations.
pub struct Registry {
    operations: Vec<Registered>,
}

impl Registry {
    pub(crate) fn of(nouns: &[&'static [Entry]]) -> Self {
        let operations = nouns
            .iter()
            .flat_map(|noun| noun.iter())
            .map(Registered::new)
            .collect();
        Self { operations }
    }

    /// All of them, in the order in which they are shown.
    pub fn iter(&self) -> impl Iterator<Item = &Registered> {
        self.operations.iter()
    }

    /// The one of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Registered> {
        self.iter().find(|operation| operation.entry.name == name)
    }
}

/// A panic is our fault and this call's end, not the connection's: its client would
/// otherwise wait for an answer that never comes.
async fn without_panic<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        Err(Error::new(
            ErrorKind::Internal,
            "doing what was asked: it panicked",
        ))
    })
}

/// How many bytes the arguments had, near enough: writing them out again only to
/// count them would cost more than the figure is worth.
fn size_of_object(arguments: &Map<String, Value>) -> usize {
    arguments
        .iter()
        .map(|(name, value)| name.len() + size_of_value(value))
        .sum()
}

fn size_of_value(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size_of_value).sum(),
        Value::Object(fields) => size_of_object(fields),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_answer_too() {
        let error = without_panic(async { panic!("oh") as Result<()> })
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert_eq!(without_panic(async { Ok(7) }).await.unwrap(), 7);
    }
}
