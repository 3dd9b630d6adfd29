//! Which gates a destination has, and by which limits they are spent.

use crate::channel::Channels;
use crate::policy::limiter;
use shared::model::{
    Alert, Destination, Folding, GateKeys, Gatekeeper, Gates, Pass, Priority, Timestamp,
};

/// So many alerts that wait are as fast by themselves, and keep their full text.
const SINGLES: usize = 3;

impl Gatekeeper for Channels {
    fn keys(&self, to: &Destination) -> GateKeys {
        let bot = self.bot(&to.channel);
        let renamed = self.renamed(to);
        let chat = renamed.as_deref().unwrap_or(&to.chat_id);
        GateKeys {
            channel: to.channel.clone(),
            method: format!("{bot}/sendMessage"),
            chat: chat_key(&bot, chat),
            bot,
        }
    }

    fn believable(&self, to: &Destination, gates: &Gates, now: Timestamp) -> Gates {
        match self.limits(to) {
            Some(limits) => limits.believable(gates, now),
            None => gates.clone(),
        }
    }

    fn pass(&self, to: &Destination, gates: &Gates, priority: Priority, now: Timestamp) -> Pass {
        match self.limits(to) {
            Some(limits) => limits.pass(gates, priority, now),
            None => limiter::pass_unlimited(gates, now),
        }
    }

    fn folding(&self, to: &Destination) -> Option<Folding> {
        let digests = self.digests(&to.channel)?;
        Some(Folding {
            singles: SINGLES,
            window: digests.window,
        })
    }

    fn pack(&self, to: &Destination, alerts: &[Alert]) -> Vec<usize> {
        self.digest_sizes(&to.channel, alerts)
    }
}

/// Under which name a chat's gate is kept.
pub(crate) fn chat_key(bot: &str, chat_id: &str) -> String {
    format!("{bot}/{}", one_form(chat_id))
}

/// A number in whatever form somebody wrote it is one chat.
fn one_form(chat_id: &str) -> String {
    let number = chat_id.trim().parse::<i64>();
    number.map_or_else(|_| chat_id.to_owned(), |number| number.to_string())
}
