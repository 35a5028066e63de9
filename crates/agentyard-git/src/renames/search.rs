//! The search for files under another name.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::AtomicBool;

use gix::bstr::{BStr, ByteSlice as _};

use super::measures::Measures;
use super::similarity::{MAX_SCORE, MIN_SCORE};
use super::{File, Moves, is_regular};
use crate::Error;
use crate::error::check_cancelled;

/// How many sources are remembered for each destination in the last step.
const CANDIDATES: usize = 4;

/// How many equal sources are considered for one destination.
const MAX_EQUAL: usize = 100;

/// A basename match must be this good, halfway between similar and equal.
const MIN_BASENAME_SCORE: u64 = MIN_SCORE + (MAX_SCORE - MIN_SCORE) / 2;

/// Deleted and added files, and which of them belong together.
pub(super) struct Search<'a> {
    cancel: &'a AtomicBool,
    copies: bool,
    sources: Vec<Source>,
    destinations: Vec<File>,
    /// The source of each destination.
    origins: Vec<Option<usize>>,
    measures: Measures<'a>,
}

struct Source {
    file: File,
    /// How many destinations take it for their origin. A file that stays counts as one.
    uses: usize,
    is_deleted: bool,
}

/// A source and a destination, and how well they fit: by content, then by name.
#[derive(Clone, Copy)]
struct Pair {
    fit: (u64, bool),
    source: usize,
    destination: usize,
}

impl Source {
    fn deleted(file: File) -> Self {
        Self {
            file,
            uses: 0,
            is_deleted: true,
        }
    }

    fn kept(file: File) -> Self {
        Self {
            file,
            uses: 1,
            is_deleted: false,
        }
    }
}

impl<'a> Search<'a> {
    pub(super) fn new(
        local: &'a gix::Repository,
        deleted: Vec<File>,
        mut added: Vec<File>,
        kept: Vec<File>,
        copies: bool,
        cancel: &'a AtomicBool,
    ) -> Self {
        let deleted = deleted.into_iter().map(Source::deleted);
        let mut sources: Vec<Source> = deleted.chain(kept.into_iter().map(Source::kept)).collect();
        // The order in which git comes upon them decides between equals.
        sources.sort_unstable_by(|one, other| one.file.cmp(&other.file));
        added.sort_unstable();
        Self {
            cancel,
            copies,
            sources,
            origins: vec![None; added.len()],
            destinations: added,
            measures: Measures::new(local),
        }
    }

    /// Equal content: best of all with the same name, in another directory.
    pub(super) fn pair_equal(&mut self) {
        let mut by_content: HashMap<gix::ObjectId, VecDeque<usize>> = HashMap::new();
        for (at, source) in self.sources.iter().enumerate() {
            by_content.entry(source.file.id).or_default().push_back(at);
        }
        for destination in 0..self.destinations.len() {
            let Some(equal) = by_content.get_mut(&self.destinations[destination].id) else {
                continue;
            };
            let mut best: Option<(usize, usize, usize)> = None;
            for (position, &source) in equal.iter().enumerate().take(MAX_EQUAL) {
                let of_source = &self.sources[source];
                if !may_be_equal(&of_source.file, &self.destinations[destination]) {
                    continue;
                }
                let score =
                    usize::from(of_source.uses == 0) + usize::from(self.has_same_name(source, destination));
                if best.is_none_or(|(best, ..)| score > best) {
                    best = Some((score, position, source));
                }
            }
            if let Some((_, position, source)) = best {
                self.pair(source, destination);
                if !self.copies {
                    equal.remove(position);
                }
            }
        }
    }

    /// A name that only one source and only one destination has.
    pub(super) fn pair_by_basename(&mut self) -> Result<(), Error> {
        let destinations = unique_names(self.unpaired().map(|at| (at, &self.destinations[at])));
        let sources = unique_names(self.unused().map(|at| (at, &self.sources[at].file)));
        let mut pairs: Vec<(usize, usize)> = sources
            .iter()
            .filter_map(|(name, source)| Some(((*source)?, (*destinations.get(name)?)?)))
            .collect();
        pairs.sort_unstable();
        for (source, destination) in pairs {
            if self.score(source, destination)? >= MIN_BASENAME_SCORE {
                self.pair(source, destination);
            }
        }
        Ok(())
    }

