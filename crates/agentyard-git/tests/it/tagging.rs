//! Tags are made, moved, deleted and verified.

use std::fs;

use agentyard_git::{
    Error, Git, GitPerson, GitSettings, Identity, ObjectId, Revision, SignatureKind, TagChange, TagCreation,
    TagName, TagVerification, Trust, Work,
};

use crate::support::{GO_ON, Yard, command, message};

fn name(text: &str) -> TagName {
    TagName::new(text).unwrap()
}

fn id(yard: &Yard, revision: &str) -> ObjectId {
    yard.git(&["rev-parse", revision]).trim().parse().unwrap()
}

fn tag(text: &str) -> TagCreation {
    TagCreation {
        name: name(text),
        target: None,
        message: None,
        annotated: false,
        sign: None,
        force: false,
        confirm: false,
    }
}

fn annotated(text: &str, message: &str) -> TagCreation {
    TagCreation {
        message: Some(message.to_owned()),
        ..tag(text)
    }
}

#[test]
fn tags_are_names_or_objects() {
    let yard = Yard::with_commit();
    yard.commit("second");
    let made = yard
        .work(|work| {
            work.create_tag(&TagCreation {
                target: Some(Revision::new("HEAD~1").unwrap()),
                ..tag("v1")
            })
        })
        .unwrap();
    let expected = TagChange {
        name: "v1".to_owned(),
        commit: id(&yard, "main~1"),
        annotated: false,
        signed: false,
        kept: None,
    };
    assert_eq!(made, expected);
    assert_eq!(id(&yard, "refs/tags/v1"), made.commit);

    let text = "--force\n\n# not a comment\n\tbody 'x' $(y)";
    let made = yard.work(|work| work.create_tag(&annotated("v2", text))).unwrap();
    assert!(made.annotated && !made.signed);
    assert_eq!(
        yard.git(&["for-each-ref", "--format=%(contents)", "refs/tags/v2"])
            .trim_end(),
        text
    );
    assert_eq!(id(&yard, "v2^{commit}"), id(&yard, "main"));
    // The same again is no change.
    let again = TagCreation {
        target: Some(Revision::new("HEAD~1").unwrap()),
        ..tag("v1")
    };
    assert!(yard.work(|work| work.create_tag(&again)).is_ok());
}

#[test]
fn tags_that_cannot_be_made_are_refused() {
    let yard = Yard::with_commit();
    let empty = TagCreation {
        annotated: true,
        ..tag("v1")
    };
    assert!(message(yard.work(|work| work.create_tag(&empty))).contains("without a message"));
    let sign = TagCreation {
        sign: Some(true),
        ..tag("v1")
    };
    assert!(message(yard.work(|work| work.create_tag(&sign))).contains("without a message"));
    let hostile = message(yard.work(|work| work.create_tag(&annotated("v1", "a\u{1b}[31m"))));
    assert!(hostile.contains("control characters"), "{hostile}");
    assert_eq!(yard.git(&["tag"]), "");
    let unborn = message(Yard::new().work(|work| work.create_tag(&tag("v1"))));
    assert!(unborn.contains("no commit yet"), "{unborn}");
    assert!(TagName::new("--delete").is_err());
}

#[test]
fn a_tag_is_moved_only_when_that_is_confirmed() {
    let yard = Yard::with_commit();
    yard.work(|work| work.create_tag(&annotated("v1", "first")))
        .unwrap();
    let old = id(&yard, "refs/tags/v1");
    yard.commit("second");
    let mut again = tag("v1");
    assert!(message(yard.work(|work| work.create_tag(&again))).contains("exists already"));
    again.force = true;
    assert!(message(yard.work(|work| work.create_tag(&again))).contains("would be moved"));
    assert_eq!(id(&yard, "refs/tags/v1"), old);
    again.confirm = true;
    let kept = yard.work(|work| work.create_tag(&again)).unwrap().kept.unwrap();
    assert_eq!((kept.id, id(&yard, &kept.reference)), (old, old));
    assert_eq!(id(&yard, "refs/tags/v1"), id(&yard, "main"));
}

#[test]
fn tags_are_deleted_and_kept() {
    let yard = Yard::with_commit();
    yard.work(|work| work.create_tag(&tag("light"))).unwrap();
    yard.work(|work| work.create_tag(&annotated("heavy", "words")))
        .unwrap();
    for text in ["light", "heavy"] {
        let object = id(&yard, &format!("refs/tags/{text}"));
        let refusal = message(yard.work(|work| work.delete_tag(&name(text), false)));
        assert!(refusal.contains("would be deleted"), "{refusal}");
        let deleted = yard.work(|work| work.delete_tag(&name(text), true)).unwrap();
        assert_eq!(
            (deleted.commit, deleted.annotated),
            (id(&yard, "main"), text == "heavy")
        );
        assert_eq!(id(&yard, &deleted.kept.unwrap().reference), object);
    }
    assert_eq!(yard.git(&["tag"]), "");
    let missing = message(yard.work(|work| work.delete_tag(&name("light"), true)));
    assert!(missing.contains("there is no tag"), "{missing}");
}

