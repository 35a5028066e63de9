//! Files in sandboxes that stay.

use std::fs::{self, File, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::time::Duration;

use agentyard_envd::client::{CallError, Messages, call, read_file, stream, write_file};
use agentyard_envd::connect::Code;
use agentyard_envd::filesystem::{
    ChangeKind, Changes, Entry, EntryResponse, Kind, ListRequest, ListResponse, MoveRequest, PathRequest,
    SERVICE, WatchEvent, WatchRequest, Watcher,
};
use agentyard_envd::{Body, Exchange as _, empty, full};
use agentyard_sandbox::{Access, Limits, Mount, Reach, STANDING_HOME, Sandbox, Site, Standing};
use bytes::Bytes;
use futures::stream as streams;
use http::{Request, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use crate::support::{Place, bubblewrap};

/// A sandbox with a home and a workspace, which are two mounts.
struct Stood {
    home: Place,
    workspace: Place,
    standing: Standing,
}

impl Stood {
    async fn up() -> Self {
        Self::within(Limits::default()).await
    }

    async fn within(limits: Limits) -> Self {
        let (home, workspace) = (Place::new(), Place::new());
        let mount = |place: &Place, at: &str| Mount {
            source: File::open(place.path()).unwrap().into(),
            host_path: place.path().to_owned(),
            at: at.into(),
            access: Access::ReadWrite,
        };
        let site = Site {
            image: None,
            mounts: vec![mount(&home, STANDING_HOME), mount(&workspace, "/workspace")],
            environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
            reach: Reach::default(),
            limits,
            lifetime: Duration::from_secs(60),
        };
        let standing = bubblewrap().stand_up(site).await.unwrap();
        Self {
            home,
            workspace,
            standing,
        }
    }

    async fn down(self) {
        self.standing.take_down().await;
    }

    async fn at_path(&self, method: &str, path: &str) -> Result<Entry, Code> {
        let request = PathRequest {
            path: path.to_owned(),
        };
        let answer = call(&self.standing, SERVICE, method, &request).await;
        answer.map(|answer: EntryResponse| answer.entry).map_err(code)
    }

    async fn list(&self, path: &str, depth: u32) -> Result<Vec<Entry>, Code> {
        let path = path.to_owned();
        let answer = call(&self.standing, SERVICE, "ListDir", &ListRequest { path, depth }).await;
        answer.map(|answer: ListResponse| answer.entries).map_err(code)
    }

    async fn rename(&self, source: &str, destination: &str) -> Result<Entry, Code> {
        let request = MoveRequest {
            source: source.to_owned(),
            destination: destination.to_owned(),
        };
        let answer = call(&self.standing, SERVICE, "Move", &request).await;
        answer.map(|answer: EntryResponse| answer.entry).map_err(code)
    }

    async fn write(&self, path: &str, content: &'static [u8]) {
        write_file(&self.standing, path, full(content)).await.unwrap();
    }

    async fn read(&self, path: &str) -> Result<Bytes, Code> {
        let body = read_file(&self.standing, path).await.map_err(code)?;
        Ok(whole(body).await)
    }

    async fn get(&self, query: &str, headers: &[(header::HeaderName, &str)]) -> Response<Body> {
        let mut request = Request::get(format!("/files?{query}"));
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        self.standing
            .exchange(request.body(empty()).unwrap())
            .await
            .unwrap()
    }

    /// The status and the answer of an upload.
    async fn post(&self, query: &str, headers: &[(&str, &str)], body: Body) -> (StatusCode, Value) {
        let mut request = Request::post(format!("/files?{query}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = self.standing.exchange(request.body(body).unwrap()).await.unwrap();
        let status = answer.status();
        (
            status,
            serde_json::from_slice(&whole(answer.into_body()).await).unwrap(),
        )
    }

    async fn watch(&self, path: &str) -> Messages<WatchEvent> {
        let request = WatchRequest {
            path: path.to_owned(),
            recursive: true,
            include_entry: true,
            ..WatchRequest::default()
        };
        let mut messages = stream(&self.standing, SERVICE, "WatchDir", &request, None)
            .await
            .unwrap();
        let first: WatchEvent = messages.next().await.unwrap().unwrap();
        assert_eq!(first, WatchEvent::Start {});
        messages
    }
}

fn code(error: CallError) -> Code {
    match error {
        CallError::Refused(fault) => fault.code,
        error => panic!("{error}"),
    }
}

async fn whole(body: Body) -> Bytes {
    body.collect().await.unwrap().to_bytes()
}

/// Content without a pattern that a mistake could keep.
fn random(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..length.div_ceil(8))
        .flat_map(|_| next())
        .take(length)
        .collect()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

const OCTETS: (&str, &str) = ("content-type", "application/octet-stream");

#[tokio::test]
async fn a_big_file_comes_back_as_it_went() {
    let stood = Stood::up().await;
    let content = random(20 * 1024 * 1024 + 7);
    write_file(&stood.standing, "deep/er/big.bin", full(content.clone()))
        .await
        .unwrap();
    let answer = stood.get("path=deep/er/big.bin&username=user", &[]).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let length = content.len().to_string();
    assert_eq!(answer.headers()[header::CONTENT_LENGTH], length.as_str());
    assert_eq!(
        answer.headers()[header::CONTENT_DISPOSITION],
        "attachment; filename*=UTF-8''big%2Ebin"
    );
    assert!(
        whole(answer.into_body()).await == content,
        "it came back otherwise"
    );

    let part = stood
        .get(
            "path=~/deep/er/big.bin",
            &[(header::RANGE, "bytes=1000000-1000009")],
        )
        .await;
    assert_eq!(part.status(), StatusCode::PARTIAL_CONTENT);
    assert_eq!(
        part.headers()[header::CONTENT_RANGE],
        format!("bytes 1000000-1000009/{length}").as_str()
    );
    assert_eq!(whole(part.into_body()).await, content[1_000_000..1_000_010]);
    let beyond = stood
        .get("path=deep/er/big.bin", &[(header::RANGE, "bytes=99999999-")])
        .await;
    assert_eq!(beyond.status(), StatusCode::RANGE_NOT_SATISFIABLE);

    stood.write("empty", b"").await;
    let answer = stood.get("path=empty", &[]).await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(whole(answer.into_body()).await.is_empty());
    // The kernel does not know how long this is.
    let status = stood.read("/proc/self/status").await.unwrap();
    assert!(status.starts_with(b"Name:"));
    stood.down().await;
}

#[tokio::test]
async fn several_files_come_in_one_request() {
    let stood = Stood::up().await;
    let body = "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a b.txt\"\r\n\
                Content-Type: text/plain\r\n\r\none\r\n\
                --XX\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nnobody's\r\n\
                --XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"/workspace/x/ü\"\r\n\r\n\r\n--XX--\r\n";
    let form = ("content-type", "multipart/form-data; boundary=XX");
    let metadata = ("X-Metadata-Author", "somebody");
    let (status, answer) = stood.post("username=user", &[form, metadata], full(body)).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let kept = json!({ "author": "somebody" });
    assert_eq!(
        answer,
        json!([
            { "name": "a b.txt", "type": "file", "path": "/home/user/a b.txt", "metadata": kept },
            { "name": "ü", "type": "file", "path": "/workspace/x/ü", "metadata": kept },
        ])
    );
    assert_eq!(stood.read("a b.txt").await.unwrap(), "one");
    assert_eq!(stood.read("/workspace/x/ü").await.unwrap(), "");
    let entry = stood.at_path("Stat", "a b.txt").await.unwrap();
    assert_eq!(entry.metadata["author"], "somebody");

    // One path, and two files for it.
    let both = body.replace("name=\"other\"", "name=\"file\"");
    let (status, answer) = stood.post("path=c", &[form], full(both)).await;
    assert_eq!((status, &answer["code"]), (StatusCode::BAD_REQUEST, &json!(400)));
    assert_eq!(stood.read("c").await.unwrap(), "one");

    // It breaks off in its second file.
    let cut = body.split_once("\r\n--XX--").unwrap().0.to_owned();
    let (status, _) = stood.post("", &[form], full(cut)).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    for (headers, query) in [
        (&[OCTETS][..], ""),
        (&[("content-type", "text/plain")][..], "path=a"),
        (&[("content-type", "multipart/form-data")][..], "path=a"),
    ] {
        let (status, _) = stood.post(query, headers, full(body)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{headers:?}");
    }
    assert!(!stood.home.path().join("a").exists());
    stood.down().await;
}

#[tokio::test]
async fn files_are_compressed_on_their_way_for_who_asks() {
    let stood = Stood::up().await;
    let content = random(300_000);
    let encoded = [OCTETS, ("content-encoding", "gzip")];
    let (status, _) = stood.post("path=a", &encoded, full(gzip(&content))).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(fs::read(stood.home.path().join("a")).unwrap(), content);

    let form = b"--X\r\ncontent-disposition: form-data; name=file; filename=b\r\n\r\n12\r\n--X--";
    let encoded = [
        ("content-type", "multipart/form-data; boundary=X"),
        ("content-encoding", "gzip"),
    ];
    let (status, _) = stood.post("", &encoded, full(gzip(form))).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(stood.read("b").await.unwrap(), "12");

    let answer = stood.get("path=a", &[(header::ACCEPT_ENCODING, "gzip")]).await;
    assert_eq!(answer.headers()[header::CONTENT_ENCODING], "gzip");
    assert!(!answer.headers().contains_key(header::CONTENT_LENGTH));
    let body = whole(answer.into_body()).await;
    let mut read = Vec::new();
    flate2::read::GzDecoder::new(&body[..])
        .read_to_end(&mut read)
        .unwrap();
    assert_eq!(read, content);

    let (status, _) = stood.post("path=c", &encoded[1..], full("plain")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    stood.down().await;
}

#[tokio::test]
async fn a_file_that_is_written_again_keeps_its_mode() {
    let stood = Stood::up().await;
    stood.write("script", b"#!/bin/sh").await;
    let path = stood.home.path().join("script");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o644);
    fs::set_permissions(&path, Permissions::from_mode(0o750)).unwrap();
    symlink("script", stood.home.path().join("link")).unwrap();
    stood.write("link", b"new").await;
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o750);
    assert!(
        fs::symlink_metadata(stood.home.path().join("link"))
            .unwrap()
            .is_symlink()
    );
    stood.down().await;
}

#[tokio::test]
async fn an_upload_that_breaks_off_changes_nothing() {
    let stood = Stood::up().await;
    stood.write("file", b"old").await;
    let pieces = [
        Ok(Frame::data(Bytes::from(random(1024 * 1024)))),
        Err(Box::<dyn std::error::Error + Send + Sync>::from(
            "the client is gone",
        )),
    ];
    let broken = StreamBody::new(streams::iter(pieces)).boxed_unsync();
    assert!(write_file(&stood.standing, "file", broken).await.is_err());
    assert_eq!(stood.read("file").await.unwrap(), "old");
    // What was written of it is gone as soon as the daemon has heard of it.
    tokio::time::timeout(Duration::from_secs(30), async {
        while stood.list(".", 1).await.unwrap().len() > 1 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    stood.down().await;
}

#[tokio::test]
async fn what_has_no_room_is_refused_and_leaves_nothing() {
    const KIBIBYTE: usize = 1024;
    // A file that is too long is not more than may be written in all, for which the sandbox would be ended.
    let stood = Stood::within(Limits {
        file_bytes: 1536 * 1024,
        disk_bytes: 2048 * 1024,
        ..Limits::default()
    })
    .await;
    let upload = async |path: &str, kibibytes: usize| {
        let content = full(vec![7; kibibytes * KIBIBYTE]);
        stood.post(&format!("path={path}"), &[OCTETS], content).await
    };
    assert_eq!(upload("/tmp/fits", 1024).await.0, StatusCode::OK);
    // Longer than a file may be, and more than there is room for in memory.
    for (path, kibibytes) in [("long", 4096), ("/tmp/much", 1280)] {
        let (status, answer) = upload(path, kibibytes).await;
        assert_eq!(status, StatusCode::INSUFFICIENT_STORAGE, "{answer}");
        assert_eq!(answer["code"], json!(507));
    }
    assert!(stood.list("~", 1).await.unwrap().is_empty());
    let kept = stood.list("/tmp", 1).await.unwrap();
    assert_eq!(kept.len(), 1, "{kept:?}");
    stood.down().await;
}

#[tokio::test]
async fn directories_are_listed_with_all_that_is_known() {
    let stood = Stood::up().await;
    stood.write("a/b/c", b"123").await;
    symlink("a/b/c", stood.home.path().join("to-file")).unwrap();
    symlink("a", stood.home.path().join("to-directory")).unwrap();
    symlink("nowhere", stood.home.path().join("to-nowhere")).unwrap();
    let names =
        |entries: Vec<Entry>| -> Vec<String> { entries.into_iter().map(|entry| entry.path).collect() };
    assert_eq!(
        names(stood.list("/home/user", 2).await.unwrap()),
        [
            "/home/user/a",
            "/home/user/a/b",
            "/home/user/to-directory",
            "/home/user/to-file",
            "/home/user/to-nowhere"
        ]
    );
    assert_eq!(
        names(stood.list("to-directory", 3).await.unwrap()),
        ["/home/user/to-directory/b", "/home/user/to-directory/b/c"]
    );
    let file = stood.at_path("Stat", "a/b/c").await.unwrap();
    assert_eq!((file.name.as_str(), file.kind, file.size), ("c", Kind::File, 3));
    assert_eq!((file.mode, file.permissions.as_str()), (0o644, "-rw-r--r--"));
    assert_eq!((file.owner.as_str(), file.group.as_str()), ("user", "user"));
    assert!(file.modified_time.unwrap().ends_with('Z'));
    let link = stood.at_path("Stat", "to-directory").await.unwrap();
    assert_eq!((link.kind, link.is_symlink), (Kind::Directory, true));
    assert_eq!(link.symlink_target.unwrap(), "/home/user/a");
    let dangling = stood.at_path("Stat", "to-nowhere").await.unwrap();
    assert_eq!((dangling.kind, dangling.is_symlink), (Kind::Symlink, true));
    stood.down().await;
}

#[tokio::test]
async fn things_move_also_to_another_mount() {
    let stood = Stood::up().await;
    stood.write("a/file", b"1").await;
    stood.write("a/b/file", b"2").await;
    fs::set_permissions(stood.home.path().join("a/file"), Permissions::from_mode(0o600)).unwrap();
    let entry = stood.rename("a", "/workspace/new/a").await.unwrap();
    assert_eq!(
        (entry.path.as_str(), entry.kind),
        ("/workspace/new/a", Kind::Directory)
    );
    assert_eq!(stood.at_path("Stat", "a").await.unwrap_err(), Code::NotFound);
    assert_eq!(stood.read("/workspace/new/a/b/file").await.unwrap(), "2");
    let moved = stood.workspace.path().join("new/a/file");
    assert_eq!(fs::metadata(moved).unwrap().mode() & 0o777, 0o600);
    stood.rename("/workspace/new/a/file", "file").await.unwrap();
    assert_eq!(stood.read("file").await.unwrap(), "1");
    stood.rename("file", "other").await.unwrap();
    assert_eq!(stood.list("~", 1).await.unwrap().len(), 1);
    assert_eq!(stood.rename("missing", "x").await.unwrap_err(), Code::NotFound);
    stood.down().await;
}

#[tokio::test]
async fn directories_are_made_and_removed() {
    let stood = Stood::up().await;
    assert_eq!(
        stood.at_path("MakeDir", "a/b").await.unwrap().kind,
        Kind::Directory
    );
    assert_eq!(
        stood.at_path("MakeDir", "a/b").await.unwrap_err(),
        Code::AlreadyExists
    );
    stood.write("a/b/c", b"").await;
    let remove = async |path: &str| {
        let request = PathRequest {
            path: path.to_owned(),
        };
        let answer = call::<Value>(&stood.standing, SERVICE, "Remove", &request).await;
        answer.map_err(code)
    };
    assert_eq!(remove("a").await.unwrap(), json!({}));
    // Whoever wants it gone has what they want.
    assert_eq!(remove("a").await.unwrap(), json!({}));
    assert!(stood.list("~", 1).await.unwrap().is_empty());
    assert_eq!(remove("").await.unwrap_err(), Code::InvalidArgument);
    assert_eq!(remove("/usr/bin/env").await.unwrap_err(), Code::PermissionDenied);
    stood.down().await;
}

#[tokio::test]
async fn pipes_and_devices_hold_nobody_up() {
    let stood = Stood::up().await;
    let fifo = stood.home.path().join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    for path in ["fifo", "/dev/zero"] {
        assert_eq!(
            stood.read(path).await.unwrap_err(),
            Code::InvalidArgument,
            "{path}"
        );
        let written = write_file(&stood.standing, path, full("x")).await;
        assert_eq!(written.map_err(code), Err(Code::InvalidArgument), "{path}");
    }
    assert_eq!(
        stood.at_path("Stat", "fifo").await.unwrap().kind,
        Kind::Unspecified
    );
    assert_eq!(
        stood.rename("fifo", "/workspace/fifo").await.unwrap_err(),
        Code::FailedPrecondition
    );
    stood.down().await;
}

#[tokio::test]
async fn whoever_watches_sees_each_change_below() {
    let stood = Stood::up().await;
    stood.at_path("MakeDir", "watched").await.unwrap();
    let mut messages = stood.watch("watched").await;
    let mut expect = async |kind: ChangeKind, name: &str| {
        let message = messages.next().await.unwrap().unwrap();
        let WatchEvent::Filesystem(change) = message else {
            panic!("something else than a change");
        };
        assert_eq!((change.kind, change.name.as_str()), (kind, name));
        change.entry
    };
    stood.at_path("MakeDir", "watched/a").await.unwrap();
    let entry = expect(ChangeKind::Create, "a").await.unwrap();
    assert_eq!(
        (entry.kind, entry.path.as_str()),
        (Kind::Directory, "/home/user/watched/a")
    );
    stood.write("watched/a/file", b"1").await;
    expect(ChangeKind::Create, "a/file").await;
    expect(ChangeKind::Write, "a/file").await;
    stood.write("watched/a/file", b"12").await;
    assert_eq!(expect(ChangeKind::Write, "a/file").await.unwrap().size, 2);
    stood.rename("watched/a/file", "watched/moved").await.unwrap();
    assert_eq!(expect(ChangeKind::Rename, "a/file").await, None);
    expect(ChangeKind::Create, "moved").await;
    let on_disk = stood.home.path().join("watched/moved");
    fs::set_permissions(&on_disk, Permissions::from_mode(0o600)).unwrap();
    expect(ChangeKind::Chmod, "moved").await;
    fs::remove_file(&on_disk).unwrap();
    assert_eq!(expect(ChangeKind::Remove, "moved").await, None);
    stood.down().await;
}

#[tokio::test]
async fn a_watcher_keeps_changes_until_it_is_asked() {
    let stood = Stood::up().await;
    let request = WatchRequest {
        path: STANDING_HOME.to_owned(),
        ..WatchRequest::default()
    };
    let watcher: Watcher = call(&stood.standing, SERVICE, "CreateWatcher", &request)
        .await
        .unwrap();
    stood.write("file", b"1").await;
    let mut seen = Vec::new();
    while seen.len() < 2 {
        let changes: Changes = call(&stood.standing, SERVICE, "GetWatcherEvents", &watcher)
            .await
            .unwrap();
        seen.extend(changes.events);
    }
    let seen: Vec<_> = seen
        .iter()
        .map(|change| (change.kind, change.name.as_str()))
        .collect();
    assert_eq!(seen, [(ChangeKind::Create, "file"), (ChangeKind::Write, "file")]);
    let changes: Changes = call(&stood.standing, SERVICE, "GetWatcherEvents", &watcher)
        .await
        .unwrap();
    assert!(changes.events.is_empty());
    call::<Value>(&stood.standing, SERVICE, "RemoveWatcher", &watcher)
        .await
        .unwrap();
    for method in ["GetWatcherEvents", "RemoveWatcher"] {
        let gone = call::<Value>(&stood.standing, SERVICE, method, &watcher).await;
        assert_eq!(gone.map_err(code), Err(Code::NotFound));
    }
    stood.down().await;
}

#[tokio::test]
async fn those_who_watch_are_bounded_and_leave_with_their_stream() {
    let stood = Stood::up().await;
    let request = WatchRequest::default();
    let begin = async || {
        let mut messages = stream(&stood.standing, SERVICE, "WatchDir", &request, None)
            .await
            .unwrap();
        let first: Result<Option<WatchEvent>, CallError> = messages.next().await;
        first.map(|_| messages).map_err(code)
    };
    let mut watching = Vec::new();
    let refused = loop {
        match begin().await {
            Ok(messages) => watching.push(messages),
            Err(code) => break code,
        }
        assert!(watching.len() <= 64);
    };
    assert_eq!((watching.len(), refused), (64, Code::ResourceExhausted));
    drop(watching);
    tokio::time::timeout(Duration::from_secs(30), async { while begin().await.is_err() {} })
        .await
        .unwrap();
    stood.down().await;
}

#[tokio::test]
async fn each_failure_has_its_code() {
    let stood = Stood::up().await;
    stood.write("file", b"").await;
    for (query, status) in [
        ("path=missing", StatusCode::NOT_FOUND),
        ("path=/home", StatusCode::BAD_REQUEST),
        ("path=file/below", StatusCode::BAD_REQUEST),
        ("path=~root/x", StatusCode::BAD_REQUEST),
        ("", StatusCode::BAD_REQUEST),
        ("path=file&username=root", StatusCode::FORBIDDEN),
    ] {
        let answer = stood.get(query, &[]).await;
        assert_eq!(answer.status(), status, "{query}");
        let told: Value = serde_json::from_slice(&whole(answer.into_body()).await).unwrap();
        assert_eq!(told["code"], json!(status.as_u16()), "{query}");
        assert!(told["message"].is_string());
    }
    for (path, status) in [
        ("/usr/file", StatusCode::FORBIDDEN),
        ("/home/user", StatusCode::BAD_REQUEST),
    ] {
        let (answered, _) = stood.post(&format!("path={path}"), &[OCTETS], full("")).await;
        assert_eq!(answered, status, "{path}");
    }
    assert_eq!(stood.list("file", 1).await.unwrap_err(), Code::InvalidArgument);
    assert_eq!(stood.list("missing", 1).await.unwrap_err(), Code::NotFound);
    assert_eq!(
        stood.at_path("Stat", "missing").await.unwrap_err(),
        Code::NotFound
    );
    for (path, expected) in [("file", Code::InvalidArgument), ("missing", Code::NotFound)] {
        let request = WatchRequest {
            path: path.to_owned(),
            ..WatchRequest::default()
        };
        let created = call::<Value>(&stood.standing, SERVICE, "CreateWatcher", &request).await;
        assert_eq!(created.map_err(code), Err(expected));
        let mut messages: Messages<WatchEvent> = stream(&stood.standing, SERVICE, "WatchDir", &request, None)
            .await
            .unwrap();
        assert_eq!(messages.next().await.map_err(code), Err(expected));
    }
    stood.down().await;
}
