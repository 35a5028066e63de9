//! Sealing secrets: AES-256-GCM under one key, which is never in the database.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use agentyard_model::{Secret, SecretName, TenantId};
use aws_lc_rs::aead::{AES_256_GCM, Aad, Nonce, RandomizedNonceKey};
use aws_lc_rs::hmac;

use crate::{Error, Result, StoreSettings};

/// The key's file in the data directory.
const FILE_NAME: &str = "secret.key";

const KEY_BYTES: usize = 32;

/// The longest key file that is read.
const MAX_FILE_BYTES: u64 = 1024;

/// What is kept of a secret.
pub(crate) struct Sealed {
    /// What can be opened with the key, as hexadecimal digits.
    pub(crate) text: String,
    /// What it was mixed with, as hexadecimal digits.
    pub(crate) nonce: String,
}

/// The key under which secrets are sealed.
pub(crate) struct SealingKey {
    sealing: RandomizedNonceKey,
    /// Made of the same, for what is not kept but made again whenever it is needed.
    deriving: hmac::Key,
}

/// What the deriving key is made with, so that it is another than the one that seals.
const DERIVING: &[u8] = b"agentyard: derived tokens";

impl SealingKey {
    /// The key that the settings give, or that of the data directory, which is made when there is none.
    pub(crate) fn of(settings: &StoreSettings) -> Result<Self> {
        if let Some(key) = &settings.secret_key {
            return Self::read(key, "`store.secret_key`");
        }
        let path = settings.data_dir.join(FILE_NAME);
        let key = of_file(&path).map_err(|source| Error::DataDirectory {
            path: path.clone(),
            source,
        })?;
        Self::read(&key, &format!("the file `{}`", path.display()))
    }

    /// Seals a value for one name of one tenant. Moved to another row, it cannot be opened any more.
    pub(crate) fn seal(&self, tenant: TenantId, name: &SecretName, value: &Secret) -> Result<Sealed> {
        self.seal_at(&place(tenant, name), value)
    }

    /// Seals a value for one place, in which nothing else is sealed.
    pub(crate) fn seal_at(&self, place: &str, value: &Secret) -> Result<Sealed> {
        let mut sealed = value.expose().as_bytes().to_vec();
        let nonce = self
            .sealing
            .seal_in_place_append_tag(Aad::from(place.as_bytes()), &mut sealed)
            .map_err(|_| Error::Unstorable {
                attempt: "seal a secret",
                reason: "it is too long",
            })?;
        Ok(Sealed {
            text: hex::encode(sealed),
            nonce: hex::encode(nonce.as_ref()),
        })
    }

    /// The value that was sealed for this name of this tenant.
    pub(crate) fn open(&self, tenant: TenantId, name: &SecretName, sealed: &Sealed) -> Result<Secret> {
        self.open_at(&place(tenant, name), sealed)
            .ok_or_else(|| Error::SealedOtherwise(name.clone()))
    }

    /// What stays the same as long as the key does, and nobody can make without it.
    pub(crate) fn derive(&self, label: &str) -> hmac::Tag {
        hmac::sign(&self.deriving, label.as_bytes())
    }

    /// Whether this was derived from that label. It takes as long whatever differs.
    pub(crate) fn is_derived(&self, label: &str, derived: &[u8]) -> bool {
        hmac::verify(&self.deriving, label.as_bytes(), derived).is_ok()
    }

    /// The value that was sealed for this place, unless it was with another key.
    pub(crate) fn open_at(&self, place: &str, sealed: &Sealed) -> Option<Secret> {
        let nonce = Nonce::try_assume_unique_for_key(&hex::decode(&sealed.nonce).ok()?).ok()?;
        let mut text = hex::decode(&sealed.text).ok()?;
        let value = self
            .sealing
            .open_in_place(nonce, Aad::from(place.as_bytes()), &mut text)
            .ok()?;
        std::str::from_utf8(value).ok().map(Secret::new)
    }

    fn read(key: &Secret, place: &str) -> Result<Self> {
        let key = hex::decode(key.expose().trim()).ok();
        // It takes a key of exactly the right length.
        key.and_then(|key| Self::of_bytes(&key))
            .ok_or_else(|| Error::InvalidSecretKey {
                place: place.to_owned(),
            })
    }

    fn of_bytes(key: &[u8]) -> Option<Self> {
        let whole = hmac::Key::new(hmac::HMAC_SHA256, key);
        Some(Self {
            sealing: RandomizedNonceKey::new(&AES_256_GCM, key).ok()?,
            deriving: hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&whole, DERIVING).as_ref()),
        })
    }
}

fn place(tenant: TenantId, name: &SecretName) -> String {
    format!("{tenant}/{name}")
}

fn random<const BYTES: usize>() -> Result<[u8; BYTES]> {
    let mut random = [0; BYTES];
    getrandom::fill(&mut random).map_err(|error| Error::NoRandomness(io::Error::other(error)))?;
    Ok(random)
}

/// The key in this file. When there is none, one is made; of several processes that do so at once one succeeds, and all
/// go by its key.
fn of_file(path: &Path) -> io::Result<Secret> {
    match read_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_file(path)?;
            read_file(path)
        }
        read => read,
    }
}

