//! Long work without the interpreter's lock that still notices Ctrl-C.

use std::sync::OnceLock;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// Interval between checks for signals and progress.
const PATIENCE: Duration = Duration::from_millis(50);

/// Tells work when it is time to look at signals and to show progress.
pub struct PollTimer {
    next: Instant,
}

impl PollTimer {
    pub fn new() -> Self {
        Self {
            next: Instant::now() + PATIENCE,
        }
    }

    /// Whether it is time; if so, the next time is set.
    pub fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let over = now >= self.next;
        if over {
            self.next = now + PATIENCE;
        }
        over
    }
}

static MAIN: OnceLock<ThreadId> = OnceLock::new();

/// Notes the thread that Python delivers signals to; to be called on it.
pub fn register_main_thread() {
    MAIN.get_or_init(|| thread::current().id());
}

/// Whether Python delivers signals to this thread.
pub fn on_main_thread() -> bool {
    MAIN.get() == Some(&thread::current().id())
}
