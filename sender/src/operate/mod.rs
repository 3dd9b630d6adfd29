//! What an operator asks and decides. Holds no SQL: it calls named functions of the store.

pub mod check;
mod gates;
pub mod queue;
pub mod status;
pub mod test;
pub mod verify;

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use shared::platform::term;

/// A table that fits the terminal, and is one line a row where there is none.
fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(header.iter().copied());
    if let Some(width) = term::width() {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
    }
    table
}
