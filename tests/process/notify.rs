//! The sender tells systemd that it is ready, alive and stopping, and only from its own loop.

use super::QUIET;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;
use watchalert_tests::programs::{BOUND, Place, Program, until, within};

/// The service manager's end of the socket.
struct Listener {
    socket: UnixDatagram,
    heard: std::cell::RefCell<Vec<String>>,
}

impl Listener {
    fn at(place: &Place) -> Self {
        let socket = UnixDatagram::bind(place.path("notify")).expect("bound");
        socket.set_nonblocking(true).expect("set");
        Self {
            socket,
            heard: std::cell::RefCell::default(),
        }
    }

    /// How often a line was heard so far.
    fn count(&self, line: &str) -> usize {
        let mut message = [0; 4096];
        while let Ok(length) = self.socket.recv(&mut message) {
            let text = String::from_utf8_lossy(&message[..length]).into_owned();
            self.heard
                .borrow_mut()
                .extend(text.lines().map(str::to_owned));
        }
        let heard = self.heard.borrow();
        heard.iter().filter(|heard| heard.starts_with(line)).count()
    }
}

#[test]
fn the_sender_says_that_it_is_ready_alive_and_stopping() {
    let place = Place::new(QUIET);
    let listener = Listener::at(&place);
    let mut command = place.command(Program::Sender, &[]);
    command.env("NOTIFY_SOCKET", place.path("notify"));
    let sender = place.start(command);
    until("it is ready", || listener.count("READY=1") == 1);
    until("it says that it lives", || {
        listener.count("WATCHDOG=1") >= 2
    });
    until("it says what it does", || listener.count("STATUS=") >= 1);
    assert_eq!(listener.count("STOPPING=1"), 0);
    sender.terminate();
    sender.ended(BOUND).well();
    assert_eq!(listener.count("STOPPING=1"), 1);
}

#[test]
fn a_sender_that_is_stopped_says_nothing_so_that_the_watchdog_ends_it() {
    let place = Place::new(QUIET);
    let listener = Listener::at(&place);
    let mut command = place.command(Program::Sender, &[]);
    command.env("NOTIFY_SOCKET", place.path("notify"));
    let mut sender = place.start(command);
    until("it says that it lives", || {
        listener.count("WATCHDOG=1") >= 1
    });
    sender.signal("STOP");
    let until_now = listener.count("WATCHDOG=1");
    let spoke = within(Duration::from_millis(2_500), || {
        listener.count("WATCHDOG=1") > until_now + 1
    });
    sender.signal("CONT");
    assert!(!spoke, "who is stopped cannot be alive");
    until("it goes on", || {
        listener.count("WATCHDOG=1") > until_now + 1
    });
    assert!(sender.runs());
    sender.terminate();
    sender.ended(BOUND).well();
}
