//! Feeds from `file:` URLs: regular files, under the same cap as everything else.

use super::Fetched;
use super::fault::{FaultKind, FetchFault};
use sha2::{Digest, Sha256};
use shared::model::Validators;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::time::UNIX_EPOCH;
use url::Url;

/// Reads the file that `url` names, unless it is the version that `known` describes or has more
/// than `cap` bytes. Blocks.
pub(super) fn read(url: Url, known: &Validators, cap: usize) -> Result<Fetched, FetchFault> {
    let Ok(path) = url.to_file_path() else {
        let detail = "a file: URL names no host and an absolute path, as in file:///srv/feed.xml";
        return Err(FetchFault::new(FaultKind::File, detail));
    };
    let failed =
        |error: io::Error| FetchFault::new(FaultKind::File, format!("{}: {error}", path.display()));
    let (body, modified_millis) = contents(&path, cap).map_err(failed)?;
    if body.len() > cap {
        return Err(FetchFault::too_large(cap));
    }
    let validators = Validators {
        etag: Some(version(&body, modified_millis)),
        last_modified: None,
    };
    if validators == *known {
        return Ok(Fetched::NotModified {
            validators,
            permanent_redirect: None,
        });
    }
    Ok(Fetched::New {
        body: body.into(),
        charset: None,
        final_url: url,
        validators,
        max_age: None,
        redirects: None,
        permanent_redirect: None,
    })
}

/// Its length now, in bytes; what cannot be looked at is told by [`read`]. Blocks.
pub(super) fn length(url: &Url) -> usize {
    let path = url.to_file_path().ok();
    let metadata = path.and_then(|path| fs::metadata(path).ok());
    metadata.map_or(0, |metadata| {
        usize::try_from(metadata.len()).unwrap_or(usize::MAX)
    })
}

/// At most one byte more than `cap`, so that the caller can tell. The kind is looked at before
/// opening: to open a named pipe is to wait for its writer.
fn contents(path: &Path, cap: usize) -> io::Result<(Vec<u8>, u128)> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let modified = metadata.modified()?.duration_since(UNIX_EPOCH);
    let mut body = Vec::new();
    let limit = u64::try_from(cap).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path)?.take(limit).read_to_end(&mut body)?;
    Ok((body, modified.unwrap_or_default().as_millis()))
}

/// Time, size and content: a time alone misses two writes within its resolution.
fn version(body: &[u8], modified_millis: u128) -> String {
    let mut version = format!("{modified_millis}-{}-", body.len());
    for byte in Sha256::digest(body).iter().take(16) {
        write!(version, "{byte:02x}").unwrap_or_default();
    }
    version
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    fn url(path: &Path) -> Url {
        Url::from_file_path(path).unwrap()
    }

    #[test]
    fn a_file_is_new_once_and_again_when_its_text_or_time_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a feed.xml");
        let touch = |seconds| {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            File::options()
                .append(true)
                .open(&path)
                .unwrap()
                .set_modified(time)
                .unwrap();
        };
        let mut known = Validators::NONE;
        let mut is_new = |text: &str, seconds| {
            fs::write(&path, text).unwrap();
            touch(seconds);
            match read(url(&path), &known, 100).unwrap() {
                Fetched::New {
                    body, validators, ..
                } => {
                    assert_eq!(*body, *text.as_bytes());
                    known = validators;
                    true
                }
                other => {
                    assert_eq!(
                        other,
                        Fetched::NotModified {
                            validators: known.clone(),
                            permanent_redirect: None,
                        }
                    );
                    false
                }
            }
        };
        assert!(is_new("one", 1_000));
        assert!(!is_new("one", 1_000));
        assert!(is_new("two", 1_000), "same size, same time");
        assert!(is_new("two", 2_000), "touched");
        assert!(!is_new("two", 2_000));
    }

    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        for (path, why) in [
            (folder.path(), "not a regular file"),
            (Path::new("/dev/zero"), "not a regular file"),
            (&folder.path().join("missing"), "No such file"),
        ] {
            let fault = read(url(path), &Validators::NONE, 100).unwrap_err();
            assert_eq!(fault.kind, FaultKind::File);
            assert!(fault.detail.contains(why), "{fault}");
        }
    }

    #[test]
    fn another_machines_file_is_refused() {
        let elsewhere = "file://server/feed.xml".parse().unwrap();
        let fault = read(elsewhere, &Validators::NONE, 100).unwrap_err();
        assert_eq!(fault.kind, FaultKind::File);
    }

    #[test]
    fn the_cap_holds_to_the_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("feed.xml");
        fs::write(&path, [b'x'; 100]).unwrap();
        assert!(read(url(&path), &Validators::NONE, 100).is_ok());
        let fault = read(url(&path), &Validators::NONE, 99).unwrap_err();
        assert_eq!(fault.kind, FaultKind::TooLarge);
    }
}
