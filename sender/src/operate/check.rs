//! `check`: the configuration in numbers and, with `--live`, whether each channel works, as far as can be told
//! without sending anything.

use crate::channel::Channels;
use crate::channel::look::Found;
use crate::command::World;
use shared::config::Config;
use shared::platform::term::{self, Style};
use std::io::{self, Write};

/// Prints what there is, and with `live` a line for each channel. `false`: at least one does not work.
pub async fn run(
    config: &Config,
    live: bool,
    world: &World,
    out: &mut dyn Write,
) -> (bool, io::Result<()>) {
    let summary = config.print_summary(out);
    if !live {
        let hint = "(whether its channels work: watchalert-sender check --live)";
        return (true, summary.and_then(|()| writeln!(out, "{hint}")));
    }
    let style = Style::of_stdout(&world.environment);
    let channels = Channels::open(&config.channels, &world.output, style);
    let found = channels.look().await;
    let all_work = found.iter().all(|found| found.works);
    (all_work, summary.and_then(|()| print(&found, out)))
}

fn print(found: &[Found], out: &mut dyn Write) -> io::Result<()> {
    let mut rows = term::table(&["channel", "works", "what was found"]);
    for found in found {
        let works = if found.works { "yes" } else { "NO" };
        rows.add_row([found.key.as_str(), works, found.what.as_str()]);
    }
    let sum = match found.iter().filter(|found| !found.works).count() {
        0 => "every channel works".to_owned(),
        1 => "1 channel does not work".to_owned(),
        many => format!("{many} channels do not work"),
    };
    writeln!(out, "{}\n{sum}; nothing was sent", rows.trim_fmt())
}
