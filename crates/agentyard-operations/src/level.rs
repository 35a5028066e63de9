//! How much an answer says: whole fields are in or out, none is shortened.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How much is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Level {
    /// What one needs to decide whether to ask for more.
    Minimal,
    /// What most need.
    #[default]
    Standard,
    /// All there is.
    Full,
}

/// A field that appears only from a level on. Its name may lead into a list or an
/// object: `commits.body`.
pub(crate) type LevelledField = (&'static str, Level);

/// Takes out the fields that this level does not show.
pub(crate) fn leave_out(answer: &mut Value, fields: &[LevelledField], wanted: Level) {
    for (path, level) in fields {
        if *level > wanted {
            remove(answer, path);
        }
    }
}

fn remove(value: &mut Value, path: &str) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| remove(item, path)),
        Value::Object(fields) => match path.split_once('.') {
            None => {
                fields.shift_remove(path);
            }
            Some((first, rest)) => {
                if let Some(inner) = fields.get_mut(first) {
                    remove(inner, rest);
                }
            }
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_fields_are_in_or_out() {
        const FIELDS: &[LevelledField] = &[("commits.body", Level::Full), ("commits", Level::Standard)];
        let answer = json!({ "branch": "main", "commits": [{ "id": "a", "body": "b" }] });
        let at = |level| {
            let mut answer = answer.clone();
            leave_out(&mut answer, FIELDS, level);
            answer
        };
        assert_eq!(at(Level::Minimal), json!({ "branch": "main" }));
        assert_eq!(
            at(Level::Standard),
            json!({ "branch": "main", "commits": [{ "id": "a" }] })
        );
        assert_eq!(at(Level::Full), answer);
    }
}
