//! The program `zlens-forward`.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use zlens_forward::error::Error;
use zlens_forward::options::{Command, HELP, parse};
use zlens_forward::run::{forward, open};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "zlens-forward: {error}");
            ExitCode::from(error.status())
        }
    }
}

fn run() -> Result<(), Error> {
    let arguments = std::env::args_os().skip(1);
    let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    let options = match parse(arguments)? {
        Command::Help => {
            let _ = io::stdout().write_all(HELP.as_bytes());
            return Ok(());
        }
        Command::Version => {
            let _ = writeln!(io::stdout(), "zlens-forward {}", env!("CARGO_PKG_VERSION"));
            return Ok(());
        }
        Command::Forward(options) => options,
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Error::Usage(format!("signals cannot be handled: {error}")))?;
    }
    forward(&options, &|mark| open(&options, mark), &stop)
}
