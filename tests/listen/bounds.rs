//! What hostile clients can take: a bounded number of seats, of bytes and of seconds.

use super::{Room, TOKEN};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use watchalert_tests::posting::{ask, github, signed};
use watchalert_tests::programs::{long, now, tell, until};

const BOUND: Duration = Duration::from_secs(30);

fn open(room: &Room, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(room.address).expect("connected");
    stream.set_read_timeout(Some(BOUND)).expect("set");
    stream.write_all(bytes).expect("written");
    stream
}

/// Everything until the other side closes.
fn rest(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer) {
        assert_ne!(error.kind(), ErrorKind::WouldBlock, "it is not closed");
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn headers_that_never_end_take_a_seat_for_three_seconds_and_others_are_served() {
    let room = Room::new();
    let begun = b"POST /hook/any HTTP/1.1\r\nHost: here\r\nX-Slow: ";
    let slow: Vec<TcpStream> = (0..300).map(|_| open(&room, begun)).collect();
    assert_eq!(room.post("an honest one"), 200);
    for stream in slow {
        let answer = rest(stream);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 408"),
            "{answer}"
        );
    }
    assert_eq!(room.post("another honest one"), 200);
}

#[test]
fn when_all_seats_are_taken_the_slowest_give_way_to_whoever_comes() {
    let room = Room::with("[listen]\nconnections = 10\n");
    let half = format!(
        "POST /hook/infra HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\nX-Hub-Signature-256: sha256={}\r\n\r\nhalf",
        "0".repeat(64)
    );
    // Its body would be waited for longer than its headers.
    let mut slow: Vec<TcpStream> = (0..10).map(|_| open(&room, half.as_bytes())).collect();
    for number in 0..5 {
        assert_eq!(room.post(&format!("number {number}")), 200);
    }
    // One seat went round: the first's. The others have theirs until their time is over.
    assert_eq!(rest(slow.remove(0)), "");
    let kept = slow.into_iter().map(rest);
    let given_up = kept.filter(|answer| answer.starts_with("HTTP/1.1 408"));
    assert!(given_up.count() >= 5);
}

/// Beside the receiver's thousand seats.
#[test]
fn thousands_of_slow_connections_keep_nobody_out() {
    let room = Room::new();
    let count = if long() { 10_000 } else { 2_000 };
    let begun = b"POST /hook/any HTTP/1.1\r\nHost: here\r\nX-Slow: ";
    let (mut slow, mut served) = (Vec::new(), 0);
    for number in 0..count {
        // As many as the kernel lets this process hold, and its other half.
        if let Ok(mut stream) = TcpStream::connect(room.address) {
            drop(stream.write_all(begun));
            slow.push(stream);
        }
        if number % 500 == 499 {
            assert_eq!(room.post(&format!("honest, number {number}")), 200);
            served += 1;
        }
    }
    let stored = room.ask("SELECT count(*) FROM arrival");
    assert_eq!(stored, served.to_string());
    tell(&format!(
        "connections: {} of {count} slow ones opened and never ended, {served} of {served} honest deliveries stored meanwhile",
        slow.len()
    ));
}

#[test]
fn more_than_a_minute_takes_is_refused_and_told_once() {
    let room = Room::with("[listen]\nper_minute = 20\n");
    let start = now();
    let answers: Vec<u16> = (0..30)
        .map(|number| room.post(&format!("number {number}")))
        .collect();
    let (taken, refused) = answers.split_at(20);
    assert!(taken.iter().all(|status| *status == 200), "{answers:?}");
    // One comes back every three seconds.
    let back = start.elapsed().as_secs() / 3 + 1;
    let refused = refused.iter().filter(|status| **status == 429).count();
    assert!(
        u64::try_from(refused).expect("a count") + back >= 10,
        "{answers:?}"
    );
    assert!(refused > 0, "too slow to be refused anything");
    let told = "SELECT group_concat(payload->>'title') FROM outbox WHERE kind='notice'";
    let title = "The webhook any gets more than it takes";
    until("it is told", || room.ask(told) == title);
    // Who cannot prove itself counts for nothing.
    let body = br#"{"zen":"Keep it"}"#;
    let forged = (0..30).map(|_| github(room.address, "infra", "guess", "ping", "d", body));
    assert!(forged.flatten().all(|(status, _)| status == 401));
    let (status, _) =
        github(room.address, "infra", super::SECRET, "ping", "d", body).expect("an answer");
    assert_eq!(status, 200);
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    let room = Room::with("[listen]\nmax_body = '64 KiB'\n");
    let head = |length: &str| {
        format!(
            "POST /hook/any HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nAuthorization: Bearer {TOKEN}\r\n{length}\r\n\r\n"
        )
    };
    // It says so: nothing of it need come.
    let answer = rest(open(&room, head("Content-Length: 104857600").as_bytes()));
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    // It does not say so, and is cut off.
    let mut chunked = head("Transfer-Encoding: chunked").into_bytes();
    for _ in 0..20 {
        chunked.extend_from_slice(b"2000\r\n");
        chunked.extend_from_slice(&[b' '; 0x2000]);
        chunked.extend_from_slice(b"\r\n");
    }
    let (status, _) = ask(room.address, &chunked).expect("an answer");
    assert_eq!(status, 413);
    // Without the right token not even the size matters.
    let forged = head("Content-Length: 5").replace(TOKEN, "guess");
    let answer = rest(open(&room, forged.as_bytes()));
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    assert_eq!(room.post("an honest one"), 200);
}

