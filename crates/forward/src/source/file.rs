//! A file that grows, or is replaced by another one of its name.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use super::event::{Event, FileStart, Gap, READ, Reason, Source};
use crate::error::Error;
use crate::log::{self, Level};
use crate::spool::SourcePosition;

/// Interval between checks of a file.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// A file that grows.
#[derive(Debug)]
pub struct TailedFile {
    path: PathBuf,
    file: File,
    id: (u64, u64),
    offset: u64,
    /// Events to return before its bytes.
    waiting: Vec<Event>,
}

impl TailedFile {
    /// Opens a file, and continues at a mark if it is of this file.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &Path, mark: SourcePosition) -> Result<Self, Error> {
        let open = || {
            let file = File::open(path)?;
            let found = file.metadata()?;
            Ok((file, (found.dev(), found.ino()), found.len()))
        };
        let (file, id, size) = open().map_err(|source| Error::Source {
            path: path.to_owned(),
            source,
            cure: "; name a file that exists",
        })?;
        let mut source = Self {
            path: path.to_owned(),
            file,
            id,
            offset: mark.offset,
            waiting: Vec::new(),
        };
        if (mark.device, mark.inode) != id || size < mark.offset {
            if mark != SourcePosition::default() {
                source.replaced();
            }
            source.begin(id);
        }
        Ok(source)
    }

    fn begin(&mut self, id: (u64, u64)) {
        (self.id, self.offset) = (id, 0);
        let file = self.path.file_name().unwrap_or_default();
        self.waiting.push(Event::Start(FileStart {
            file: file.to_string_lossy().into_owned(),
            id,
        }));
    }

    /// The rest of the earlier file is unknown.
    fn replaced(&mut self) {
        self.waiting
            .push(Event::Gap(Gap::new(Reason::FileReplaced)));
    }

    fn read(&mut self) -> io::Result<Event> {
        if let Some(data) = self.more()? {
            return Ok(data);
        }
        if self.file.metadata()?.len() < self.offset {
            self.replaced();
            self.begin(self.id);
        } else if let Ok(found) = fs::metadata(&self.path)
            && (found.dev(), found.ino()) != self.id
        {
            // Since then the old one may have got its last bytes.
            if let Some(data) = self.more()? {
                return Ok(data);
            }
            self.file = File::open(&self.path)?;
            let opened = self.file.metadata()?;
            self.begin((opened.dev(), opened.ino()));
        } else {
            sleep(POLL_INTERVAL);
        }
        Ok(Event::Idle)
    }

    fn more(&mut self) -> io::Result<Option<Event>> {
        let mut buffer = vec![0; READ];
        let count = self.file.read_at(&mut buffer, self.offset)?;
        self.offset += count as u64;
        buffer.truncate(count);
        Ok((count > 0).then_some(Event::Data(buffer)))
    }
}

impl Source for TailedFile {
    fn next(&mut self) -> Event {
        if !self.waiting.is_empty() {
            return self.waiting.remove(0);
        }
        match self.read() {
            Ok(event) => event,
            Err(error) if error.kind() == ErrorKind::Interrupted => Event::Idle,
            Err(error) => {
                log::line(Level::Warning, "file_not_read", &[("error", &error)]);
                sleep(POLL_INTERVAL * 25);
                Event::Idle
            }
        }
    }
}
