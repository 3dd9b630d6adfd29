//! A real exim on loopback: what it took, as it lies in its Maildir.

use super::{Room, minutes};
use shared::model::Priority;
use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use watchalert_tests::difficult::{alerts, mail_shows};
use watchalert_tests::programs::{skip, until};
use watchalert_tests::smtp::Seen;
use watchalert_tests::tls::certificate;

const EXIM: &str = "/usr/sbin/exim4";

struct Exim {
    dir: TempDir,
    child: Child,
    starttls: u16,
    implicit: u16,
}

/// As whom it runs. It needs no rights of its own: its ports are high, and all mail goes to one Maildir.
struct Account {
    user: String,
    group: String,
    /// User and group, where root steps down for it.
    steps_down_to: Option<(u32, u32)>,
}

impl Account {
    /// Root steps down to the account of the package: exim as root would be another program.
    fn find() -> Option<Self> {
        let me = said("id", &["-un"])?;
        if me != "root" {
            let group = said("id", &["-gn"])?;
            return Some(Self {
                user: me,
                group,
                steps_down_to: None,
            });
        }
        let user = "Debian-exim".to_owned();
        let number = |which| said("id", &[which, &user])?.parse::<u32>().ok();
        let steps_down_to = Some((number("-u")?, number("-g")?));
        let group = said("id", &["-gn", &user])?;
        Some(Self {
            user,
            group,
            steps_down_to,
        })
    }
}

fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

impl Exim {
    /// `None`: there is none here.
    fn start() -> Option<Self> {
        let account = Account::find().filter(|_| Path::new(EXIM).exists());
        let Some(account) = account else {
            skip("there is no exim here (Debian: exim4-daemon-light)");
            return None;
        };
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("opened");
        let chain = ["server.pem", "intermediate.pem"]
            .map(|name| fs::read_to_string(certificate(name)).expect("a certificate"));
        fs::write(path.join("c.pem"), chain.concat()).expect("written");
        fs::copy(certificate("server.key"), path.join("k.pem")).expect("copied");
        for name in ["spool", "md", "log"] {
            fs::create_dir(path.join(name)).expect("made");
        }
        let [starttls, implicit] = free_ports();
        let text = fs::read_to_string(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/mail/exim.conf.in"),
        );
        let text = text
            .expect("the configuration")
            .replace("EXIM_DIR", path.to_str().expect("UTF-8"))
            .replace("EXIM_USER", &account.user)
            .replace("EXIM_GROUP", &account.group)
            .replace("2625", &starttls.to_string())
            .replace("2665", &implicit.to_string());
        let config = path.join("exim.conf");
        fs::write(&config, text).expect("written");
        let mut command = Command::new(EXIM);
        if let Some((uid, gid)) = account.steps_down_to {
            for name in ["c.pem", "k.pem", "spool", "md", "log", "exim.conf"] {
                chown(path.join(name), Some(uid), Some(gid)).expect("given away");
            }
            command.uid(uid).gid(gid);
        }
        let child = command
            .arg("-C")
            .arg(&config)
            .arg("-bdf")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("exim starts");
        until("exim listens", || {
            TcpStream::connect(("127.0.0.1", implicit)).is_ok()
        });
        Some(Self {
            dir,
            child,
            starttls,
            implicit,
        })
    }

    /// The mails in its Maildir, once there are so many.
    fn mails(&self, count: usize) -> Vec<String> {
        let folder = self.dir.path().join("md/new");
        let files = || fs::read_dir(&folder).into_iter().flatten().flatten();
        until("exim has delivered", || files().count() >= count);
        let mails = files().map(|file| fs::read_to_string(file.path()).expect("a mail"));
        mails.collect()
    }

    fn room(&self, scheme: &str, password: &str) -> Room {
        let port = match scheme {
            "smtps" => self.implicit,
            _ => self.starttls,
        };
        let smtp = format!("{scheme}://alice@127.0.0.1:{port}");
        Room::new(&smtp, password, "\"me@alerts.test\"")
    }
}

