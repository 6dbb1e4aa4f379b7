//! What ran on a thread, and what was around it.

use crate::profile::Profile;
use crate::time::Ticks;

/// Distance of a move of a virtual CPU, or between two cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// The same chip.
    Chip,
    /// Another chip of the drawer.
    Drawer,
    /// Another drawer.
    Machine,
}

impl Distance {
    /// All of them, from near to far.
    pub const ALL: [Self; 3] = [Self::Chip, Self::Drawer, Self::Machine];
}

/// Cores that run the same system, as parts of all of them (including the own one) by distance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sharers(pub(crate) [f64; 3]);

impl Sharers {
    /// Of this many other cores.
    #[must_use]
    pub fn new(cores: [u32; 3]) -> Self {
        let all = 1.0 + cores.iter().map(|cores| f64::from(*cores)).sum::<f64>();
        Self(cores.map(|cores| f64::from(cores) / all))
    }
}

/// Something that ran on a thread.
#[derive(Clone, Copy, Debug)]
pub struct RunSegment<'p> {
    /// Character of its memory references.
    pub memory: &'p Profile,
    /// Time that the thread ran.
    pub ticks: Ticks,
    /// Work that was done, as time that it takes at the speed of a single thread; at most `ticks`.
    pub work: Ticks,
    /// Part of `ticks` in problem state.
    pub problem: Ticks,
    /// Part of `ticks` in which both threads of the core ran.
    pub both: Ticks,
    /// The virtual CPU ran on another core before, so far away.
    pub moved: Option<Distance>,
    /// Footprint of what else runs on the chip, in MiB.
    pub other_work_on_chip: f64,
    /// Other cores that run the same system.
    pub sharers: Sharers,
}

/// What a virtual CPU has in the caches of its core, chip and drawer, and at most in that of another drawer, in MiB.
pub type Held = [f64; 4];

/// The work on a thread, and what is around it.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'p> {
    pub memory: &'p Profile,
    pub held: Held,
    /// What the other thread of the core runs.
    pub sibling: Option<(&'p Profile, Held)>,
    pub sharers: Sharers,
    /// Work to the next boundary, and time to the end of the slice.
    pub work: Ticks,
    pub slice: Ticks,
}

/// What a thread did at a pace.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacedSegment {
    /// Time that it ran; part of it in CP, and in problem state.
    pub ticks: Ticks,
    pub cp: Ticks,
    pub problem: Ticks,
    /// Work of the guest, at the speed alone on the machine.
    pub work: Ticks,
    /// Whether both threads of the core ran.
    pub both: bool,
    /// Part of the time in CP in which it fetched lines that other cores had changed, and these, by distance.
    pub fetching: Ticks,
    pub changed: [f64; 3],
    /// Part of the time in CP in which it spun on a lock.
    pub spinning: Ticks,
}
