//! What a person or a script sees of a call while it goes on.

use std::io::{self, IsTerminal, Write, stderr, stdout};
use std::process::ExitCode;
use std::time::Duration;

use agentyard_services::PlainText;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::render;

/// The operation that runs a command in a sandbox.
const RUN_IN_SANDBOX: &str = "sandbox_run";

/// Where a call is shown: what a command says as it comes, and how far it is when it says nothing.
pub(crate) struct Screen {
    /// One JSON object a line, for scripts.
    json: bool,
    title: String,
    bar: Option<ProgressBar>,
    stdout: PlainText,
    stderr: PlainText,
    shows_run: bool,
    has_spoken: bool,
}

impl Screen {
    pub(crate) fn new(title: &str, json: bool) -> Self {
        Self {
            json,
            title: title.to_owned(),
            bar: None,
            stdout: PlainText::default(),
            stderr: PlainText::default(),
            shows_run: false,
            has_spoken: false,
        }
    }

    /// Shows a person at a terminal that a call goes on of which nothing was seen yet, and from now on how far it is.
    pub(crate) fn show_that_it_goes_on(&mut self) {
        if self.json || self.has_spoken || !stderr().is_terminal() {
            return;
        }
        let bar = ProgressBar::new_spinner();
        bar.set_message(self.title.clone());
        bar.enable_steady_tick(Duration::from_millis(100));
        self.bar = Some(bar);
    }

    /// Shows an event that is not the end.
    pub(crate) fn show(&mut self, name: &str, data: &Value) {
        self.shows_run |= data["run"].is_string();
        // Whoever closed the output does not stop the work; the end tells.
        let _ = match name {
            _ if self.json && self.shows_run => self.show_json(name, data),
            "stdout" | "stderr" => self.show_output(name, data["text"].as_str().unwrap_or_default()),
            _ => {
                self.show_progress(data);
                Ok(())
            }
        };
    }

    /// Shows the end of a run, and answers with its exit code. Nothing when the call was about something else.
    pub(crate) fn end_run(&mut self, end: &Value) -> Option<io::Result<ExitCode>> {
        self.clear();
        if self.title == RUN_IN_SANDBOX && !self.json {
            return Some(self.end_run_in_sandbox(end));
        }
        self.shows_run.then(|| {
            if self.json {
                self.show_json("complete", end)?;
            }
            for (field, warning) in [
                ("timed_out", "its time was up, so it was ended"),
                ("output_limit_reached", "it said too much, so it was ended"),
                ("memory_limit_reached", "it used too much memory, so it was ended"),
                ("disk_limit_reached", "it wrote too much, so it was ended"),
            ] {
                if end[field] == true {
                    render::warning(warning)?;
                }
            }
            if let Some(package) = end["missing_package"]["package"].as_str() {
                render::warning(&format!(
                    "`agentyard exec install {package}` installs what it misses"
                ))?;
            }
            Ok(exit_code(end))
        })
    }

    /// Of a command in a sandbox nothing is seen before its end: what it said is shown then, as if it said it just now.
    fn end_run_in_sandbox(&mut self, end: &Value) -> io::Result<ExitCode> {
        for name in ["stdout", "stderr"] {
            self.show_output(name, end[name].as_str().unwrap_or_default())?;
        }
        if end["timed_out"] == true {
            render::warning("its time was up, so it was ended")?;
        } else if let Some(ended) = end["ended"].as_str() {
            render::warning(&format!("it did not end by itself: {ended}"))?;
        }
        Ok(exit_code(end))
    }

    /// Takes away what is shown only for the time being.
    pub(crate) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn show_json(&self, name: &str, data: &Value) -> io::Result<()> {
        let mut line = json!({ "event": name });
        if let (Some(line), Some(data)) = (line.as_object_mut(), data.as_object()) {
            line.extend(data.clone());
        }
        render::answer(&line, true)
    }

    /// A terminal is not steered by what a command says; a file gets all of it.
    fn show_output(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.clear();
        self.has_spoken = true;
        if name == "stdout" {
            let mut out = stdout().lock();
            write_text(&mut out, text, stdout().is_terminal().then_some(&mut self.stdout))
        } else {
            let mut out = stderr().lock();
            write_text(&mut out, text, stderr().is_terminal().then_some(&mut self.stderr))
        }
    }

    fn show_progress(&mut self, data: &Value) {
        let Some(bar) = &self.bar else { return };
        if let Some(total) = data["total"].as_u64() {
            bar.set_length(total);
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
                bar.set_style(style);
            }
        }
        bar.set_position(data["done"].as_u64().unwrap_or_default());
        bar.set_message(data["message"].as_str().unwrap_or_default().to_owned());
    }
}

fn write_text(out: &mut impl Write, text: &str, plain: Option<&mut PlainText>) -> io::Result<()> {
    match plain {
        Some(plain) => out.write_all(plain.push(text).as_bytes())?,
        None => out.write_all(text.as_bytes())?,
    }
    out.flush()
}

/// The command's own exit code; as shells have it, more than 128 for a signal.
fn exit_code(end: &Value) -> ExitCode {
    let signal = end["signal"].as_u64().map(|signal| 128 + signal);
    let code = end["exit_code"].as_u64().or(signal).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
