//! Many merges, foreseen on all processors.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use gix::odb::memory::Storage;

use super::bases::{Bases, tree_of};
use super::contents::Contents;
use super::drivers::Drivers;
use super::forecasts::{Rules, Tip, Verdict};
use super::judge::{Judgement, judge};
use super::side::Side;
use super::{CollidingFile, Contender, Forecasts, MAX_COLLIDING_FILES};
use crate::error::check_cancelled;
use crate::status::info_file;
use crate::{Error, ObjectId, Repository, display_path};

/// Whose merge is to be foreseen.
#[derive(Clone, Copy)]
pub(super) struct Match {
    /// The numbers of the contenders; none for the target.
    pub(super) names: (usize, Option<usize>),
    pub(super) tips: [Tip; 2],
}

/// Foresees merges in one repository.
pub(super) struct Workers<'a> {
    repository: &'a Repository,
    forecasts: &'a Forecasts,
    contenders: &'a [Contender],
    rules: Rules,
    cancel: &'a AtomicBool,
}

/// A contender and its target.
pub(super) struct Numbered {
    pub(super) number: usize,
    pub(super) tip: Tip,
    pub(super) target: Option<Tip>,
}

/// Those that can be read, and the numbers of those that cannot.
type Tips = (Vec<Numbered>, Vec<usize>);

/// Fewer merges are not worth a thread.
const MATCHES_PER_THREAD: usize = 16;

/// Enough for what one answer may take of a machine.
const MAX_THREADS: usize = 8;

/// Trees are read again and again.
const OBJECT_CACHE: usize = 16 << 20;

impl<'a> Workers<'a> {
    pub(super) fn new(
        repository: &'a Repository,
        forecasts: &'a Forecasts,
        contenders: &'a [Contender],
        cancel: &'a AtomicBool,
    ) -> Self {
        let mut hasher = DefaultHasher::new();
        repository.configuration().hash(&mut hasher);
        info_file(repository, "attributes").hash(&mut hasher);
        Self {
            repository,
            forecasts,
            contenders,
            rules: hasher.finish(),
            cancel,
        }
    }

    pub(super) fn tips(&self) -> Result<Tips, Error> {
        let local = self.local();
        let (mut tips, mut unreadable) = (Vec::new(), Vec::new());
        for (number, contender) in self.contenders.iter().enumerate() {
            check_cancelled(self.cancel)?;
            match tips_of(&local, contender) {
                Ok((tip, target)) => tips.push(Numbered { number, tip, target }),
                Err(_) => unreadable.push(number),
            }
        }
        Ok((tips, unreadable))
    }

    /// A handle for one thread that knows the work which nobody committed, and writes to memory.
    fn local(&self) -> gix::Repository {
        let mut local = self.repository.local().with_object_memory();
        let mut objects = Storage::default();
        for work in self
            .contenders
            .iter()
            .filter_map(|contender| contender.work.as_ref())
        {
            let work = work.objects.iter().map(|(id, object)| (*id, object.clone()));
            objects.extend(work);
        }
        local.objects.set_object_memory(objects);
        local.object_cache_size(OBJECT_CACHE);
        local
    }

    /// Each match with its verdict; none where one side changed too much.
    pub(super) fn run<'m>(
        &self,
        matches: &'m [Match],
    ) -> Result<impl Iterator<Item = (&'m Match, Option<Verdict>)> + use<'m>, Error> {
        let mut verdicts: Vec<Option<Option<Verdict>>> = Vec::with_capacity(matches.len());
        let mut pending = Vec::new();
        for (at, found) in matches.iter().enumerate() {
            let verdict = self.forecasts.verdict(self.rules, found.tips);
            if verdict.is_none() {
                pending.push((at, found));
            }
            verdicts.push(verdict);
        }
        for (at, verdict) in self.foresee(&pending)? {
            verdicts[at] = Some(verdict);
        }
        Ok(matches.iter().zip(verdicts.into_iter().map(Option::flatten)))
    }

    fn foresee(&self, pending: &[(usize, &Match)]) -> Result<Vec<(usize, Option<Verdict>)>, Error> {
        let next = AtomicUsize::new(0);
        let processors = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(MAX_THREADS);
        let threads = processors.min(pending.len().div_ceil(MATCHES_PER_THREAD));
        if threads <= 1 {
            return self.work(pending, &next);
        }
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|_| scope.spawn(|| self.work(pending, &next)))
                .collect();
            let mut all = Vec::with_capacity(pending.len());
            for worker in workers {
                match worker.join() {
                    Ok(found) => all.extend(found?),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok(all)
        })
    }

    /// Takes one match after the other until none is left.
    fn work(
        &self,
        pending: &[(usize, &Match)],
        next: &AtomicUsize,
    ) -> Result<Vec<(usize, Option<Verdict>)>, Error> {
        let mut done = Vec::new();
        if pending.is_empty() {
            return Ok(done);
        }
        let local = self.local();
        let is_shallow = local.shallow_commits().ok().flatten().is_some();
        // As everywhere: the file knows nothing of grafts, and one that cannot be read is no loss.
        let commit_graph = if is_shallow {
            None
        } else {
            local.commit_graph_if_enabled().ok().flatten()
        };
        let mut worker = Worker {
            of: self,
            local: &local,
            bases: Bases::new(&local, commit_graph.as_ref()),
            known_bases: HashMap::new(),
            drivers: Drivers::new(self.repository, &local),
        };
        while let Some((at, found)) = pending.get(next.fetch_add(1, Ordering::Relaxed)) {
            check_cancelled(self.cancel)?;
            let verdict = worker.foresee(found.tips)?;
            self.forecasts
                .keep_verdict(self.rules, found.tips, verdict.clone());
            done.push((*at, verdict));
        }
        Ok(done)
    }
}

