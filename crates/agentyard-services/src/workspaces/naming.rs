//! What branches and directories are called.

use agentyard_git::BranchName;
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::failures::from_git;

/// No directory's name is longer than this and the hash.
const LONGEST_SLUG: usize = 48;

/// The longest name of an agent or a task.
const LONGEST_PART: usize = 64;

/// The branch of an agent's task: `agent-{agent}-{task}`.
pub(crate) fn branch_of(agent: &str, task: &str) -> Result<BranchName> {
    for (what, text) in [("agent", agent), ("task", task)] {
        let plain = text
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-'));
        if text.is_empty() || text.len() > LONGEST_PART || !plain {
            return Err(Error::invalid(format!(
                "`{what}`: expected 1 to {LONGEST_PART} letters, digits, `.`, `_` or `-`, got `{}`",
                text.escape_debug().take(80).collect::<String>()
            )));
        }
    }
    BranchName::new(format!("agent-{agent}-{task}")).map_err(from_git)
}

/// The directory of a branch: readable, and another one for each branch. `feature/foo` and `feature-foo` differ by
/// their hashes.
pub(super) fn directory_of(branch: &str) -> String {
    let mut slug = String::new();
    for character in branch.chars() {
        match character {
            'a'..='z' | '0'..='9' => slug.push(character),
            'A'..='Z' => slug.push(character.to_ascii_lowercase()),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
        if slug.len() == LONGEST_SLUG {
            break;
        }
    }
    let hash = hex::encode(&Sha256::digest(branch.as_bytes())[..4]);
    match slug.trim_end_matches('-') {
        "" => hash,
        slug => format!("{slug}-{hash}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_that_look_alike_have_directories_of_their_own() {
        assert_eq!(directory_of("feature/foo"), "feature-foo-f9320326");
        assert_ne!(directory_of("feature/foo"), directory_of("feature-foo"));
        assert_ne!(directory_of("Main"), directory_of("main"));
        assert!(directory_of(&"x".repeat(300)).len() < 64);
        assert!(directory_of("../../etc").starts_with("etc-"));
        assert_eq!(directory_of("日本").len(), 8);
    }

    #[test]
    fn an_agents_branch_is_named_after_it_and_its_task() {
        assert_eq!(branch_of("claude", "42").unwrap().as_str(), "agent-claude-42");
        for (agent, task) in [("", "1"), ("a", ""), ("a/b", "1"), ("a", "x y"), ("a", "..\n")] {
            assert!(branch_of(agent, task).is_err(), "{agent:?} {task:?}");
        }
    }
}
