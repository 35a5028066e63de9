//! Work that waits for the disk, off the thread that answers everybody.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::connect::{Code, Fault};

/// How much of it is done at the same time. What is more waits its turn.
const MOST: usize = 8;

/// Where such work is done. Copies are the same place.
#[derive(Debug, Clone)]
pub(super) struct Work(Arc<Semaphore>);

impl Work {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MOST)))
    }

    /// Does a short piece of work. What has begun is done to its end, also when nobody waits for it any more.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        piece: impl FnOnce() -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let gone = || Fault::new(Code::Internal, "the sandbox's daemon could not do its work");
        let place = Arc::clone(&self.0).acquire_owned().await.map_err(|_| gone())?;
        tokio::task::spawn_blocking(move || {
            let done = piece();
            drop(place);
            done
        })
        .await
        .map_err(|_| gone())?
    }
}
