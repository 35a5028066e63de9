//! Sandboxes that stay.

mod code;
mod ports;
mod processes;
mod terminals;

use std::fs::File;
use std::time::Duration;

use agentyard_envd::{Exchange as _, empty};
use agentyard_sandbox::{Access, EndCause, Limits, Mount, Reach, STANDING_HOME, Sandbox, Site, Standing};
use http::{Request, StatusCode};

use crate::support::{Place, bubblewrap};

fn site(place: &Place) -> Site {
    Site {
        image: None,
        mounts: vec![Mount {
            source: File::open(place.path()).unwrap().into(),
            host_path: place.path().to_owned(),
            at: STANDING_HOME.into(),
            access: Access::ReadWrite,
        }],
        environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        reach: Reach::default(),
        limits: Limits::default(),
        lifetime: Duration::from_secs(60),
    }
}

/// A sandbox whose home directory is that place.
async fn stand_up(place: &Place) -> Standing {
    bubblewrap().stand_up(site(place)).await.unwrap()
}

async fn health(standing: &Standing) -> StatusCode {
    let request = Request::get("/health").body(empty()).unwrap();
    standing.exchange(request).await.unwrap().status()
}

#[tokio::test]
async fn a_daemon_answers_until_it_is_taken_down() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    assert_eq!(health(&standing).await, StatusCode::NO_CONTENT);
    standing.take_down().await;
    assert_eq!(standing.ended().await, EndCause::Stopped);
    let request = Request::get("/health").body(empty()).unwrap();
    assert!(standing.exchange(request).await.is_err());
}
