//! `[channel.NAME]` with `kind = "ntfy"`: a server, a topic of it, and who may write there.

use super::Surroundings;
use super::address::names_private_host;
use super::reader::{Read, Section};
use super::secret::{self, Program, Secret, SecretFile};
use super::value::text;
use toml::de::DeValue;
use url::Url;

/// A topic, and how to write to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ntfy {
    /// The server, with a slash at its end; `https`, or `http` on this machine or at a private address
    /// that is written out. No query, no credentials.
    pub url: Url,
    /// Letters, digits, `_` and `-`, at most 64.
    pub topic: String,
    pub login: Login,
}

/// As whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// As nobody: whoever knows the topic may write.
    Anonymous,
    /// With an access token (`tk_…`).
    Token(SecretFile),
    Password {
        user: String,
        password: SecretFile,
    },
}

pub(super) fn read(section: &mut Section<'_>, around: &Surroundings<'_>) -> Option<Ntfy> {
    let url = if section.has("url") {
        section.get("url", server)
    } else {
        Url::parse("https://ntfy.sh/").ok()
    };
    let missing = "is missing; write the topic that the phone subscribes to";
    let topic = section.need("topic", missing, topic);
    let login = login(section, around);
    Some(Ntfy {
        url: url?,
        topic: topic?,
        login: login?,
    })
}

fn login(section: &mut Section<'_>, around: &Surroundings<'_>) -> Option<Login> {
    let token = secret::read(section, "token_file", Program::Sender, around);
    if let Some(file) = &token
        && around.program.needs_what_is_for(Program::Sender)
        && file.resolve().is_ok_and(|secret| !is_ntfy_token(&secret))
    {
        let what = "that file holds no access token (tk_ and letters and digits); \
                    copy one from the account page of the server into it";
        section.refuse("token_file", what);
    }
    let user = section.get("user", user);
    let password = secret::read(section, "password_file", Program::Sender, around);
    let has = |key| section.has(key);
    match (has("token_file"), has("user"), has("password_file")) {
        (false, false, false) => Some(Login::Anonymous),
        (true, false, false) => token.map(Login::Token),
        (false, true, true) => Some(Login::Password {
            user: user?,
            password: password?,
        }),
        (true, ..) => {
            let what = "stands beside user or password_file; keep one way to log in";
            section.refuse("token_file", what);
            None
        }
        (false, true, false) => {
            let missing = "is missing; write the name of a file that holds the user's password";
            section.refuse("password_file", missing);
            None
        }
        (false, false, true) => {
            section.refuse("user", "is missing; write whose password that is");
            None
        }
    }
}

/// What can be an access token; anything else does not fit into a header.
pub fn is_ntfy_token(secret: &Secret) -> bool {
    let rest = secret.expose().strip_prefix("tk_").unwrap_or_default();
    !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn user(value: &DeValue<'_>) -> Read<String> {
    let name = text(value)?;
    // Not shown: a password may stand behind it.
    if name.contains(':') {
        return Err("holds a colon; write the name alone, and name password_file".to_owned());
    }
    Ok(name)
}

fn topic(value: &DeValue<'_>) -> Read<String> {
    let name = text(value)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.len() > 64 || !name.chars().all(plain) {
        return Err(format!(
            "{name:?} is no topic; write at most 64 letters, digits, _ and -"
        ));
    }
    Ok(name)
}

fn server(value: &DeValue<'_>) -> Read<Url> {
    let text = text(value)?;
    let like = "write one like \"https://ntfy.sh\"";
    // Nothing of it is shown before this: it may hold a password or a token.
    if text.contains('@') || text.contains("tk_") {
        return Err(format!(
            "holds a user name or a token; {like}, and put the secret into token_file or password_file"
        ));
    }
    let mut url =
        Url::parse(&text).map_err(|why| format!("{text:?} is not a URL ({why}); {like}"))?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("{text:?} holds a query or a fragment; {like}"));
    }
    if url.host_str() == Some("ntfy.sh") && url.path() != "/" {
        return Err(format!(
            "{text:?} names a topic; {like}, and topic beside it"
        ));
    }
    match url.scheme() {
        "https" if url.has_host() => {}
        "http" if names_private_host(&url) => {}
        "http" => {
            return Err(format!(
                "{text:?} would send alerts unencrypted; write https, or the number of a private \
                 address (http://192.168.1.5)"
            ));
        }
        scheme => return Err(format!("the scheme {scheme:?} is not supported; {like}")),
    }
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_begins_with_tk_and_has_plain_letters() {
        let takes = |text: &str| is_ntfy_token(&Secret::from(text.to_owned()));
        assert!(takes("tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2"));
        for bad in ["", "tk_", "AgQdq7", "tk_a b", "tk_é", "Bearer tk_a"] {
            assert!(!takes(bad), "{bad}");
        }
    }
}
