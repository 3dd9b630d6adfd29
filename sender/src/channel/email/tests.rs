//! What needs no server.

use super::*;
use shared::config::{Channel, ChannelKind, Config, Program, Surroundings};
use shared::model::{Content, DeliveryKind, Hold, Priority, Timestamp};
use std::net::TcpListener;
use std::path::Path;

/// A channel whose server is on that port of this machine.
fn channel(port: u16) -> (Email, Channel) {
    let text = format!(
        "[channel.mail]\nkind = \"email\"\nsmtp = \"smtp://127.0.0.1:{port}\"\nfrom = \"watch@x.y\"\n\
         to = [\"me@x.y\"]\n"
    );
    let around = Surroundings {
        directory: Path::new("/"),
        credentials: None,
        program: Program::Sender,
    };
    let config = Config::parse(&text, &around).expect("a good configuration");
    let channel = config.channels[0].clone();
    match &channel.kind {
        ChannelKind::Email(email) => (Email::new((**email).clone()), channel),
        other => panic!("not {other:?}"),
    }
}

fn delivery(channel: &Channel) -> Delivery {
    let content = Content::Raw {
        text: Some("text".to_owned()),
        body: "{}".to_owned(),
    };
    let (to, kind) = (channel.destination(), DeliveryKind::Raw);
    Delivery::untried(7, kind, to, Priority::High, content, Timestamp::EPOCH)
}

#[tokio::test]
async fn a_server_that_is_not_there_leaves_the_mail_surely_unsent() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("its address").port()
    };
    let (email, channel) = channel(port);
    let Outcome::Deferred(fault) = email.send(&delivery(&channel)).await else {
        panic!("it waits");
    };
    assert_eq!(fault.hold, Some(Hold::Down));
    assert!(!fault.maybe_delivered);
    assert!(fault.detail.contains("refused"), "{}", fault.detail);
}

#[tokio::test]
async fn while_all_connections_hang_another_mail_waits_its_turn_and_then_goes_back_unsent() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (email, channel) = channel(silent.local_addr().expect("its address").port());
    let delivery = delivery(&channel);
    let _taken = Arc::clone(&email.turns)
        .acquire_many_owned(3)
        .await
        .expect("free");
    tokio::time::pause();
    let Outcome::Deferred(fault) = email.send(&delivery).await else {
        panic!("it waits");
    };
    assert_eq!(fault.detail, "all connections to the mail server are busy");
    assert!(!fault.maybe_delivered);
}

#[tokio::test]
async fn a_conversation_that_nobody_waits_for_any_more_does_not_begin_to_send() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (email, channel) = channel(silent.local_addr().expect("its address").port());
    let delivery = delivery(&channel);
    tokio::time::pause();
    let Outcome::Deferred(fault) = email.send(&delivery).await else {
        panic!("it waits");
    };
    assert_eq!(
        fault.detail,
        "the mail server kept the conversation longer than 5 min"
    );
    assert!(!fault.maybe_delivered);
}

#[test]
fn a_letter_is_either_given_up_or_sent() {
    let given_up = Progress::default();
    assert!(given_up.is_abandoned());
    assert!(!given_up.sends());
    let sent = Progress::default();
    assert!(sent.sends());
    assert!(!sent.is_abandoned());
}
