//! The first words of TLS, in which a client says whom it wants to talk to.
//!
//! Many registries share their addresses with everybody who pays the same network to carry their pages. A tunnel to a
//! registry is therefore one only when the registry is asked for inside it too.

/// How long the first words may be.
pub(super) const MAX_HELLO: usize = 16 * 1024;

const HANDSHAKE_RECORD: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

/// What a connection is closed with that wants to talk to somebody else: a fatal alert, access denied.
pub(super) const DENIED: &[u8] = &[21, 3, 3, 0, 2, 2, 49];

/// What the beginning of a connection tells.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hello {
    /// Not enough to tell.
    Incomplete,
    /// It is TLS, and this is whom it is for.
    For(String),
    /// It is not TLS, or not for one host.
    Unknown,
}

impl Hello {
    pub(super) fn read(bytes: &[u8]) -> Self {
        match handshake(bytes) {
            Ok(Some(hello)) => match host(&mut Bytes(&hello)) {
                Some(host) => Self::For(host),
                None => Self::Unknown,
            },
            Ok(None) if bytes.len() < MAX_HELLO => Self::Incomplete,
            _ => Self::Unknown,
        }
    }
}

/// What was not a beginning of TLS.
struct NotTls;

/// The whole first message, once it is there; it may come in several records.
fn handshake(bytes: &[u8]) -> Result<Option<Vec<u8>>, NotTls> {
    let mut rest = Bytes(bytes);
    let mut message = Vec::new();
    loop {
        if let Some([kind, length @ ..]) = message.first_chunk::<4>() {
            if *kind != CLIENT_HELLO {
                return Err(NotTls);
            }
            let length = length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            if let Some(body) = message.get(4..4 + length) {
                return Ok(Some(body.to_vec()));
            }
        }
        match rest.byte() {
            None => return Ok(None),
            Some(HANDSHAKE_RECORD) => {}
            Some(_) => return Err(NotTls),
        }
        let Some(record) = rest.skip(2).and_then(|()| rest.long()) else {
            return Ok(None);
        };
        message.extend(record);
    }
}

/// The one host that a message names.
fn host(hello: &mut Bytes<'_>) -> Option<String> {
    // Version and random bytes, session, ciphers, compressions.
    hello.skip(2 + 32)?;
    hello.short()?;
    hello.long()?;
    hello.short()?;
    let mut extensions = Bytes(hello.long()?);
    let mut found = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number()?;
        let content = extensions.long()?;
        if kind == SERVER_NAME && found.replace(content).is_some() {
            return None;
        }
    }
    let mut names = Bytes(Bytes(found?).long()?);
    if names.byte()? != HOST_NAME {
        return None;
    }
    let name = names.long()?;
    let name = names.0.is_empty().then_some(name)?;
    Some(std::str::from_utf8(name).ok()?.to_ascii_lowercase())
}

/// Bytes that are read from their beginning.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn skip(&mut self, length: usize) -> Option<()> {
        self.take(length).map(drop)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    fn number(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes([self.byte()?, self.byte()?]))
    }

    /// As many bytes as one byte says.
    fn short(&mut self) -> Option<&'a [u8]> {
        let length = self.byte()?;
        self.take(length.into())
    }

    /// As many bytes as two bytes say.
    fn long(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(length.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(bytes: &[u8]) -> Vec<u8> {
        let length = u16::try_from(bytes.len()).unwrap();
        [&length.to_be_bytes(), bytes].concat()
    }

    fn extension(kind: u16, content: &[u8]) -> Vec<u8> {
        [&kind.to_be_bytes()[..], &long(content)].concat()
    }

    fn name(host: &str) -> Vec<u8> {
        let entry = [&[HOST_NAME][..], &long(host.as_bytes())].concat();
        extension(SERVER_NAME, &long(&entry))
    }

    /// A first message in records of at most this length.
    fn hello(extensions: &[u8], record: usize) -> Vec<u8> {
        let mut body = vec![3; 2 + 32];
        body.push(0);
        body.extend(long(&[0x13, 1]));
        body.extend([1, 0]);
        body.extend(long(extensions));
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        let message = [&[CLIENT_HELLO], &length[1..], &body].concat();
        let records = message.chunks(record);
        records
            .flat_map(|chunk| [&[HANDSHAKE_RECORD, 3, 1][..], &long(chunk)].concat())
            .collect()
    }

    #[test]
    fn whom_it_is_for_is_read_however_it_is_cut() {
        let extensions = [extension(43, &[2, 3, 4]), name("PyPI.org")].concat();
        for record in [5, 50, 4000] {
            let whole = hello(&extensions, record);
            assert_eq!(Hello::read(&whole), Hello::For("pypi.org".to_owned()));
            for length in 0..whole.len() {
                assert_eq!(Hello::read(&whole[..length]), Hello::Incomplete, "{length}");
            }
        }
    }

    #[test]
    fn what_is_not_for_one_host_is_for_none() {
        let twice = [name("a.example"), name("b.example")].concat();
        let two = extension(
            SERVER_NAME,
            &long(&[&[0, 0, 1, b'a'][..], &[0, 0, 1, b'b']].concat()),
        );
        for extensions in [
            Vec::new(),
            twice,
            two,
            extension(SERVER_NAME, &[]),
            vec![0, 0, 0, 9],
        ] {
            assert_eq!(Hello::read(&hello(&extensions, 4000)), Hello::Unknown);
        }
        assert_eq!(Hello::read(b"SSH-2.0-x"), Hello::Unknown);
        assert_eq!(Hello::read(b"GET / HTTP/1.1\r\n"), Hello::Unknown);
        let mut other = hello(&name("a.example"), 4000);
        other[5] = 2;
        assert_eq!(Hello::read(&other), Hello::Unknown);
        // One that never ends.
        let endless = [&[HANDSHAKE_RECORD, 3, 1][..], &long(&[1, 0xff, 0xff, 0xff])].concat();
        assert_eq!(Hello::read(&endless), Hello::Incomplete);
        let mut full = endless;
        full.extend([HANDSHAKE_RECORD, 3, 1].into_iter().chain(long(&[0; MAX_HELLO])));
        assert_eq!(Hello::read(&full), Hello::Unknown);
    }
}
