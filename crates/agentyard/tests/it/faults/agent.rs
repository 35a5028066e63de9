//! An agent that works in one workspace, and remembers all that it was told is done.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};

use super::model::{FILES, State, file};
use super::random::Random;
use super::yard::{Answer, Lost, Yard, call, git};

/// Why a call did not do what it was to do.
enum Stop {
    /// The server was killed.
    Lost,
    /// The workspace was closed, for another one.
    Closed,
}

impl From<Lost> for Stop {
    fn from(_: Lost) -> Self {
        Self::Lost
    }
}

pub(super) struct Agent<'yard> {
    yard: &'yard Yard,
    branch: String,
    random: Random,
    /// How many commits others made at the remote.
    others: &'yard Mutex<usize>,
    workspace: Option<String>,
    path: PathBuf,
    state: State,
    /// What the state is instead if the call that was in flight has come to its end.
    doubt: Option<State>,
    /// Where the state is kept, if the tree is not known to have it.
    kept: Option<String>,
    /// The commits that are at the remote, and those that may be, if a push was in flight.
    pushed: Vec<String>,
    doubtful_push: Option<Vec<String>>,
    /// What the tree was at each checkpoint.
    checkpoints: Vec<(u64, State)>,
    /// What it was before the last change.
    before: Option<State>,
    /// The subject of every commit that was ever acknowledged.
    committed: Vec<String>,
    texts: usize,
    /// The last calls and what came of them, for whoever has to find out what went wrong.
    diary: RefCell<VecDeque<String>>,
}

impl<'yard> Agent<'yard> {
    pub(super) fn new(yard: &'yard Yard, others: &'yard Mutex<usize>, branch: String, seed: u64) -> Self {
        Self {
            yard,
            branch,
            random: Random::new(seed),
            others,
            workspace: None,
            path: PathBuf::new(),
            state: State::default(),
            doubt: None,
            kept: None,
            pushed: Vec::new(),
            doubtful_push: None,
            checkpoints: Vec::new(),
            before: None,
            committed: Vec::new(),
            texts: 0,
            diary: RefCell::default(),
        }
    }

    pub(super) fn committed(&self) -> &[String] {
        &self.committed
    }

    /// Works until the server is gone.
    pub(super) fn work(&mut self, address: &str) {
        loop {
            match self.step(address) {
                Ok(()) => {}
                Err(Stop::Closed) => {
                    self.workspace = None;
                    self.doubt = None;
                    self.doubtful_push = None;
                    // What comes next is not the last change any more.
                    self.before = None;
                }
                Err(Stop::Lost) => return,
            }
        }
    }

    /// After a restart: everything that was acknowledged is there, and what was in flight is done or not begun.
    pub(super) fn verify(&mut self, address: &str) {
        self.workspace = None;
        self.enter(address).ok().expect("nobody kills this server");
        let seen = State::seen(&self.path, &self.branch);
        let known = [Some(&self.state), self.doubt.as_ref()];
        assert!(
            known.iter().flatten().any(|state| state.is(&seen)),
            "{} is\n{seen:#?}\nand should be\n{:#?}\nor {:#?}\n{}",
            self.branch,
            self.state,
            self.doubt,
            self.told()
        );
        self.state = seen;
        self.doubt = None;
        self.before = None;
        let remote = self.commits_at_remote();
        let doubtful = self.doubtful_push.take();
        assert!(
            remote == self.pushed || Some(&remote) == doubtful.as_ref(),
            "{} at the remote is {remote:?} and should be {:?} or {doubtful:?}",
            self.branch,
            self.pushed
        );
        self.pushed = remote;
    }

    pub(super) fn close(&mut self, address: &str) {
        let path = format!("/workspaces/{}", self.workspace.take().unwrap());
        let closed = call(address, "DELETE", &path, &Value::Null).unwrap();
        let closed = closed.done("workspace_close");
        assert_eq!(closed["kept"].is_string(), self.state.has_unsaved(), "{closed}");
    }

    fn commits_at_remote(&self) -> Vec<String> {
        let remote = self.yard.remote();
        let reference = format!("refs/heads/{}", self.branch);
        if git(&remote, &["for-each-ref", &reference]).is_empty() {
            return Vec::new();
        }
        let log = git(
            &remote,
            &["log", "--first-parent", "--reverse", "--format=%s", &reference],
        );
        let own = log.lines().filter(|subject| subject.starts_with(&self.branch));
        own.map(ToOwned::to_owned).collect()
    }

