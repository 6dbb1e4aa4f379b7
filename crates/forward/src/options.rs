//! Options, from the command line and from a file of the same options.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::connection::{ReceiverConfig, read};
use crate::error::Error;
use crate::source::SourceKind;
use crate::spool::MIN_SIZE;

/// Text of `--help`.
pub const HELP: &str = "\
Sends the data of a source to `zlens live`, and stores it on disk until it has arrived.

Usage: zlens-forward --to HOST:PORT [OPTIONS] SOURCE

SOURCE is /dev/monreader, a file that grows, or - for standard input.

  --to HOST:PORT        the receiver: zlens live forwarder://HOST:PORT
  --name NAME           name of the source there: letters, digits, . _ -
                        (default: the name of this machine and the kind of the source)
  --ca FILE             certificate of the receiver or of its authority (PEM);
                        may be left out only if the receiver is this machine
  --server-name NAME    name in the receiver's certificate, if it is not HOST
  --token-file FILE     file with the token that the receiver requires
  --cert FILE           certificate of this forwarder (PEM), if the receiver requires one
  --key FILE            its key (PEM)
  --spool DIR           folder for what has not arrived (default: /var/lib/zlens-forward)
  --spool-size SIZE     most bytes there, such as 500M or 2G (default: 1G)
  --config FILE         file with these options, one `name value` on each line
  --check               connect, say whether the receiver accepts, and end
  --version             print the version
  --help                print this

A full spool: sets of /dev/monreader are dropped, the oldest first, and the receiver learns of it; files and pipes wait.

Exit status: 0 the source ended and everything arrived, or a signal ended it; 1 the source or, with --check, the
receiver cannot be used; 2 the options are wrong; 3 the spool cannot be used.

Example:
  zlens-forward --to perf.example.com:4739 --ca ca.pem --token-file token /dev/monreader
";

const DEFAULT_SPOOL: &str = "/var/lib/zlens-forward";
const DEFAULT_SPOOL_SIZE: u64 = 1 << 30;
const LONGEST_TOKEN: usize = 1024;

/// Command to run.
#[derive(Clone, Debug)]
pub enum Command {
    /// Print the help.
    Help,
    /// Print the version.
    Version,
    /// Forward, or only check the connection.
    Forward(Box<Options>),
}

/// Source, spool and receiver.
#[derive(Clone, Debug)]
pub struct Options {
    /// The path of the source; `-` is standard input.
    pub source: PathBuf,
    /// Its kind.
    pub kind: SourceKind,
    /// Its name.
    pub name: String,
    /// Its destination.
    pub receiver: ReceiverConfig,
    /// Token that the receiver requires.
    pub token: Option<String>,
    /// The folder of the spool.
    pub spool: PathBuf,
    /// Its largest size.
    pub spool_size: u64,
    /// Whether only the connection is tried.
    pub check: bool,
}

#[derive(Default)]
struct RawOptions {
    source: Option<String>,
    to: Option<String>,
    name: Option<String>,
    ca: Option<PathBuf>,
    server_name: Option<String>,
    token_file: Option<PathBuf>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
    spool: Option<PathBuf>,
    spool_size: Option<String>,
    check: bool,
}

impl RawOptions {
    /// Sets an option that has a value; what is first counts.
    fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let text = || Some(value.to_owned());
        let path = || Some(PathBuf::from(value));
        match name {
            "to" => self.to = self.to.take().or_else(text),
            "name" => self.name = self.name.take().or_else(text),
            "ca" => self.ca = self.ca.take().or_else(path),
            "server-name" => self.server_name = self.server_name.take().or_else(text),
            "token-file" => self.token_file = self.token_file.take().or_else(path),
            "cert" => self.cert = self.cert.take().or_else(path),
            "key" => self.key = self.key.take().or_else(path),
            "spool" => self.spool = self.spool.take().or_else(path),
            "spool-size" => self.spool_size = self.spool_size.take().or_else(text),
            "source" => self.source = self.source.take().or_else(text),
            _ => return Err(Error::Usage(format!("unknown option {name}"))),
        }
        Ok(())
    }

    /// Sets the options of a file.
    fn read(&mut self, path: &Path) -> Result<(), Error> {
        let bytes = read(path)?;
        let wrong = |number: usize, reason: &str| Error::File {
            path: path.to_owned(),
            reason: format!("line {number}: {reason}"),
        };
        let text = String::from_utf8(bytes).map_err(|_| wrong(1, "is not text"))?;
        for (line, number) in text.lines().map(str::trim).zip(1..) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, value) = line
                .split_once(char::is_whitespace)
                .ok_or_else(|| wrong(number, "expected a name and a value"))?;
            self.set(name, value.trim())
                .map_err(|_| wrong(number, &format!("unknown option {name}")))?;
        }
        Ok(())
    }
}

