//! Sources: the device, a file that grows, a pipe.
//!
//! A source is asked for what comes next. It may block, and it knows nothing of the spool or the network.

mod event;
mod file;
mod monreader;
mod pipe;

pub use event::{Event, FileStart, Gap, Reason, Source, SourceKind};
pub use file::TailedFile;
pub use monreader::{Device, Monreader, SetReader};
pub use pipe::Pipe;
