use proptest::prelude::*;

use super::*;

fn written(text: &str) -> String {
    Requirement::read(text).unwrap().to_string()
}

#[test]
fn requirements_are_read_and_written_anew() {
    for (text, expected) in [
        ("numpy", "numpy"),
        (" Requests ", "Requests"),
        (
            "requests[socks, security] >= 2.31 , < 3",
            "requests[socks,security]>=2.31,<3",
        ),
        ("a[]", "a"),
        ("a (>=1,!=1.5.*)", "a>=1,!=1.5.*"),
        ("a===1.0+local", "a===1.0+local"),
        ("a~=1.4.2", "a~=1.4.2"),
        ("zope.interface==1!2.0rc1", "zope.interface==1!2.0rc1"),
        (
            "a; python_version<'3.11' and (os_name=='nt' or sys_platform not in \"linux darwin\")",
            "a ; python_version < \"3.11\" and (os_name == \"nt\" or sys_platform not in \"linux darwin\")",
        ),
        ("a>1 ; extra == 'x'", "a>1 ; extra == \"x\""),
        (
            "a @ https://example.org/a-1.0.tar.gz#sha256=0f",
            "a @ https://example.org/a-1.0.tar.gz#sha256=0f",
        ),
        (
            "a @ https://example.org/a.whl ; os_name == 'posix'",
            "a @ https://example.org/a.whl ; os_name == \"posix\"",
        ),
    ] {
        assert_eq!(written(text), expected, "{text}");
        assert_eq!(written(expected), expected);
    }
}

#[test]
fn nothing_else_passes_for_a_requirement() {
    for text in [
        "",
        " ",
        "-e .",
        "--index-url=https://evil.example",
        "-r other.txt",
        "--pre",
        "numpy --index-url=https://evil.example",
        "numpy --hash=sha256:00",
        "numpy\n--index-url=https://evil.example",
        "numpy\rrequests",
        "numpy requests",
        "numpy # comment",
        "numpy\\",
        "./local",
        "../x",
        "/etc/passwd",
        "C:\\x",
        "file:///etc/passwd",
        "https://example.org/x.whl",
        "git+https://example.org/x",
        "a @ file:///x",
        "a @ http://example.org/x.whl",
        "a @ git+https://example.org/x",
        "a @ https://user:password@example.org/x.whl",
        "a @ https:///x",
        "a @ https://example.org/${HOME}",
        "a @ https://example.org/x y",
        "a @ https://example.org/x --pre",
        "a @ ./x",
        "${HOME}",
        "a>=$X",
        "a>=",
        "a>=1,",
        "a=1",
        "a(>=1",
        "a[x",
        "a[-x]",
        "a[x;y]",
        "_a",
        "a-",
        ".a",
        "ä",
        "a\u{0}",
        "a ;",
        "a ; x == 'y'",
        "a ; os_name",
        "a ; os_name == posix",
        "a ; os_name == '$(id)'",
        "a ; os_name == 'x\ny'",
        "a ; os_name == 'x --pre'",
        "a ; (os_name == 'x'",
        "a ; os_name == 'x' or",
        "a ; os_name == 'x' --pre",
        "a ; python_versions == '3'",
    ] {
        assert!(Requirement::read(text).is_err(), "{text:?}");
    }
    assert!(Requirement::read(&"a".repeat(MAX_LENGTH + 1)).is_err());
    let nested = format!("a ; {}os_name == 'x'{}", "(".repeat(30), ")".repeat(30));
    assert!(Requirement::read(&nested).is_err());
    let versions = vec![">1"; MAX_PARTS + 1].join(",");
    assert!(Requirement::read(&format!("a{versions}")).is_err());
}

proptest! {
    #[test]
    fn what_is_written_is_one_line_and_the_same_requirement(text in "[a-c=<>!~,;@ \\[\\]()'\"$#\\\\\n\r\t./:-]{0,30}|[a-z]{1,3} ?(@ ?https://[a-z./#$ -]{1,12}|(==|>=|~=)[0-9a.*$ -]{1,6}|; ?os_name ?(==|in) ?'[a-z $#-]{0,5}')") {
        if let Ok(requirement) = Requirement::read(&text) {
            let line = requirement.to_string();
            prop_assert!(line.starts_with(|first: char| first.is_ascii_alphanumeric()));
            prop_assert!(!line.contains(['\n', '\r', '$', '\\', '\t', '\0', '`']), "{line:?}");
            prop_assert!(!line.contains(" -") && !line.contains(" #"), "{line:?}");
            prop_assert_eq!(Requirement::read(&line).unwrap(), requirement);
        }
    }
}
