//! The whole: a thread that reads, and one that sends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::collect::collect;
use crate::connection::Connector;
use crate::error::Error;
use crate::log::{self, Level};
use crate::options::Options;
use crate::send::{Hello, Sender, check};
use crate::source::{Monreader, Pipe, SetReader, Source, SourceKind, TailedFile};
use crate::spool::{SourcePosition, Spool};

/// Opens a source at a mark.
pub type Open<'a> = &'a dyn Fn(SourcePosition) -> Result<Box<dyn Source>, Error>;

/// Opens the source that options name.
///
/// # Errors
/// If it cannot be opened.
pub fn open(options: &Options, mark: SourcePosition) -> Result<Box<dyn Source>, Error> {
    Ok(match options.kind {
        SourceKind::Monreader => Box::new(SetReader::new(Monreader::open(&options.source)?)),
        SourceKind::File => Box::new(TailedFile::open(&options.source, mark)?),
        SourceKind::Stdin => Box::new(Pipe::new(io::stdin())),
    })
}

/// Forwards until the source ends, or `stop`.
///
/// # Errors
/// If it cannot begin.
pub fn forward(options: &Options, open: Open<'_>, stop: &Arc<AtomicBool>) -> Result<(), Error> {
    let connector = Connector::new(&options.receiver)?;
    let greeting = Hello {
        name: options.name.clone(),
        kind: options.kind,
        token: options.token.clone(),
    };
    if options.check {
        check(&connector, &greeting)?;
        log::line(Level::Info, "accepted", &[("name", &greeting.name)]);
        return Ok(());
    }
    let spool = Arc::new(Spool::open(&options.spool, options.spool_size)?);
    let mut source = open(spool.mark())?;
    log::line(
        Level::Info,
        "started",
        &[
            ("name", &options.name),
            ("kind", &options.kind.as_str()),
            ("next", &spool.next()),
        ],
    );
    // Not joined: a read that waits for the device ends with the program.
    let reader = {
        let (spool, stop, kind) = (Arc::clone(&spool), Arc::clone(stop), options.kind);
        thread::Builder::new()
            .name("reader".to_owned())
            .spawn(move || collect(&mut *source, kind, &spool, &stop))
    };
    reader.map_err(|source| Error::Source {
        path: options.source.clone(),
        source,
        cure: "",
    })?;
    let sender = Sender {
        connector: &connector,
        greeting: &greeting,
        spool: &spool,
        stop,
    };
    let complete = sender.run();
    let signal = stop.load(Ordering::Relaxed);
    log::line(
        Level::Info,
        "ended",
        &[("signal", &signal), ("complete", &complete)],
    );
    Ok(())
}
