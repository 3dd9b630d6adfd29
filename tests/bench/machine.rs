//! The machine under the figures, as the kernel describes it.

use std::fs;
use std::path::Path;

pub fn describe(dir: &Path) {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!("cpu          {cores} cores, {}", cpu_model());
    println!("kernel       {}", first_line("/proc/sys/kernel/osrelease"));
    println!("file system  {}", file_system(dir));
    println!("load         {}", first_line("/proc/loadavg"));
    println!("sqlite       {}, synchronous=FULL", rusqlite::version());
}

fn first_line(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().next().unwrap_or("unknown").to_owned()
}

fn cpu_model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = |key: &str| {
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    named("model name")
        .or_else(|| named("Model"))
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// Kind, source and options of the innermost mount around `dir`.
fn file_system(dir: &Path) -> String {
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let innermost = mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            let (source, place) = (fields.next()?, fields.next()?);
            let (kind, options) = (fields.next()?, fields.next()?);
            let around = dir.starts_with(place);
            around.then(|| (place.len(), format!("{kind} ({source}, {options})")))
        })
        .max_by_key(|(length, _)| *length);
    let found = innermost.map_or("unknown".to_owned(), |(_, found)| found);
    if found.starts_with("tmpfs") {
        return format!("{found}: in memory, so fdatasync costs nothing here");
    }
    found
}
