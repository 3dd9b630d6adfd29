//! Where a delivery goes.

use std::fmt;

/// A configured channel, and the chat, topic or mailbox inside it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Destination {
    /// The name of a `[channel.NAME]`; empty in a raw row means the default channel.
    pub channel: String,
    pub chat_id: String,
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let channel = match self.channel.as_str() {
            "" => "(default)",
            named => named,
        };
        write!(f, "{channel}/{}", self.chat_id)
    }
}
