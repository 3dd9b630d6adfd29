//! Which gates a destination has, and by which limits they are spent.

use crate::channel::Channels;
use crate::policy::limiter;
use shared::model::{Destination, GateKeys, Gatekeeper, Gates, Pass, Priority, Timestamp};

impl Gatekeeper for Channels {
    fn keys(&self, to: &Destination) -> GateKeys {
        let bot = self.bot(&to.channel);
        GateKeys {
            channel: to.channel.clone(),
            method: format!("{bot}/sendMessage"),
            chat: format!("{bot}/{}", to.chat_id),
            bot,
        }
    }

    fn pass(&self, to: &Destination, gates: &Gates, priority: Priority, now: Timestamp) -> Pass {
        match self.limits(to) {
            Some(limits) => limits.pass(gates, priority, now),
            None => limiter::pass_unlimited(gates, now),
        }
    }
}
