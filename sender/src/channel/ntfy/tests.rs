//! That the secret stands nowhere but in its header.

use super::*;
use shared::config::{Channel, ChannelKind, Config, Program, Surroundings};
use std::os::unix::fs::PermissionsExt;

fn configured(folder: &std::path::Path, keys: &str) -> Vec<Channel> {
    for (file, secret) in [("token", "tk_hunter2"), ("password", "message")] {
        let path = folder.join(file);
        std::fs::write(&path, secret).expect("written");
        let locked = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path, locked).expect("locked up");
    }
    let around = Surroundings {
        directory: folder,
        credentials: None,
        program: Program::Sender,
    };
    let text = format!("[channel.phone]\nkind = \"ntfy\"\ntopic = \"t\"\n{keys}");
    Config::parse(&text, &around).expect("good").channels
}

async fn shown(keys: &str, text: &str) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let channels = configured(folder.path(), keys);
    let ChannelKind::Ntfy(ntfy) = &channels[0].kind else {
        panic!("not {channels:?}");
    };
    let wire = Wire::open();
    let door = Door::open(&wire, ntfy).await.expect("open");
    (format!("{door:?}"), door.without_secret(text))
}

#[tokio::test]
async fn what_a_server_repeats_of_the_secret_is_blotted_out() {
    let (debug, text) = shown("token_file = \"token\"", "Bearer tk_hunter2!").await;
    assert!(!debug.contains("hunter2"), "{debug}");
    assert_eq!(text, "Bearer [secret]!");
    // ada:message
    let keys = "user = \"ada\"\npassword_file = \"password\"";
    let (debug, text) = shown(keys, "Basic YWRhOm1lc3NhZ2U= is ada's message").await;
    assert!(!debug.contains("YWRhOm"), "{debug}");
    assert_eq!(text, "Basic [secret] is ada's [secret]");
}