impl Drop for Exim {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn free_ports() -> [u16; 2] {
    let both = [(); 2].map(|()| std::net::TcpListener::bind("127.0.0.1:0").expect("a port"));
    both.map(|listener| listener.local_addr().expect("its address").port())
}

/// Read back by a parser that nobody here wrote: subject, plain and HTML text.
fn read_back(mail: &str) -> Option<[String; 3]> {
    const READ: &str = "import email,email.policy,sys\n\
        m=email.message_from_bytes(sys.stdin.buffer.read(),policy=email.policy.default)\n\
        b=lambda k:m.get_body((k,)).get_content()\n\
        assert not m.defects and m['auto-submitted']=='auto-generated' and m['date'].datetime\n\
        sys.stdout.buffer.write('\\0'.join([m['subject'],b('plain'),b('html')]).encode())";
    let mut python = Command::new("python3")
        .args(["-c", READ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    std::io::Write::write_all(&mut python.stdin.take()?, mail.as_bytes()).ok()?;
    let output = python.wait_with_output().ok()?;
    assert!(output.status.success(), "{mail}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let parts: Vec<String> = text.split('\0').map(str::to_owned).collect();
    parts.try_into().ok()
}

#[test]
fn a_real_exim_gets_it_intact_over_either_kind_of_tls() {
    let Some(exim) = Exim::start() else { return };
    let key = "Für \u{1f980} & <b>漢字</b> .\r\n.\r\nBcc: you@x.y";
    for (already, scheme) in ["smtps", "smtp+starttls"].into_iter().enumerate() {
        let room = exim.room(scheme, "s3cret");
        room.owe(key, Priority::Critical, "me@alerts.test");
        room.send_at(Duration::ZERO);
        assert_eq!(room.rows(), ["sent: "], "{scheme}");
        let mails = exim.mails(already + 1);
        let mail = &mails[already];
        assert!(mail.contains("Return-path: <watch@sender.test>"), "{mail}");
        let Some([subject, text, html]) = read_back(mail) else {
            skip("there is no python3 to read the mail back");
            continue;
        };
        let title = "Title of Für \u{1f980} & <b>漢字</b> . . Bcc: you@x.y";
        assert_eq!(subject, format!("[CRITICAL] {title}"));
        assert!(text.starts_with(&format!("CRITICAL {title}\n")), "{text}");
        assert!(html.contains("&lt;b&gt;漢字&lt;/b&gt;"), "{html}");
    }
}

#[test]
fn a_difficult_alert_arrives_whole_through_a_real_exim() {
    let Some(exim) = Exim::start() else { return };
    let room = exim.room("smtp+starttls", "s3cret");
    for (already, alert) in alerts().into_iter().enumerate() {
        room.owe_alert(&alert, "me@alerts.test");
        room.send_at(Duration::from_secs(10 * already as u64));
        let mails = exim.mails(already + 1);
        let is_it = |mail: &&String| mail.contains(&format!("watchalert.{}.", already + 1));
        let mail = mails.iter().find(is_it).expect("it arrived");
        let Some([subject, plain, html]) = read_back(mail) else {
            skip("there is no python3 to read the mail back");
            return;
        };
        let seen = Seen {
            subject,
            plain,
            html,
        };
        mail_shows(&alert, &seen);
    }
    let rows = room.rows();
    assert!(rows.iter().all(|row| row == "sent: "), "{rows:?}");
}

#[test]
fn a_real_exim_greylists_is_full_and_refuses_a_password() {
    let Some(exim) = Exim::start() else { return };
    let room = exim.room("smtp+starttls", "s3cret");
    room.owe("grey", Priority::High, "me@grey.test");
    room.owe("full", Priority::High, "me@full.test");
    room.send_at(Duration::ZERO);
    let rows = room.rows();
    assert!(rows[0].contains("451"), "{rows:?}");
    assert!(rows[1].contains("5.2.2 Mailbox full"), "{rows:?}");
    room.send_at(minutes(6));
    let rows = room.rows();
    assert_eq!(rows[0], "sent: ");
    assert!(rows[1].starts_with("ready: "), "{rows:?}");
    exim.mails(1);

    let wrong = exim.room("smtps", "wrong");
    wrong.owe("a", Priority::High, "me@alerts.test");
    wrong.send_at(Duration::ZERO);
    let rows = wrong.rows();
    assert!(
        rows[0].contains("at the login the server said: 535"),
        "{rows:?}"
    );
}

#[test]
fn a_real_exim_tells_a_check_and_tls_that_is_mixed_up() {
    let Some(exim) = Exim::start() else { return };
    let (said, _) = exim.room("smtps", "s3cret").look();
    assert!(said.contains("takes mail to me@alerts.test"), "{said}");
    for (scheme, port, told) in [
        ("smtps", exim.starttls, "write smtp+starttls:// into smtp"),
        ("smtp+starttls", exim.implicit, "write smtps:// into smtp"),
    ] {
        let smtp = format!("{scheme}://alice@127.0.0.1:{port}");
        let room = Room::new(&smtp, "s3cret", "\"me@alerts.test\"");
        let (said, _) = room.look();
        assert!(said.contains(told), "{said}");
    }
}