/// A person with an SSH key, who knows herself when `knows` is set.
fn person(yard: &Yard, knows: bool) -> Git {
    let home = yard.outside().join("home");
    fs::create_dir_all(&home).unwrap();
    let key = home.join("key");
    if !key.exists() {
        let made = command("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"])
            .arg(&key)
            .status()
            .unwrap();
        assert!(made.success());
    }
    let public = fs::read_to_string(home.join("key.pub")).unwrap();
    fs::write(home.join("signers"), format!("ada@example.org {public}")).unwrap();
    let signers = format!(
        "[gpg \"ssh\"]\n allowedSignersFile = {}\n",
        home.join("signers").display()
    );
    fs::write(
        home.join(".gitconfig"),
        format!(
            "[user]\n signingKey = {}\n[gpg]\n format = ssh\n{}",
            key.display(),
            if knows { &signers } else { "" }
        ),
    )
    .unwrap();
    Git::find(GitSettings {
        person: Some(GitPerson {
            home,
            environment: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".into())],
        }),
        identity: Identity {
            committer_name: Some("Ada".to_owned()),
            committer_email: Some("ada@example.org".to_owned()),
            ..Identity::default()
        },
        ..GitSettings::default()
    })
}

fn as_person<T>(
    yard: &Yard,
    git: &Git,
    work: impl FnOnce(&Work<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    work(&Work::new(git, &yard.open(), Trust::Untrusted, &GO_ON, &|_| {}))
}

fn signed(text: &str) -> TagCreation {
    TagCreation {
        sign: Some(true),
        ..annotated(text, "words")
    }
}

#[test]
fn signed_tags_are_made_and_verified_with_the_persons_keys() {
    let yard = Yard::with_commit();
    let git = person(&yard, true);
    assert!(
        as_person(&yard, &git, |work| work.create_tag(&signed("v1")))
            .unwrap()
            .signed
    );
    let found = as_person(&yard, &git, |work| work.verify_tag(&name("v1"))).unwrap();
    assert!(found.key.as_ref().unwrap().starts_with("SHA256:"));
    let expected = TagVerification {
        verified: true,
        kind: Some(SignatureKind::Ssh),
        signer: Some("ada@example.org".to_owned()),
        key: found.key.clone(),
        warning: None,
    };
    assert_eq!(found, expected);
}

#[test]
fn a_repository_does_not_say_whose_signatures_are_good() {
    let yard = Yard::with_commit();
    let git = person(&yard, false);
    as_person(&yard, &git, |work| work.create_tag(&signed("v1"))).unwrap();
    let signers = yard.outside().join("home/signers");
    yard.configure(&format!(
        "[gpg \"ssh\"]\n allowedSignersFile = {}",
        signers.display()
    ));
    let found = as_person(&yard, &git, |work| work.verify_tag(&name("v1"))).unwrap();
    assert!(!found.verified, "{found:?}");
    assert!(found.warning.unwrap().contains("no list of allowed signers"));

    let script = yard.outside().join("script");
    fs::write(
        &script,
        format!("#!/bin/sh\ntouch {}/pwned\n", yard.outside().display()),
    )
    .unwrap();
    yard.shell(&format!("chmod +x {}", script.display()));
    yard.configure(&format!(
        "[gpg]\n program = {0}\n[gpg \"ssh\"]\n program = {0}\n",
        script.display()
    ));
    let refusal = message(as_person(&yard, &git, |work| work.verify_tag(&name("v1"))));
    assert!(refusal.contains("agentyard trust"), "{refusal}");
    assert!(!yard.outside().join("pwned").exists());
}

#[test]
fn a_tag_that_was_changed_or_never_signed_is_not_verified() {
    let yard = Yard::with_commit();
    let git = person(&yard, true);
    as_person(&yard, &git, |work| work.create_tag(&signed("v1"))).unwrap();
    let forged = yard
        .git(&["cat-file", "tag", "v1"])
        .replace("words", "other words");
    fs::write(yard.outside().join("forged"), forged).unwrap();
    let forged = yard.outside().join("forged").display().to_string();
    let object = yard.git(&["hash-object", "-t", "tag", "-w", &forged]);
    yard.git(&["update-ref", "refs/tags/v2", object.trim()]);
    let found = as_person(&yard, &git, |work| work.verify_tag(&name("v2"))).unwrap();
    assert!(!found.verified, "{found:?}");
    assert!(found.warning.unwrap().contains("the signature is bad"));

    yard.work(|work| work.create_tag(&tag("light"))).unwrap();
    let found = yard.work(|work| work.verify_tag(&name("light"))).unwrap();
    let expected = TagVerification {
        warning: Some("the tag is not signed".to_owned()),
        ..TagVerification::default()
    };
    assert_eq!(found, expected);
}

#[test]
fn without_a_key_no_tag_is_made() {
    let yard = Yard::with_commit();
    let git = person(&yard, true);
    fs::remove_file(yard.outside().join("home/key")).unwrap();
    let refusal = message(as_person(&yard, &git, |work| work.create_tag(&signed("v1"))));
    assert!(refusal.contains("could not be signed"), "{refusal}");
    assert_eq!(yard.git(&["tag"]), "");
}