    /// Opens the workspace. If it was closed meanwhile, brings back what was kept.
    fn enter(&mut self, address: &str) -> Result<(), Stop> {
        loop {
            let request = json!({ "repo": "project", "branch": self.branch });
            let answer = self.ask(address, "POST", "/workspaces", &request)?;
            if answer.body.to_string().contains("all are in use") {
                // Others are just opening theirs.
                std::thread::sleep(Duration::from_millis(5));
                continue;
            }
            let opened = answer.done("workspace_open");
            self.workspace = opened["workspace"].as_str().map(ToOwned::to_owned);
            self.path = PathBuf::from(opened["path"].as_str().unwrap());
            if let Some(kept) = opened["kept"].as_str() {
                self.kept = Some(kept.to_owned());
            } else if opened["reused"] != true && self.kept.is_none() {
                let states = [Some(&self.state), self.doubt.as_ref()];
                assert!(
                    states.into_iter().flatten().any(|state| !state.has_unsaved()),
                    "{}: unsaved work was not kept: {:#?}\n{}",
                    self.branch,
                    self.state,
                    self.told()
                );
            }
            let Some(kept) = self.kept.clone() else {
                return Ok(());
            };
            match self.call(address, "POST", "undo", json!({ "to": kept })) {
                Ok(_) => {
                    self.kept = None;
                    return Ok(());
                }
                Err(Stop::Closed) => {}
                Err(lost) => return Err(lost),
            }
        }
    }

    /// A call of an operation on the workspace itself.
    fn call(&self, address: &str, method: &str, operation: &str, body: Value) -> Result<Value, Stop> {
        let workspace = self.workspace.as_deref().unwrap();
        let path = match operation {
            "" => format!("/workspaces/{workspace}"),
            _ => format!("/workspaces/{workspace}/{operation}"),
        };
        self.request(address, method, &path, body)
    }

    /// A call of a git tool.
    fn git(&self, address: &str, tool: &str, mut body: Value) -> Result<Value, Stop> {
        body["path"] = json!(self.workspace);
        self.request(address, "POST", &format!("/git/{tool}"), body)
    }

    fn ask(&self, address: &str, method: &str, path: &str, body: &Value) -> Result<Answer, Lost> {
        let answer = call(address, method, path, body);
        let mut diary = self.diary.borrow_mut();
        diary.push_back(format!("{method} {path} {body}: {answer:?}"));
        if diary.len() > 12 {
            diary.pop_front();
        }
        answer
    }

    /// What to tell when something is wrong.
    fn told(&self) -> String {
        let diary: Vec<String> = self.diary.borrow().iter().cloned().collect();
        format!("{}\n{}", diary.join("\n"), self.yard.log())
    }

    fn request(&self, address: &str, method: &str, path: &str, body: Value) -> Result<Value, Stop> {
        let answer = self.ask(address, method, path, &body)?;
        if answer.status < 300 {
            return Ok(answer.body);
        }
        let text = answer.body.to_string();
        let closed = [
            "is closed",
            "closed meanwhile",
            "closed at this moment",
            "just now",
        ];
        assert!(
            closed.iter().any(|words| text.contains(words)),
            "{} {method} {path} {body}: {answer:?}\n{}",
            self.branch,
            self.told()
        );
        Err(Stop::Closed)
    }

    /// One thing that agents do.
    fn step(&mut self, address: &str) -> Result<(), Stop> {
        if self.workspace.is_none() || self.kept.is_some() {
            self.enter(address)?;
        }
        match self.random.below(100) {
            0..28 => self.write(address),
            28..44 => self.edit(address),
            44..58 => self.add(address),
            58..74 => self.commit(address),
            74..82 => self.push(address),
            82..90 => self.sync(address),
            90..97 => self.undo(address),
            _ => {
                let closed = self.call(address, "DELETE", "", Value::Null)?;
                assert_eq!(closed["kept"].is_string(), self.state.has_unsaved(), "{closed}");
                Err(Stop::Closed)
            }
        }
    }

    fn text(&mut self) -> String {
        self.texts += 1;
        format!("{} {}\n", self.branch, self.texts)
    }