/// Reads the arguments of the program.
///
/// # Errors
/// If they are wrong, or a file that they name cannot be used.
pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Command, Error> {
    let mut given = RawOptions::default();
    let mut config = None;
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        let Some(option) = argument.strip_prefix("--") else {
            if argument.starts_with('-') && argument != "-" {
                return Err(Error::Usage(format!("unknown option {argument}")));
            }
            if given.source.replace(argument).is_some() {
                return Err(Error::Usage("there is more than one source".to_owned()));
            }
            continue;
        };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        match name {
            "help" => return Ok(Command::Help),
            "version" => return Ok(Command::Version),
            "check" => given.check = true,
            "source" => return Err(Error::Usage("unknown option --source".to_owned())),
            _ => {
                let value = value
                    .or_else(|| arguments.next())
                    .ok_or_else(|| Error::Usage(format!("--{name} needs a value")))?;
                if name == "config" {
                    config = Some(PathBuf::from(value));
                } else {
                    given
                        .set(name, &value)
                        .map_err(|_| Error::Usage(format!("unknown option --{name}")))?;
                }
            }
        }
    }
    if let Some(path) = config {
        // What the command line says counts.
        given.read(&path)?;
    }
    resolve(given).map(|options| Command::Forward(Box::new(options)))
}

fn resolve(given: RawOptions) -> Result<Options, Error> {
    let usage = |text: &str| Error::Usage(text.to_owned());
    let source = given.source.ok_or_else(|| usage("name a source"))?;
    let kind = source_kind(&source);
    let to = given
        .to
        .ok_or_else(|| usage("--to says where the receiver is"))?;
    let (host, port) = to
        .rsplit_once(':')
        .and_then(|(host, port)| Some((host, port.parse().ok()?)))
        .filter(|(host, _)| !host.is_empty())
        .ok_or_else(|| usage("--to expects HOST:PORT"))?;
    let identity = match (given.cert, given.key) {
        (Some(cert), Some(key)) => {
            check_secret(&key)?;
            Some((cert, key))
        }
        (None, None) => None,
        _ => return Err(usage("--cert and --key require each other")),
    };
    let name = given
        .name
        .unwrap_or_else(|| format!("{}-{}", host_name(), kind.as_str()));
    if !is_name(&name) {
        return Err(usage(
            "--name expects at most 64 letters, digits, . _ - that begin with a letter or digit",
        ));
    }
    let spool_size = given
        .spool_size
        .map_or(Some(DEFAULT_SPOOL_SIZE), |text| bytes(&text))
        .filter(|&size| size >= MIN_SIZE)
        .ok_or_else(|| usage("--spool-size expects a size such as 500M, at least 1M"))?;
    Ok(Options {
        source: source.into(),
        kind,
        name,
        receiver: ReceiverConfig {
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            server_name: given.server_name,
            ca: given.ca,
            identity,
        },
        token: given.token_file.as_deref().map(token).transpose()?,
        spool: given.spool.unwrap_or_else(|| DEFAULT_SPOOL.into()),
        spool_size,
        check: given.check,
    })
}

/// Devices are read as the monitor's, whether they are there yet or not. `/dev/shm` has files.
fn source_kind(source: &str) -> SourceKind {
    if source == "-" {
        SourceKind::Stdin
    } else if source.starts_with("/dev/") && !source.starts_with("/dev/shm/") {
        SourceKind::Monreader
    } else {
        SourceKind::File
    }
}

