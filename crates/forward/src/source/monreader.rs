//! The monitor device of a Linux guest of z/VM, `/dev/monreader`.
//!
//! Documented (the kernel's monreader.rst and driver): a read that gives no bytes ends a set of data, which is valid
//! only then. EOVERFLOW says that the data so far are valid and that later ones may be missing. EIO says that the set
//! was lost when it ended; the next read begins another set. EFAULT says that the set could not be copied; it
//! continues, and is of no use. A device whose connection to the monitor was severed gives EIO at once and for ever: it
//! is opened again. So it is read with read(2) alone: a buffered reader takes the end of a set for the end of a file.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use zlens_frames::ReadAt;
use zlens_frames::zvm::{Capture, Header};

use super::event::{Event, Gap, READ, Reason, Source};
use crate::error::Error;
use crate::log::{self, Level};

const EIO: i32 = 5;
const EFAULT: i32 = 14;
const EOVERFLOW: i32 = 75;
/// The most bytes of a set. It can be as large as the segment of the monitor, whose default is 64 MB.
const MAX_SET_SIZE: usize = 64 << 20;
const RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// A device that is read with read(2), and can be opened again.
pub trait Device: Send {
    /// One read.
    ///
    /// # Errors
    /// Errors of the device.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Closes and opens it.
    ///
    /// # Errors
    /// Errors of the device.
    fn reopen(&mut self) -> io::Result<()>;

    /// Waits before something is tried again.
    fn pause(&mut self, time: Duration) {
        sleep(time);
    }
}

/// The device of Linux.
#[derive(Debug)]
pub struct Monreader {
    path: PathBuf,
    file: Option<File>,
}

impl Monreader {
    /// Opens the device.
    ///
    /// # Errors
    /// If it cannot be opened, with what can be done.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mut device = Self {
            path: path.to_owned(),
            file: None,
        };
        device.reopen().map_err(|source| Error::Source {
            path: path.to_owned(),
            cure: cure(&source),
            source,
        })?;
        Ok(device)
    }
}

fn cure(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound => "; load the driver with modprobe monreader",
        ErrorKind::PermissionDenied => "; the user of this process must be allowed to read it",
        ErrorKind::ResourceBusy => "; another program reads it: only one may",
        _ if error.raw_os_error() == Some(EIO) => {
            "; the guest needs IUCV *MONITOR in its directory entry: see the kernel log"
        }
        _ => "",
    }
}

impl Device for Monreader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.file {
            Some(file) => file.read(buffer),
            None => Err(ErrorKind::NotConnected.into()),
        }
    }

    fn reopen(&mut self) -> io::Result<()> {
        // Only one may have it open.
        self.file = None;
        self.file = Some(File::open(&self.path)?);
        Ok(())
    }
}

/// Whole sets of a device.
pub struct SetReader<D> {
    device: D,
    set: Vec<u8>,
    buffer: Vec<u8>,
    largest: usize,
    /// The rest of the set is of no use.
    skipping: bool,
    /// Reads since the last byte that gave none.
    idle: u32,
    /// Since when event records are suspended.
    suspended: Option<Duration>,
    waiting: VecDeque<Event>,
}

impl<D: Device> SetReader<D> {
    /// Reads sets from a device.
    pub fn new(device: D) -> Self {
        Self {
            device,
            set: Vec::new(),
            buffer: vec![0; READ],
            largest: MAX_SET_SIZE,
            skipping: false,
            idle: 0,
            suspended: None,
            waiting: VecDeque::new(),
        }
    }

    /// Limits a set to this many bytes.
    #[must_use]
    pub fn with_largest(mut self, bytes: usize) -> Self {
        self.largest = bytes;
        self
    }

    /// A gap for the set that is given up.
    fn discard(&mut self, reason: Reason) -> Event {
        let bytes = std::mem::take(&mut self.set).len() as u64;
        Event::Gap(Gap {
            sets: (bytes > 0).then_some(1),
            bytes: (bytes > 0).then_some(bytes),
            ..Gap::new(reason)
        })
    }

