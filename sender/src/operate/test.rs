//! `test`: one message to one channel, past the queue but not past a closed gate, and what became of it.

use crate::channel::Channels;
use crate::command::World;
use shared::Failure;
use shared::config::Config;
use shared::model::{
    Alert, Content, Delivery, DeliveryKind, Fault, GateKeys, Gatekeeper, Outcome, Priority, Scope,
    Severity, Timestamp,
};
use shared::platform::term::{self, Style};
use shared::policy::text::{one_line, span};
use shared::store::Viewer;
use shared::store::status::{self, Gate};
use std::io::{self, Write};

/// Sends it and says what the channel answered. `anyway`: also while the channel is closed.
///
/// # Errors
/// `Usage` for a channel that is not configured, `Unexpected` when it is closed, and with the channel's
/// own words when it did not take the message.
pub async fn run(
    config: &Config,
    name: &str,
    anyway: bool,
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
    let (to, now) = (channel.destination(), world.clock.now());
    if !anyway && let Some(gate) = closed(config, &channels.keys(&to), now) {
        return Err(Failure::Unexpected(format!(
            "the channel {name} is closed for {} (until {}): {}; with --anyway the message is sent all the same",
            span(gate.closed_until.since(now)),
            term::local(gate.closed_until, &config.timezone),
            one_line(gate.reason.as_deref().unwrap_or("a short pause")),
        )));
    }
    let content = Content::Alert(Box::new(message(name, now)));
    let delivery = Delivery::untried(0, DeliveryKind::Notice, to, Priority::Low, content, now);
    let refused = |what: &str, fault: Fault| {
        Failure::Unexpected(format!("the channel {name} {what}: {}", fault.detail))
    };
    match channels.send(&delivery, now).await.outcome {
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

/// The gate that keeps the channel closed the longest. A database that is not there, or cannot be read,
/// says nothing against a try.
fn closed(config: &Config, keys: &GateKeys, now: Timestamp) -> Option<Gate> {
    let viewer = Viewer::open(&config.state_path).ok()?;
    let gates = viewer.read(|db| status::closed_gates(db, now)).ok()?;
    let ours = [
        (Scope::Channel, &keys.channel),
        (Scope::Bot, &keys.bot),
        (Scope::Method, &keys.method),
        (Scope::Chat, &keys.chat),
    ];
    let is_ours = |gate: &Gate| {
        let is_it =
            |(scope, key): &(Scope, &String)| scope.name() == gate.scope && **key == gate.key;
        ours.iter().any(is_it)
    };
    let gates = gates.into_iter().filter(is_ours);
    gates.max_by_key(|gate| gate.closed_until)
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
