//! The buttons below a message, and what Telegram refuses about them.

use super::entity::checked_link;
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    pub text: String,
    /// The link, or the data of a callback.
    pub target: String,
}

/// The buttons of a `reply_markup`, row by row; else the description of a 400, without its
/// `Bad Request: `.
pub(super) fn buttons(markup: &str) -> Result<Vec<Vec<Button>>, String> {
    if markup.is_empty() {
        return Ok(Vec::new());
    }
    let Ok(Value::Object(markup)) = serde_json::from_str(markup) else {
        return Err("can't parse reply keyboard markup JSON object".to_owned());
    };
    let Some(rows) = markup.get("inline_keyboard") else {
        return Ok(Vec::new());
    };
    let Some(rows) = rows.as_array() else {
        return Err(
            "can't parse inline keyboard: field \"inline_keyboard\" of the \
                    InlineKeyboardMarkup must be an Array of Arrays"
                .to_owned(),
        );
    };
    rows.iter()
        .map(|row| match row.as_array() {
            Some(row) => row.iter().map(button).collect(),
            None => Err("REPLY_MARKUP_INVALID".to_owned()),
        })
        .collect()
}

fn button(button: &Value) -> Result<Button, String> {
    const MOST_DATA_BYTES: usize = 64;
    let Some(text) = button["text"].as_str() else {
        let what = "can't parse inline keyboard button: Field \"text\" must be of type String";
        return Err(what.to_owned());
    };
    let target = match (button["url"].as_str(), button["callback_data"].as_str()) {
        (Some(url), _) if checked_link(url).is_none() => {
            return Err(format!(
                "inline keyboard button URL '{url}' is invalid: Wrong HTTP URL"
            ));
        }
        (Some(url), _) => url,
        (None, Some(data)) if data.is_empty() || data.len() > MOST_DATA_BYTES => {
            return Err("BUTTON_DATA_INVALID".to_owned());
        }
        (None, Some(data)) => data,
        (None, None) => button["copy_text"]["text"].as_str().ok_or(
            "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard",
        )?,
    };
    Ok(Button {
        text: text.to_owned(),
        target: target.to_owned(),
    })
}
