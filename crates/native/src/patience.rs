//! Long work without the interpreter's lock that still notices Ctrl-C.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// How long work runs before it looks up.
const PATIENCE: Duration = Duration::from_millis(50);

/// Tells work when it is time to look at signals and to show progress.
pub struct Patience {
    next: Instant,
}

impl Patience {
    pub fn new() -> Self {
        Self {
            next: Instant::now() + PATIENCE,
        }
    }

    /// Whether it is time; if so, the next time is set.
    pub fn is_over(&mut self) -> bool {
        let now = Instant::now();
        let over = now >= self.next;
        if over {
            self.next = now + PATIENCE;
        }
        over
    }

    /// Lets signal handlers run if it is time; what they raise ends the work.
    pub fn check(&mut self) -> PyResult<()> {
        if self.is_over() {
            Python::attach(|py| py.check_signals())
        } else {
            Ok(())
        }
    }
}
