//! The Telegram stand-in by hand, for a demonstration: a line for each request, until it is ended.

use std::io::Write;
use std::net::TcpListener;
use std::process::ExitCode;
use std::time::Duration;
use watchalert_tests::telegram::{Asked, Limits, Options, Pace, Storm, Telegram, script};

const USAGE: &str = "\
usage: telegram-stand-in [--port N] [--chat-rate RATE] [--faults SCRIPT] [--seed N] [--list]

Answers as Telegram's Bot API does (getMe, getChat, sendMessage), on 127.0.0.1 alone: it keeps
Telegram's limits, refuses what Telegram refuses, and prints each request as a line. Give
api_url = \"http://127.0.0.1:PORT\" and the token that it prints to whatever is to send.

  --port N           the port; 0 for any that is free [default: 8081]
  --chat-rate RATE   messages in one chat, such as 1/s or 20/m, or off [default: 1/s, three at once]
  --faults SCRIPT    faults in order, such as 'chat 42 blocked for 1m; 502 x3'; see --list
  --seed N           besides, one message in ten meets a fault, drawn from this seed
  --list             how faults are written, and the refusals by name
  -h, --help         this text
";

fn main() -> ExitCode {
    match asked_for(std::env::args().skip(1)) {
        Ok(Wanted::Text(text)) => {
            say(text.trim_end());
            ExitCode::SUCCESS
        }
        Ok(Wanted::Server(options, faults)) => match TcpListener::bind(("127.0.0.1", options.port))
        {
            Ok(free) => {
                drop(free);
                serve(options, &faults)
            }
            Err(why) => {
                eprintln!("telegram-stand-in: port {}: {why}", options.port);
                ExitCode::FAILURE
            }
        },
        Err(why) => {
            eprintln!("telegram-stand-in: {why}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

enum Wanted {
    Text(String),
    Server(Options, String),
}

fn asked_for(mut arguments: impl Iterator<Item = String>) -> Result<Wanted, String> {
    let mut options = Options {
        port: 8081,
        tell: Some(|asked: &Asked| say(&asked.to_string())),
        ..Options::default()
    };
    let mut faults = String::new();
    while let Some(name) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{name} needs a value"));
        let no_number = |_| format!("{name} needs a number");
        match name.as_str() {
            "-h" | "--help" => return Ok(Wanted::Text(USAGE.to_owned())),
            "--list" => {
                let list = format!("{}\n\nRefusals:\n\n{}", script::GRAMMAR, script::names());
                return Ok(Wanted::Text(list));
            }
            "--port" => options.port = value()?.parse().map_err(no_number)?,
            "--seed" => options.storm = Some(Storm::new(value()?.parse().map_err(no_number)?)),
            "--faults" => faults = value()?,
            "--chat-rate" => limit(&mut options.limits, &value()?)?,
            _ => return Err(format!("there is no argument {name}")),
        }
    }
    script::faults(&faults)?;
    Ok(Wanted::Server(options, faults))
}

fn limit(limits: &mut Limits, rate: &str) -> Result<(), String> {
    limits.chat = match rate {
        "off" => None,
        rate => {
            let why = || format!("\"{rate}\" is no rate: write 1/s, 20/m or off");
            let (count, unit) = rate.split_once('/').ok_or_else(why)?;
            let unit = match unit {
                "s" => Duration::from_secs(1),
                "m" => Duration::from_secs(60),
                _ => return Err(why()),
            };
            let count = count.parse().ok().filter(|count| *count > 0);
            Some(Pace {
                every: unit / count.ok_or_else(why)?,
                burst: 1,
            })
        }
    };
    Ok(())
}

fn serve(options: Options, faults: &str) -> ! {
    let telegram = Telegram::start(options);
    telegram.script(script::faults(faults).unwrap_or_default());
    say(&format!(
        "listening on {}\ntoken {}",
        telegram.url(),
        telegram.token()
    ));
    loop {
        std::thread::park();
    }
}

/// A reader that went away is no reason to end.
fn say(line: &str) {
    drop(writeln!(std::io::stdout(), "{line}"));
}
