use http::HeaderValue;

use super::*;

fn guard_with(change: impl FnOnce(&mut HttpSettings)) -> Guard {
    let mut settings = HttpSettings::default();
    change(&mut settings);
    Guard::from_settings(&settings).unwrap()
}

fn yard() -> Guard {
    guard_with(|settings| {
        settings.listen = "192.0.2.7:7420".parse().unwrap();
        settings.allowed_hosts = vec!["yard.example.org".to_owned(), "Tls.example.org:8443".to_owned()];
        settings.allowed_origins = vec![
            "https://tools.example.org".to_owned(),
            "HTTPS://Other.example.org:443".to_owned(),
            "vscode-webview://abc123".to_owned(),
        ];
    })
}

/// The status with which the guard answers, or 200.
fn judge(guard: &Guard, headers: &[(HeaderName, &[u8])]) -> u16 {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(name, HeaderValue::from_bytes(value).unwrap());
    }
    match guard.check(&Uri::from_static("/mcp"), &map) {
        Ok(_) => 200,
        Err(refusal) => refusal.status().as_u16(),
    }
}

#[test]
fn hosts() {
    let guard = yard();
    let cases: [(&str, u16); 43] = [
        ("localhost", 200),
        ("localhost:7420", 200),
        ("localhost:1", 200),
        ("127.0.0.1:7420", 200),
        ("[::1]:7420", 200),
        ("[::1]", 200),
        ("192.0.2.7:7420", 200),
        ("yard.example.org", 200),
        ("yard.example.org:9000", 200),
        ("tls.example.org:8443", 200),
        // Ours, at a port that is not.
        ("192.0.2.7:7421", 403),
        ("192.0.2.7", 403),
        ("tls.example.org", 403),
        // Look-alikes.
        ("localhost.evil.com", 403),
        ("evil-localhost", 403),
        ("evil.localhost", 403),
        ("localhostx", 403),
        ("127.0.0.1.evil.com:7420", 403),
        ("127.0.0.1.nip.io", 403),
        ("yard.example.org.evil.com", 403),
        ("evilyard.example.org", 403),
        ("xn--lcalhost-54a", 403),
        // Other spellings of the same.
        ("LOCALHOST:7420", 403),
        ("Yard.Example.Org", 403),
        ("localhost.", 403),
        ("yard.example.org.:7420", 403),
        ("127.1", 403),
        ("2130706433", 403),
        ("0x7f000001", 403),
        ("0.0.0.0:7420", 403),
        ("[::]:7420", 403),
        ("[0:0:0:0:0:0:0:1]", 403),
        ("[::ffff:127.0.0.1]", 403),
        // What cannot be read.
        ("", 400),
        ("localhost:", 400),
        ("localhost:0", 400),
        ("localhost:+80", 400),
        ("localhost:70000", 400),
        ("localhost:80:80", 400),
        ("localhost@evil.com", 400),
        ("evil.com@localhost", 400),
        ("::1", 400),
        ("[::1]evil.com", 400),
    ];
    for (host, expected) in cases {
        assert_eq!(judge(&guard, &[(HOST, host.as_bytes())]), expected, "{host:?}");
    }
    for odd in [
        &b"local host"[..],
        b"localhost/",
        b"localhost#",
        b"loc\xc3\xa4lhost",
        b"localhost\t",
    ] {
        assert_eq!(judge(&guard, &[(HOST, odd)]), 400, "{odd:?}");
    }
}

#[test]
fn a_request_names_one_host() {
    let guard = yard();
    assert_eq!(judge(&guard, &[]), 403);
    assert_eq!(judge(&guard, &[(HOST, b"localhost"), (HOST, b"localhost")]), 400);

    let by_line = |uri: &str, header: Option<&'static str>| {
        let headers = header.map(|value| (HOST, HeaderValue::from_static(value)));
        let answer = guard.check(&uri.parse().unwrap(), &headers.into_iter().collect());
        answer.map_or_else(|refusal| refusal.status().as_u16(), |_| 200)
    };
    assert_eq!(by_line("http://localhost:7420/mcp", None), 200);
    assert_eq!(by_line("http://localhost:7420/mcp", Some("localhost:7420")), 200);
    assert_eq!(by_line("http://evil.com/mcp", None), 403);
    assert_eq!(by_line("http://evil.com/mcp", Some("localhost:7420")), 400);
    assert_eq!(by_line("http://localhost:7420/mcp", Some("evil.com")), 400);
}

