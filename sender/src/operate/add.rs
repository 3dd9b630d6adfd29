//! `queue add`: a text for one chat, for the channel's own, or for every chat of a file.

use crate::args::Add;
use crate::command::World;
use shared::Failure;
use shared::config::Config;
use shared::model::{Destination, Priority, Timestamp};
use shared::platform::{doorbell, term};
use shared::store::outbox::add::{self, Message};
use shared::store::{Db, Store, StoreError, Viewer, beside, room};
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::path::Path;

/// A transaction adds no more rows, so that others are not kept out.
const AT_ONCE: usize = 100;

/// Adds, after a question when it goes to many, or only says what would be added.
pub async fn run(
    options: Add,
    config: &Config,
    world: &World,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    let now = world.clock.now();
    let messages = messages(&options, config, now)?;
    let summary = summary(&messages, config, now);
    if options.dry_run {
        let new = match Viewer::open(&config.state_path) {
            Ok(viewer) => viewer.read(|db| add::count_new(db, &messages))?,
            Err(StoreError::Missing(_)) => messages.len(),
            Err(error) => return Err(error.into()),
        };
        let known = messages.len() - new;
        return Ok(writeln!(
            out,
            "would add {summary}: {new} new, {known} known by their key"
        ));
    }
    if messages.len() > 1 && !options.yes && !is_confirmed(&summary, world.terminal, out)? {
        return Err(Failure::Usage("nothing was added".to_owned()));
    }
    room::require(&config.state_path, config.min_free)?;
    let store = Store::open(&config.state_path)?;
    let (count, mut new) = (messages.len(), 0);
    for some in messages.chunks(AT_ONCE) {
        let some = some.to_vec();
        new += store.write(move |db: &Db| add::add(db, &some, now)).await?;
    }
    doorbell::ring(&beside(&config.state_path, ".bell"));
    Ok(writeln!(
        out,
        "added {summary}: {new} new, {} known by their key",
        count - new
    ))
}

/// Asks on the terminal. Without one nobody can answer.
fn is_confirmed(summary: &str, terminal: bool, out: &mut dyn Write) -> Result<bool, Failure> {
    if !terminal {
        return Err(Failure::Usage(format!(
            "this would add {summary}; say --yes, or --dry-run to see what it would do"
        )));
    }
    super::is_confirmed(&format!("Add {summary}"), out)
}

fn summary(messages: &[Message], config: &Config, now: Timestamp) -> String {
    let Some(first) = messages.first() else {
        return "nothing".to_owned();
    };
    let whom = match messages {
        [one] => format!("a message for {}", one.to),
        many => format!("a message for {} chats of {}", many.len(), first.to.channel),
    };
    let when = if first.not_before > now {
        format!(
            ", from {} on",
            term::local(first.not_before, &config.timezone)
        )
    } else {
        String::new()
    };
    format!("{whom} ({}{when})", first.priority)
}

fn messages(options: &Add, config: &Config, now: Timestamp) -> Result<Vec<Message>, Failure> {
    let text = match options.text.as_str() {
        "-" => from_stdin()?,
        text => text.to_owned(),
    };
    if text.trim().is_empty() {
        return Err(Failure::Usage("the text is empty".to_owned()));
    }
    let name = options.channel.as_ref().unwrap_or(&config.default_channel);
    let channel = config.channels.iter().find(|channel| channel.name == *name);
    let Some(channel) = channel else {
        let names: Vec<&str> = config
            .channels
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        return Err(Failure::Usage(format!(
            "there is no channel {name:?}; there are: {}",
            names.join(", ")
        )));
    };
    let chats = match (&options.chat, &options.chats) {
        (Some(chat), _) => vec![sound(chat)?],
        (None, Some(file)) => from_file(file)?,
        (None, None) => vec![channel.destination().chat_id],
    };
    // What goes to many gives way to what goes to one.
    let otherwise = if options.chats.is_some() {
        Priority::Low
    } else {
        Priority::Normal
    };
    let priority = options.priority.unwrap_or(otherwise);
    if priority == Priority::Critical && options.expires.is_some() {
        return Err(Failure::Usage(
            "what is critical never expires; leave --expires out".to_owned(),
        ));
    }
    let not_before = match &options.at {
        Some(at) => term::moment(at, &config.timezone, now)
            .map_err(|why| Failure::Usage(format!("--at {at:?} {why}")))?,
        None => Timestamp::EPOCH,
    };
    let expires_at = options.expires.map(|after| now.max(not_before) + after);
    let message = |chat_id| Message {
        to: Destination {
            channel: name.clone(),
            chat_id,
        },
        text: text.clone(),
        key: options.key.clone(),
        priority,
        not_before,
        expires_at,
    };
    Ok(chats.into_iter().map(message).collect())
}

fn from_stdin() -> Result<String, Failure> {
    let mut text = String::new();
    let read = io::stdin().lock().read_to_string(&mut text);
    read.map_err(|error| Failure::Usage(format!("standard input cannot be read: {error}")))?;
    Ok(text.trim_end().to_owned())
}

/// One chat a line; empty lines and those after `#` say nothing. Named twice is once.
fn from_file(path: &Path) -> Result<Vec<String>, Failure> {
    let text = std::fs::read_to_string(path);
    let text = text
        .map_err(|error| Failure::Usage(format!("{} cannot be read: {error}", path.display())))?;
    let (mut chats, mut seen) = (Vec::new(), BTreeSet::new());
    for (at, line) in text.lines().enumerate() {
        let chat = line.split('#').next().unwrap_or_default().trim();
        if chat.is_empty() {
            continue;
        }
        let chat = sound(chat).map_err(|failure| {
            Failure::Usage(format!("{}, line {}: {failure}", path.display(), at + 1))
        })?;
        if seen.insert(chat.clone()) {
            chats.push(chat);
        }
    }
    if chats.is_empty() {
        let path = path.display();
        return Err(Failure::Usage(format!(
            "{path} names no chat; write one a line"
        )));
    }
    Ok(chats)
}

fn sound(chat: &str) -> Result<String, Failure> {
    if !chat.is_empty() && chat.bytes().all(|byte| (b'!'..=b'~').contains(&byte)) {
        return Ok(chat.to_owned());
    }
    Err(Failure::Usage(format!(
        "{chat:?} is no chat: it is a number, a name or an address without spaces"
    )))
}
