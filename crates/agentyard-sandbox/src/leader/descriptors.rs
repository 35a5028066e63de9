//! Open files that a leader was started with and knows nothing of.

use std::io;

/// Has no program that is started from here inherit any descriptor beyond the standard three. The server may have been
/// started with some, by a shell or a service manager, and a directory of this machine among them would be a way out of
/// every sandbox.
#[expect(unsafe_code, reason = "rustix does not have this call")]
pub(super) fn keep_to_this_process() -> io::Result<()> {
    const FIRST: libc::c_uint = 3;
    // SAFETY: the call neither reads nor writes memory and closes nothing; it sets a flag that has an effect only when
    // this process becomes another program.
    let result = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            FIRST,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