    fn write(&mut self, address: &str) -> Result<(), Stop> {
        let (path, content) = (file(self.random.below(FILES)), self.text());
        let mut after = self.state.clone();
        after.tree.insert(path.clone(), content.clone());
        self.change(after, |agent| {
            let body = json!({ "path": path, "content": content, "overwrite": true });
            agent.call(address, "PUT", "write_file", body)
        })?;
        self.note_checkpoint(address)
    }

    fn edit(&mut self, address: &str) -> Result<(), Stop> {
        let path = file(self.random.below(FILES));
        let Some(old) = self.state.tree.get(&path).cloned() else {
            return self.write(address);
        };
        let new = self.text();
        let mut after = self.state.clone();
        after.tree.insert(path.clone(), new.clone());
        self.change(after, |agent| {
            let body = json!({ "path": path, "edits": [{ "old": old, "new": new }] });
            agent.call(address, "POST", "edit_file", body)
        })?;
        self.note_checkpoint(address)
    }

    fn add(&mut self, address: &str) -> Result<(), Stop> {
        let mut after = self.state.clone();
        after.index = after.tree.clone();
        self.change(after, |agent| agent.git(address, "add", json!({ "all": true })))?;
        self.note_checkpoint(address)
    }

    fn commit(&mut self, address: &str) -> Result<(), Stop> {
        let mut after = self.state.clone();
        let mut staged = Vec::new();
        if let Some((path, content)) = after
            .tree
            .iter()
            .find(|(path, text)| after.index.get(*path) != Some(text))
        {
            staged.push(path.clone());
            after.index.insert(path.clone(), content.clone());
        }
        if after.index == after.head {
            return Ok(());
        }
        after.head = after.index.clone();
        let subject = self.text().trim().to_owned();
        after.commits.push(subject.clone());
        self.change(after, |agent| {
            agent.git(
                address,
                "commit",
                json!({ "message": subject, "files_to_stage": staged }),
            )
        })?;
        self.committed.push(subject);
        self.note_checkpoint(address)
    }

    fn push(&mut self, address: &str) -> Result<(), Stop> {
        // What was pushed is not taken back: then pushing again would mean to solve conflicts.
        self.checkpoints.clear();
        self.before = None;
        self.doubtful_push = Some(self.state.commits.clone());
        let pushed = self.git(address, "push", json!({}))?;
        assert!(pushed["conflicts"].is_null(), "{pushed}");
        self.pushed = self.doubtful_push.take().unwrap();
        Ok(())
    }

    fn sync(&mut self, address: &str) -> Result<(), Stop> {
        let arrived = {
            let mut others = self.others.lock().unwrap();
            *others += 1;
            self.yard.commit_at_remote(*others);
            *others + 1
        };
        let strategy = if self.pushed.is_empty() { "rebase" } else { "merge" };
        self.before = None;
        let synced = self.call(
            address,
            "POST",
            "sync",
            json!({ "with": "main", "strategy": strategy }),
        )?;
        assert_ne!(synced["result"], "conflicts", "{synced}");
        self.state.others = arrived;
        Ok(())
    }

    fn undo(&mut self, address: &str) -> Result<(), Stop> {
        let (after, body) = match self.before.take() {
            Some(before) => (before, json!({})),
            None if self.checkpoints.is_empty() => return Ok(()),
            None => {
                let (number, state) = &self.checkpoints[self.random.below(self.checkpoints.len())];
                (state.clone(), json!({ "to": number }))
            }
        };
        self.change(after, |agent| agent.call(address, "POST", "undo", body))?;
        self.before = None;
        Ok(())
    }

    /// A call that changes the state, if it comes to its end.
    fn change(
        &mut self,
        after: State,
        request: impl FnOnce(&Self) -> Result<Value, Stop>,
    ) -> Result<(), Stop> {
        self.doubt = Some(after);
        request(self)?;
        let after = self.doubt.take().unwrap();
        let before = std::mem::replace(&mut self.state, after);
        self.before = Some(before).filter(|before| !before.is(&self.state));
        Ok(())
    }

    /// Remembers, now and then, which checkpoint is the present state.
    fn note_checkpoint(&mut self, address: &str) -> Result<(), Stop> {
        if self.random.below(3) > 0 {
            return Ok(());
        }
        let listed = self.call(address, "GET", "checkpoints?limit=1", Value::Null)?;
        let number = listed["checkpoints"][0]["number"].as_u64().unwrap();
        self.checkpoints.push((number, self.state.clone()));
        if self.checkpoints.len() > 10 {
            self.checkpoints.remove(0);
        }
        Ok(())
    }
}
