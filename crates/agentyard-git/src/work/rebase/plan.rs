//! The plan of a rebase: what becomes of each commit, checked such that none is lost silently.

use std::collections::HashSet;

use crate::program::Finished;
use crate::work::in_the_way::named_files;
use crate::{Error, ObjectId, Revision, Work, text};

use super::RebaseOptions;
use super::rewritten::Original;
use super::state::{Line, State};

/// More commits than anybody writes a plan for.
const MAX_STEPS: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Pick,
    Reword,
    Edit,
    Squash,
    Fixup,
    Drop,
}

struct Step {
    verb: Verb,
    commit: ObjectId,
    message: Option<String>,
}

impl Work<'_> {
    /// The plan of a rebase that has one, checked.
    pub(super) fn plan(
        &self,
        options: &RebaseOptions,
        upstream: &ObjectId,
        tip: &ObjectId,
    ) -> Result<Option<Vec<Line>>, Error> {
        if options.plan.is_empty() {
            return Ok(None);
        }
        let range = self.commits_between(&[*upstream], &[*tip])?;
        let steps = self.steps(&options.plan, &range)?;
        self.lines(&steps).map(Some)
    }

    /// Begins a rebase by a plan: git's own notes are written as if the plan had been typed into its editor, and
    /// git continues from there. So any git can continue, skip or abort it.
    pub(super) fn start_plan(
        &self,
        options: &RebaseOptions,
        lines: &[Line],
        onto: &ObjectId,
        before: ObjectId,
    ) -> Result<Finished, Error> {
        let head_name = self.repository().local().head_name().ok().flatten();
        let state = State::write(
            self.repository(),
            head_name.as_ref().map(gix::refs::FullName::as_bstr),
            onto,
            &before,
            lines,
        )?;
        let checked_out = self
            .invoke("checkout")
            .words(&["--quiet", "--detach", "--no-recurse-submodules"])
            .variable("GIT_REFLOG_ACTION", "rebase (start)")
            .object(onto)
            .run();
        if let Err(failure) = checked_out {
            state.remove();
            return Err(named_files("the rebase", failure));
        }
        self.invoke_rebase(options.sign)?
            .word("--continue")
            .run_whatever_it_answers()
    }

    /// The plan, with every commit of the range in it once.
    fn steps(&self, plan: &[String], range: &[ObjectId]) -> Result<Vec<Step>, Error> {
        if plan.len() > MAX_STEPS {
            return Err(Error::invalid(
                "the plan",
                format!("it has more than {MAX_STEPS} steps"),
            ));
        }
        let in_range: HashSet<&ObjectId> = range.iter().collect();
        let mut seen = HashSet::new();
        let mut steps = Vec::new();
        for line in plan {
            let step = self.step(line)?;
            if !in_range.contains(&step.commit) {
                return Err(fault(
                    line,
                    "this commit is not among those to rebase (`upstream..HEAD`)",
                ));
            }
            if !seen.insert(step.commit) {
                return Err(fault(line, "this commit is in the plan twice"));
            }
            let has_target = steps.iter().any(|step: &Step| step.verb != Verb::Drop);
            if matches!(step.verb, Verb::Squash | Verb::Fixup) && !has_target {
                return Err(fault(line, "no commit before it takes it in"));
            }
            steps.push(step);
        }
        let missing: Vec<String> = range
            .iter()
            .filter(|commit| !seen.contains(commit))
            .map(short)
            .collect();
        if !missing.is_empty() {
            return Err(Error::invalid(
                "the plan",
                format!(
                    "it leaves out {}; every commit has to be in it, with `drop` where it shall go",
                    missing.join(", ")
                ),
            ));
        }
        Ok(steps)
    }

    fn step(&self, line: &str) -> Result<Step, Error> {
        let line = line.trim();
        let (verb, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (commit, message) = rest
            .trim_start()
            .split_once(char::is_whitespace)
            .unwrap_or((rest.trim_start(), ""));
        let verb = match verb {
            "pick" | "p" => Verb::Pick,
            "reword" | "r" => Verb::Reword,
            "edit" | "e" => Verb::Edit,
            "squash" | "s" => Verb::Squash,
            "fixup" | "f" => Verb::Fixup,
            "drop" | "d" => Verb::Drop,
            _ => {
                return Err(fault(
                    line,
                    "it begins with none of pick, reword, edit, squash, fixup, drop",
                ));
            }
        };
        let message = message.trim();
        if verb == Verb::Reword && message.is_empty() {
            return Err(fault(
                line,
                "the new message follows the commit: `reword <commit> <message>`",
            ));
        }
        // After the others stands what people know from git's own plans: the commit's subject.
        let takes_message = matches!(verb, Verb::Reword | Verb::Squash);
        Ok(Step {
            verb,
            commit: self.commit_named(&Revision::new(commit)?)?,
            message: (takes_message && !message.is_empty()).then(|| message.to_owned()),
        })
    }

    /// The plan in words that need no editor: a new message is that of a commit made for it.
    fn lines(&self, steps: &[Step]) -> Result<Vec<Line>, Error> {
        let kept: Vec<&Step> = steps.iter().filter(|step| step.verb != Verb::Drop).collect();
        let mut lines = Vec::new();
        for group in groups(&kept) {
            let (first, joined) = (group[0], &group[1..]);
            let original = Original::read(self.repository(), &first.commit)?;
            let (commit, message) = match &first.message {
                Some(message) => (self.with_message(&original, message)?, message.clone()),
                None => (first.commit, original.message.clone()),
            };
            let command = if first.verb == Verb::Edit { "edit" } else { "pick" };
            lines.push(Line {
                command,
                commit,
                subject: text::one_line(&original.subject()),
            });
            lines.extend(self.joined_lines(message, joined)?);
        }
        Ok(lines)
    }

    /// The lines for what is joined to a commit. The last of `squash` brings the message of them all.
    fn joined_lines(&self, mut message: String, joined: &[&Step]) -> Result<Vec<Line>, Error> {
        let last_squash = joined.iter().rposition(|step| step.verb == Verb::Squash);
        let mut lines = Vec::new();
        for (position, step) in joined.iter().enumerate() {
            let original = Original::read(self.repository(), &step.commit)?;
            if step.verb == Verb::Squash {
                message = match &step.message {
                    Some(message) => message.clone(),
                    None => format!("{}\n\n{}", message.trim_end(), original.message),
                };
            }
            let brings_message = Some(position) == last_squash;
            lines.push(Line {
                command: if brings_message { "fixup -C" } else { "fixup" },
                commit: if brings_message {
                    self.with_message(&original, &message)?
                } else {
                    step.commit
                },
                subject: text::one_line(&original.subject()),
            });
        }
        Ok(lines)
    }
}

/// A commit with what is joined to it, again and again.
fn groups<'a>(steps: &'a [&'a Step]) -> impl Iterator<Item = &'a [&'a Step]> {
    steps.chunk_by(|_, next| matches!(next.verb, Verb::Squash | Verb::Fixup))
}

fn fault(line: &str, reason: &str) -> Error {
    let shown: String = text::one_line(line).chars().take(80).collect();
    Error::invalid(format!("the step `{shown}` of the plan"), reason)
}

fn short(commit: &ObjectId) -> String {
    commit.to_string()[..12].to_owned()
}
