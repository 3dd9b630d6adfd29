//! Secrets: named in the configuration by the file that holds them, read only by the program
//! that needs them, and never printed.

use super::Surroundings;
use super::error::{Place, Problem};
use super::reader::{Read, Section};
use super::value::text;
use secrecy::{ExposeSecret, SecretString};
use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The programs that a configuration is loaded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Ingest,
    Sender,
    /// For `check`, which looks at everything.
    Both,
}

impl Program {
    fn needs_what_is_for(self, owner: Self) -> bool {
        self == Self::Both || self == owner
    }
}

/// Something that no log, no error and no report may show.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// The secret itself, for the one place that puts it on the wire.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// The file that holds a secret. Read anew each time, so that a changed secret needs no restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretFile {
    at: Place,
    /// In the systemd credentials directory, which guards its files itself.
    credential: Option<PathBuf>,
    file: PathBuf,
}

impl SecretFile {
    /// More than any token, key or password; a wrong file name must not fill the memory.
    const LARGEST: u64 = 64 * 1024;

    /// Reads the secret.
    ///
    /// # Errors
    ///
    /// The key that names the file, and what is wrong with that file.
    pub fn resolve(&self) -> Result<Secret, Problem> {
        self.read().map_err(|what| Problem {
            at: self.at.clone(),
            what,
        })
    }

    fn read(&self) -> Read<Secret> {
        let credential = self.credential.as_deref().filter(|path| path.exists());
        let path = credential.unwrap_or(&self.file);
        let shown = path.display();
        let cannot = |why: io::Error| match why.kind() {
            io::ErrorKind::NotFound => self.missing(),
            _ => {
                format!("the secret file {shown} cannot be read ({why}); check its owner and mode")
            }
        };
        let metadata = fs::metadata(path).map_err(cannot)?;
        if !metadata.is_file() {
            return Err(format!(
                "{shown} is not a plain file; name the file that holds the secret"
            ));
        }
        if credential.is_none() && metadata.permissions().mode() & 0o004 != 0 {
            return Err(format!(
                "everyone on this machine can read {shown}; run: chmod o-r {shown}"
            ));
        }
        let mut bytes = Vec::new();
        let file = fs::File::open(path).map_err(cannot)?;
        file.take(Self::LARGEST + 1)
            .read_to_end(&mut bytes)
            .map_err(cannot)?;
        checked(bytes, path)
    }

    fn missing(&self) -> String {
        let file = self.file.display();
        match &self.credential {
            None => format!("there is no file {file}; create it with the secret in it"),
            Some(credential) => format!(
                "there is neither {} nor {file}; create one of them with the secret in it",
                credential.display()
            ),
        }
    }
}

/// One line of text, without the white space around it.
fn checked(bytes: Vec<u8>, path: &Path) -> Read<Secret> {
    let path = path.display();
    let one_line = "write the secret into it as one line";
    if bytes.len() as u64 > SecretFile::LARGEST {
        return Err(format!("{path} is too large for a secret; {one_line}"));
    }
    // Wiped when dropped; the error of from_utf8 would show the bytes.
    let whole = String::from_utf8(bytes)
        .map(SecretString::from)
        .map_err(|_not_shown| format!("{path} is not UTF-8 text; {one_line}"))?;
    let secret = whole.expose_secret().trim();
    if secret.is_empty() {
        return Err(format!("{path} is empty; {one_line}"));
    }
    if secret.lines().count() > 1 {
        return Err(format!("{path} has several lines; {one_line}"));
    }
    if secret.chars().any(char::is_control) {
        return Err(format!("{path} holds a control character; {one_line}"));
    }
    Ok(Secret(SecretString::from(secret)))
}

/// Reads a `…_file` key, and the file too when `owner` is among the programs loaded for.
pub(super) fn read(
    section: &mut Section<'_>,
    key: &'static str,
    owner: Program,
    around: &Surroundings<'_>,
) -> Option<SecretFile> {
    let name = section.get(key, |value| {
        let name = text(value)?;
        // Not shown: somebody wrote the secret itself here.
        if name.contains(char::is_whitespace) {
            Err(
                "must be the name of a file, and file names with spaces look like the \
                     secret itself; put the secret into a file and name that"
                    .to_owned(),
            )
        } else {
            Ok(PathBuf::from(name))
        }
    })?;
    let secret = SecretFile {
        at: section.at(key),
        credential: match around.credentials {
            Some(directory) if name.is_relative() => Some(directory.join(&name)),
            _ => None,
        },
        file: around.directory.join(name),
    };
    if around.program.needs_what_is_for(owner)
        && let Err(problem) = secret.resolve()
    {
        section.refuse(key, problem.what);
    }
    Some(secret)
}