/// One thread.
struct Worker<'a, 'repo, 'cache> {
    of: &'a Workers<'a>,
    local: &'repo gix::Repository,
    bases: Bases<'repo, 'cache>,
    known_bases: HashMap<[gix::ObjectId; 2], gix::ObjectId>,
    drivers: Drivers<'repo>,
}

impl Worker<'_, '_, '_> {
    fn foresee(&mut self, tips: [Tip; 2]) -> Result<Option<Verdict>, Error> {
        let [ours, theirs] = tips;
        if ours.tree == theirs.tree {
            return Ok(Some(Verdict::of(Judgement::new())));
        }
        let base = self.base([ours.head, theirs.head])?;
        if base == ours.tree || base == theirs.tree {
            return Ok(Some(Verdict::of(Judgement::new())));
        }
        let (Some(our_side), Some(their_side)) = (self.side(base, ours.tree)?, self.side(base, theirs.tree)?)
        else {
            return Ok(None);
        };
        if !our_side.may_collide_with(&their_side) {
            return Ok(Some(Verdict::of(Judgement::new())));
        }
        let mut contents = Contents {
            local: self.local,
            drivers: &mut self.drivers,
            our_tree: ours.tree,
        };
        let judgement = judge([&our_side, &their_side], &mut contents)?;
        Ok(Some(Verdict::of(judgement)))
    }

    fn base(&mut self, heads: [gix::ObjectId; 2]) -> Result<gix::ObjectId, Error> {
        if let Some(base) = self.known_bases.get(&heads) {
            return Ok(*base);
        }
        let base = self.bases.of(heads[0], heads[1])?;
        self.known_bases.insert(heads, base);
        Ok(base)
    }

    fn side(&mut self, base: gix::ObjectId, tip: gix::ObjectId) -> Result<Option<Arc<Side>>, Error> {
        let Workers {
            forecasts,
            rules,
            cancel,
            ..
        } = self.of;
        if let Some(side) = forecasts.side(*rules, [base, tip]) {
            return Ok(side);
        }
        let side = Side::new(self.local, base, tip, cancel)?.map(Arc::new);
        forecasts.keep_side(*rules, [base, tip], side.clone());
        Ok(side)
    }
}

/// What a contender and its target stand for.
fn tips_of(local: &gix::Repository, contender: &Contender) -> Result<(Tip, Option<Tip>), Error> {
    let committed = |commit: ObjectId| {
        let head = commit.into();
        let tree = tree_of(local, head)?;
        Ok(Tip { head, tree })
    };
    let mut tip = committed(contender.head)?;
    if let Some(work) = &contender.work {
        tip.tree = work.tree.into();
    }
    let tree = tip.tree;
    local
        .find_tree(tree)
        .map_err(Error::read(format!("tree {tree}")))?;
    Ok((tip, contender.target.map(committed).transpose()?))
}

impl Verdict {
    fn of(judgement: Judgement) -> Self {
        let total = judgement.len();
        let files = judgement.into_iter().take(MAX_COLLIDING_FILES);
        let files = files.map(|(path, kind)| CollidingFile {
            path: display_path(path.as_ref()),
            kind,
        });
        Self {
            files: files.collect(),
            total,
        }
    }
}
