//! `check --live` and `test` against an ntfy at the socket: every trouble is told with the key to look at,
//! and only `test` publishes anything.

use super::Room;
use shared::platform::exit::Exit;
use watchalert_tests::ntfy::{Fault, Ntfy, Options};

const TOKEN: &str = "tk_hunter2";

fn ntfy(room: &Room) -> Ntfy {
    let mut options = Options::strict(&room.world.clock);
    options.authorization = Some(format!("Bearer {TOKEN}"));
    Ntfy::start(options)
}

fn section(url: &str, more: &str) -> String {
    format!("kind = \"ntfy\"\nurl = \"{url}\"\ntopic = \"my-alerts\"\n{more}")
}

#[test]
fn an_ntfy_is_asked_for_its_health_and_whether_it_knows_us_and_nothing_is_published() {
    let room = Room::new(None);
    let ntfy = ntfy(&room);
    room.secret("good", TOKEN);
    room.secret("bad", "tk_another");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let closed = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let url = ntfy.url();
    room.configure(&[
        ("a", &section(&url, "token_file = \"good\"")),
        ("b", &section(&url, "token_file = \"bad\"")),
        ("c", &section(&url, "")),
        (
            "d",
            &section(&url, "user = \"ada\"\npassword_file = \"bad\""),
        ),
        ("e", &section(&closed, "")),
        ("f", &section(&room.telegram.url(), "")),
    ]);
    let (lines, exit) = room.look();
    let only = "whether it may write there, only a message can tell";
    assert_eq!(
        lines,
        [
            format!("channel.a yes the owner of the token to the topic my-alerts; {only}"),
            "channel.b.token_file NO ntfy answered 40101: unauthorized".to_owned(),
            format!("channel.c yes anybody to the topic my-alerts, without reading it; {only}"),
            "channel.d.password_file NO ntfy answered 40101: unauthorized".to_owned(),
            "channel.e.url NO no connection: Connection refused (os error 111)".to_owned(),
            "channel.f.url NO 404 without an answer of ntfy's".to_owned(),
        ]
    );
    assert_eq!(exit, Exit::Unexpected);
    assert_eq!(ntfy.published(), []);
}

#[test]
fn a_test_of_an_ntfy_channel_says_what_became_of_it() {
    let room = Room::new(None);
    let ntfy = ntfy(&room);
    room.secret("good", TOKEN);
    room.configure(&[("phone", &section(&ntfy.url(), "token_file = \"good\""))]);
    let (out, ended) = room.run(&["test", "phone"]);
    assert_eq!(ended.expect("it was taken"), Exit::Success);
    let published = ntfy.published();
    assert_eq!(
        published[0].title,
        "\u{25cb} LOW A test of the channel phone"
    );
    let receipt = format!("the channel phone took it (receipt {})\n", published[0].id);
    assert_eq!(out, receipt);
    ntfy.script([Fault::Code(42_908)]);
    let (_, ended) = room.run(&["test", "phone"]);
    assert_eq!(
        ended.expect_err("not today").to_string(),
        "the channel phone did not take it: ntfy answered 42908: limit reached: daily message quota reached"
    );
}
