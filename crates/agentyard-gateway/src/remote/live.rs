//! A call to another server that is shown while it goes on.

use std::time::Duration;

use agentyard_operations::{Method, Registered};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{RequestBuilder, Response};
use serde_json::{Map, Value};

use super::{MAX_ANSWER_BYTES, RemoteError, RemoteServer};
use crate::event_stream::{EventReader, ServerEvent};

/// How long a stream may be silent. The server shows that it is alive more often.
const SILENCE: Duration = Duration::from_secs(60);

/// How long a whole call may take.
const LONG: Duration = Duration::from_secs(7 * 24 * 3600);

/// How often a run is gone back to after the connection was lost, and how long is waited before that.
const RETURNS: usize = 5;
const BEFORE_RETURN: Duration = Duration::from_secs(1);

/// How far a stream was read.
enum Outcome {
    /// To the end of the call.
    Ended(Result<Value, RemoteError>),
    /// The connection was lost before that.
    Lost,
}

/// What is needed to go back to a run.
#[derive(Default)]
struct Position {
    run: Option<String>,
    last_event: Option<String>,
}

impl RemoteServer {
    /// Calls an operation there, and shows what happens meanwhile by name and data: `progress`, `stdout`, `stderr`. A run
    /// whose stream is cut off is gone back to.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn call_live(
        &self,
        operation: &Registered,
        arguments: Map<String, Value>,
        mut show: impl FnMut(&str, &Value),
    ) -> Result<Value, RemoteError> {
        if operation.entry().route.method == Method::Get {
            return self.call(operation, arguments).await;
        }
        let request = self.request(operation, arguments);
        let response = self.opened(request).await?;
        if !is_event_stream(&response) {
            return self.answer(response).await;
        }
        let mut position = Position::default();
        let mut outcome = self.read(response, &mut position, &mut show).await;
        for _ in 0..RETURNS {
            let (Outcome::Lost, Some(run)) = (&outcome, &position.run) else {
                break;
            };
            tokio::time::sleep(BEFORE_RETURN).await;
            let request = self.events_of(run, position.last_event.as_deref());
            if let Ok(response) = self.opened(request).await {
                outcome = self.read(response, &mut position, &mut show).await;
            }
        }
        match outcome {
            Outcome::Ended(end) => end,
            Outcome::Lost => Err(self.broke_off()),
        }
    }

    async fn opened(&self, request: RequestBuilder) -> Result<Response, RemoteError> {
        let request = request.header(ACCEPT, "text/event-stream").timeout(LONG);
        request.send().await.map_err(|source| self.unreachable(source))
    }

    fn events_of(&self, run: &str, last_event: Option<&str>) -> RequestBuilder {
        let url = self.url(["v1", "runs", run, "events"]);
        let request = self.client.get(url);
        let request = match last_event {
            Some(last) => request.header("last-event-id", last),
            None => request,
        };
        self.with_token(request)
    }

    async fn read(
        &self,
        mut response: Response,
        position: &mut Position,
        show: &mut impl FnMut(&str, &Value),
    ) -> Outcome {
        let mut events = EventReader::new(MAX_ANSWER_BYTES);
        loop {
            let Ok(Ok(Some(chunk))) = tokio::time::timeout(SILENCE, response.chunk()).await else {
                return Outcome::Lost;
            };
            let Ok(read) = events.read(&chunk) else {
                return Outcome::Ended(Err(self.foreign(response.status())));
            };
            for event in read {
                let Ok(data) = serde_json::from_str(&event.data) else {
                    return Outcome::Ended(Err(self.foreign(response.status())));
                };
                match event.name.as_str() {
                    "complete" => return Outcome::Ended(Ok(data)),
                    "error" => return Outcome::Ended(Err(RemoteError::Refused { object: data })),
                    name => show(name, &data),
                }
                position.move_to(event, &data);
            }
        }
    }
}

impl Position {
    fn move_to(&mut self, event: ServerEvent, data: &Value) {
        if let Some(run) = data["run"].as_str() {
            self.run = Some(run.to_owned());
        }
        if event.id.is_some() {
            self.last_event = event.id;
        }
    }
}

fn is_event_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}
