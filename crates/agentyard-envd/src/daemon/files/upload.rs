//! `POST /files`: what is written, one file or several.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use http::{HeaderMap, Request, header};
use serde::Serialize;

use super::draft::Draft;
use super::metadata;
use super::multipart::{Head, Multipart, Piece};
use super::paths::{name, resolved, shown};
use super::source::Source;
use super::work::Work;
use crate::connect::{Code, Fault};
use crate::exchange::Body;

/// How much is written at once.
const PIECE: usize = 256 * 1024;

/// How many files one request may write.
const MOST_FILES: usize = 10_000;

/// The field whose parts are files.
const FIELD: &str = "file";

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Written {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    path: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
}

/// Takes an upload to its end. The path is that of the query, if it has one.
pub(super) async fn receive(
    work: &Work,
    home: &Path,
    path: Option<PathBuf>,
    request: Request<Body>,
) -> Result<Vec<Written>, Fault> {
    let (head, body) = request.into_parts();
    let upload = Upload {
        work,
        home,
        path,
        metadata: metadata::of(&head.headers)?,
    };
    let source = Source::new(&head.headers, body)?;
    let content_type = content_type(&head.headers);
    match content_type
        .split(';')
        .next()
        .map(|kind| kind.trim().to_ascii_lowercase())
    {
        Some(kind) if kind == "application/octet-stream" => upload.single(source).await,
        Some(kind) if kind.starts_with("multipart/") => {
            let parts = Multipart::new(content_type).ok_or_else(|| {
                invalid("the Content-Type of the upload names no boundary, 1 to 70 characters")
            })?;
            upload.several(source, parts).await
        }
        _ => Err(invalid(
            "the Content-Type of an upload must be multipart/form-data or application/octet-stream",
        )),
    }
}

fn content_type(headers: &HeaderMap) -> &str {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

struct Upload<'a> {
    work: &'a Work,
    home: &'a Path,
    path: Option<PathBuf>,
    metadata: BTreeMap<String, String>,
}

impl Upload<'_> {
    async fn single(self, mut source: Source) -> Result<Vec<Written>, Fault> {
        let path = self.path.clone();
        let path =
            path.ok_or_else(|| invalid("the query must have a `path` when the body is one file as it is"))?;
        let mut incoming = Incoming::begin(self.work.clone(), path).await?;
        while let Some(bytes) = source.next().await? {
            incoming = incoming.add(&bytes).await?;
        }
        Ok(vec![incoming.place(self.metadata).await?])
    }

    /// Each file is in its place when its part has ended, as it is with E2B: what comes before a failure stays.
    async fn several(self, mut source: Source, mut parts: Multipart) -> Result<Vec<Written>, Fault> {
        let mut written = Vec::new();
        let mut paths = BTreeSet::new();
        let mut current = None;
        while let Some(bytes) = source.next().await? {
            parts.push(&bytes);
            while let Some(piece) = parts.next_piece().map_err(invalid)? {
                match piece {
                    Piece::Begin(head) if head.name.as_deref() == Some(FIELD) => {
                        let path = self.path_of(&head)?;
                        if paths.len() == MOST_FILES {
                            return Err(invalid(
                                "the upload has more than 10,000 files; send the others in another",
                            ));
                        }
                        if !paths.insert(path.clone()) {
                            return Err(invalid(&format!(
                                "the upload has more than one file for {}; only the first was written",
                                shown(&path)
                            )));
                        }
                        current = Some(Incoming::begin(self.work.clone(), path).await?);
                    }
                    // Other fields are nobody's.
                    Piece::Begin(_) => current = None,
                    Piece::Data(bytes) => {
                        if let Some(incoming) = current.take() {
                            current = Some(incoming.add(&bytes).await?);
                        }
                    }
                    Piece::End => {
                        if let Some(incoming) = current.take() {
                            written.push(incoming.place(self.metadata.clone()).await?);
                        }
                    }
                    Piece::Last => return Ok(written),
                }
            }
        }
        Err(invalid("the upload ends before its last part"))
    }

    fn path_of(&self, head: &Head) -> Result<PathBuf, Fault> {
        match (&self.path, head.filename.as_deref()) {
            (Some(path), _) => Ok(path.clone()),
            (None, Some(filename)) if !filename.is_empty() => resolved(self.home, filename),
            (None, _) => Err(invalid(
                "a file of the upload has no name: give it a filename, or the query a `path`",
            )),
        }
    }
}

/// A file that comes in.
#[derive(Debug)]
struct Incoming {
    work: Work,
    path: PathBuf,
    draft: Draft,
    /// What came in and is not yet written.
    waiting: Vec<u8>,
}

impl Incoming {
    async fn begin(work: Work, path: PathBuf) -> Result<Self, Fault> {
        let place = path.clone();
        let draft = work.run(move || Draft::begin(&place)).await?;
        Ok(Self {
            work,
            path,
            draft,
            waiting: Vec::new(),
        })
    }

    async fn add(mut self, bytes: &[u8]) -> Result<Self, Fault> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() < PIECE {
            return Ok(self);
        }
        let work = self.work.clone();
        work.run(move || {
            self.draft.write(&self.waiting)?;
            self.waiting.clear();
            Ok(self)
        })
        .await
    }

    async fn place(self, metadata: BTreeMap<String, String>) -> Result<Written, Fault> {
        let Self {
            work,
            path,
            mut draft,
            waiting,
        } = self;
        let metadata = work
            .run(move || {
                draft.write(&waiting)?;
                draft.place(metadata)
            })
            .await?;
        Ok(Written {
            name: name(&path),
            kind: "file",
            path: path.to_string_lossy().into_owned(),
            metadata,
        })
    }
}

fn invalid(message: &str) -> Fault {
    Fault::new(Code::InvalidArgument, message)
}
