//! A disk whose power can be cut: an ext4 image, under it a cache that forgets, under that what has really
//! reached the disk. Loop devices and `fsfreeze` are all it needs, and root.
//!
//! ```text
//! place/state       ext4, where the programs write
//! second loop       a flush of it is a flush of what lies below
//! first loop        its page cache is the disk's cache: what was written and not flushed is here alone
//! ground/disk.img   what has been flushed, and what the kernel wrote back by itself
//! ground            ext4 that can be frozen: no flush ends while it is, so nothing is promised meanwhile
//! ```
//!
//! A power cut freezes the ground, kills the programs while their promises hang, and copies both the
//! disk and the cache. Of the pieces in which they differ, which no flush has promised, it leaves a random
//! part: some of the cache had reached the disk, in any order, by pieces of a sector or of a page.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;
use tempfile::TempDir;
use watchalert_tests::programs::{Place, tell, within};

const DISK: usize = 48 << 20;
const GROUND: u64 = 80 << 20;
/// Longer than a copy of the cache takes.
const LOOK: Duration = Duration::from_secs(10);
const SECTOR: usize = 512;
const PAGE: usize = 4096;

pub struct Machine {
    dir: TempDir,
    state: PathBuf,
    /// The first loop and the second, while it is plugged in.
    loops: Vec<String>,
}

/// What a cut left of the cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct Left {
    /// Pieces that were written and that no flush had promised.
    pub cached: usize,
    /// Those of them that had reached the disk all the same.
    pub reached: usize,
}

fn tool(name: &str, arguments: &[&str]) -> Result<String, String> {
    let ran = Command::new(name).args(arguments).output();
    let ran = ran.map_err(|error| format!("{name}: {error}"))?;
    if !ran.status.success() {
        return Err(format!("{name}: {}", String::from_utf8_lossy(&ran.stderr)));
    }
    Ok(String::from_utf8_lossy(&ran.stdout).trim().to_owned())
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

impl Machine {
    /// Mounts a fresh disk over the place's folder for the database.
    ///
    /// # Errors
    /// Why this machine cannot.
    pub fn under(place: &Place) -> Result<Self, String> {
        let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut machine = Self {
            dir,
            state: place.path("state"),
            loops: Vec::new(),
        };
        let ground = machine.dir.path().join("ground.img");
        let made = File::create(&ground).and_then(|file| file.set_len(GROUND));
        made.and_then(|()| fs::create_dir(machine.ground()))
            .map_err(|error| error.to_string())?;
        tool("mkfs.ext4", &["-q", text(&ground)])?;
        let options = ["-o", "loop,noatime"];
        tool(
            "mount",
            &[&options[..], &[text(&ground), text(&machine.ground())]].concat(),
        )?;
        // Written, not a hole: later writes then change nothing but these bytes.
        fs::write(machine.disk(), vec![0; DISK]).map_err(|error| error.to_string())?;
        tool("mkfs.ext4", &["-q", text(&machine.disk())])?;
        machine.plug_in()?;
        // Whether the ground freezes is seen now, and not in the midst of a test.
        drop(Frozen::new(machine.ground())?);
        Ok(machine)
    }

    fn ground(&self) -> PathBuf {
        self.dir.path().join("ground")
    }

    fn disk(&self) -> PathBuf {
        self.ground().join("disk.img")
    }

    fn plug_in(&mut self) -> Result<(), String> {
        let first = tool("losetup", &["--find", "--show", text(&self.disk())])?;
        self.loops.push(first.clone());
        let second = tool("losetup", &["--find", "--show", &first])?;
        self.loops.push(second.clone());
        // All of it is in the cache for as long as the second holds it open: what is not would be read from
        // below, behind writes that wait there while the ground is frozen.
        fs::read(&first).map_err(|error| error.to_string())?;
        tool("mount", &["-o", "noatime", &second, text(&self.state)]).map(drop)
    }

    fn unplug(&mut self) -> Result<(), String> {
        // Whoever was killed may hold a file for a moment longer.
        let unmounted = within(Duration::from_secs(20), || {
            tool("umount", &[text(&self.state)]).is_ok()
        });
        if !unmounted {
            tool("umount", &["-l", text(&self.state)])?;
        }
        while let Some(device) = self.loops.pop() {
            tool("losetup", &["--detach", &device])?;
        }
        Ok(())
    }

    /// What the cache holds; `None` when it does not say so in time.
    fn cache(&self) -> Option<Vec<u8>> {
        let device = self.loops.first()?.clone();
        let (done, cache) = mpsc::channel();
        std::thread::spawn(move || done.send(fs::read(device)));
        cache.recv_timeout(LOOK).ok()?.ok()
    }

    /// Cuts the power, with `kill` in the moment of the cut and `bury` when the dead can end, and switches it
    /// on again.
    pub fn cut(
        &mut self,
        chance: &mut fastrand::Rng,
        kill: impl FnOnce(),
        bury: impl FnOnce(),
    ) -> Left {
        let frozen = Frozen::new(self.ground()).expect("the ground freezes");
        kill();
        let mut disk = fs::read(self.disk()).expect("the disk");
        let cache = self.cache();
        if cache.is_none() {
            tell("power: the cache could not be read in time: all of it is lost in this cut");
        }
        drop(frozen);
        bury();
        self.unplug().expect("unplugged");
        let left = cache.map_or_else(Left::default, |cache| mix(&mut disk, &cache, chance));
        let file = OpenOptions::new().write(true).open(self.disk());
        file.and_then(|file| file.write_all_at(&disk, 0).and_then(|()| file.sync_all()))
            .expect("the disk as it was left");
        self.plug_in().expect("mounted again");
        left
    }
}

/// Of what is in the cache alone, a random part reaches the disk: nothing, all, or anything between.
fn mix(disk: &mut [u8], cache: &[u8], chance: &mut fastrand::Rng) -> Left {
    let piece = *chance.choice(&[SECTOR, PAGE]).expect("two");
    let share = *chance.choice(&[0.0, 0.1, 0.5, 0.9, 1.0]).expect("five");
    let mut left = Left::default();
    for (disk, cache) in disk.chunks_mut(piece).zip(cache.chunks(piece)) {
        if disk != cache {
            left.cached += 1;
            if chance.f64() < share {
                left.reached += 1;
                disk.copy_from_slice(cache);
            }
        }
    }
    left
}

/// Until dropped, nothing below is written, and whoever wants to waits.
struct Frozen(PathBuf);

impl Frozen {
    fn new(ground: PathBuf) -> Result<Self, String> {
        tool("fsfreeze", &["--freeze", text(&ground)])?;
        Ok(Self(ground))
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        drop(tool("fsfreeze", &["--unfreeze", text(&self.0)]));
    }
}

/// The machine is left as it was found, whatever came in between.
impl Drop for Machine {
    fn drop(&mut self) {
        if !self.loops.is_empty() && self.unplug().is_err() {
            for device in self.loops.drain(..).rev() {
                drop(tool("losetup", &["--detach", &device]));
            }
        }
        let ground = self.ground();
        if tool("umount", &[text(&ground)]).is_err() {
            drop(tool("umount", &["-l", text(&ground)]));
        }
    }
}
