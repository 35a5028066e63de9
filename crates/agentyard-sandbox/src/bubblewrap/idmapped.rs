//! Directories whose files seem to belong to the sandbox's user.
//!
//! What the server has made belongs to root. Mounted this way it belongs to the sandbox's user inside, and what that
//! user makes there belongs to root on disk.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// `struct mount_attr` of the kernel.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// `MOUNT_ATTR_IDMAP` of the kernel.
const IDMAP: u64 = 0x0010_0000;

/// Has a mount that is nowhere yet show owners as a user namespace maps them.
#[expect(unsafe_code, reason = "rustix does not have this call")]
pub(crate) fn show_owners(mount: BorrowedFd<'_>, namespace: BorrowedFd<'_>) -> io::Result<()> {
    let attributes = MountAttributes {
        set: IDMAP,
        clear: 0,
        propagation: 0,
        user_namespace: u64::try_from(namespace.as_raw_fd()).map_err(io::Error::other)?,
    };
    // SAFETY: the path is a string that ends with NUL, the attributes are a whole struct of the size that is told, both
    // outlive the call, which changes neither; and both descriptors are open for as long as they are borrowed.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
