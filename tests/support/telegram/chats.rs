//! The chats that the stand-in's bot can see.

use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatKind {
    Private,
    Group,
    Supergroup,
    Channel,
}

impl ChatKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Group => "group",
            Self::Supergroup => "supergroup",
            Self::Channel => "channel",
        }
    }

    /// Whether Telegram's limit for groups holds.
    pub fn is_group(self) -> bool {
        matches!(self, Self::Group | Self::Supergroup)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chat {
    pub id: i64,
    pub kind: ChatKind,
    pub title: String,
    /// Without its `@`; a request may name the chat by it.
    pub username: Option<String>,
    /// The topics of a forum.
    pub threads: BTreeSet<i64>,
    /// What the bot is there, as `getChatMember` says it.
    pub bot: Value,
    /// Members who are no administrators may write.
    pub is_open: bool,
}

impl Chat {
    pub fn new(id: i64, kind: ChatKind) -> Self {
        Self {
            id,
            kind,
            title: format!("{} {id}", kind.name()),
            username: None,
            threads: BTreeSet::new(),
            bot: match kind {
                ChatKind::Channel => json!({"status": "administrator", "can_post_messages": true}),
                _ => json!({"status": "member"}),
            },
            is_open: true,
        }
    }

    /// With what `getChatMember` says beside the user.
    #[must_use]
    pub fn where_the_bot_is(mut self, member: Value) -> Self {
        self.bot = member;
        self
    }

    /// Only administrators may write.
    #[must_use]
    pub fn closed(mut self) -> Self {
        self.is_open = false;
        self
    }

    #[must_use]
    pub fn titled(mut self, title: &str) -> Self {
        title.clone_into(&mut self.title);
        self
    }

    #[must_use]
    pub fn named(mut self, username: &str) -> Self {
        self.username = Some(username.to_owned());
        self
    }

    #[must_use]
    pub fn with_threads(mut self, threads: impl IntoIterator<Item = i64>) -> Self {
        self.threads.extend(threads);
        self
    }

    pub(super) fn json(&self) -> Value {
        let name = match self.kind {
            ChatKind::Private => "first_name",
            _ => "title",
        };
        let mut chat = json!({"id": self.id, "type": self.kind.name(), name: self.title});
        if let Some(username) = &self.username {
            chat["username"] = json!(username);
        }
        if !self.threads.is_empty() {
            chat["is_forum"] = json!(true);
        }
        if self.kind.is_group() {
            chat["permissions"] = json!({"can_send_messages": self.is_open});
        }
        chat
    }
}

/// Who is there, and who became whom.
#[derive(Debug, Default)]
pub(super) struct Chats {
    known: HashMap<i64, Chat>,
    /// Whoever is not known does not exist.
    only_known: bool,
    upgraded: HashMap<i64, i64>,
}

pub(super) enum Found {
    Here(Chat),
    UpgradedTo(i64),
    Nowhere,
}

impl Chats {
    /// Without a list there is everybody: a positive id is a person, a negative one a group, and one
    /// that begins with -100 a supergroup.
    pub(super) fn new(list: Option<Vec<Chat>>) -> Self {
        Self {
            only_known: list.is_some(),
            known: list
                .into_iter()
                .flatten()
                .map(|chat| (chat.id, chat))
                .collect(),
            upgraded: HashMap::new(),
        }
    }

    pub(super) fn add(&mut self, chat: Chat) {
        self.known.insert(chat.id, chat);
    }

    pub(super) fn upgrade(&mut self, group: i64, to: i64) {
        let title = match self.find(&group.to_string()) {
            Found::Here(chat) => chat.title,
            Found::UpgradedTo(_) | Found::Nowhere => String::new(),
        };
        self.add(Chat::new(to, ChatKind::Supergroup).titled(&title));
        self.upgraded.insert(group, to);
    }

    /// By id or `@username`.
    pub(super) fn find(&self, name: &str) -> Found {
        if let Some(username) = name.strip_prefix('@') {
            let is_named = |chat: &&Chat| {
                let own = chat.username.as_deref().unwrap_or_default();
                own.eq_ignore_ascii_case(username)
            };
            let chat = self.known.values().find(is_named);
            return chat.map_or(Found::Nowhere, |chat| Found::Here(chat.clone()));
        }
        let Some(id) = name.parse::<i64>().ok().filter(|id| *id != 0) else {
            return Found::Nowhere;
        };
        match (self.upgraded.get(&id), self.known.get(&id)) {
            (Some(to), _) => Found::UpgradedTo(*to),
            (None, Some(chat)) => Found::Here(chat.clone()),
            (None, None) if self.only_known => Found::Nowhere,
            (None, None) => Found::Here(Chat::new(id, kind_of(id))),
        }
    }
}

fn kind_of(id: i64) -> ChatKind {
    const FIRST_SUPERGROUP: i64 = -1_000_000_000_000;
    match id {
        1.. => ChatKind::Private,
        FIRST_SUPERGROUP..=0 => ChatKind::Group,
        _ => ChatKind::Supergroup,
    }
}
