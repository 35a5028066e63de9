use bytes::BytesMut;
use futures::FutureExt as _;
use serde_json::json;

use super::*;

fn pace() -> Pace {
    Pace::of(&HeaderMap::new())
}

fn text(fault: Option<(Code, &str)>) -> Bytes {
    end_frame(fault.map(|(code, message)| Fault::new(code, message)))
}

/// All that a reader gets.
async fn read(response: Response<Body>) -> BytesMut {
    let read = response.into_body().collect().await.unwrap();
    BytesMut::from(&read.to_bytes()[..])
}

#[tokio::test]
async fn messages_come_in_order_and_then_the_end() {
    let (feed, response) = open(pace(), &json!({}));
    feed.send(&json!({"a": 1})).await.unwrap();
    feed.send(&json!({"a": 2})).await.unwrap();
    feed.end(Some(Fault::new(Code::NotFound, "gone")));
    feed.end(None);
    assert_eq!(feed.send(&json!({"a": 3})).await, Err(Gone));
    let mut wanted = BytesMut::new();
    wanted.extend_from_slice(&message_frame(&json!({"a": 1})).unwrap());
    wanted.extend_from_slice(&message_frame(&json!({"a": 2})).unwrap());
    wanted.extend_from_slice(&text(Some((Code::NotFound, "gone"))));
    assert_eq!(read(response).await, wanted);
}

#[tokio::test]
async fn a_stream_that_nobody_ends_is_broken() {
    let (feed, response) = open(pace(), &json!({}));
    drop(feed);
    let wanted = text(Some((Code::Internal, "the stream broke off inside the sandbox")));
    assert_eq!(read(response).await, wanted);
}

#[tokio::test]
async fn whoever_feeds_waits_for_a_slow_reader_and_learns_that_it_is_gone() {
    let (feed, response) = open(pace(), &json!({}));
    for _ in 0..QUEUE {
        feed.send(&json!({})).await.unwrap();
    }
    let frame = message_frame(&json!({})).unwrap();
    assert_eq!(feed.push(frame.clone()).now_or_never(), None);
    drop(response);
    assert_eq!(feed.push(frame).await, Err(Gone));
    feed.gone().await;
}

#[tokio::test(start_paused = true)]
async fn silence_is_broken_and_time_runs_out() {
    let mut headers = HeaderMap::new();
    headers.insert(KEEPALIVE_HEADER, HeaderValue::from_static("10"));
    headers.insert(crate::connect::TIMEOUT_HEADER, HeaderValue::from_static("25000"));
    let (_feed, response) = open(Pace::of(&headers), &json!({"keepalive": {}}));
    let keepalive = message_frame(&json!({"keepalive": {}})).unwrap();
    let wanted = [
        &keepalive[..],
        &keepalive[..],
        &text(Some((
            Code::DeadlineExceeded,
            "the time that the call was given is over",
        ))),
    ];
    assert_eq!(read(response).await, wanted.concat());
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_takes_nothing_is_cut_off() {
    let (feed, response) = open(pace(), &json!({}));
    while feed.send(&json!({})).await.is_ok() {}
    let all = read(response).await;
    let told = String::from_utf8_lossy(&all);
    assert!(told.contains("resource_exhausted"), "{told}");
}
