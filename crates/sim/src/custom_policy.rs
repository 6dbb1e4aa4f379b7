//! Policies of the user: a program that decides in place of CP.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use crate::unpark_policy::Observation;

/// What a policy may decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    /// Which virtual CPU a processor runs next.
    Scheduler,
    /// Which idle processor a virtual CPU goes to.
    Dispatcher,
    /// How many cores run.
    Unparking,
    /// Which frames CP takes.
    PageSelection,
}

/// A virtual CPU that is ready. Times are in seconds.
#[derive(Clone, Copy, Debug)]
pub struct ReadyCpu {
    /// Its user, by number, and its number.
    pub user: u32,
    /// Number of the virtual CPU.
    pub number: u32,
    /// Processors that its share entitles it to.
    pub part: f64,
    /// Time since it is ready.
    pub waiting: f64,
    /// CPU time since its logon.
    pub used: f64,
    /// Time to its deadline; negative if that is over.
    pub deadline: f64,
    /// The processor that it ran on last.
    pub processor: u32,
}

/// Pages in frames of one address space that were referenced last at the same time.
#[derive(Clone, Copy, Debug)]
pub struct FrameGroup {
    /// Users come first, then VDISKs and saved segments.
    pub space: u32,
    /// Index among the times of reference, oldest first.
    pub generation: u32,
    /// Seconds since the reference.
    pub age: f64,
    pub pages: f64,
    /// Those that have to be written first.
    pub changed: f64,
}

/// Decides in place of CP. Every decision is `None` if the policy failed; CP then decides, and the simulation ends at
/// the next interval.
pub trait Policy: Debug + Send {
    /// Whether it decides this.
    fn decides(&self, kind: PolicyKind) -> bool;

    /// Index of the virtual CPU that a processor runs next.
    fn choose(&mut self, now: f64, processor: u32, ready: &[ReadyCpu]) -> Option<usize>;

    /// Index of the idle processor that a virtual CPU goes to.
    fn place(&mut self, now: f64, ready: &ReadyCpu, idle: &[u32]) -> Option<usize>;

    /// Number of cores of a type that run.
    fn unpark(&mut self, now: f64, kind: u8, seen: &Observation) -> Option<u32>;

    /// Indices of groups in the order in which CP takes their frames.
    fn select(&mut self, now: f64, wanted: f64, groups: &[FrameGroup]) -> Option<Vec<usize>>;
}

/// The policy of a system, if it has one.
#[derive(Clone, Debug, Default)]
pub struct SystemPolicy {
    decides: [bool; 4],
    policy: Option<Arc<Mutex<dyn Policy>>>,
    /// Whether it failed.
    pub failed: bool,
}

impl SystemPolicy {
    /// A policy of the user.
    #[must_use]
    pub fn new(policy: impl Policy + 'static) -> Self {
        Self {
            decides: [
                PolicyKind::Scheduler,
                PolicyKind::Dispatcher,
                PolicyKind::Unparking,
                PolicyKind::PageSelection,
            ]
            .map(|kind| policy.decides(kind)),
            policy: Some(Arc::new(Mutex::new(policy))),
            failed: false,
        }
    }

    /// Whether it decides this.
    #[must_use]
    #[inline]
    pub fn decides(&self, kind: PolicyKind) -> bool {
        self.decides[kind as usize]
    }

    /// Its decision. A policy that fails decides nothing from then on.
    pub fn decision<T>(&mut self, ask: impl FnOnce(&mut dyn Policy) -> Option<T>) -> Option<T> {
        let decided = {
            let mut policy = self.policy.as_ref()?.lock().ok()?;
            ask(&mut *policy)
        };
        if decided.is_none() {
            self.failed = true;
            self.decides = [false; 4];
        }
        decided
    }
}
