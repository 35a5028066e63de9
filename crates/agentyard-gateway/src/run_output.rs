//! All that a run said, for who wants more of it than an answer holds.

use agentyard_model::{Caller, RunId};
use agentyard_services::{Error, OutputStream, Result, RunOutput, Services};

/// The streams of a run by their names.
pub(crate) const STREAMS: [(&str, OutputStream); 2] =
    [("stdout", OutputStream::Stdout), ("stderr", OutputStream::Stderr)];

/// What is asked for: a stream of a run, from some byte on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutputPlace {
    pub(crate) run: RunId,
    pub(crate) stream: OutputStream,
    pub(crate) offset: u64,
}

impl OutputPlace {
    /// Reads `RUN/stdout` or `RUN/stderr`, with `?offset=N` behind it or not.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (place, query) = text.split_once('?').unwrap_or((text, "offset=0"));
        let (run, name) = place.split_once('/')?;
        let (_, stream) = STREAMS.into_iter().find(|(known, _)| *known == name)?;
        Some(Self {
            run: run.parse().ok()?,
            stream,
            offset: query.strip_prefix("offset=")?.parse().ok()?,
        })
    }

    /// So much of it at most.
    pub(crate) fn output(self, services: &Services, caller: &Caller, bytes: usize) -> Result<RunOutput> {
        services
            .runs
            .output(caller, self.run, self.stream, self.offset, bytes)
    }
}

/// The run that an address names.
pub(crate) fn run_id(text: &str) -> Result<RunId> {
    text.parse()
        .map_err(|error| Error::invalid(format!("`run`: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_output_is_read_from_its_address() {
        let run = RunId::new();
        let place = |stream, offset| Some(OutputPlace { run, stream, offset });
        for (text, expected) in [
            (format!("{run}/stdout"), place(OutputStream::Stdout, 0)),
            (format!("{run}/stderr?offset=70"), place(OutputStream::Stderr, 70)),
            (format!("{run}/stdin"), None),
            (format!("{run}/stdout/x"), None),
            (format!("{run}/stdout?offset=-1"), None),
            (format!("{run}/stdout?x=1"), None),
            ("x/stdout".to_owned(), None),
            (run.to_string(), None),
        ] {
            assert_eq!(OutputPlace::read(&text), expected, "{text}");
        }
    }
}
