//! Scans: files in, batches of raw tables out, a little at a time.

use std::io;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use zlens_frames::{ProblemLog, Window, Windows};

/// Error that ends a scan.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// A file cannot be read.
    #[error("{file} at byte {offset}: cannot be read: {source}")]
    Io {
        /// Its name.
        file: String,
        /// Its location.
        offset: u64,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Arrow refuses a batch.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

impl From<ScanError> for ArrowError {
    fn from(error: ScanError) -> Self {
        match error {
            ScanError::Arrow(error) => error,
            ScanError::Io { ref source, .. } => {
                let kind = source.kind();
                Self::IoError(error.to_string(), io::Error::from(kind))
            }
        }
    }
}

/// A batch of the table with this number among those that a scan is of.
pub type TableBatch = (usize, RecordBatch);

/// Result of one scan step.
#[derive(Debug)]
pub enum Step {
    /// A batch of the table selected at this index.
    Batch(usize, RecordBatch),
    /// A window was read; there is more to do.
    Working,
    /// All files are read.
    Done,
}

/// A scan that advances in small steps.
pub trait IncrementalScan {
    /// Does a little: returns a batch, or reads one window.
    ///
    /// # Errors
    /// If a file cannot be read. What was read of it is returned before, and the scan continues after that file.
    fn step(&mut self) -> Result<Step, ScanError>;
}

/// Decodes windows of files into batches.
pub trait WindowDecoder {
    /// How the files are read.
    type Pass: Windows;

    /// A batch that can be returned.
    ///
    /// # Errors
    /// If Arrow refuses it, as all that make batches.
    fn ready(&mut self) -> Result<Option<TableBatch>, ArrowError>;

    /// A pass over the next file, and its name; none if there is no other.
    fn open(&mut self) -> Option<(Self::Pass, String)>;

    /// Processes a window of the file.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    fn window(&mut self, window: &Window<'_>) -> Result<(), ArrowError>;

    /// Ends with the file. There are problems of its pass if that came to its end.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    fn close(&mut self, problems: Option<&ProblemLog>) -> Result<(), ArrowError>;

    /// Returns a batch of the remaining rows after the last file.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    fn rest(&mut self) -> Result<Option<TableBatch>, ArrowError> {
        Ok(None)
    }
}

/// A scan of all files of a decoder.
pub struct Scan<D: WindowDecoder> {
    pub(crate) decoding: D,
    pass: Option<(D::Pass, String)>,
    /// Why a file could not be read to its end; what was read of it goes first.
    failed: Option<ScanError>,
}

impl<D: WindowDecoder> Scan<D> {
    pub(crate) const fn new(decoding: D) -> Self {
        Self {
            decoding,
            pass: None,
            failed: None,
        }
    }
}

impl<D: WindowDecoder> IncrementalScan for Scan<D> {
    fn step(&mut self) -> Result<Step, ScanError> {
        if let Some((table, batch)) = self.decoding.ready()? {
            return Ok(Step::Batch(table, batch));
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.pass.is_none() {
            self.pass = self.decoding.open();
        }
        let Some((pass, _)) = &mut self.pass else {
            let rest = self.decoding.rest()?;
            return Ok(rest.map_or(Step::Done, |(table, batch)| Step::Batch(table, batch)));
        };
        let closed = match pass.next_window() {
            Ok(Some(window)) => {
                self.decoding.window(&window)?;
                return Ok(Step::Working);
            }
            Ok(None) => self.decoding.close(Some(pass.problems())),
            Err(source) => {
                let offset = pass.position();
                let file = self.pass.take().map_or_else(String::new, |(_, name)| name);
                self.failed = Some(ScanError::Io {
                    file,
                    offset,
                    source,
                });
                self.decoding.close(None)
            }
        };
        self.pass = None;
        closed?;
        Ok(Step::Working)
    }
}

/// Reads one table. It ends with its first error.
pub struct Reader<S> {
    schema: SchemaRef,
    scan: S,
    failed: bool,
}

impl<S: IncrementalScan> Reader<S> {
    pub(crate) const fn new(schema: SchemaRef, scan: S) -> Self {
        Self {
            schema,
            scan,
            failed: false,
        }
    }
}

impl<S: IncrementalScan> IncrementalScan for Reader<S> {
    fn step(&mut self) -> Result<Step, ScanError> {
        if self.failed {
            return Ok(Step::Done);
        }
        let step = self.scan.step();
        self.failed = step.is_err();
        step
    }
}

impl<S: IncrementalScan> Iterator for Reader<S> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.step() {
                Ok(Step::Batch(_, batch)) => return Some(Ok(batch)),
                Ok(Step::Working) => {}
                Ok(Step::Done) => return None,
                Err(error) => return Some(Err(error.into())),
            }
        }
    }
}

impl<S: IncrementalScan> RecordBatchReader for Reader<S> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
