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
use toml::de::DeValue;

/// The programs that a configuration is loaded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Ingest,
    Sender,
    /// For `check`, which looks at everything.
    Both,
    /// For commands that only look at the outbox: whoever may do that need not be let into the secrets, which
    /// may be nowhere but in a unit's credentials.
    Neither,
}

impl Program {
    pub(super) fn needs_what_is_for(self, owner: Self) -> bool {
        self == Self::Both || self == owner
    }
}

/// Something that no log, no error and no report may show.
#[derive(Clone)]
pub struct Secret(SecretString);

impl From<String> for Secret {
    fn from(secret: String) -> Self {
        Self(SecretString::from(secret))
    }
}

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

    /// Which file it is, for people and for telling secrets apart.
    pub fn place(&self) -> String {
        self.file.display().to_string()
    }

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
    let name = section.get(key, file_name)?;
    let secret = at(name, section.at(key), around);
    if around.program.needs_what_is_for(owner)
        && let Err(problem) = secret.resolve()
    {
        section.refuse(key, problem.what);
    }
    Some(secret)
}

/// The name of a secret's file.
pub(super) fn file_name(value: &DeValue<'_>) -> Read<PathBuf> {
    let name = text(value)?;
    // Not shown: somebody wrote the secret itself here.
    if name.contains(char::is_whitespace) {
        return Err(
            "must be the name of a file, and file names with spaces look like the \
             secret itself; put the secret into a file and name that"
                .to_owned(),
        );
    }
    Ok(PathBuf::from(name))
}

/// The secret file of that name, as the key at that place names it.
pub(super) fn at(name: PathBuf, at: Place, around: &Surroundings<'_>) -> SecretFile {
    SecretFile {
        at,
        credential: match around.credentials {
            Some(directory) if name.is_relative() => Some(directory.join(&name)),
            _ => None,
        },
        file: around.directory.join(name),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;
    use tempfile::TempDir;

    const CONFIG: &str = "[[feed]]\nurl = \"https://example.org/\"\n\
                          authorization_file = \"token\"\n\
                          [channel.screen]\nkind = \"console\"\n";

    /// A directory for the configuration and one for credentials.
    struct World {
        beside: TempDir,
        credentials: TempDir,
    }

    impl World {
        fn new() -> Self {
            Self {
                beside: TempDir::new().unwrap(),
                credentials: TempDir::new().unwrap(),
            }
        }

        fn load(&self, program: Program) -> Result<Config, Vec<Problem>> {
            let around = Surroundings {
                directory: self.beside.path(),
                credentials: Some(self.credentials.path()),
                program,
            };
            Config::parse(CONFIG, &around)
        }

        /// What the ingest gets: the secret, or what it is told.
        fn secret(&self) -> Result<String, String> {
            let config = self.load(Program::Ingest).map_err(|problems| {
                let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
                told.join("\n")
            })?;
            let file = config.feeds[0].authorization.as_ref().unwrap();
            Ok(file.resolve().unwrap().expose().to_owned())
        }
    }

    fn write(directory: &TempDir, content: &[u8], mode: u32) {
        let path = directory.path().join("token");
        fs::write(&path, content).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_secret_is_one_line_without_the_white_space_around_it() {
        let world = World::new();
        write(&world.beside, b" Bearer abc\r\n", 0o640);
        assert_eq!(world.secret().unwrap(), "Bearer abc");
    }

    #[test]
    fn the_credentials_directory_comes_first_and_guards_its_files_itself() {
        let world = World::new();
        write(&world.beside, b"beside", 0o640);
        write(&world.credentials, b"credential", 0o644);
        assert_eq!(world.secret().unwrap(), "credential");
    }

    #[test]
    fn a_bad_secret_file_is_refused_without_showing_it() {
        let large = vec![b'x'; 70_000];
        let cases: [(&[u8], u32, &str); 7] = [
            (b"hunter2", 0o644, "everyone on this machine can read"),
            (b"", 0o640, "is empty"),
            (b" \n", 0o640, "is empty"),
            (b"hunter2\nhunter2", 0o640, "has several lines"),
            (b"hunter2\x07", 0o640, "holds a control character"),
            (b"hunter2\xff", 0o640, "is not UTF-8 text"),
            (&large, 0o640, "is too large"),
        ];
        for (content, mode, expected) in cases {
            let world = World::new();
            write(&world.beside, content, mode);
            let told = world.secret().unwrap_err();
            assert!(
                told.starts_with("feed[1].authorization_file (line 3): "),
                "{told}"
            );
            assert!(told.contains(expected) && told.contains("; "), "{told}");
            assert!(!told.contains("hunter2"), "{told}");
        }
    }

    #[test]
    fn a_missing_secret_names_both_places() {
        let world = World::new();
        let told = world.secret().unwrap_err();
        for directory in [&world.beside, &world.credentials] {
            let place = directory.path().join("token");
            assert!(told.contains(&place.display().to_string()), "{told}");
        }
    }

    #[test]
    fn the_sender_does_not_look_at_the_secrets_of_the_ingest() {
        let world = World::new();
        assert!(world.load(Program::Sender).is_ok());
        assert!(world.load(Program::Both).is_err());
    }

    #[test]
    fn who_only_looks_at_the_outbox_needs_no_secret() {
        assert!(World::new().load(Program::Neither).is_ok());
    }

    #[test]
    fn a_secret_that_changes_is_read_anew() {
        let world = World::new();
        write(&world.beside, b"first", 0o640);
        let config = world.load(Program::Ingest).unwrap();
        write(&world.beside, b"second", 0o640);
        let file = config.feeds[0].authorization.as_ref().unwrap();
        assert_eq!(file.resolve().unwrap().expose(), "second");
    }

    #[test]
    fn no_debug_output_shows_a_secret() {
        let world = World::new();
        write(&world.beside, b"hunter2", 0o640);
        let config = world.load(Program::Ingest).unwrap();
        let secret = config.feeds[0].authorization.as_ref().unwrap().resolve();
        assert_eq!(format!("{secret:?}"), "Ok([secret])");
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}
