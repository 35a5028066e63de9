//! The contexts of a sandbox.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

use super::context::Context;
use super::language::Language;
use crate::connect::{Code, Fault};

/// How many contexts there can be. Each is a process.
const MOST_CONTEXTS: usize = 64;

/// The contexts of a sandbox: one for each language, made when it is needed first, and others that were asked for.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Contexts {
    listed: Mutex<Listed>,
    /// The languages that there are programs for, once somebody wanted to know.
    pub(super) available: OnceCell<Vec<Language>>,
}

#[derive(Debug, Default)]
struct Listed {
    contexts: Vec<Context>,
    made: u64,
}

impl Contexts {
    /// All of them, those of languages first.
    pub(super) fn all(&self) -> Vec<Context> {
        self.lock().contexts.clone()
    }

    /// The one with this name.
    pub(super) fn find(&self, id: &str) -> Result<Context, Fault> {
        let found = self
            .lock()
            .contexts
            .iter()
            .find(|context| context.id == id)
            .cloned();
        found.ok_or_else(|| not_found(id))
    }

    /// The one in which code of this language is run when nobody says more. It has the name of the language.
    pub(super) fn default_for(&self, language: Language, home: PathBuf) -> Context {
        let mut listed = self.lock();
        let contexts = &mut listed.contexts;
        if let Some(context) = contexts.iter().find(|context| context.id == language.name()) {
            return context.clone();
        }
        let context = Context::new(language.name().to_owned(), language, home);
        let defaults = contexts.iter().take_while(|context| is_default(context)).count();
        contexts.insert(defaults, context.clone());
        context
    }

    /// A new one.
    pub(super) fn create(&self, language: Language, directory: PathBuf) -> Result<Context, Fault> {
        let mut listed = self.lock();
        if listed.contexts.len() >= MOST_CONTEXTS {
            let message =
                format!("a sandbox has at most {MOST_CONTEXTS} contexts; remove some that are not used");
            return Err(Fault::new(Code::ResourceExhausted, message));
        }
        listed.made += 1;
        let context = Context::new(
            format!("{}-{}", language.name(), listed.made),
            language,
            directory,
        );
        listed.contexts.push(context.clone());
        Ok(context)
    }

    /// Removes one. What runs in it is ended.
    pub(super) fn remove(&self, id: &str) -> Result<(), Fault> {
        let mut listed = self.lock();
        let place = listed.contexts.iter().position(|context| context.id == id);
        listed.contexts.remove(place.ok_or_else(|| not_found(id))?);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Listed> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_default(context: &Context) -> bool {
    context.id == context.language.name()
}

fn not_found(id: &str) -> Fault {
    let id: String = id.chars().take(64).collect();
    Fault::new(
        Code::NotFound,
        format!(
            "there is no context `{}` in this sandbox; list those that there are",
            id.escape_debug()
        ),
    )
}