    /// The set that is there, and what has to be said of it.
    fn give(&mut self) -> Event {
        let set = Arc::new(std::mem::take(&mut self.set));
        let types = types(&set);
        let data = Event::Data(Arc::unwrap_or_clone(set));
        let resumed = types.contains(&Header::RESUMED);
        let from = self.suspended;
        if types.contains(&Header::SUSPENDED) {
            self.suspended = Some(log::now());
        } else if resumed {
            self.suspended = None;
        }
        if !resumed {
            return data;
        }
        self.waiting.push_front(data);
        Event::Gap(Gap {
            from,
            ..Gap::new(Reason::Suspended)
        })
    }

    fn failed(&mut self, error: &io::Error) -> Option<Event> {
        match error.raw_os_error() {
            Some(EOVERFLOW) => {
                let gap = Event::Gap(Gap::new(Reason::Overflow));
                if self.skipping || self.set.is_empty() {
                    return Some(gap);
                }
                let data = self.give();
                self.waiting.push_back(gap);
                Some(data)
            }
            Some(EFAULT) => {
                let is_first = !std::mem::replace(&mut self.skipping, true);
                self.idle += 1;
                if self.idle > 1 {
                    self.reopen(error);
                }
                is_first.then(|| self.discard(Reason::SetNotCopied))
            }
            Some(EIO) if self.idle == 0 => {
                self.idle = 1;
                let skipped = std::mem::take(&mut self.skipping);
                (!skipped).then(|| self.discard(Reason::SetInvalid))
            }
            _ => {
                self.reopen(error);
                Some(self.discard(Reason::DeviceLost))
            }
        }
    }

    /// Opens the device again, however long that takes.
    fn reopen(&mut self, error: &io::Error) {
        log::line(Level::Warning, "device_lost", &[("error", error)]);
        (self.skipping, self.idle) = (false, 0);
        let mut retry = RETRY;
        while let Err(error) = self.device.reopen() {
            log::line(Level::Warning, "device_not_opened", &[("error", &error)]);
            self.device.pause(retry);
            retry = (retry * 2).min(LONGEST_RETRY);
        }
        log::line(Level::Info, "device_opened", &[]);
    }
}

impl<D: Device> Source for SetReader<D> {
    fn next(&mut self) -> Event {
        if let Some(event) = self.waiting.pop_front() {
            return event;
        }
        loop {
            match self.device.read(&mut self.buffer) {
                Ok(0) if self.set.is_empty() || self.skipping => {
                    self.skipping = false;
                    self.idle += 1;
                    if self.idle > 1 {
                        // Nothing that waits for data: let others work.
                        self.device.pause(RETRY / 10);
                        return Event::Idle;
                    }
                }
                Ok(0) => return self.give(),
                Ok(_) if self.skipping => self.idle = 0,
                Ok(count) => {
                    self.idle = 0;
                    self.set.extend(&self.buffer[..count]);
                    if self.set.len() > self.largest {
                        self.skipping = true;
                        return self.discard(Reason::SetTooLarge);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.device.pause(RETRY / 10);
                    return Event::Idle;
                }
                Err(error) => {
                    if let Some(event) = self.failed(&error) {
                        return event;
                    }
                }
            }
        }
    }
}

/// The types of record in a set.
fn types(set: &Arc<Vec<u8>>) -> Vec<(u8, u16)> {
    let found = Capture::walk(Arc::clone(set) as Arc<dyn ReadAt>, &mut |_, _| true)
        .and_then(|capture| capture.index(&mut |_, _| true));
    found.map_or_else(
        |_| Vec::new(),
        |index| {
            let types = index.types.iter();
            types.map(|one| (one.domain, one.record)).collect()
        },
    )
}
