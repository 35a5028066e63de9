//! `git_blame`: who last changed which line.

use std::fmt::Write as _;
use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{Blame, BlameBlock, BlameRequest, In, Moves, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::{Output, Presentation, Reply};

pub(super) struct GitBlame;

/// Tell who last changed each line of a file, by groups of lines of the same commit.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitBlameInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// File, relative to the repository's top.
    file_path: String,
    /// As of this commit; the working tree by default.
    revision: Option<String>,
    /// First line.
    #[schemars(range(min = 1))]
    start_line: Option<usize>,
    /// Last line.
    #[schemars(range(min = 1))]
    end_line: Option<usize>,
    /// Ignore changes of white space.
    #[serde(default)]
    ignore_whitespace: bool,
    /// Follow lines moved within the file, or from other files of the same commit.
    detect_moves: Option<DetectMoves>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum DetectMoves {
    None,
    File,
    Commit,
}

impl Operation for GitBlame {
    const NAME: &'static str = "git_blame";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/git/blame");
    type Input = GitBlameInput;
    type Output = BlameView;

    async fn call(context: Context<'_>, input: GitBlameInput) -> Result<BlameView> {
        let request = BlameRequest {
            file_path: input.file_path.clone(),
            revision: input.revision,
            start_line: input.start_line,
            end_line: input.end_line,
            ignore_whitespace: input.ignore_whitespace,
            moves: match input.detect_moves {
                None | Some(DetectMoves::None) => Moves::None,
                Some(DetectMoves::File) => Moves::File,
                Some(DetectMoves::Commit) => Moves::Commit,
            },
        };
        let blame: In<Blame> = context
            .services
            .repositories
            .blame(context.caller, input.path.as_deref(), request)
            .await?;
        Ok(BlameView {
            repository: blame.repository.display().to_string(),
            file_path: input.file_path,
            blame: blame.result,
        })
    }
}

/// Lines and their commits, as text.
#[derive(Serialize, JsonSchema)]
pub(super) struct BlameView {
    /// The repository's directory.
    repository: String,
    /// The file.
    file_path: String,
    #[serde(skip)]
    blame: Blame,
}

/// What the notice at the end may take.
const NOTICE_BYTES: usize = 200;

/// What is shown of one line.
const LINE_BYTES: usize = 1000;

impl Output for BlameView {
    fn into_reply(self, presentation: Presentation) -> Result<Reply> {
        let room = presentation.max_bytes.saturating_sub(NOTICE_BYTES);
        let mut text = format!("{}: {}\n", self.repository, self.file_path);
        let mut next = None;
        'blocks: for block in &self.blame.blocks {
            let head = block_head(block);
            for (offset, line) in block.lines.iter().enumerate() {
                let number = block.first_line + offset;
                let shown = &line[..line.floor_char_boundary(LINE_BYTES)];
                if text.len() + head.len() + shown.len() + 20 > room {
                    next = Some(number);
                    break 'blocks;
                }
                if offset == 0 {
                    text.push_str(&head);
                }
                let _ = writeln!(text, "{number:>5} {shown}");
            }
        }
        let following = self
            .blame
            .blocks
            .last()
            .map(|block| block.first_line + block.lines.len());
        if let Some(next) = next.or(following.filter(|_| self.blame.more)) {
            let _ = writeln!(text, "[truncated: call again with start_line={next}]");
        }
        Ok(Reply::Text { text, next: None })
    }
}

fn block_head(block: &BlameBlock) -> String {
    if block.commit.is_none() {
        return "(not committed)\n".to_owned();
    }
    let at = block.at.to_string();
    let date = at.get(..10).unwrap_or(&at);
    let old = block
        .old_path
        .as_ref()
        .map(|old| format!(" [{old}]"))
        .unwrap_or_default();
    format!(
        "{} {date} {}: {}{old}\n",
        block.short_id, block.author, block.summary
    )
}