    /// The most similar pairs of those that remain.
    pub(super) fn pair_similar(&mut self, limit: usize) -> Result<(), Error> {
        let destinations: Vec<usize> = self.unpaired().collect();
        let sources: Vec<usize> = (0..self.sources.len())
            .filter(|&at| self.copies || self.sources[at].uses == 0)
            .collect();
        if destinations.len().saturating_mul(sources.len()) > limit * limit {
            return Ok(());
        }
        let mut pairs: Vec<Pair> = Vec::new();
        for destination in destinations {
            let mut candidates = [None; CANDIDATES];
            for &source in &sources {
                let fit = (
                    self.score(source, destination)?,
                    self.has_same_name(source, destination),
                );
                remember(
                    &mut candidates,
                    Pair {
                        fit,
                        source,
                        destination,
                    },
                );
            }
            pairs.extend(candidates.into_iter().flatten());
        }
        pairs.retain(|pair| pair.fit.0 >= MIN_SCORE);
        pairs.sort_by_key(|pair| Reverse(pair.fit));
        // First every source once; then, among copies, as often as it fits.
        for again in [false, true] {
            for pair in &pairs {
                let is_free = self.sources[pair.source].uses == 0 || (again && self.copies);
                if self.origins[pair.destination].is_none() && is_free {
                    self.pair(pair.source, pair.destination);
                }
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Moves {
        let mut moves = Moves::default();
        for (destination, origin) in self.destinations.into_iter().zip(self.origins) {
            let Some(origin) = origin else {
                moves.added.push(destination.path);
                continue;
            };
            let source = &mut self.sources[origin];
            source.uses -= 1;
            let pair = (destination.path, source.file.path.clone());
            // The last to use a deleted file took it away; the others copied it.
            if source.uses > 0 {
                moves.copied.push(pair);
            } else {
                moves.renamed.push(pair);
                source.is_deleted = false;
            }
        }
        let left_over = self.sources.into_iter().filter(|source| source.is_deleted);
        moves.deleted = left_over.map(|source| source.file.path).collect();
        moves
    }

    fn pair(&mut self, source: usize, destination: usize) {
        self.sources[source].uses += 1;
        self.origins[destination] = Some(source);
    }

    fn unpaired(&self) -> impl Iterator<Item = usize> {
        (0..self.destinations.len()).filter(|&at| self.origins[at].is_none())
    }

    fn unused(&self) -> impl Iterator<Item = usize> {
        (0..self.sources.len()).filter(|&at| self.sources[at].uses == 0)
    }

    fn has_same_name(&self, source: usize, destination: usize) -> bool {
        basename(&self.sources[source].file) == basename(&self.destinations[destination])
    }

    fn score(&mut self, source: usize, destination: usize) -> Result<u64, Error> {
        check_cancelled(self.cancel)?;
        let (source, destination) = (&self.sources[source].file, &self.destinations[destination]);
        if !is_regular(source.kind) || !is_regular(destination.kind) {
            return Ok(0);
        }
        Ok(self.measures.score(source.id, destination.id))
    }
}

/// Files of equal content can stand for each other, links and submodules only for their like.
fn may_be_equal(one: &File, other: &File) -> bool {
    one.kind == other.kind || is_regular(one.kind) && is_regular(other.kind)
}

/// Puts a pair in the place of the worst one, if it is better; among equals the one that came first stays.
fn remember(candidates: &mut [Option<Pair>; CANDIDATES], pair: Pair) {
    let fit = |candidate: &Option<Pair>| candidate.map(|pair| pair.fit);
    let Some(worst) = (0..CANDIDATES).min_by_key(|&at| fit(&candidates[at])) else {
        return;
    };
    if fit(&candidates[worst]) < Some(pair.fit) {
        candidates[worst] = Some(pair);
    }
}

/// Names without their directories, and the only file of that name.
fn unique_names<'a>(files: impl Iterator<Item = (usize, &'a File)>) -> HashMap<&'a BStr, Option<usize>> {
    let mut names = HashMap::new();
    for (at, file) in files {
        names
            .entry(basename(file))
            .and_modify(|unique| *unique = None)
            .or_insert(Some(at));
    }
    names
}

fn basename(file: &File) -> &BStr {
    let start = file.path.rfind_byte(b'/').map_or(0, |slash| slash + 1);
    file.path[start..].as_bstr()
}
