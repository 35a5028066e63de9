use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn names_in(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap();
    names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn a_file_is_made_with_the_directories_above_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/b/settings.json");
    let replaced = edit(&path, true, |text| Ok(format!("{text}x"))).unwrap();
    assert_eq!(replaced, Replaced::Created);
    assert_eq!(
        (fs::read_to_string(&path).unwrap().as_str(), mode(&path)),
        ("x", 0o600)
    );
    assert_eq!(names_in(path.parent().unwrap()), ["settings.json"]);
}

#[test]
fn a_file_keeps_its_permissions() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("settings.json");
    fs::write(&path, "a").unwrap();
    for bits in [0o640, 0o600, 0o644] {
        fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
        let replaced = edit(&path, true, |text| Ok(format!("{text}b"))).unwrap();
        assert_eq!((replaced, mode(&path)), (Replaced::Changed, bits));
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "abbb");
}

#[test]
fn a_file_that_says_it_already_is_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("settings.json");
    fs::write(&path, "a").unwrap();
    let inode = fs::metadata(&path).unwrap().ino();
    assert_eq!(
        edit(&path, true, |text| Ok(text.to_owned())).unwrap(),
        Replaced::Unchanged
    );
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
}

#[test]
fn the_file_behind_a_link_is_changed_and_the_link_stays() {
    let directory = tempfile::tempdir().unwrap();
    let (file, link) = (
        directory.path().join("dotfiles.json"),
        directory.path().join("settings.json"),
    );
    fs::write(&file, "a").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    edit(&link, true, |_| Ok("b".to_owned())).unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&file).unwrap(), "b");
    fs::remove_file(&file).unwrap();
    let error = edit(&link, true, |_| Ok("b".to_owned())).unwrap_err();
    assert!(matches!(error, ClientError::Unreadable { .. }), "{error}");
}

#[test]
fn what_another_program_writes_meanwhile_is_not_lost() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("settings.json");
    fs::write(&path, "a").unwrap();
    let error = edit(&path, true, |_| {
        fs::write(&path, "theirs").unwrap();
        Ok("ours".to_owned())
    });
    assert!(matches!(error, Err(ClientError::Changed { .. })), "{error:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
    assert_eq!(names_in(directory.path()), ["settings.json"]);
}

#[test]
fn a_refusal_leaves_everything_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("settings.json");
    fs::write(&path, [0xff, 0xfe]).unwrap();
    let error = edit(&path, true, |text| Ok(text.to_owned())).unwrap_err();
    assert!(matches!(error, ClientError::Unreadable { .. }), "{error}");
    fs::write(&path, "a").unwrap();
    assert!(edit(&path, true, |_| Err(ClientError::NoHome)).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "a");
    assert_eq!(names_in(directory.path()), ["settings.json"]);
}
