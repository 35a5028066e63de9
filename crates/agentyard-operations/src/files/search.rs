//! `search`: a regular expression in files.

use std::fmt::Write as _;

use agentyard_model::{Cursor, Permission, Toolset};
use agentyard_services::{
    FileMatches, Result, SearchCase, SearchMode, SearchPage, SearchPlace, SearchRequest, search_cursor,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::place;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::{Output, Presentation, Reply};

pub(super) struct Search;

/// Search files of the workspace for a regular expression (Rust syntax, line by line); ignored and binary files are left out. Answers `path:line:text`, sorted by path.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchInput {
    /// Workspace id, `repo/branch`, or absolute directory; default the working directory.
    workspace: Option<String>,
    /// Instead of `workspace`: a repository.
    repo: Option<String>,
    /// Its branch.
    branch: Option<String>,
    /// What to look for.
    pattern: String,
    /// Plain text, not an expression.
    #[serde(default)]
    fixed: bool,
    /// `sensitive` (default), `insensitive`, or `smart`: sensitive if the pattern has upper case.
    case: Option<Case>,
    /// Directory or file to search. Default all.
    path: Option<String>,
    /// Globs: `*.rs`, `src/**`.
    #[serde(default)]
    include: Vec<String>,
    /// Globs of files and directories to leave out.
    #[serde(default)]
    exclude: Vec<String>,
    /// Search ignored files too.
    #[serde(default)]
    ignored: bool,
    /// `lines` (default), `files` that have it, or `counts` per file.
    mode: Option<Mode>,
    /// Lines around each match.
    #[schemars(range(max = 20))]
    context: Option<usize>,
    /// Matches, or files. Default 200.
    #[schemars(range(min = 1, max = 2000))]
    limit: Option<usize>,
    /// Cursor of the page before.
    cursor: Option<Cursor>,
}

#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Case {
    Sensitive,
    Insensitive,
    Smart,
}

#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Mode {
    Lines,
    Files,
    Counts,
}

impl Operation for Search {
    const NAME: &'static str = "search";
    const TOOLSET: Toolset = Toolset::Build;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/build/search");
    const ALSO: &'static [Route] = &[
        Route::get("/v1/repos/{repo}/branches/{branch}/search"),
        Route::get("/v1/workspaces/{workspace}/search"),
    ];
    type Input = SearchInput;
    type Output = SearchView;

    async fn call(context: Context<'_>, input: SearchInput) -> Result<SearchView> {
        let mode = input.mode.map_or(SearchMode::Lines, SearchMode::from);
        let request = SearchRequest {
            pattern: input.pattern,
            fixed: input.fixed,
            case: input.case.map_or(SearchCase::Sensitive, SearchCase::from),
            path: input.path,
            include: input.include,
            exclude: input.exclude,
            ignored: input.ignored,
            mode,
            context: input.context.unwrap_or_default(),
            limit: input.limit.unwrap_or(DEFAULT_LIMIT),
            cursor: input.cursor,
        };
        let place = place(input.workspace, input.repo, input.branch);
        let page = context
            .services
            .files
            .search(context.caller, &place, request)
            .await?;
        Ok(SearchView {
            searched: page.searched,
            page,
            mode,
        })
    }
}

impl From<Case> for SearchCase {
    fn from(case: Case) -> Self {
        match case {
            Case::Sensitive => Self::Sensitive,
            Case::Insensitive => Self::Insensitive,
            Case::Smart => Self::Smart,
        }
    }
}

impl From<Mode> for SearchMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Lines => Self::Lines,
            Mode::Files => Self::Files,
            Mode::Counts => Self::Counts,
        }
    }
}

const DEFAULT_LIMIT: usize = 200;

/// What the notices at the end may take.
const NOTICE_BYTES: usize = 900;

/// What was found, as text.
#[derive(Serialize, JsonSchema)]
pub(super) struct SearchView {
    /// How many files were searched.
    searched: u64,
    #[serde(skip)]
    page: SearchPage,
    #[serde(skip)]
    mode: SearchMode,
}

impl Output for SearchView {
    fn into_reply(self, presentation: Presentation) -> Result<Reply> {
        let mut answer = Answer {
            text: String::new(),
            room: presentation.max_bytes.saturating_sub(NOTICE_BYTES),
            told: None,
        };
        let whole = self.page.files.iter().all(|file| answer.add(file, self.mode));
        let place = if whole {
            self.page.next.clone()
        } else {
            answer.told.clone()
        };
        let mut text = answer.text;
        if self.page.files.is_empty() {
            text.push_str("[nothing found]\n");
        }
        let next = place.as_ref().and_then(search_cursor);
        let page = &self.page;
        let _ = write!(text, "[{} files searched", page.searched);
        if page.left_out > 0 {
            let _ = write!(text, ", {} binary or unreadable left out", page.left_out);
        }
        if page.crowded {
            text.push_str(", too crowded directories not wholly");
        }
        if page.out_of_time {
            text.push_str(", stopped when time was up");
        }
        match (&place, &next) {
            (None, _) => text.push_str("]\n"),
            (Some(_), Some(next)) => {
                let _ = writeln!(text, "; more: call again with cursor={}]", next.as_str());
            }
            (Some(_), None) => text.push_str("; more: narrow `path`]\n"),
        }
        Ok(Reply::Text { text, next })
    }
}

/// Text that grows as far as there is room.
struct Answer {
    text: String,
    room: usize,
    /// The last place that was told.
    told: Option<SearchPlace>,
}

impl Answer {
    /// Adds a file; false when there is no room for all of it.
    fn add(&mut self, file: &FileMatches, mode: SearchMode) -> bool {
        match mode {
            SearchMode::Files => self.add_line(&format!("{}\n", file.path), file, None),
            SearchMode::Counts => self.add_line(&format!("{}:{}\n", file.path, file.count), file, None),
            SearchMode::Lines => {
                let mut before = None;
                for line in &file.lines {
                    let mark = if line.matches { ':' } else { '-' };
                    // As grep has it: something between what does not stand together.
                    let is_apart = before.is_some_and(|before| before + 1 < line.number);
                    let has_context = file.lines.iter().any(|line| !line.matches);
                    let gap = if is_apart && has_context { "--\n" } else { "" };
                    let cut = if line.cut { " […]" } else { "" };
                    let text = format!(
                        "{gap}{}{mark}{}{mark}{}{cut}\n",
                        file.path, line.number, line.text
                    );
                    if !self.add_line(&text, file, Some(line.number)) {
                        return false;
                    }
                    before = Some(line.number);
                }
                self.told = Some(SearchPlace {
                    path: file.path.clone(),
                    line: None,
                });
                true
            }
        }
    }

    /// Something is always told, or nobody could go on.
    fn add_line(&mut self, text: &str, file: &FileMatches, line: Option<u64>) -> bool {
        if self.told.is_some() && self.text.len() + text.len() > self.room {
            return false;
        }
        self.text.push_str(text);
        self.told = Some(SearchPlace {
            path: file.path.clone(),
            line,
        });
        true
    }
}
