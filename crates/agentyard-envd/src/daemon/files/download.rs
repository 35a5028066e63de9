//! `GET /files`: what a file holds, as it is read.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::stream;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rustix::fs::OFlags;

use super::faults::{fault, refused};
use super::paths::name;
use super::ranges::{Portion, portion, wants_gzip};
use super::work::Work;
use crate::connect::{Code, Fault};
use crate::exchange::{Body, empty};

/// How much is read at once.
const PIECE: usize = 256 * 1024;

/// The file, or the part of it, that is asked for.
pub(super) async fn send(work: &Work, path: PathBuf, asked: &HeaderMap) -> Result<Response<Body>, Fault> {
    let shown = name(&path);
    let (mut reading, length) = work.run(move || Reading::open(path)).await?;
    let portion = portion(asked, length);
    let mut response = Response::new(empty());
    let headers = response.headers_mut();
    // A page that somebody wrote in a sandbox must not run as ours, from whatever address it is read.
    set(headers, header::CONTENT_TYPE, "application/octet-stream");
    set(headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(headers, header::CONTENT_DISPOSITION, &disposition(&shown));
    set(headers, header::ACCEPT_RANGES, "bytes");
    set(headers, header::VARY, "accept-encoding");
    match portion {
        Portion::Beyond => {
            set(headers, header::CONTENT_RANGE, &format!("bytes */{length}"));
            *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            return Ok(response);
        }
        Portion::Part { from, length: part } => {
            let last = from + part - 1;
            set(
                headers,
                header::CONTENT_RANGE,
                &format!("bytes {from}-{last}/{length}"),
            );
            set(headers, header::CONTENT_LENGTH, &part.to_string());
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            reading.cut(from, part)?;
        }
        Portion::Whole if wants_gzip(asked) => {
            set(headers, header::CONTENT_ENCODING, "gzip");
            reading.gzip = Some(GzEncoder::new(Vec::new(), Compression::fast()));
        }
        Portion::Whole => {
            if let Some(length) = reading.remaining {
                set(headers, header::CONTENT_LENGTH, &length.to_string());
            }
        }
    }
    *response.body_mut() = body(work.clone(), reading);
    Ok(response)
}

fn set(headers: &mut HeaderMap, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn disposition(name: &str) -> String {
    format!(
        "attachment; filename*=UTF-8''{}",
        utf8_percent_encode(name, NON_ALPHANUMERIC)
    )
}

fn body(work: Work, reading: Reading) -> Body {
    let pieces = stream::try_unfold(Some(reading), move |reading| {
        let work = work.clone();
        async move {
            let Some(reading) = reading else {
                return Ok(None);
            };
            let (piece, rest) = work.run(move || reading.next()).await?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(Some((Frame::data(piece), rest)))
        }
    });
    StreamBody::new(pieces).boxed_unsync()
}

/// A file that is being read.
#[derive(Debug)]
struct Reading {
    file: File,
    path: PathBuf,
    /// How much is still to be read; until its end when that is not known.
    remaining: Option<u64>,
    gzip: Option<GzEncoder<Vec<u8>>>,
}

impl Reading {
    /// The file, if it is one, and its length. Nothing is opened that could be waited for.
    fn open(path: PathBuf) -> Result<(Self, u64), Fault> {
        let failed = |error| fault("read", &path, &error);
        must_be_file(&path, &fs::metadata(&path).map_err(failed)?)?;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed())
            .open(&path)
            .map_err(failed)?;
        // It may be something else by now.
        let metadata = file.metadata().map_err(failed)?;
        must_be_file(&path, &metadata)?;
        let length = metadata.len();
        let reading = Self {
            file,
            path,
            // What the kernel tells about itself has no length before it is read.
            remaining: Some(length).filter(|length| *length > 0),
            gzip: None,
        };
        Ok((reading, length))
    }

    fn cut(&mut self, from: u64, length: u64) -> Result<(), Fault> {
        let moved = self.file.seek(SeekFrom::Start(from));
        moved.map_err(|error| fault("read", &self.path, &error))?;
        self.remaining = Some(length);
        Ok(())
    }

    /// The next piece, and the rest if there is one.
    fn next(mut self) -> Result<(Bytes, Option<Self>), Fault> {
        let most = self.remaining.map_or(PIECE, |remaining| {
            usize::try_from(remaining).unwrap_or(PIECE).min(PIECE)
        });
        let mut piece = vec![0; most];
        let read = self
            .file
            .read(&mut piece)
            .map_err(|error| fault("read", &self.path, &error))?;
        piece.truncate(read);
        let is_last = match &mut self.remaining {
            None => read == 0,
            Some(remaining) => {
                *remaining -= u64::try_from(read).unwrap_or(*remaining);
                if read == 0 && *remaining > 0 {
                    let message = "it became shorter while it was read; read it again";
                    return Err(Fault::new(Code::Aborted, message));
                }
                *remaining == 0
            }
        };
        let Some(mut gzip) = self.gzip.take() else {
            return Ok((piece.into(), (!is_last).then_some(self)));
        };
        let failed = |error| fault("compress", &self.path, &error);
        gzip.write_all(&piece).map_err(failed)?;
        if is_last {
            return Ok((gzip.finish().map_err(failed)?.into(), None));
        }
        let compressed = std::mem::take(gzip.get_mut());
        self.gzip = Some(gzip);
        Ok((compressed.into(), Some(self)))
    }
}

fn must_be_file(path: &Path, metadata: &fs::Metadata) -> Result<(), Fault> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(refused(
        "read",
        path,
        if metadata.is_dir() {
            "it is a directory: list it instead"
        } else {
            "it is a pipe, a socket or a device, and no file"
        },
    ))
}
