//! `test`: one message to one channel, past the queue, and what became of it.

use crate::channel::Channels;
use crate::command::World;
use shared::Failure;
use shared::config::Config;
use shared::model::{
    Alert, Content, Delivery, DeliveryKind, Fault, Outcome, Priority, Severity, Timestamp,
};
use shared::platform::term::Style;
use std::io::{self, Write};

/// Sends it and says what the channel answered.
///
/// # Errors
/// `Usage` for a channel that is not configured, `Unexpected` with the channel's own words when it
/// did not take the message.
pub async fn run(
    config: &Config,
    name: &str,
    world: &World,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    let Some(channel) = config.channels.iter().find(|channel| channel.name == name) else {
        let names: Vec<&str> = config
            .channels
            .iter()
            .map(|channel| channel.name.as_str())
            .collect();
        return Err(Failure::Usage(format!(
            "there is no [channel.{name}]; there is: {}",
            names.join(", ")
        )));
    };
    let style = Style::of_stdout(&world.environment);
    let channels = Channels::open(&config.channels, &world.output, style);
    let delivery = Delivery {
        id: 0,
        kind: DeliveryKind::Notice,
        destination: channel.destination(),
        priority: Priority::Low,
        content: Content::Alert(Box::new(message(name, world.clock.now()))),
        owed_since: world.clock.now(),
        unknown_outcomes: 0,
        unrecognised: 0,
        failures: 0,
        rest: Vec::new(),
        possible_repeat: false,
    };
    let refused = |what: &str, fault: Fault| {
        Failure::Unexpected(format!("the channel {name} {what}: {}", fault.detail))
    };
    match channels.send(&delivery).await.outcome {
        Outcome::Delivered(receipt) | Outcome::Begun(receipt, _) => Ok(writeln!(
            out,
            "the channel {name} took it (receipt {})",
            receipt.message_id
        )),
        Outcome::Deferred(fault) if fault.maybe_delivered => {
            Err(refused("did not say whether it took it", fault))
        }
        Outcome::Deferred(fault) | Outcome::Rejected(fault) => {
            Err(refused("did not take it", fault))
        }
    }
}

fn message(name: &str, now: Timestamp) -> Alert {
    let title = format!("A test of the channel {name}");
    let summary = "If you read this, alerts reach you here.".to_owned();
    Alert::about_ourselves(
        Severity::Low,
        title,
        summary,
        "somebody asked for it",
        now.unix_millis(),
    )
}
