//! Tag objects, read like git reads them: whatever can be understood, is.

use gix::bstr::{BStr, ByteSlice as _};

/// The parts of a tag object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RawTag<'data> {
    pub(crate) target: gix::ObjectId,
    /// Very old tags have none.
    pub(crate) tagger: Option<&'data BStr>,
    /// Without its signature.
    pub(crate) message: &'data BStr,
    pub(crate) signed: bool,
}

/// How signatures begin that are part of the message.
const SIGNATURES: [&[u8]; 4] = [
    b"-----BEGIN PGP SIGNATURE-----",
    b"-----BEGIN PGP MESSAGE-----",
    b"-----BEGIN SIGNED MESSAGE-----",
    b"-----BEGIN SSH SIGNATURE-----",
];

impl<'data> RawTag<'data> {
    /// None when the object does not begin like a tag.
    pub(crate) fn parse(data: &'data [u8]) -> Option<Self> {
        let (header, message) = data.split_once_str(b"\n\n").unwrap_or((data, b""));
        let mut lines = header.lines();
        let target = gix::ObjectId::from_hex(lines.next()?.strip_prefix(b"object ")?).ok()?;
        let (mut tagger, mut signed) = (None, false);
        for line in lines {
            let (key, value) = line.split_once_str(b" ").unwrap_or((line, b""));
            match key {
                b"tagger" => tagger = Some(value.as_bstr()),
                b"gpgsig" | b"gpgsig-sha256" => signed = true,
                _ => {}
            }
        }
        let signature = signature_start(message);
        Some(Self {
            target,
            tagger,
            message: message[..signature.unwrap_or(message.len())].as_bstr(),
            signed: signed || signature.is_some(),
        })
    }
}

/// Where the last signature begins, at the beginning of a line.
fn signature_start(message: &[u8]) -> Option<usize> {
    let mut start = None;
    let mut at = 0;
    for line in message.lines_with_terminator() {
        if SIGNATURES.iter().any(|signature| line.starts_with(signature)) {
            start = Some(at);
        }
        at += line.len();
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &str = "object 4b825dc642cb6eb9a060e54bf8d69288fbee4904";

    #[test]
    fn signatures_are_told_from_messages() {
        let check = |rest: &str, message: &str, signed: bool| {
            let data = format!("{OBJECT}\ntype tree\ntag x\ntagger A <a> 1 +0000\n{rest}");
            let tag = RawTag::parse(data.as_bytes()).unwrap();
            assert_eq!((tag.message, tag.signed), (BStr::new(message), signed));
            assert_eq!(tag.tagger, Some(BStr::new("A <a> 1 +0000")));
        };
        check("\nhello\n\nbody\n", "hello\n\nbody\n", false);
        check("\nhello\n-----BEGIN PGP SIGNATURE-----\nx\n", "hello\n", true);
        check("\nhello\n-----BEGIN SSH SIGNATURE-----\nx\n", "hello\n", true);
        check(
            "\nhello -----BEGIN PGP SIGNATURE-----\n",
            "hello -----BEGIN PGP SIGNATURE-----\n",
            false,
        );
        check("gpgsig x\n y\n\nhello\n", "hello\n", true);
        check("", "", false);
    }

    #[test]
    fn tags_without_much_in_them_are_tags() {
        assert_eq!(RawTag::parse(OBJECT.as_bytes()).unwrap().tagger, None);
        for data in ["", "blob", "object 123\n"] {
            assert_eq!(RawTag::parse(data.as_bytes()), None);
        }
    }
}
