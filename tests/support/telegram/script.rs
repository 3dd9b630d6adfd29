//! Faults in words, for the command line: `chat 42 blocked for 1m; 502 x3; chat -7 upgraded -1007`.

use super::fault::Fault;
use super::refusal::{REFUSALS, Refusal};
use std::time::Duration;

/// How to write them.
pub const GRAMMAR: &str = "\
Faults are separated by ';'. Those of the whole bot happen in their order, then those of a chat in theirs:

  [chat ID] FAULT [accepted] [xN | for TIME]

  a name of the table of refusals (below)   that refusal
  429 SECONDS        too many requests, until so many seconds later
  502, 503, 504      an HTML page from nginx
  reset, reset-after, reset-amid   the connection: nothing sent; sent; sent, in the midst of the answer
  hang, hang-after   no answer, ever; the second sends the message
  hold TIME          the message is sent, the answer comes later
  half, garbage      half a JSON object (sent); 200 with something else (not sent)
  upgraded ID        the group is a supergroup of that id from now on (needs a chat)

`accepted` sends the message all the same. TIME is written 90s, 2m, 1h30m.";

/// The faults of a script; else a sentence about the first that is none.
pub fn faults(script: &str) -> Result<Vec<Fault>, String> {
    script
        .split([';', '\n'])
        .map(str::trim)
        .filter(|words| !words.is_empty())
        .map(|words| fault(words).map_err(|why| format!("\"{words}\": {why}")))
        .collect()
}

/// The names of the table, in lines.
pub fn names() -> String {
    let mut lines = String::new();
    for row in REFUSALS {
        lines.push_str(&format!(
            "  {:<22} {} {}\n",
            row.name, row.code, row.description
        ));
    }
    lines
}

fn fault(text: &str) -> Result<Fault, String> {
    let mut words = text.split_whitespace().peekable();
    let mut chat = None;
    if words.next_if_eq(&"chat").is_some() {
        chat = Some(number(words.next(), "the chat's id")?);
    }
    let name = words.next().ok_or("there is no fault in it")?;
    let mut fault = match name {
        "429" => {
            let seconds = number(words.next(), "seconds")?;
            Fault::flood(u64::try_from(seconds).map_err(|_| "seconds do not run backwards")?)
        }
        "502" => Fault::page(502),
        "503" => Fault::page(503),
        "504" => Fault::page(504),
        "reset" => Fault::reset_before(),
        "reset-after" => Fault::reset_after(),
        "reset-amid" => Fault::reset_amid(),
        "hang" => Fault::hang(),
        "hang-after" => Fault::hang_after(),
        "hold" => Fault::hold(duration(words.next())?),
        "half" => Fault::half(),
        "garbage" => Fault::garbage(),
        "upgraded" => {
            let group = chat.ok_or("only a chat can be upgraded: begin with chat ID")?;
            Fault::upgraded(group, number(words.next(), "the new id")?)
        }
        name => Fault::refused(Refusal::find(name).ok_or("there is no such fault")?),
    };
    if let Some(chat) = chat {
        fault = fault.in_chat(chat);
    }
    while let Some(word) = words.next() {
        fault = match (word, word.strip_prefix('x')) {
            ("accepted", _) => fault.after_acceptance(),
            ("for", _) => fault.lasting(duration(words.next())?),
            (_, Some(times)) => {
                fault.times(times.parse().map_err(|_| "xN needs a number, as in x3")?)
            }
            _ => return Err(format!("what is \"{word}\"?")),
        };
    }
    Ok(fault)
}

fn number(word: Option<&str>, what: &str) -> Result<i64, String> {
    let number = word.and_then(|word| word.parse().ok());
    number.ok_or_else(|| format!("{what} is missing or no number"))
}

fn duration(word: Option<&str>) -> Result<Duration, String> {
    let word = word.ok_or("a time is missing, such as 90s")?;
    humantime::parse_duration(word).map_err(|why| format!("\"{word}\" is no time: {why}"))
}
