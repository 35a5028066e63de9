//! What comes in, as it was before it was compressed.

use std::io::Write as _;

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use http::{HeaderMap, header};
use http_body_util::BodyExt as _;

use crate::connect::{Code, Fault};
use crate::exchange::Body;

/// How much is uncompressed at once: it may become a thousand times as much.
const PIECE: usize = 4 * 1024;

/// A body that is read piece by piece.
#[derive(Debug)]
pub(super) struct Source {
    body: Body,
    gzip: Option<MultiGzDecoder<Vec<u8>>>,
    /// What came in and is still compressed.
    waiting: Bytes,
}

impl Source {
    pub(super) fn new(headers: &HeaderMap, body: Body) -> Result<Self, Fault> {
        let encoding = headers.get(header::CONTENT_ENCODING);
        let encoding = encoding
            .map_or("identity", |value| value.to_str().unwrap_or("?"))
            .trim();
        let gzip = match encoding.to_ascii_lowercase().as_str() {
            "" | "identity" => None,
            "gzip" => Some(MultiGzDecoder::new(Vec::new())),
            _ => {
                let message = "the Content-Encoding of an upload can be gzip, or none";
                return Err(Fault::new(Code::InvalidArgument, message));
            }
        };
        Ok(Self {
            body,
            gzip,
            waiting: Bytes::new(),
        })
    }

    /// The next piece, which may be empty; none at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        let broken = |error: std::io::Error| {
            let message = format!("the upload is not what gzip makes: {error}");
            Fault::new(Code::InvalidArgument, message)
        };
        if self.waiting.is_empty() {
            let Some(bytes) = self.received().await? else {
                let Some(mut gzip) = self.gzip.take() else {
                    return Ok(None);
                };
                gzip.try_finish().map_err(broken)?;
                return Ok(Some(std::mem::take(gzip.get_mut()).into()));
            };
            self.waiting = bytes;
        }
        let Some(gzip) = &mut self.gzip else {
            return Ok(Some(std::mem::take(&mut self.waiting)));
        };
        let piece = self.waiting.split_to(self.waiting.len().min(PIECE));
        gzip.write_all(&piece).map_err(broken)?;
        Ok(Some(std::mem::take(gzip.get_mut()).into()))
    }

    async fn received(&mut self) -> Result<Option<Bytes>, Fault> {
        while let Some(frame) = self.body.frame().await {
            let frame = frame
                .map_err(|error| Fault::new(Code::Canceled, format!("the upload broke off: {error}")))?;
            if let Ok(bytes) = frame.into_data()
                && !bytes.is_empty()
            {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::exchange::full;

    async fn read(encoding: &'static str, body: Vec<u8>) -> Result<Vec<u8>, Code> {
        let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, encoding.parse().unwrap())]);
        let mut source = Source::new(&headers, full(body)).map_err(|fault| fault.code)?;
        let mut read = Vec::new();
        while let Some(piece) = source.next().await.map_err(|fault| fault.code)? {
            read.extend(piece);
        }
        Ok(read)
    }

    fn compressed(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[tokio::test]
    async fn what_was_compressed_comes_out_as_it_was() {
        let content: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
        assert_eq!(read("gzip", compressed(&content)).await.unwrap(), content);
        assert_eq!(read("identity", content.clone()).await.unwrap(), content);
        let twice = [compressed(b"one"), compressed(b"two")].concat();
        assert_eq!(read("GZIP", twice).await.unwrap(), b"onetwo");
    }

    #[tokio::test]
    async fn what_is_cut_off_or_unknown_is_refused() {
        let mut cut = compressed(&[7; 100_000]);
        cut.truncate(cut.len() - 9);
        assert_eq!(read("gzip", cut).await, Err(Code::InvalidArgument));
        assert_eq!(read("gzip", b"plain".to_vec()).await, Err(Code::InvalidArgument));
        assert_eq!(read("br", Vec::new()).await, Err(Code::InvalidArgument));
    }

    #[tokio::test]
    async fn a_bomb_does_not_go_off_at_once() {
        let bomb = compressed(&vec![0; 8 * 1024 * 1024]);
        let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, "gzip".parse().unwrap())]);
        let mut source = Source::new(&headers, full(bomb)).unwrap();
        while let Some(piece) = source.next().await.unwrap() {
            assert!(piece.len() <= 1100 * PIECE, "{}", piece.len());
        }
    }
}