#[test]
fn a_connection_that_asks_nothing_is_closed_before_and_after_a_request() {
    let room = Room::new();
    let silent = open(&room, b"");
    let idle = open(&room, b"GET /nothing HTTP/1.1\r\nHost: here\r\n\r\n");
    let kept_alive = open(&room, b"GET /heartbeat/x HTTP/1.1\r\nHost: here\r\n\r\n");
    assert_eq!(room.post("an honest one"), 200);
    assert_eq!(rest(silent), "");
    for stream in [idle, kept_alive] {
        assert!(rest(stream).starts_with("HTTP/1.1 404"));
    }
}

#[test]
fn large_bodies_that_wait_for_their_rest_keep_no_small_one_out() {
    let room = Room::new();
    let large = vec![b' '; 4 * 1024 * 1024 + 32 * 1024];
    let head = format!(
        "POST /hook/infra HTTP/1.1\r\nHost: here\r\nContent-Length: {}\r\nX-Hub-Signature-256: sha256={}\r\n\r\n",
        large.len() + 1,
        "0".repeat(64)
    );
    // Together they take the room that there is; whose they are is known at their end.
    let waiting: Vec<TcpStream> = (0..8)
        .map(|_| open(&room, &[head.as_bytes(), &large].concat()))
        .collect();
    assert_eq!(room.post("an honest one"), 200);
    assert_eq!(room.post(&"another, ".repeat(2_000)), 200);
    // Larger than what takes no room: one of them gives way.
    assert_eq!(room.post(&"the third, ".repeat(6_000)), 200);
    for stream in waiting {
        let answer = rest(stream);
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
}

#[test]
fn bodies_of_no_length_that_stall_keep_nobody_out() {
    let room = Room::new();
    let head = format!(
        "POST /hook/infra HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\nX-Hub-Signature-256: sha256={}\r\n\r\n",
        "0".repeat(64)
    );
    // As long as they like: some have just begun, some are large already.
    let stalled = |kib: usize| {
        let begun = format!("{head}{:x}\r\n{}", 32 * 1024 * 1024, " ".repeat(kib * 1024));
        open(&room, begun.as_bytes())
    };
    let _begun: Vec<TcpStream> = (0..100).map(|_| stalled(33)).collect();
    let _large: Vec<TcpStream> = (0..3).map(|_| stalled(1_100)).collect();
    for number in 0..5 {
        assert_eq!(
            room.post(&format!("{number} {}", "x".repeat(60 * 1024))),
            200
        );
        assert_eq!(
            room.post(&format!("{number} {}", "x".repeat(900 * 1024))),
            200
        );
    }
    // One of those that stall gives way to it.
    assert_eq!(room.post(&"x".repeat(3 * 1024 * 1024)), 200);
}

#[test]
fn large_honest_bodies_at_once_wait_for_each_other() {
    let room = Room::new();
    let posted: Vec<u16> = std::thread::scope(|scope| {
        let room = &room;
        // Three of them have room; the others wait. Not in the title, which costs a debug build seconds.
        let posts: Vec<_> = (0..5)
            .map(|number| {
                let letters = "x".repeat(9 * 1024 * 1024);
                scope.spawn(move || room.post(&format!("{number}\",\"more\":\"{letters}")))
            })
            .collect();
        posts
            .into_iter()
            .map(|post| post.join().expect("an answer"))
            .collect()
    });
    assert_eq!(posted, [200; 5]);
}

#[test]
fn floods_of_headers_are_refused() {
    let room = Room::new();
    let begin = "POST /hook/any HTTP/1.1\r\nHost: here\r\nContent-Length: 0\r\n";
    let many: Vec<String> = (0..200)
        .map(|number| format!("X-{number}: x\r\n"))
        .collect();
    let many = many.concat();
    let large = format!("X-Large: {}\r\n", "x".repeat(64 * 1024));
    for headers in [many, large] {
        let request = format!("{begin}{headers}\r\n");
        let answer = ask(room.address, request.as_bytes());
        let is_refused = match &answer {
            Ok((status, _)) => *status == 431 || *status == 400,
            Err(_) => true,
        };
        assert!(is_refused, "{answer:?}");
    }
    assert_eq!(room.post("an honest one"), 200);
}

#[test]
fn a_body_that_never_comes_is_given_up_and_what_broke_off_is_not_believed() {
    let room = Room::new();
    let body = br#"{"title":"half"}"#;
    let signature = signed(super::SECRET, body);
    let head = format!(
        "POST /hook/infra HTTP/1.1\r\nHost: here\r\nContent-Length: {}\r\nX-Hub-Signature-256: sha256={signature}\r\n\r\n",
        body.len()
    );
    let half = [head.as_bytes(), &body[..8]].concat();
    let waiting = open(&room, &half);
    let broken = open(&room, &half);
    broken.shutdown(std::net::Shutdown::Write).expect("cut off");
    let answer = rest(broken);
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
        "{answer}"
    );
    assert_eq!(room.post("an honest one"), 200);
    let answer = rest(waiting);
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert_eq!(room.ask("SELECT count(*) FROM arrival"), "1");
}
