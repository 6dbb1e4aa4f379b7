//! Output of decompression.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// Reason to stop writing.
pub(super) enum SinkError {
    Stopped,
    Write(io::Error),
}

/// Writes decompressed bytes up to a limit, from `base` on in its file, and reports progress.
pub(super) struct Sink<'s> {
    file: &'s File,
    base: u64,
    limit: u64,
    written: u64,
    members: u64,
    total: u64,
    progress: &'s mut dyn FnMut(u64, u64) -> bool,
    limit_reached: bool,
    ended: Option<SinkError>,
    part: Vec<u8>,
    /// Position of the decompression in the compressed bytes, for the progress.
    pub done: Rc<Cell<u64>>,
}

impl<'s> Sink<'s> {
    pub(super) fn new(
        file: &'s File,
        base: u64,
        limit: u64,
        total: u64,
        progress: &'s mut dyn FnMut(u64, u64) -> bool,
    ) -> Self {
        Self {
            file,
            base,
            limit,
            written: 0,
            members: 0,
            total,
            progress,
            limit_reached: false,
            ended: None,
            part: vec![0; 64 * 1024],
            done: Rc::default(),
        }
    }

    pub(super) const fn written(&self) -> u64 {
        self.written
    }

    pub(super) const fn members(&self) -> u64 {
        self.members
    }

    /// Notes that another member begins.
    pub(super) fn member(&mut self) {
        self.members += 1;
    }

    /// The limit, if it was reached.
    pub(super) fn at_limit(&self) -> Option<u64> {
        self.limit_reached.then_some(self.limit)
    }

    /// Whether nothing can be taken any more.
    pub(super) const fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Takes all that there is; false where no more is taken.
    pub(super) fn copy(&mut self, from: &mut dyn Read) -> io::Result<bool> {
        let mut part = std::mem::take(&mut self.part);
        let copied = loop {
            match from.read(&mut part) {
                Ok(0) => break Ok(true),
                Ok(count) if self.write(&part[..count]) => {}
                Ok(_) => break Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.part = part;
        copied
    }

    /// Takes bytes; false where not all of them are taken.
    pub(super) fn write(&mut self, bytes: &[u8]) -> bool {
        if self.ended.is_some() || self.limit_reached {
            return false;
        }
        let room = usize::try_from(self.limit - self.written).unwrap_or(usize::MAX);
        let taken = &bytes[..bytes.len().min(room)];
        let at = self.base.saturating_add(self.written);
        if let Err(error) = self.file.write_all_at(taken, at) {
            self.ended = Some(SinkError::Write(error));
            return false;
        }
        self.written += taken.len() as u64;
        self.limit_reached = taken.len() < bytes.len();
        if !(self.progress)(self.done.get().min(self.total), self.total) {
            self.ended = Some(SinkError::Stopped);
        }
        self.ended.is_none() && !self.limit_reached
    }

    pub(super) fn finish(self) -> Result<(), SinkError> {
        self.ended.map_or(Ok(()), Err)
    }
}
