//! What is read: the device, a file that grows, a pipe.
//!
//! A source is asked for what comes next. It may block, and it knows nothing of the spool or the network.

mod event;
mod file;
mod monreader;
mod pipe;

pub use event::{Begin, Event, Gap, Kind, Reason, Source};
pub use file::Growing;
pub use monreader::{Device, Monreader, Sets};
pub use pipe::Pipe;
