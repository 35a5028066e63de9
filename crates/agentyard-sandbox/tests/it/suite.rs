//! What every sandbox must do, tried with each way to make one.

use crate::podman::yard::Yard;
use crate::sandbox_suite::{Plot, every_command, every_standing};
use crate::support::{bubblewrap, host};

#[tokio::test]
async fn the_host_does_what_every_sandbox_does() {
    every_command(&host()).await;
}

#[tokio::test]
async fn bubblewrap_does_what_every_sandbox_does() {
    every_command(&bubblewrap()).await;
}

#[tokio::test]
async fn podman_does_what_every_sandbox_does() {
    let yard = Yard::new();
    every_command(yard.podman()).await;
}

#[tokio::test]
async fn podman_stands_up_what_every_sandbox_stands_up() {
    let (yard, plot) = (Yard::new(), Plot::new());
    every_standing(yard.podman(), async || plot.site().await).await;
    yard.has_no_container().await;
}

#[tokio::test]
async fn bubblewrap_stands_up_what_every_sandbox_stands_up() {
    let plot = Plot::new();
    every_standing(&bubblewrap(), async || plot.site().await).await;
}
