//! A pipe, such as standard input.

use std::io::{ErrorKind, Read};

use super::event::{Event, FileStart, READ, Source};
use crate::log::{self, Level};

/// A pipe that is read to its end.
#[derive(Debug)]
pub struct Pipe<R> {
    pipe: R,
    begun: bool,
}

impl<R: Read + Send> Pipe<R> {
    /// Reads a pipe.
    pub const fn new(pipe: R) -> Self {
        Self { pipe, begun: false }
    }
}

impl<R: Read + Send> Source for Pipe<R> {
    fn next(&mut self) -> Event {
        if !std::mem::replace(&mut self.begun, true) {
            return Event::Start(FileStart::default());
        }
        let mut buffer = vec![0; READ];
        match self.pipe.read(&mut buffer) {
            Ok(0) => Event::End,
            Ok(count) => {
                buffer.truncate(count);
                Event::Data(buffer)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Event::Idle,
            Err(error) => {
                log::line(Level::Warning, "pipe_not_read", &[("error", &error)]);
                Event::End
            }
        }
    }
}
