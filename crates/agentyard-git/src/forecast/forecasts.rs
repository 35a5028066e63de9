//! What was found out before. Everything is known by what it was worked out from, so nothing here goes stale.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::CollidingFile;
use super::side::Side;

/// What was foreseen of two tips.
type Verdicts = Recent<(Rules, [Tip; 2]), Option<Verdict>>;

/// What a side changed between two commits.
type Sides = Recent<(Rules, [gix::ObjectId; 2]), Option<Arc<Side>>>;

/// Remembers forecasts, and what they rest upon, for all repositories. Bounded: the least recently used goes first.
pub struct Forecasts {
    verdicts: Mutex<Verdicts>,
    sides: Mutex<Sides>,
}

/// What the configuration and `info/attributes` say, in short.
pub(super) type Rules = u64;

/// A branch, with the work on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tip {
    pub(super) head: gix::ObjectId,
    pub(super) tree: gix::ObjectId,
}

/// The files that two branches would leave in conflict.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    pub(super) files: Arc<[CollidingFile]>,
    pub(super) total: usize,
}

/// How many verdicts are remembered, with each of their files counting as one more.
const MAX_VERDICTS: usize = 100_000;

/// How many changed files are remembered, at some hundred bytes each.
const MAX_CHANGES: usize = 200_000;

impl Default for Forecasts {
    fn default() -> Self {
        Self {
            verdicts: Mutex::new(Recent::new(MAX_VERDICTS)),
            sides: Mutex::new(Recent::new(MAX_CHANGES)),
        }
    }
}

impl Forecasts {
    pub(super) fn verdict(&self, rules: Rules, tips: [Tip; 2]) -> Option<Option<Verdict>> {
        lock(&self.verdicts).get(&(rules, tips))
    }

    pub(super) fn keep_verdict(&self, rules: Rules, tips: [Tip; 2], verdict: Option<Verdict>) {
        let weight = 1 + verdict.as_ref().map_or(0, |verdict| verdict.files.len());
        lock(&self.verdicts).put((rules, tips), verdict, weight);
    }

    pub(super) fn side(&self, rules: Rules, trees: [gix::ObjectId; 2]) -> Option<Option<Arc<Side>>> {
        lock(&self.sides).get(&(rules, trees))
    }

    pub(super) fn keep_side(&self, rules: Rules, trees: [gix::ObjectId; 2], side: Option<Arc<Side>>) {
        let weight = 1 + side.as_ref().map_or(0, |side| side.files.len());
        lock(&self.sides).put((rules, trees), side, weight);
    }
}

impl fmt::Debug for Forecasts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Forecasts").finish_non_exhaustive()
    }
}

/// Values by key, of which those used least recently are forgotten when all together weigh too much.
struct Recent<K, V> {
    values: HashMap<K, Kept<V>>,
    limit: usize,
    weight: usize,
    uses: u64,
}

struct Kept<V> {
    value: V,
    weight: usize,
    used: u64,
}

impl<K: Eq + Hash, V: Clone> Recent<K, V> {
    fn new(limit: usize) -> Self {
        Self {
            values: HashMap::new(),
            limit,
            weight: 0,
            uses: 0,
        }
    }

    fn get(&mut self, key: &K) -> Option<V> {
        self.uses += 1;
        let kept = self.values.get_mut(key)?;
        kept.used = self.uses;
        Some(kept.value.clone())
    }

    fn put(&mut self, key: K, value: V, weight: usize) {
        self.uses += 1;
        let kept = Kept {
            value,
            weight,
            used: self.uses,
        };
        self.weight += weight;
        if let Some(old) = self.values.insert(key, kept) {
            self.weight -= old.weight;
        }
        while self.weight > self.limit && self.values.len() > 1 {
            self.forget_older_half();
        }
    }

    /// Half at once, so that looking for what is oldest costs little for each value.
    fn forget_older_half(&mut self) {
        let mut uses: Vec<u64> = self.values.values().map(|kept| kept.used).collect();
        let middle = uses.len() / 2;
        let (_, &mut middle, _) = uses.select_nth_unstable(middle);
        self.values.retain(|_, kept| kept.used >= middle);
        self.weight = self.values.values().map(|kept| kept.weight).sum();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::Recent;

    #[test]
    fn what_was_used_least_recently_goes_first() {
        let mut recent = Recent::new(4);
        for key in 0..4 {
            recent.put(key, key, 1);
        }
        assert_eq!(recent.get(&0), Some(0));
        recent.put(4, 4, 1);
        assert_eq!(
            (recent.get(&1), recent.get(&0), recent.get(&4)),
            (None, Some(0), Some(4))
        );
        assert!(recent.weight <= 4);
    }

    #[test]
    fn a_value_that_is_put_again_weighs_once() {
        let mut recent = Recent::new(4);
        recent.put(1, 'a', 3);
        recent.put(1, 'b', 2);
        recent.put(2, 'c', 2);
        assert_eq!(
            (recent.get(&1), recent.get(&2), recent.weight),
            (Some('b'), Some('c'), 4)
        );
    }

    #[test]
    fn one_value_is_kept_however_much_it_weighs() {
        let mut recent = Recent::new(4);
        recent.put(1, 'a', 100);
        assert_eq!(recent.get(&1), Some('a'));
        recent.put(2, 'b', 1);
        assert_eq!((recent.get(&1), recent.get(&2)), (None, Some('b')));
    }
}
