//! What each channel can tell without sending anything: for `check --live`.

use super::telegram::Telegram;
use super::telegram::look::Me;
use super::{Channel, Channels};
use std::collections::BTreeMap;

/// What was found out about one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The path of the key that is to blame, of the whole section when none is.
    pub key: String,
    pub works: bool,
    /// One line without a secret.
    pub what: String,
}

/// Why nothing can be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What to look at in the channel's section; empty when no key is to blame.
    pub key: &'static str,
    /// One line without a secret.
    pub what: String,
    /// Nobody answers there: more questions would only wait.
    pub is_silence: bool,
}

impl Channels {
    /// Asks about each channel, in the order of their names; about a bot once. A server that does not
    /// answer is waited for once by each bot, 10 s.
    pub async fn look(&self) -> Vec<Found> {
        let mut bots = BTreeMap::new();
        let mut silent: BTreeMap<String, Trouble> = BTreeMap::new();
        let mut found = Vec::new();
        for (name, channel) in &self.by_name {
            let said = match channel {
                Channel::Console(_) => {
                    Ok("prints to standard output; there is nothing to try".to_owned())
                }
                Channel::Email(email) => email.look().await,
                Channel::Telegram(telegram) => ask_telegram(telegram, &mut bots).await,
                Channel::Ntfy(ntfy) => match silent.get(&ntfy.visitor()) {
                    Some(silence) => Err(silence.clone()),
                    None => ntfy.look().await.inspect_err(|trouble| {
                        if trouble.is_silence {
                            silent.insert(ntfy.visitor(), trouble.clone());
                        }
                    }),
                },
            };
            found.push(of(name, said));
        }
        found
    }
}

/// Asks about the bot once, and about each chat of it.
async fn ask_telegram(
    telegram: &Telegram,
    bots: &mut BTreeMap<String, Result<Me, Trouble>>,
) -> Result<String, Trouble> {
    let me = match bots.remove(&telegram.bot()) {
        Some(known) => known,
        None => telegram.look_at_bot().await,
    };
    let (me, said) = match me {
        Err(trouble) => (Err(trouble.clone()), Err(trouble)),
        Ok(me) => match telegram.look_at_chat(&me).await {
            Err(trouble) if trouble.is_silence => (Err(trouble.clone()), Err(trouble)),
            said => (Ok(me), said),
        },
    };
    bots.insert(telegram.bot(), me);
    said
}

fn of(channel: &str, said: Result<String, Trouble>) -> Found {
    let section = format!("channel.{channel}");
    match said {
        Ok(what) => Found {
            key: section,
            works: true,
            what,
        },
        Err(trouble) => Found {
            key: match trouble.key {
                "" => section,
                key => format!("{section}.{key}"),
            },
            works: false,
            what: trouble.what,
        },
    }
}
