//! The references that hold checkpoints.

use std::path::Path;
use std::time::{Duration, Instant};

use gix::bstr::ByteSlice as _;
use gix::refs::transaction::{Change, LogChange, PreviousValue, RefEdit, RefLog};
use gix::refs::{FullName, Target};
use rustix::fs::Dir;

use super::CheckpointSeries;
use super::objects::maker;
use crate::descriptor::open_real_directory;
use crate::{Error, Repository, Work};

/// A checkpoint by its number.
pub(super) type Numbered = (u64, gix::ObjectId);

/// The newest checkpoint of a series.
///
/// Those made since the references were packed last are files of their own, and newer than the packed ones. So one
/// listing of a directory tells, mostly.
pub(super) fn newest(
    repository: &Repository,
    local: &gix::Repository,
    series: &CheckpointSeries,
) -> Result<Option<Numbered>, Error> {
    let directory = series.prefix();
    let listed = open_real_directory(
        repository.confined_common_dir().directory(),
        Path::new(directory.trim_end_matches('/')),
    )
    .and_then(Dir::new);
    let newest = listed
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| number(entry.file_name().to_bytes()))
        .max();
    match newest {
        Some(number) => match find(local, &series.reference(number))? {
            Some(id) => Ok(Some((number, id))),
            None => Ok(all(local, series)?.pop()),
        },
        None => Ok(all(local, series)?.pop()),
    }
}

/// All checkpoints of a series, oldest first.
pub(super) fn all(local: &gix::Repository, series: &CheckpointSeries) -> Result<Vec<Numbered>, Error> {
    let prefix = series.prefix();
    let references = local.references().map_err(Error::read("the references"))?;
    let references = references
        .prefixed(prefix.as_str())
        .map_err(Error::read("the references of checkpoints"))?;
    let mut found: Vec<Numbered> = references
        .flatten()
        .filter_map(|reference| {
            let name = reference.name().as_bstr();
            let number = number(name.strip_prefix(prefix.as_bytes())?)?;
            Some((number, reference.target().try_id()?.to_owned()))
        })
        .collect();
    found.sort_unstable();
    Ok(found)
}

/// What a reference points to; none when there is no such reference.
pub(super) fn find(local: &gix::Repository, reference: &str) -> Result<Option<gix::ObjectId>, Error> {
    let found = local
        .try_find_reference(reference)
        .map_err(Error::read(format!("the reference {reference}")))?;
    Ok(found.and_then(|reference| Some(reference.target().try_id()?.to_owned())))
}

/// Makes a reference. False when somebody else made it meanwhile.
pub(super) fn create(work: &Work<'_>, reference: &str, id: gix::ObjectId) -> Result<bool, Error> {
    let local = work.repository().local();
    let edit = RefEdit {
        change: Change::Update {
            log: LogChange::default(),
            expected: PreviousValue::MustNotExist,
            new: Target::Object(id),
        },
        name: full_name(reference)?,
        deref: false,
    };
    match edit_all(work, &local, vec![edit]) {
        Ok(()) => Ok(true),
        Err(error) => match find(&local, reference)? {
            Some(_) => Ok(false),
            None => Err(unwritten(reference, &error)),
        },
    }
}

/// Deletes references, each only if it is what it was.
pub(super) fn delete(
    work: &Work<'_>,
    references: impl Iterator<Item = (String, gix::ObjectId)>,
) -> Result<(), Error> {
    let edits = references.map(|(reference, id)| {
        Ok(RefEdit {
            change: Change::Delete {
                expected: PreviousValue::ExistingMustMatch(Target::Object(id)),
                log: RefLog::AndReference,
            },
            name: full_name(&reference)?,
            deref: false,
        })
    });
    let edits = edits.collect::<Result<Vec<_>, Error>>()?;
    if edits.is_empty() {
        return Ok(());
    }
    edit_all(work, &work.repository().local(), edits)
        .map_err(|error| unwritten("refs/agentyard/checkpoints", &error))
}

/// How long others may hold the packed references, which all trees of a repository share, and how often is tried.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// Makes changes, in our own name where the repository wants every one of them logged.
fn edit_all(work: &Work<'_>, local: &gix::Repository, edits: Vec<RefEdit>) -> Result<(), gix::Error> {
    let maker = maker();
    let until = Instant::now() + PATIENCE;
    loop {
        let mut time = gix::date::parse::TimeBuf::default();
        match local.edit_references_as(edits.clone(), Some(maker.to_ref(&mut time))) {
            Err(error) if error.to_string().contains("lock packed refs") && Instant::now() < until => {
                // Perhaps whoever held them has died just now.
                work.clear_shared_locks(until.saturating_duration_since(Instant::now()));
                std::thread::sleep(PAUSE);
            }
            edited => return edited.map(|_| ()),
        }
    }
}

/// The number of a checkpoint by the last part of its name.
fn number(name: &[u8]) -> Option<u64> {
    let is_number = name.len() >= 6 && name.iter().all(u8::is_ascii_digit);
    is_number.then(|| name.to_str().ok()?.parse().ok()).flatten()
}

fn full_name(reference: &str) -> Result<FullName, Error> {
    FullName::try_from(reference)
        .map_err(|_| Error::invalid(format!("the reference {reference}"), "git does not allow it"))
}

fn unwritten(reference: &str, error: &gix::Error) -> Error {
    Error::state(
        format!("the reference {reference} could not be changed: {error}"),
        "try again; when it stays so, `git_clean` with `stale_locks` tells of locks that were left behind",
    )
}
