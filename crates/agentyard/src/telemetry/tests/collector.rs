//! A collector on loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;

/// What a collector does with a request.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Manner {
    Answering,
    Silent,
}

/// A collector on loopback that keeps what it is sent.
pub(super) struct Collector {
    pub(super) url: String,
    pub(super) received: mpsc::Receiver<Received>,
}

pub(super) struct Received {
    pub(super) path: String,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Collector {
    pub(super) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, received) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                std::thread::spawn(move || serve(stream, manner, &sender));
            }
        });
        Self { url, received }
    }
}

fn serve(stream: TcpStream, manner: Manner, sender: &mpsc::Sender<Received>) {
    let mut reader = BufReader::new(stream);
    while let Some(received) = read_request(&mut reader) {
        if manner == Manner::Silent {
            std::thread::park();
        }
        sender.send(received).unwrap();
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        reader.get_mut().write_all(answer).unwrap();
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Received> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_lowercase();
    let length = head
        .split("content-length: ")
        .nth(1)?
        .lines()
        .next()?
        .parse()
        .ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let path = head.split(' ').nth(1)?.to_owned();
    Some(Received { path, head, body })
}
