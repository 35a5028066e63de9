//! The report as a table.

use agentyard_sandbox::State;
use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, Cell, Color, ContentArrangement, Table};

use super::{Look, Row};

/// Renders rows: the state, what was looked at, what was seen, and below it what to do.
pub(crate) fn render(rows: &[Row], look: Look) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    if let Some(width) = look.width {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
    }
    if look.colours {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    for row in rows {
        let finding = &row.finding;
        let detail = match &finding.remedy {
            None => finding.detail.clone(),
            Some(remedy) => format!("{}\n→ {remedy}", finding.detail),
        };
        let what = Cell::new(finding.what).add_attribute(Attribute::Bold);
        table.add_row([state(row), what, Cell::new(detail)]);
    }
    let text = table.to_string();
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n"))
}

fn state(row: &Row) -> Cell {
    match row.finding.state {
        State::Ok => Cell::new("ok").fg(Color::Green),
        State::Limited => Cell::new("limited").fg(Color::Yellow),
        // What is not needed may well be missing.
        State::Missing if row.needed => Cell::new("missing").fg(Color::Red),
        State::Missing => Cell::new("missing").fg(Color::Yellow),
    }
}
