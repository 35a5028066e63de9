//! Connections: taken in, bounded in the time they may take to say what they want, and
//! ended when the server is.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// How long to wait after the system refused a connection (too many open files, say).
const AFTER_REFUSAL: Duration = Duration::from_millis(50);

/// How long connections may take to close once their streams have been ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Takes connections until told to stop, then lets them finish until the end has come.
pub(super) async fn accept(
    listener: TcpListener,
    app: Router,
    head_timeout: Duration,
    stop: CancellationToken,
    end: CancellationToken,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => {}
            taken = listener.accept() => match taken {
                Ok((stream, peer)) => {
                    connections.spawn(connection(stream, peer, app.clone(), head_timeout, stop.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(AFTER_REFUSAL).await;
                }
            },
        }
    }
    drop(listener);
    end.cancelled().await;
    let finish = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(LAST_WORDS, finish).await.is_err() {
        connections.shutdown().await;
    }
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    app: Router,
    head_timeout: Duration,
    stop: CancellationToken,
) {
    // Answers are small and awaited: waiting for more to send would only delay them.
    let _ = stream.set_nodelay(true);
    let begun = CancellationToken::new();
    let begins = begun.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let app = app.clone();
        begins.cancel();
        async move {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            Ok::<_, Infallible>(app.oneshot(request).await.unwrap_or_else(|never| match never {}))
        }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(256);
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = silence(&begun, head_timeout) => {
            tracing::debug!(%peer, "a connection asked for nothing");
            return;
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%peer, error = %error, "a connection broke off");
    }
}

/// Returns when a connection has been there for so long without a request. The limit on heads begins with their first
/// byte, and is of HTTP/1 only.
async fn silence(begun: &CancellationToken, patience: Duration) {
    if tokio::time::timeout(patience, begun.cancelled()).await.is_ok() {
        std::future::pending::<()>().await;
    }
}
