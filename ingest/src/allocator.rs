//! What the C library's allocator is told before the program runs: to give back large blocks.

use shared::platform::environment::MALLOC_THRESHOLD;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// In bytes. It is glibc's own value at the start, which it raises up to 32 MiB with every large
/// block that is freed (mallopt(3)), and so keeps what a feed of 8 MiB took. Measured by the test
/// of hostile servers: 107 MiB at most without it, 87 with it.
const THRESHOLD: &str = "131072";

/// Starts `program` anew, under the same process id and with the same arguments, its name first:
/// glibc reads the variable only then. Returns where that fails, to run all the same.
pub fn settle(program: PathBuf, mut arguments: impl Iterator<Item = OsString>) {
    let name = arguments.next().unwrap_or_default();
    let mut anew = Command::new(program);
    anew.arg0(name).args(arguments);
    let failed = anew.env(MALLOC_THRESHOLD, THRESHOLD).exec();
    tracing::warn!("large blocks of memory are not given back at once: {failed}");
}