fn read_file(path: &Path) -> io::Result<Secret> {
    // Whatever else may lie there by this name is not waited for.
    let found = fs::symlink_metadata(path)?;
    if !found.is_file() || found.len() > MAX_FILE_BYTES {
        return Err(io::Error::other("it is no key file"));
    }
    fs::read_to_string(path).map(Secret::new)
}

/// Puts a new key there, unless there is one by now. The file gets its name when all of it is on disk.
fn make_file(path: &Path) -> io::Result<()> {
    const OWNER_ONLY: u32 = 0o600;
    let directory = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let key: [u8; KEY_BYTES] = random().map_err(io::Error::other)?;
    let distinct: [u8; 8] = random().map_err(io::Error::other)?;
    let unfinished = Unfinished(path.with_extension(format!("key.{}", hex::encode(distinct))));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(OWNER_ONLY)
        .open(&unfinished.0)?;
    file.write_all(Secret::new(hex::encode(key)).expose().as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    match fs::hard_link(&unfinished.0, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    fs::File::open(directory)?.sync_all()
}

/// A file that is removed whatever happens.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const TENANT: TenantId = TenantId::LOCAL;

    fn settings(directory: &Path) -> StoreSettings {
        StoreSettings {
            data_dir: directory.join("data"),
            ..StoreSettings::default()
        }
    }

    fn name(text: &str) -> SecretName {
        text.parse().unwrap()
    }

    #[test]
    fn a_key_is_made_once_for_its_owner_only() {
        let directory = tempfile::tempdir().unwrap();
        let settings = settings(directory.path());
        let value = Secret::new("hunter22");
        let keys: Vec<SealingKey> = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| SealingKey::of(&settings).unwrap()))
                .collect();
            makers.into_iter().map(|maker| maker.join().unwrap()).collect()
        });
        let sealed = keys[0].seal(TENANT, &name("A"), &value).unwrap();
        for key in &keys {
            assert_eq!(
                key.open(TENANT, &name("A"), &sealed).unwrap().expose(),
                "hunter22"
            );
        }
        let files: Vec<_> = fs::read_dir(&settings.data_dir).unwrap().collect();
        assert_eq!(files.len(), 1, "{files:?}");
        let mode = fs::metadata(settings.data_dir.join(FILE_NAME))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_secret_opens_only_with_its_key_and_in_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let of_file = SealingKey::of(&settings(directory.path())).unwrap();
        let given = StoreSettings {
            secret_key: Some(Secret::new("ab".repeat(KEY_BYTES))),
            ..settings(directory.path())
        };
        let given = SealingKey::of(&given).unwrap();
        let value = Secret::new("hunter22");
        let sealed = given.seal(TENANT, &name("A"), &value).unwrap();
        assert!(
            !hex::decode(&sealed.text)
                .unwrap()
                .windows(8)
                .any(|it| it == b"hunter22")
        );
        assert!(given.open(TENANT, &name("A"), &sealed).is_ok());
        assert!(of_file.open(TENANT, &name("A"), &sealed).is_err());
        assert!(given.open(TENANT, &name("B"), &sealed).is_err());
        assert!(given.open(TenantId::new(), &name("A"), &sealed).is_err());
        let again = given.seal(TENANT, &name("A"), &value).unwrap();
        assert_ne!(
            again.text, sealed.text,
            "the same value twice is not seen to be the same"
        );
    }

    #[test]
    fn what_is_derived_is_the_same_for_the_same_key_only() {
        let directory = tempfile::tempdir().unwrap();
        let key = SealingKey::of(&settings(directory.path())).unwrap();
        let again = SealingKey::of(&settings(directory.path())).unwrap();
        let other = SealingKey::of(&settings(&directory.path().join("other"))).unwrap();
        let derived = key.derive("envd:a");
        assert!(again.is_derived("envd:a", derived.as_ref()));
        assert!(!again.is_derived("envd:b", derived.as_ref()));
        assert!(!again.is_derived("envd:a", &derived.as_ref()[1..]));
        assert!(!other.is_derived("envd:a", derived.as_ref()));
    }

    #[test]
    fn what_is_no_key_is_refused_and_not_shown() {
        let directory = tempfile::tempdir().unwrap();
        for bad in [
            "",
            "hunter22",
            &"zz".repeat(KEY_BYTES),
            &"ab".repeat(KEY_BYTES + 1),
        ] {
            let given = StoreSettings {
                secret_key: Some(Secret::new(bad)),
                ..settings(directory.path())
            };
            let error = SealingKey::of(&given).map(|_| ()).unwrap_err();
            assert!(matches!(error, Error::InvalidSecretKey { .. }));
            assert!(!error.to_string().contains("hunter22"));
        }
        let settings = settings(directory.path());
        fs::create_dir_all(settings.data_dir.join(FILE_NAME)).unwrap();
        assert!(matches!(
            SealingKey::of(&settings),
            Err(Error::DataDirectory { .. })
        ));
    }
}
