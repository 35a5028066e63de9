//! Documents that are made from the code are those that the code makes now.

use std::fs;
use std::path::Path;

use crate::support::{Place, text};

#[test]
fn generated_documents_are_current() {
    let place = Place::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::copy(source.join("README.md"), place.home().join("README.md")).unwrap();
    let output = place.run(&["generate", "."]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for document in [
        "README.md",
        "docs/reference/openapi.json",
        "docs/reference/tools.md",
        "docs/reference/configuration.md",
    ] {
        let committed = fs::read_to_string(source.join(document)).unwrap_or_default();
        let made = fs::read_to_string(place.home().join(document)).unwrap();
        assert!(
            committed == made,
            "{document} is not current: run `cargo xtask generate`"
        );
    }
}
