//! Says on what kind of file system a path lies.

use std::fs;
use std::path::Path;

/// File systems whose locks do not hold between machines, or not reliably.
const NETWORK: [&str; 11] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "afs",
    "ceph",
    "fuse.sshfs",
    "fuse.glusterfs",
    "fuse.rclone",
];

/// The kind, when `path` lies on a network file system; `None` also when nothing is known.
pub fn network_file_system(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    kind_of(&path, &mounts).filter(|kind| NETWORK.contains(&kind.as_str()))
}

/// The type of the mount that holds `path`, by the text of /proc/self/mountinfo: the longest
/// mount point that is a parent wins, the last one mounted there first.
fn kind_of(path: &Path, mountinfo: &str) -> Option<String> {
    let mut best: Option<(usize, &str)> = None;
    for line in mountinfo.lines() {
        let (place, kind) = match line.split_once(" - ") {
            Some((left, right)) => (left.split(' ').nth(4), right.split(' ').next()),
            None => continue,
        };
        let (Some(place), Some(kind)) = (place, kind) else {
            continue;
        };
        let place = place.replace("\\040", " ");
        if path.starts_with(&place) && best.is_none_or(|(length, _)| place.len() >= length) {
            best = Some((place.len(), kind));
        }
    }
    best.map(|(_, kind)| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:40 / /srv/my\\040share rw - nfs4 server:/export rw
31 22 0:41 / /srv/my\\040share/local rw - tmpfs tmpfs rw";

    #[test]
    fn the_innermost_mount_decides() {
        let kind = |path: &str| kind_of(Path::new(path), MOUNTS);
        assert_eq!(kind("/var/lib/state.db").as_deref(), Some("ext4"));
        assert_eq!(kind("/srv/my share/state.db").as_deref(), Some("nfs4"));
        assert_eq!(kind("/srv/my share/local/a.db").as_deref(), Some("tmpfs"));
    }
}
