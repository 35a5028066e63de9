use super::*;

/// What is told when this is done.
async fn told(act: impl AsyncFnOnce(&mut Output)) -> Vec<Value> {
    let (lines, mut heard) = mpsc::channel(10_000);
    let mut output = Output::new(lines);
    act(&mut output).await;
    output.finish().await;
    drop(output);
    let mut events = Vec::new();
    while let Some(line) = heard.recv().await {
        assert!(line.is_ascii() && line.ends_with(b"\n") && !line[..line.len() - 1].contains(&b'\n'));
        events.push(serde_json::from_slice(&line).unwrap());
    }
    events
}

fn texts(events: &[Value], kind: &str) -> String {
    let of_kind = events.iter().filter(|event| event["type"] == kind);
    of_kind.map(|event| event["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn characters_stay_whole_however_they_come() {
    let text = "a\u{e4}\u{2028}\u{1f600}\n";
    for cut in 0..text.len() {
        let (before, after) = text.as_bytes().split_at(cut);
        let events = told(async |output| {
            output.print(Stream::Stdout, before).await;
            output.print(Stream::Stderr, b"e").await;
            output.print(Stream::Stdout, after).await;
        })
        .await;
        assert_eq!(texts(&events, "stdout"), text);
        assert_eq!(texts(&events, "stderr"), "e");
    }
}

#[tokio::test]
async fn what_is_no_text_is_told_too() {
    let events = told(async |output| {
        output.print(Stream::Stdout, b"\xffa\xe2\x82").await;
        output.print(Stream::Stdout, b"\xac\xe2").await;
    })
    .await;
    assert_eq!(texts(&events, "stdout"), "\u{fffd}a\u{20ac}\u{fffd}");
}

#[tokio::test]
async fn a_flood_is_cut_off_with_a_note() {
    let piece = vec![b'x'; MAX_PIECE_BYTES];
    let events = told(async |output| {
        for _ in 0..MAX_TEXT_BYTES / MAX_PIECE_BYTES + 10 {
            output.print(Stream::Stdout, &piece).await;
        }
    })
    .await;
    assert_eq!(texts(&events, "stdout").len(), MAX_TEXT_BYTES);
    assert_eq!(texts(&events, "stderr").matches("left out").count(), 1);
}

#[tokio::test]
async fn a_result_has_known_fields_only() {
    let events = told(async |output| {
        let fields = [
            "main",
            "text",
            "5",
            "json",
            "{\"a\":1}",
            "chart",
            "{broken",
            "type",
            "error",
            "odd",
        ];
        output.result(&fields.map(str::to_owned)).await;
    })
    .await;
    assert_eq!(
        events,
        [json!({ "type": "result", "text": "5", "json": { "a": 1 }, "is_main_result": true })]
    );
}

#[tokio::test]
async fn too_much_to_show_is_left_out() {
    let shown = [
        "display".to_owned(),
        "text".to_owned(),
        "x".repeat(MAX_RESULT_BYTES / 2),
    ];
    let events = told(async |output| {
        for _ in 0..3 {
            output.result(&shown).await;
        }
    })
    .await;
    assert_eq!(events.iter().filter(|event| event["type"] == "result").count(), 1);
    assert_eq!(texts(&events, "stderr").matches("left out").count(), 2);
}
