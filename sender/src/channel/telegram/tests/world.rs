//! The stand-in at the socket: a bot, its configuration, and a server that answers from a script.

use super::super::{Flown, Telegram};
use crate::channel::http::Wire;
use crate::channel::{Channels, console::Output};
use serde_json::{Value, json};
use shared::config::{Config, Program, Surroundings};
use shared::model::{Delivery, Outcome};
use shared::platform::term::Style;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::{Receiver, Sender, channel};
use tempfile::TempDir;

pub(super) const TOKEN: &str = "123456:AAE-hunter2_key";
pub(super) const OK: &str = r#"{"ok":true,"result":{"message_id":11,"date":1796025600}}"#;

/// One answer of the stand-in.
#[derive(Clone)]
pub(super) enum Next {
    Json(u16, String),
    /// Exactly these bytes, then the connection ends.
    Bytes(Vec<u8>),
}

pub(super) fn refused(code: u16, description: &str) -> Next {
    let body = json!({"ok": false, "error_code": code, "description": description});
    Next::Json(code, body.to_string())
}

/// A bot, its configuration and a server that answers from a script and ends with it.
pub(super) struct World {
    pub(super) telegram: Telegram,
    /// Path and body of each request.
    pub(super) asked: Receiver<(String, Value)>,
    folder: TempDir,
    port: u16,
}

impl World {
    pub(super) fn new(script: Vec<Next>) -> Self {
        Self::with("", script)
    }

    /// The script answers questions too. Elsewhere they find a server that is not well.
    pub(super) fn with_questions(script: Vec<Next>) -> Self {
        Self::scripted("", script, true)
    }

    pub(super) fn with(keys: &str, script: Vec<Next>) -> Self {
        Self::scripted(keys, script, false)
    }

    fn scripted(keys: &str, script: Vec<Next>, questions: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (told, asked) = channel();
        std::thread::spawn(move || {
            let mut script = script.into_iter().peekable();
            while script.peek().is_some() {
                let (socket, _) = listener.accept().expect("a connection");
                serve(socket, &mut script, &told, questions).expect("served");
            }
        });
        let folder = TempDir::new().expect("a folder");
        Self {
            telegram: telegram(&folder, port, keys),
            asked,
            port,
            folder,
        }
    }

    pub(super) async fn send(&self, delivery: &Delivery) -> Flown {
        let flown = self.telegram.send(delivery).await;
        assert!(
            !format!("{flown:?} {:?}", self.telegram).contains("hunter2"),
            "{flown:?}"
        );
        flown
    }

    /// The same through the sender's own door.
    pub(super) async fn send_as_configured(&self, delivery: &Delivery) -> Outcome {
        let channels = config(&self.folder, self.port, "").channels;
        let nowhere = Output::new(io::sink());
        let channels = Channels::open(&channels, &nowhere, Style::default());
        channels
            .send(delivery, shared::model::Timestamp::EPOCH)
            .await
            .outcome
    }

    /// The bodies of what was sent since the last call.
    pub(super) fn sent(&self) -> Vec<Value> {
        let mut bodies = Vec::new();
        for (path, body) in self.asked.try_iter() {
            assert_eq!(path, format!("/bot{TOKEN}/sendMessage"));
            bodies.push(body);
        }
        bodies
    }
}

pub(super) fn telegram(folder: &TempDir, port: u16, keys: &str) -> Telegram {
    match &config(folder, port, keys).channels[0].kind {
        shared::config::ChannelKind::Telegram(configured) => {
            Telegram::new(Wire::open(), (**configured).clone())
        }
        other => panic!("not {other:?}"),
    }
}

fn config(folder: &TempDir, port: u16, keys: &str) -> Config {
    let token = folder.path().join("token");
    fs::write(&token, TOKEN).expect("written");
    fs::set_permissions(&token, fs::Permissions::from_mode(0o640)).expect("guarded");
    let around = Surroundings {
        directory: folder.path(),
        credentials: None,
        program: Program::Sender,
    };
    let text = format!(
        "[channel.ops]\nkind = \"telegram\"\napi_url = \"http://127.0.0.1:{port}\"\n\
         token_file = \"token\"\nchat_id = -100\n{keys}"
    );
    Config::parse(&text, &around).expect("a good configuration")
}

/// Answers the requests of one connection until the script says bytes or is over.
fn serve(
    socket: TcpStream,
    script: &mut impl Iterator<Item = Next>,
    told: &Sender<(String, Value)>,
    questions: bool,
) -> io::Result<()> {
    let mut writer = socket.try_clone()?;
    let mut reader = BufReader::new(socket);
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first)? == 0 {
            return Ok(());
        }
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let body = serde_json::from_slice(&body).expect("JSON");
        if path.ends_with("/getMe") && !questions {
            writer.write_all(b"HTTP/1.1 502 X\r\nContent-Length: 0\r\n\r\n")?;
            continue;
        }
        told.send((path, body)).expect("the test listens");
        match script.next() {
            Some(Next::Json(status, body)) => {
                let length = body.len();
                write!(
                    writer,
                    "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
                )?;
            }
            Some(Next::Bytes(bytes)) => return writer.write_all(&bytes),
            None => return Ok(()),
        }
    }
}
