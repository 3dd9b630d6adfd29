//! The receiver over a real socket: what is answered with 2xx is kept, whatever the database does; what
//! is forged, too large, too slow or misplaced is refused, and keeps nobody else out.

#[path = "listen/beats.rs"]
mod beats;
#[path = "listen/bounds.rs"]
mod bounds;
#[path = "listen/kept.rs"]
mod kept;
#[path = "listen/signed.rs"]
mod signed;

use shared::config::{Config, Program, Surroundings};
use shared::platform::clock::Clock;
use std::fs::{self, Permissions};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::thread::JoinHandle;
use tempfile::TempDir;
use tokio::sync::oneshot;
use watchalert_ingest::listen::{Scene, run};
use watchalert_tests::programs::until;
use watchalert_tests::world::{ask, runtime, stranger};

const SECRET: &str = "a secret of the tests";
const TOKEN: &str = "a-token-of-the-tests";

/// A receiver that runs, with a webhook of each kind.
struct Room {
    dir: TempDir,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    receiver: Option<JoinHandle<()>>,
}

impl Room {
    fn new() -> Self {
        Self::with("")
    }

    /// `more` of the configuration.
    fn with(more: &str) -> Self {
        // In memory, where the machine has a folder for that: a disk that is slow for half a second is answered by 202.
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let dir = dir.expect("a folder");
        for (name, secret) in [("secret", SECRET), ("token", TOKEN)] {
            let path = dir.path().join(name);
            fs::write(&path, secret).expect("written");
            fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("locked up");
        }
        let mut room = Self {
            dir,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            stop: None,
            receiver: None,
        };
        room.start(more);
        room
    }

    fn config(&self, more: &str) -> Config {
        let text = format!(
            "default_channel = 'screen'\n[state]\npath = 'state.db'\nmin_free = '0 KiB'\n[channel.screen]\nkind = 'console'\n\
             [[webhook]]\nname = 'infra'\nkind = 'github'\nsecret_file = 'secret'\n\
             [[webhook]]\nname = 'app'\nkind = 'sentry'\nsecret_file = 'secret'\n\
             [[webhook]]\nname = 'alerts'\nkind = 'alertmanager'\ntoken_file = 'token'\n\
             [[webhook]]\nname = 'any'\nkind = 'generic'\ntoken_file = 'token'\n{more}"
        );
        let around = Surroundings {
            directory: self.dir.path(),
            credentials: None,
            program: Program::Ingest,
        };
        Config::parse(&text, &around).expect("a good configuration")
    }

    fn start(&mut self, more: &str) {
        let socket = TcpListener::bind(("127.0.0.1", 0)).expect("a socket");
        self.address = socket.local_addr().expect("an address");
        let scene = Scene {
            config: self.config(more),
            clock: Clock::system(),
            socket: Some(socket),
        };
        let (stop, stopped) = oneshot::channel();
        self.stop = Some(stop);
        self.receiver = Some(std::thread::spawn(move || {
            let stopped = async { drop(stopped.await) };
            runtime()
                .block_on(run(scene, stopped))
                .expect("a clean end");
        }));
        until("it answers", || self.posts_nothing() == 404);
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(receiver) = self.receiver.take() {
            receiver.join().expect("it ends well");
        }
    }

    fn posts_nothing(&self) -> u16 {
        let nothing = watchalert_tests::posting::post(self.address, "/", &[], b"");
        nothing.map_or(0, |(status, _)| status)
    }

    fn database(&self) -> std::path::PathBuf {
        self.dir.path().join("state.db")
    }

    fn ask(&self, sql: &str) -> String {
        ask(&stranger(&self.database()), sql)
    }

    fn spooled(&self) -> usize {
        fs::read_dir(self.dir.path().join("state.db.spool")).map_or(0, Iterator::count)
    }

    /// Posts a body with a title to the generic webhook.
    fn post(&self, title: &str) -> u16 {
        let body = format!("{{\"title\":\"{title}\"}}");
        let authorization = format!("Bearer {TOKEN}");
        let headers = [
            ("Content-Type", "application/json"),
            ("Authorization", &authorization),
        ];
        let posted =
            watchalert_tests::posting::post(self.address, "/hook/any", &headers, body.as_bytes());
        posted.expect("an answer").0
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        drop(self.stop.take());
    }
}