#[test]
fn origins() {
    let guard = yard();
    let cases: [(&str, &str, u16); 34] = [
        // Our own pages.
        ("localhost:7420", "http://localhost:7420", 200),
        ("localhost:7420", "http://127.0.0.1:7420", 200),
        ("127.0.0.1:7420", "http://[::1]:7420", 200),
        ("yard.example.org", "https://yard.example.org", 200),
        ("yard.example.org", "http://yard.example.org", 200),
        ("192.0.2.7:7420", "http://192.0.2.7:7420", 200),
        ("localhost", "http://localhost:80", 200),
        // Those that were configured.
        ("localhost:7420", "https://tools.example.org", 200),
        ("localhost:7420", "https://other.example.org", 200),
        ("localhost:7420", "vscode-webview://abc123", 200),
        // Other programs on this machine, such as previews.
        ("localhost:7420", "http://localhost:3000", 403),
        ("localhost:7420", "http://localhost", 403),
        ("localhost:7420", "https://localhost", 403),
        // Our other names.
        ("localhost:7420", "http://yard.example.org:7420", 403),
        ("yard.example.org", "http://localhost", 403),
        // Foreign ones.
        ("localhost:7420", "null", 403),
        ("localhost:7420", "", 403),
        ("localhost:7420", "*", 403),
        ("localhost:7420", "https://evil.com", 403),
        ("localhost:7420", "http://localhost.evil.com:7420", 403),
        ("localhost:7420", "http://evil-localhost:7420", 403),
        ("localhost:7420", "http://localhost@evil.com:7420", 403),
        ("localhost:7420", "http://evil.com#@localhost:7420", 403),
        ("localhost:7420", "http://evil.com\\@localhost:7420", 403),
        ("localhost:7420", "https://tools.example.org.evil.com", 403),
        ("localhost:7420", "https://tools.example.org:444", 403),
        ("localhost:7420", "http://tools.example.org", 403),
        ("localhost:7420", "https://tools.example.org/", 403),
        ("localhost:7420", "https://TOOLS.example.org", 403),
        ("localhost:7420", "HTTP://localhost:7420", 403),
        ("localhost:7420", "http://LOCALHOST:7420", 403),
        ("localhost:7420", "http://localhost.:7420", 403),
        ("localhost:7420", "file://", 403),
        ("localhost:7420", "localhost:7420", 403),
    ];
    for (host, origin, expected) in cases {
        let status = judge(&guard, &[(HOST, host.as_bytes()), (ORIGIN, origin.as_bytes())]);
        assert_eq!(status, expected, "{host} from {origin:?}");
    }
    let twice = [
        (HOST, &b"localhost"[..]),
        (ORIGIN, b"http://localhost"),
        (ORIGIN, b"http://localhost"),
    ];
    assert_eq!(judge(&guard, &twice), 400);
}

#[test]
fn a_public_address_is_ours_and_keeps_its_scheme() {
    let guard = guard_with(|settings| settings.public_url = Some("https://yard.example.org/".to_owned()));
    let host = (HOST, &b"yard.example.org"[..]);
    assert_eq!(
        judge(&guard, &[host.clone(), (ORIGIN, b"https://yard.example.org")]),
        200
    );
    assert_eq!(
        judge(&guard, &[host.clone(), (ORIGIN, b"http://yard.example.org")]),
        403
    );
    let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("yard.example.org"))]);
    let base = guard.check(&Uri::from_static("/"), &headers).unwrap();
    assert_eq!(base.as_str(), "https://yard.example.org");
}

#[test]
fn without_a_public_address_the_base_is_the_host() {
    let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("localhost:7420"))]);
    let base = yard().check(&Uri::from_static("/"), &headers).unwrap();
    assert_eq!(base.as_str(), "http://localhost:7420");
}

#[test]
fn a_list_that_cannot_be_meant_is_refused() {
    let refused = |change: fn(&mut HttpSettings, String), texts: &[&str]| {
        for text in texts {
            let mut settings = HttpSettings::default();
            change(&mut settings, (*text).to_owned());
            assert!(Guard::from_settings(&settings).is_err(), "{text:?}");
        }
    };
    refused(
        |settings, text| settings.allowed_origins.push(text),
        &[
            "*",
            "null",
            "",
            "example.org",
            "https://",
            "https://*.example.org",
            "https://example.org/",
            "https://a@b",
        ],
    );
    refused(
        |settings, text| settings.allowed_hosts.push(text),
        &[
            "*",
            "",
            ".example.org",
            "example.org.",
            "https://example.org",
            "example.org/",
            "a@b",
            "*.example.org",
        ],
    );
    refused(
        |settings, text| settings.public_url = Some(text),
        &[
            "",
            "yard.example.org",
            "ftp://yard.example.org",
            "https://yard.example.org/path",
            "https://a@b",
        ],
    );
}

#[test]
fn all_addresses_are_nobodys_name() {
    for (listen, host) in [("0.0.0.0:7420", "0.0.0.0:7420"), ("[::]:7420", "[::]:7420")] {
        let guard = guard_with(|settings| settings.listen = listen.parse().unwrap());
        assert_eq!(judge(&guard, &[(HOST, host.as_bytes())]), 403, "{host}");
    }
    let guard = guard_with(|settings| settings.listen = "192.0.2.7:80".parse().unwrap());
    assert_eq!(judge(&guard, &[(HOST, b"192.0.2.7")]), 200);
}
