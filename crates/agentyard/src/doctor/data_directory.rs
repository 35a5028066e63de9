//! The data directory: whether state can be kept.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use agentyard_sandbox::Finding;

const WHAT: &str = "data directory";
const REMEDY: &str = "pass --data-dir (AGENTYARD_DATA_DIR) with a directory that this user may write";

/// Looks at the data directory, and tells a directory beside which work would be done.
pub(crate) fn look(data_dir: &Result<&Path, String>) -> (Finding, PathBuf) {
    let path = match data_dir {
        Ok(path) => *path,
        Err(reason) => return (Finding::missing(WHAT, reason, REMEDY), std::env::temp_dir()),
    };
    let Some(existing) = path.ancestors().find(|ancestor| ancestor.exists()) else {
        let detail = format!("{} has no directory above it that exists", path.display());
        return (Finding::missing(WHAT, detail, REMEDY), std::env::temp_dir());
    };
    if let Err(error) = write_to(existing) {
        let detail = format!("{} cannot be written: {error}", existing.display());
        return (Finding::missing(WHAT, detail, REMEDY), std::env::temp_dir());
    }
    let finding = if existing == path {
        permissions(path)
    } else {
        let (path, existing) = (path.display(), existing.display());
        Finding::ok(
            WHAT,
            format!("{path} does not exist yet and can be made in {existing}"),
        )
    };
    (finding, existing.to_path_buf())
}

/// Makes a directory and takes it away: what permissions say is not all that can forbid it.
fn write_to(directory: &Path) -> io::Result<()> {
    let trial = directory.join(format!(".agentyard-doctor-{}", std::process::id()));
    fs::create_dir(&trial)?;
    fs::remove_dir(&trial)
}

fn permissions(path: &Path) -> Finding {
    const OTHERS: u32 = 0o077;
    let mode = path
        .metadata()
        .map_or(0, |metadata| metadata.permissions().mode())
        & 0o777;
    let shown = path.display();
    if mode & OTHERS == 0 {
        Finding::ok(WHAT, format!("{shown} can be written, and by nobody else"))
    } else {
        Finding::limited(
            WHAT,
            format!("{shown} can be written, and others have access to it (mode {mode:03o})"),
            format!("run `chmod 700 {shown}`"),
        )
    }
}

#[cfg(test)]
mod tests {
    use agentyard_sandbox::State;

    use super::*;

    #[test]
    fn a_directory_of_our_own_is_fine_and_an_open_one_is_told() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("yard");
        fs::create_dir(&path).unwrap();
        let state = |mode| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let (finding, work_place) = look(&Ok(&path));
            assert_eq!(work_place, path);
            (finding.state, finding.remedy)
        };
        assert_eq!(state(0o700), (State::Ok, None));
        let remedy = format!("run `chmod 700 {}`", path.display());
        assert_eq!(state(0o755), (State::Limited, Some(remedy)));
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_that_can_be_made_is_fine() {
        let parent = tempfile::tempdir().unwrap();
        let (finding, work_place) = look(&Ok(&parent.path().join("a/b")));
        assert_eq!(
            (finding.state, work_place),
            (State::Ok, parent.path().to_path_buf())
        );
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_in_its_place_or_no_directory_at_all_is_missing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(look(&Ok(file.path())).0.state, State::Missing);
        assert_eq!(look(&Err("no home".to_owned())).0.detail, "no home");
    }
}
