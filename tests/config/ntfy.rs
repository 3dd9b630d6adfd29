//! `kind = "ntfy"`: its defaults, every key of it, and what is no access token.

use super::{fixtures, load, write_secret};
use shared::config::{ChannelKind, Config, Login, Ntfy, Program, Surroundings};
use tempfile::TempDir;

/// What the sender makes of these keys, with this in the file of the secret.
fn ntfy(keys: &str, secret: &str) -> Result<Ntfy, Vec<String>> {
    let directory = tempfile::tempdir().unwrap();
    read(&directory, keys, secret)
}

fn read(directory: &TempDir, keys: &str, secret: &str) -> Result<Ntfy, Vec<String>> {
    write_secret(&directory.path().join("secret"), secret);
    let around = Surroundings {
        directory: directory.path(),
        credentials: None,
        program: Program::Sender,
    };
    let text = format!("[channel.phone]\nkind = \"ntfy\"\n{keys}");
    let config = Config::parse(&text, &around).map_err(|problems| {
        let told = problems.iter().map(ToString::to_string);
        told.collect::<Vec<_>>()
    })?;
    match &config.channels[0].kind {
        ChannelKind::Ntfy(ntfy) => {
            assert_eq!(config.channels[0].destination().chat_id, ntfy.topic);
            Ok((**ntfy).clone())
        }
        other => panic!("not {other:?}"),
    }
}

#[test]
fn an_ntfy_channel_is_read_with_its_defaults_and_with_every_key() {
    let least = ntfy("topic = \"my-alerts_2\"\n", "").unwrap();
    assert_eq!(least.url.as_str(), "https://ntfy.sh/");
    assert_eq!(
        (least.topic.as_str(), least.login),
        ("my-alerts_2", Login::Anonymous)
    );
    let keys = "topic = \"t\"\nurl = \"http://[fd00::7]:8080\"\n";
    let folder = tempfile::tempdir().unwrap();
    let keys_and_token = format!("{keys}token_file = \"secret\"\n");
    let with_token = read(&folder, &keys_and_token, "tk_a1\n").unwrap();
    assert_eq!(with_token.url.as_str(), "http://[fd00::7]:8080/");
    let Login::Token(file) = with_token.login else {
        panic!("not {:?}", with_token.login);
    };
    assert_eq!(file.resolve().unwrap().expose(), "tk_a1");
    let keys = format!("{keys}user = \"ada\"\npassword_file = \"secret\"\n");
    let Login::Password { user, password } = read(&folder, &keys, "a pass:word").unwrap().login
    else {
        panic!("not a password");
    };
    assert_eq!(
        (user.as_str(), password.resolve().unwrap().expose()),
        ("ada", "a pass:word")
    );
}

#[test]
fn plain_http_is_for_this_machine_and_for_private_addresses_in_numbers() {
    let taken = |url: &str| ntfy(&format!("topic = \"t\"\nurl = \"{url}\"\n"), "").is_ok();
    for url in [
        "http://localhost",
        "http://127.0.0.1:81",
        "http://10.0.0.7",
        "http://[::1]",
        "https://x.example/n",
    ] {
        assert!(taken(url), "{url}");
    }
    for url in [
        "http://ntfy.sh",
        "http://ntfy.lan",
        "http://1.1.1.1",
        "http://[2606:4700::1111]",
    ] {
        assert!(!taken(url), "{url}");
    }
}

#[test]
fn a_path_of_a_server_ends_in_a_slash() {
    let config = load(&fixtures("good/ntfy.toml")).unwrap();
    let ChannelKind::Ntfy(tablet) = &config.channels[1].kind else {
        panic!("not {:?}", config.channels[1]);
    };
    assert_eq!(tablet.url.as_str(), "http://192.168.1.5:8080/push/");
}

#[test]
fn a_file_without_an_access_token_is_refused_without_showing_it() {
    let told = ntfy(
        "topic = \"t\"\ntoken_file = \"secret\"\n",
        "Bearer tk_hunter2",
    )
    .unwrap_err();
    assert_eq!(told.len(), 1);
    let start = "channel.phone.token_file (line 4): that file holds no access token";
    assert!(
        told[0].starts_with(start) && !told[0].contains("hunter2"),
        "{told:?}"
    );
}
