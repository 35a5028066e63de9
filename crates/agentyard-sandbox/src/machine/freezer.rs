//! Stopping everybody in a sandbox at once.

use super::Machine;
use crate::cgroups::Cgroups;
use crate::command::Limits;

impl Machine {
    /// Which control groups stop all processes of a sandbox at once, or why none do: then each gets a signal.
    ///
    /// # Errors
    /// When none do.
    pub fn freezer() -> Result<&'static str, String> {
        let groups = Cgroups::of_this_machine().map_err(str::to_owned)?;
        let group = groups.make(&Limits::default());
        let group = group.map_err(|error| format!("no group could be made: {error}"))?;
        match group.can_freeze() {
            true => Ok(groups.kind()),
            false => Err(format!("{} has no freezer here", groups.kind())),
        }
    }
}
