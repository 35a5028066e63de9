//! Files that both sides changed, merged line by line in memory.

use gix::bstr::BStr;
use gix::diff::blob::{Algorithm, InternedInput};
use gix::merge::blob::Resolution;
use gix::merge::blob::builtin_driver::text;

use super::drivers::{Driver, Drivers};
use super::judge::MergeContents;
use crate::Error;

/// What comes of merging two versions of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Merged,
    Conflict,
    /// It is not text, or not to be merged as such, or too large, or not here.
    Unmergeable,
}

/// Larger files are not merged. Few people write more by hand.
pub(crate) const MAX_MERGED_FILE: u64 = 4 << 20;

/// Merges files of one merge, as the attributes of our side ask.
pub(super) struct Contents<'a, 'repo> {
    pub(super) local: &'repo gix::Repository,
    pub(super) drivers: &'a mut Drivers<'repo>,
    pub(super) our_tree: gix::ObjectId,
}

impl MergeContents for Contents<'_, '_> {
    fn merge(
        &mut self,
        path: &BStr,
        base: Option<gix::ObjectId>,
        [ours, theirs]: [gix::ObjectId; 2],
    ) -> Result<Content, Error> {
        let driver = self.drivers.of(self.our_tree, path)?;
        if driver == Driver::Binary {
            return Ok(Content::Unmergeable);
        }
        let base = match base {
            None => Some(Vec::new()),
            Some(base) => self.text(base),
        };
        let (Some(base), Some(ours), Some(theirs)) = (base, self.text(ours), self.text(theirs)) else {
            return Ok(Content::Unmergeable);
        };
        if driver == Driver::Union {
            return Ok(Content::Merged);
        }
        Ok(merge_lines(&base, &ours, &theirs))
    }
}

impl Contents<'_, '_> {
    /// The content of a file, if it is text that can be merged. One that is not here, as in a partial clone, cannot.
    fn text(&self, id: gix::ObjectId) -> Option<Vec<u8>> {
        if id.is_empty_blob() {
            return Some(Vec::new());
        }
        let header = self.local.find_header(id).ok()?;
        if header.size() > MAX_MERGED_FILE {
            return None;
        }
        let data = self.local.find_blob(id).ok()?.take_data();
        (!is_binary(&data)).then_some(data)
    }
}

fn merge_lines(base: &[u8], ours: &[u8], theirs: &[u8]) -> Content {
    let mut input = InternedInput::new(&[][..], &[][..]);
    // Nobody reads what is merged, but how it would come out is told by merging it.
    let mut merged = Vec::new();
    let merge = text::Merge::new(&mut input, ours, base, theirs, Algorithm::Histogram);
    let resolution = merge.run(&mut merged, text::Labels::default(), text::Conflict::default());
    match resolution {
        Resolution::Conflict => Content::Conflict,
        Resolution::Complete | Resolution::CompleteWithAutoResolvedConflict => Content::Merged,
    }
}

/// git's own test.
fn is_binary(data: &[u8]) -> bool {
    data.iter().take(8000).any(|byte| *byte == 0)
}
