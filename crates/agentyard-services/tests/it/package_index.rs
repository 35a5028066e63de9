//! A package index on loopback, with wheels that the test makes.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use tempfile::TempDir;

/// Writes wheels, and one source distribution that cannot be built, into the current directory.
const WHEELS: &str = r#"
import io, tarfile, zipfile
def wheel(name, version, requires=()):
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {r}\n" for r in requires)
    metadata += "Provides-Extra: full\n"
    files = {f"{name}.py": f"VERSION = '{version}'\n", f"{info}/METADATA": metadata,
             f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "".join(f"{path},,\n" for path in files) + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, content in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(path, content)
wheel("hello", "1.0")
wheel("hello", "2.0")
wheel("greeter", "1.0", ["hello<2"])
wheel("clash", "1.0", ["hello>=2"])
wheel("extra", "1.0", ["greeter; extra == 'full'"])
with tarfile.open("broken-1.0.tar.gz", "w:gz") as archive:
    for path, content in {"broken-1.0/setup.py": "raise SystemExit('no compiler here')\n",
                          "broken-1.0/PKG-INFO": "Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n"}.items():
        entry = tarfile.TarInfo(path)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content.encode()))
"#;

/// An index that answers until it is dropped.
pub(crate) struct PackageIndex {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
    _files: TempDir,
}

impl PackageIndex {
    #[expect(clippy::disallowed_methods, reason = "Python writes the wheels of this test")]
    pub(crate) fn new() -> Self {
        let files = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("/usr/bin/python3")
            .args(["-I", "-c", WHEELS])
            .current_dir(files.path())
            .status();
        assert!(made.unwrap().success());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stopped = Arc::new(AtomicBool::new(false));
        let (stop, directory) = (Arc::clone(&stopped), files.path().to_owned());
        let serving = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                if let Ok(stream) = stream {
                    let _ = answer(stream, &directory);
                }
            }
        });
        Self {
            address,
            stopped,
            serving: Some(serving),
            _files: files,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/simple", self.address)
    }
}

impl Drop for PackageIndex {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        if let Some(serving) = self.serving.take() {
            let _ = serving.join();
        }
    }
}

/// `/simple/<name>/` lists files, `/files/<file>` is one. A request for each connection.
fn answer(mut stream: TcpStream, directory: &Path) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut header = String::new();
    while reader.read_line(&mut header)? > 2 {
        header.clear();
    }
    let path = request.split(' ').nth(1).unwrap_or_default();
    let body = match path.trim_matches('/').split_once('/') {
        Some(("simple", name)) => listing(directory, name),
        Some(("files", file)) => fs::read(directory.join(file)).ok(),
        _ => None,
    };
    let (status, body) = match body {
        Some(body) => ("200 OK", body),
        None => ("404 Not Found", Vec::new()),
    };
    let kind = if path.starts_with("/simple") {
        "text/html"
    } else {
        "application/octet-stream"
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(&body)
}

fn listing(directory: &Path, name: &str) -> Option<Vec<u8>> {
    let names = fs::read_dir(directory).ok()?.flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let links: String = names
        .filter(|file| file.starts_with(&format!("{name}-")))
        .map(|file| format!("<a href=\"/files/{file}\">{file}</a>\n"))
        .collect();
    (!links.is_empty()).then(|| format!("<!DOCTYPE html><html><body>{links}</body></html>").into_bytes())
}
