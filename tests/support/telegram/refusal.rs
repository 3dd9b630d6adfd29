//! The table of what Telegram refuses, in its words (DELIVERY A1.4), each with a name for scripts.

/// A refusal as Telegram sends it: `{"ok":false,"error_code":code,"description":description}`.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    pub name: &'static str,
    pub code: u16,
    pub description: &'static str,
    /// The message was sent all the same.
    pub was_sent: bool,
}

impl Refusal {
    /// By its name in the table.
    ///
    /// # Panics
    /// When the table has none of that name.
    pub fn named(name: &str) -> &'static Self {
        match Self::find(name) {
            Some(refusal) => refusal,
            None => panic!("the table of refusals has no \"{name}\""),
        }
    }

    pub(super) fn find(name: &str) -> Option<&'static Self> {
        REFUSALS.iter().find(|refusal| refusal.name == name)
    }

    const fn new(name: &'static str, code: u16, description: &'static str) -> Self {
        Self {
            name,
            code,
            description,
            was_sent: false,
        }
    }
}

/// All of them, those for which the request itself gives reason too: a script may send them without.
#[rustfmt::skip]
pub const REFUSALS: &[Refusal] = &[
    // The message.
    Refusal::new("entities", 400, "Bad Request: can't parse entities: Unsupported start tag \"\" at byte offset 218"),
    Refusal::new("message-too-long", 400, "Bad Request: message is too long"),
    Refusal::new("text-too-long", 400, "Bad Request: text is too long"),
    Refusal::new("text-empty", 400, "Bad Request: message text is empty"),
    Refusal::new("text-invisible", 400, "Bad Request: text must be non-empty"),
    Refusal::new("not-utf8", 400, "Bad Request: strings must be encoded in UTF-8"),
    Refusal::new("surrogates", 400, "Bad Request: can't parse entities: Text contains invalid Unicode characters after decoding HTML entities, check for unmatched surrogate code units"),
    Refusal::new("entities-too-long", 400, "Bad Request: entities too long"),
    Refusal::new("entities-too-long-raw", 400, "Bad Request: ENTITIES_TOO_LONG"),
    Refusal::new("entity-bounds", 400, "Bad Request: ENTITY_BOUNDS_INVALID"),
    Refusal::new("message-entity", 400, "Bad Request: can't parse entities: can't parse MessageEntity: Field \"type\" must be of type String"),
    Refusal::new("parse-mode", 400, "Bad Request: unsupported parse_mode"),
    Refusal::new("button-url-raw", 400, "Bad Request: BUTTON_URL_INVALID"),
    Refusal::new("button-data", 400, "Bad Request: BUTTON_DATA_INVALID"),
    Refusal::new("button-url", 400, "Bad Request: inline keyboard button URL 'http://localhost:3000' is invalid: Wrong HTTP URL"),
    Refusal::new("markup", 400, "Bad Request: REPLY_MARKUP_INVALID"),
    Refusal::new("markup-too-long", 400, "Bad Request: reply markup is too long"),
    Refusal::new("markup-json", 400, "Bad Request: can't parse reply keyboard markup JSON object"),
    Refusal::new("thread-not-found", 400, "Bad Request: message thread not found"),
    Refusal::new("topic-deleted", 400, "Bad Request: TOPIC_DELETED"),
    Refusal::new("topic-closed", 400, "Bad Request: TOPIC_CLOSED"),
    Refusal::new("reply-not-found", 400, "Bad Request: message to be replied not found"),
    Refusal::new("reply-id", 400, "Bad Request: REPLY_MESSAGE_ID_INVALID"),
    Refusal::new("quote", 400, "Bad Request: QUOTE_TEXT_INVALID"),
    Refusal::new("effect", 400, "Bad Request: EFFECT_ID_INVALID"),
    // The destination.
    Refusal::new("chat-not-found", 400, "Bad Request: chat not found"),
    Refusal::new("private-chat-not-found", 400, "Bad Request: private chat not found"),
    Refusal::new("peer", 400, "Bad Request: PEER_ID_INVALID"),
    Refusal::new("chat-id-empty", 400, "Bad Request: chat_id is empty"),
    Refusal::new("no-rights", 400, "Bad Request: not enough rights to send text messages to the chat"),
    Refusal::new("need-administrator", 400, "Bad Request: need administrator rights in the channel chat"),
    Refusal::new("no-write-access", 400, "Bad Request: have no write access to the chat"),
    Refusal::new("write-forbidden", 400, "Bad Request: CHAT_WRITE_FORBIDDEN"),
    Refusal::new("restricted", 400, "Bad Request: CHAT_RESTRICTED"),
    Refusal::new("banned-in-channel", 400, "Bad Request: USER_BANNED_IN_CHANNEL"),
    Refusal::new("guest", 400, "Bad Request: CHAT_GUEST_SEND_FORBIDDEN"),
    Refusal::new("administrator", 400, "Bad Request: CHAT_ADMIN_REQUIRED"),
    Refusal::new("payment", 400, "Bad Request: ALLOW_PAYMENT_REQUIRED_5"),
    Refusal::new("deactivated-group", 400, "Bad Request: group is deactivated"),
    Refusal::new("blocked", 403, "Forbidden: bot was blocked by the user"),
    Refusal::new("deactivated-user", 403, "Forbidden: user is deactivated"),
    Refusal::new("not-started", 403, "Forbidden: bot can't initiate conversation with a user"),
    Refusal::new("to-a-bot", 403, "Forbidden: bot can't send messages to bots"),
    Refusal::new("to-the-bot", 403, "Forbidden: the bot can't send messages to the bot"),
    Refusal::new("kicked", 403, "Forbidden: bot was kicked from the group chat"),
    Refusal::new("kicked-supergroup", 403, "Forbidden: bot was kicked from the supergroup chat"),
    Refusal::new("kicked-channel", 403, "Forbidden: bot was kicked from the channel chat"),
    Refusal::new("not-a-member", 403, "Forbidden: bot is not a member of the supergroup chat"),
    Refusal::new("not-a-member-channel", 403, "Forbidden: bot is not a member of the channel chat"),
    Refusal::new("deleted-group", 403, "Forbidden: the group chat was deleted"),
    // The bot.
    Refusal::new("logged-out", 400, "Bad Request: logged out"),
    Refusal::new("frozen", 400, "Bad Request: FROZEN_METHOD_INVALID"),
    Refusal::new("unauthorized", 401, "Unauthorized"),
    Refusal::new("token-invalid", 401, "Unauthorized: invalid token specified"),
    Refusal::new("not-found", 404, "Not Found"),
    Refusal::new("method-not-found", 404, "Not Found: method not found"),
    Refusal::new("conflict", 409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"),
    Refusal::new("body-too-large", 413, "Request Entity Too Large"),
    Refusal::new("misdirected", 421, "Misdirected Request: unallowed token specified"),
    // The server.
    Refusal::new("restart", 500, "Internal Server Error: restart"),
    Refusal { was_sent: true, ..Refusal::new("sent-then-deleted", 500, "Internal Server Error: sent message was immediately deleted and can't be returned") },
    Refusal::new("internal", 500, "Internal Server Error"),
    // Of no known kind: what a reader of this table must not take for one.
    Refusal::new("unknown", 400, "Bad Request: SOMETHING_NEW_HAPPENED"),
];
