//! What each channel can tell without sending anything: for `check --live`.

use super::telegram::look::{Me, Trouble};
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

impl Channels {
    /// Asks about each channel, in the order of their names; about a bot once. A server that does not
    /// answer is waited for once by each bot, 10 s.
    pub async fn look(&self) -> Vec<Found> {
        let mut bots: BTreeMap<String, Result<Me, Trouble>> = BTreeMap::new();
        let mut found = Vec::new();
        for (name, channel) in &self.by_name {
            let said = match channel {
                Channel::Console(_) => {
                    Ok("prints to standard output; there is nothing to try".to_owned())
                }
                Channel::Telegram(telegram) => {
                    let me = match bots.remove(&telegram.bot()) {
                        Some(known) => known,
                        None => telegram.look_at_bot().await,
                    };
                    let (me, said) = match me {
                        Err(trouble) => (Err(trouble.clone()), Err(trouble)),
                        Ok(me) => match telegram.look_at_chat(&me).await {
                            Err(trouble) if trouble.is_silence => {
                                (Err(trouble.clone()), Err(trouble))
                            }
                            said => (Ok(me), said),
                        },
                    };
                    bots.insert(telegram.bot(), me);
                    said
                }
            };
            found.push(of(name, said));
        }
        found
    }
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
