#[derive(Clone, Copy, clap::ValueEnum)] pub(crate) enum Client { ClaudeCode } // temporary: the helper overwrites this file