fn token(path: &Path) -> Result<String, Error> {
    let wrong = |reason: &str| Error::File {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    check_secret(path)?;
    let text = String::from_utf8(read(path)?).map_err(|_| wrong("is not text"))?;
    let token = text.trim();
    if token.is_empty() || token.len() > LONGEST_TOKEN || token.contains(char::is_whitespace) {
        return Err(wrong(
            "expected one line with a token of at most 1024 bytes",
        ));
    }
    Ok(token.to_owned())
}

/// Refuses a file of this user that other users can read; another user decides who reads theirs.
fn check_secret(path: &Path) -> Result<(), Error> {
    let (Ok(file), Ok(process)) = (fs::metadata(path), fs::metadata("/proc/self")) else {
        // The caller reports that when it reads the file.
        return Ok(());
    };
    if file.is_file() && file.uid() == process.uid() && file.mode() & 0o077 != 0 {
        return Err(Error::File {
            path: path.to_owned(),
            reason: format!(
                "other users can read this file, which is secret; chmod 600 {}",
                path.display()
            ),
        });
    }
    Ok(())
}

/// The name of this machine, as far as it may be in a name.
fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let allowed = |letter: &char| letter.is_ascii_alphanumeric() || "._-".contains(*letter);
    let name: String = name.chars().filter(allowed).take(48).collect();
    if name.is_empty() {
        "linux".to_owned()
    } else {
        name
    }
}

fn is_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    bytes.len() <= 64
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(allowed)
}

/// A size such as 500M.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['K', 'M', 'G', 'T']);
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn options(arguments: &[&str]) -> Result<Options, String> {
        match parse(arguments.iter().map(|&argument| argument.to_owned())) {
            Ok(Command::Forward(options)) => Ok(*options),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn options_are_read_from_arguments_and_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        fs::write(path("token"), "secret\n").unwrap();
        let open = |mode| {
            fs::set_permissions(path("token"), fs::Permissions::from_mode(mode)).unwrap();
            let token = ["--to", "a:1", "--token-file", &path("token"), "-"];
            let key = ["--to", "a:1", "--cert", "c", "--key", &path("token"), "-"];
            options(&key).and_then(|_| options(&token))
        };
        for mode in [0o644, 0o640, 0o604] {
            let error = open(mode).unwrap_err();
            assert!(error.contains("chmod 600 "), "{mode:o}: {error}");
        }
        assert_eq!(open(0o600).unwrap().token.as_deref(), Some("secret"));
        let config = format!(
            "# a comment\n\nto  [::1]:99\nspool-size 2G\nname from-file\nsource /dev/monreader\ntoken-file {}\n",
            path("token")
        );
        fs::write(path("config"), config).unwrap();
        let found = options(&["--config", &path("config"), "--name=given"]).unwrap();
        assert_eq!(found.kind, SourceKind::Monreader);
        assert_eq!(
            (found.receiver.host.as_str(), found.receiver.port),
            ("::1", 99)
        );
        assert_eq!((found.name.as_str(), found.spool_size), ("given", 2 << 30));
        assert_eq!(found.token.as_deref(), Some("secret"));

        fs::write(path("config"), "to a:1\ncolour red\n").unwrap();
        let error = options(&["--config", &path("config"), "-"]).unwrap_err();
        assert_eq!(
            error,
            format!("{}: line 2: unknown option colour", path("config"))
        );
    }

    #[test]
    fn invalid_options_name_expected_value() {
        for (arguments, part) in [
            (&[][..], "name a source"),
            (&["-"], "--to says where"),
            (&["--to", "host", "-"], "HOST:PORT"),
            (&["--to", ":1", "-"], "HOST:PORT"),
            (&["--to", "a:70000", "-"], "HOST:PORT"),
            (&["--to"], "--to needs a value"),
            (&["--to", "a:1", "-", "x"], "more than one source"),
            (&["--to", "a:1", "--cert", "c", "-"], "require each other"),
            (&["--to", "a:1", "--name", "../x", "-"], "--name expects"),
            (&["--to", "a:1", "--spool-size", "1K", "-"], "at least 1M"),
            (
                &["--to", "a:1", "--spool-size", "99999999999T", "-"],
                "at least 1M",
            ),
            (&["--to", "a:1", "--source", "-"], "unknown option --source"),
            (&["-x"], "unknown option -x"),
            (
                &["--to", "a:1", "--token-file", "/nowhere", "-"],
                "cannot be read",
            ),
        ] {
            let error = options(arguments).unwrap_err();
            assert!(error.contains(part), "{arguments:?}: {error}");
        }
    }

    #[test]
    fn source_is_recognized_by_name() {
        for (source, kind) in [
            ("-", SourceKind::Stdin),
            ("/dev/monreader", SourceKind::Monreader),
            ("day.smf", SourceKind::File),
            ("/dev/shm/day.smf", SourceKind::File),
        ] {
            let found = options(&["--to=localhost:1", source]).unwrap();
            assert_eq!(found.kind, kind);
            assert!(found.name.ends_with(kind.as_str()), "{}", found.name);
        }
    }
}
