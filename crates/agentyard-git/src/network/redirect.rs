//! Remotes that have moved.

use super::connection::Way;
use super::{Connection, RemoteUrl};
use crate::Error;
use crate::program::Invocation;

/// Redirects are not followed: the new place was not checked, and must not get what was meant for the old one. The
/// refusal names it, where the remote tells.
pub(super) fn refusal(connection: &Connection, call: &Invocation<'_>) -> Error {
    let url = connection.url();
    let found = new_place(connection, call);
    let what = match &found {
        Some(new) => format!("{url} has moved to {new}, and redirects are not followed"),
        None => format!("{url} redirects to another address, and redirects are not followed"),
    };
    let remedy = match found {
        Some(new) => format!("use {new} instead; for a remote, call git_remote with mode `set_url`"),
        None => "find the repository's new address, and use that".to_owned(),
    };
    Error::state(what, remedy)
}

/// Asks once more, this time for the headers. git takes credentials out of what it shows.
fn new_place(connection: &Connection, call: &Invocation<'_>) -> Option<RemoteUrl> {
    let ask = call.another("ls-remote");
    let ask = connection
        .through(ask, Way::Fetch)
        .variable("GIT_TRACE_CURL", "1")
        .variable("GIT_TRACE_CURL_NO_DATA", "1")
        .end_of_options()
        .operand(connection.url().as_str());
    let finished = ask.run_whatever_it_answers().ok()?;
    let said = String::from_utf8_lossy(&finished.errors).into_owned();
    location_in(&said)
}

fn location_in(said: &str) -> Option<RemoteUrl> {
    let location = said.lines().find_map(|line| {
        let (_, header) = line.split_once("<= Recv header: ")?;
        let (name, value) = header.split_once(':')?;
        name.eq_ignore_ascii_case("location").then(|| value.trim())
    })?;
    let place = location.split("/info/refs").next()?;
    RemoteUrl::parse(place).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_place_is_found_among_the_headers() {
        let said = "12:00:00.1 http.c:1: <= Recv header: HTTP/1.1 301 Moved Permanently\n\
                    12:00:00.1 http.c:1: <= Recv header: Location: https://a.example/new.git/info/refs?service=git-upload-pack\n";
        assert_eq!(location_in(said).unwrap().as_str(), "https://a.example/new.git");
        assert_eq!(location_in("<= Recv header: Location: ext::sh"), None);
        assert_eq!(location_in("nothing"), None);
    }
}
