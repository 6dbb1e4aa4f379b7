//! Live guest relocation: passes over a guest's storage while it runs, then the quiesce.
//!
//! The first pass sends all storage that was ever touched, every other one what changed since. Writes go to any
//! page of a kind of storage with equal probability, so of `N` pages `N (1 - e^(-w/N))` are different after
//! `w` writes. The guest is stopped when little is left, when a pass leaves about as much as it sent, or when
//! passes run out; what is left is sent in the quiesce, with a fixed time for devices and restart.
//!
//! Before it sends a pass, CP walks the page tables of the guest. Of the first pass, it reads those pages that are
//! not in frames from paging volumes before it sends them, and the destination needs frames for all of them: it is
//! sent no more than it has available.
//!
//! Relocations that send at the same time share the link equally; together they send more than one alone, which
//! waits for its buffers. Sending is done in quanta of 50 ms, each at the rate at its beginning. While the system
//! pages more than a threshold, sending is throttled to a part of the rate; the page faults of the last second count.

use crate::scenario::{Link, Relocation};
use crate::time::{SECOND, Ticks, seconds};

/// Length of a quantum.
const SEND_QUANTUM: Ticks = SECOND / 20;
/// Less than this much of a MiB is nothing.
const EPSILON: f64 = 1e-9;
/// A page in MiB.
const PAGE: f64 = 1.0 / 256.0;

/// Result codes of monitor record D4R12.
pub const SUCCESS: u32 = 0;
/// MAXTOTAL exceeded.
pub const MAXTOTAL: u32 = 4;
/// MAXQUIESCE exceeded.
pub const MAXQUIESCE: u32 = 5;

/// Phase of a relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Its command has not been given, or it waits for others.
    Waiting,
    /// Before the first pass.
    Setup,
    /// Sending while the guest runs.
    Live,
    /// Sending while it is stopped.
    Stopped,
    /// After everything is sent.
    Fixed,
    /// Ended.
    Over,
}

/// Effect of a step on the guest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// The relocation begins.
    Begin,
    /// The guest stops.
    Stop,
    /// The guest resumes here.
    Resume,
    /// The guest resumes at the destination.
    Move,
    /// Page tables are walked, in seconds.
    Walk(f64),
    /// Storage has to be read before it is sent, in MiB.
    Read(f64),
    /// Storage of the first pass, or of a later one, was sent, in MiB.
    Sent { mib: f64, first: bool },
}

/// What a guest's relocation depends on.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// Virtual time of the guest.
    pub cpu: Ticks,
    /// The part of its storage that is not in frames.
    pub paged_out: f64,
    /// What the destination has frames for, in MiB.
    pub room: f64,
}

/// A relocation.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub phase: Phase,
    /// Time of its start.
    pub began: Ticks,
    /// Time at which the guest was stopped, or 0.
    pub stopped: Ticks,
    /// Passes so far, with the one that is being sent.
    pub passes: u32,
    /// Sent so far, in MiB.
    pub sent: f64,
    /// Time of its end.
    pub ended: Ticks,
    /// Its outcome.
    pub code: u32,
    /// Left to send in this pass.
    left: f64,
    /// MiB of this pass.
    pass: f64,
    /// Virtual time of the guest at the beginning of the pass.
    cpu: Ticks,
    /// Rate of the quantum that is being sent, in MiB/s, and when it began.
    rate: f64,
    piece: Ticks,
    /// End of the walk before the pass that is being sent.
    walked: Ticks,
    /// Whether pages are read, and what was read and is not sent, in MiB.
    reading: bool,
    read: f64,
}

/// The relocations of one system.
#[derive(Clone, Debug)]
pub struct Relocations {
    specs: Vec<Relocation>,
    link: Option<Link>,
    pub states: Vec<State>,
    /// CP time for moving storage that no processor has spent yet.
    pub owed: Ticks,
    /// Time of the last count of page faults, and that count.
    counted: Option<(Ticks, u64)>,
    /// Whether there were too many of them in the second before that.
    throttled: bool,
}

impl Relocations {
    /// Creates relocations, none of them started.
    #[must_use]
    pub fn new(specs: &[Relocation], link: Option<&Link>) -> Self {
        let state = State {
            phase: Phase::Waiting,
            began: 0,
            stopped: 0,
            passes: 0,
            sent: 0.0,
            ended: 0,
            code: SUCCESS,
            left: 0.0,
            pass: 0.0,
            cpu: 0,
            rate: 0.0,
            piece: 0,
            walked: 0,
            reading: false,
            read: 0.0,
        };
        Self {
            specs: specs.to_vec(),
            link: link.cloned(),
            states: vec![state; specs.len()],
            owed: 0,
            counted: None,
            throttled: false,
        }
    }

    /// The page faults of the system up to now.
    pub fn paging(&mut self, now: Ticks, faults: u64) {
        let most = self.link.as_ref().map_or(0.0, |link| link.throttle_at);
        let (then, before) = *self.counted.get_or_insert((now, faults));
        if now >= then + SECOND {
            let span = (now - then) as f64 / SECOND as f64;
            // A user that logged off takes its count along.
            self.throttled = faults.saturating_sub(before) as f64 > most * span;
            self.counted = Some((now, faults));
        }
    }

    /// Whether another one of the same guest is running, or the maximum number.
    fn must_wait(&self, which: usize) -> bool {
        let active = |at: &usize| !matches!(self.states[*at].phase, Phase::Waiting | Phase::Over);
        let most = self.link.as_ref().map_or(1, |link| link.at_once.max(1)) as usize;
        let others: Vec<usize> = (0..self.states.len()).filter(active).collect();
        others.len() >= most
            || others
                .iter()
                .any(|other| self.specs[*other].user == self.specs[which].user)
    }

    /// The rate of each of those that send now, with one that is about to, in MiB/s.
    fn rate(&self, now: Ticks, which: usize) -> f64 {
        let Some(link) = &self.link else { return 0.0 };
        let sends = |state: &State| {
            matches!(state.phase, Phase::Live | Phase::Stopped)
                && state.walked <= now
                && !state.reading
        };
        let sending = (0..self.states.len())
            .filter(|at| *at == which || sends(&self.states[*at]))
            .count();
        let part = match sending {
            1 => link.rate_mib,
            _ => (link.rate_mib * link.several_pct / 100.0 / sending as f64).min(link.rate_mib),
        };
        let part = link.most_per_guest_mib.map_or(part, |most| part.min(most));
        if self.throttled {
            part * (link.throttle_to_pct / 100.0)
        } else {
            part
        }
    }

    /// The event of a relocation: what follows, and when it wants its next event (`None` if it is over, or when
    /// pages are read).
    pub fn fire(
        &mut self,
        now: Ticks,
        which: usize,
        around: Surroundings,
    ) -> (Vec<Effect>, Option<Ticks>) {
        let cpu = around.cpu;
        let spec = self.specs[which].clone();
        let mut effects = Vec::new();
        let late = |state: &State| {
            spec.maxtotal_s
                .is_some_and(|most| now >= state.began + seconds(most))
        };
        match self.states[which].phase {
            Phase::Over => return (effects, None),
            Phase::Waiting => {
                if self.must_wait(which) {
                    return (effects, Some(now + SEND_QUANTUM));
                }
                let state = &mut self.states[which];
                state.phase = Phase::Setup;
                state.began = now;
                effects.push(Effect::Begin);
                return (effects, Some(now + seconds(spec.setup_s).max(1)));
            }
            Phase::Setup => {
                let state = &mut self.states[which];
                state.phase = Phase::Live;
                state.passes = 1;
                state.cpu = cpu;
                state.pass = spec.touched_mib.max(PAGE);
                state.left = state.pass;
                if let Some(walked) = self.walk(now, which, &mut effects) {
                    return (effects, Some(walked));
                }
            }
            Phase::Live | Phase::Stopped => {
                let state = &mut self.states[which];
                let span = (now - state.piece) as f64 / SECOND as f64;
                let mib = (state.rate * span).min(state.left);
                state.left -= mib;
                state.sent += mib;
                state.read = (state.read - mib).max(0.0);
                state.reading = false;
                state.rate = 0.0;
                let first = state.passes == 1 && state.phase == Phase::Live;
                if mib > 0.0 {
                    effects.push(Effect::Sent { mib, first });
                }
                if state.phase == Phase::Live && late(state) {
                    return (self.cancel(now, which, MAXTOTAL, effects), None);
                }
                if state.left <= EPSILON {
                    self.pass_over(now, which, cpu, &mut effects);
                    if self.states[which].phase != Phase::Fixed {
                        if let Some(walked) = self.walk(now, which, &mut effects) {
                            return (effects, Some(walked));
                        }
                        if self.states[which].left <= EPSILON {
                            self.pass_over(now, which, cpu, &mut effects);
                        }
                    }
                }
            }
            Phase::Fixed => {
                let state = &mut self.states[which];
                let stopped = now - state.stopped;
                let too_long = spec
                    .maxquiesce_s
                    .is_some_and(|most| stopped > seconds(most));
                if too_long || late(state) {
                    let code = if too_long { MAXQUIESCE } else { MAXTOTAL };
                    return (self.cancel(now, which, code, effects), None);
                }
                state.phase = Phase::Over;
                state.ended = now;
                effects.push(Effect::Move);
                return (effects, None);
            }
        }
        if self.states[which].phase == Phase::Fixed {
            return (effects, Some(now + seconds(spec.fixed_quiesce_s).max(1)));
        }
        let state = &self.states[which];
        if state.phase == Phase::Stopped {
            let over = spec
                .maxquiesce_s
                .is_some_and(|most| now > state.stopped + seconds(most));
            if over {
                return (self.cancel(now, which, MAXQUIESCE, effects), None);
            }
        }
        let rate = self.rate(now, which);
        let state = &mut self.states[which];
        state.piece = now;
        let mut most = state.left;
        if state.passes == 1 && state.phase == Phase::Live {
            most = most.min(around.room);
            if around.paged_out > 0.0 {
                let quantum = (rate * SEND_QUANTUM as f64 / SECOND as f64).min(most);
                if state.read <= EPSILON && quantum > EPSILON {
                    state.read = quantum;
                    state.reading = true;
                    effects.push(Effect::Read(quantum * around.paged_out));
                    return (effects, None);
                }
                most = most.min(state.read);
            }
        }
        let span = if rate > 0.0 && most > EPSILON {
            state.rate = rate;
            seconds(most / rate).clamp(1, SEND_QUANTUM)
        } else {
            SEND_QUANTUM
        };
        (effects, Some(now + span))
    }

    /// CP walks the page tables before a pass; when it has done so, if that takes time.
    fn walk(&mut self, now: Ticks, which: usize, effects: &mut Vec<Effect>) -> Option<Ticks> {
        let spec = &self.specs[which];
        let state = &mut self.states[which];
        let read = if state.phase == Phase::Live && state.passes == 1 {
            spec.page_in_s
        } else {
            0.0
        };
        let time = seconds(spec.walk_s + read);
        if time == 0 {
            return None;
        }
        state.piece = now;
        state.walked = now + time;
        effects.push(Effect::Walk(spec.walk_s));
        Some(state.walked)
    }

    /// A pass has sent everything.
    fn pass_over(&mut self, now: Ticks, which: usize, cpu: Ticks, effects: &mut Vec<Effect>) {
        let spec = &self.specs[which];
        let state = &mut self.states[which];
        if state.phase == Phase::Stopped {
            // The rest of its passes have nothing to send.
            state.passes += spec.quiesce_passes.saturating_sub(1);
            state.phase = Phase::Fixed;
            return;
        }
        let ran = (cpu.saturating_sub(state.cpu)) as f64 / SECOND as f64;
        let kinds = spec.writes.iter();
        let changed: f64 = kinds
            .map(|[storage, rate]| changed(*storage, rate * ran))
            .sum();
        let live_most = spec.passes_most.saturating_sub(spec.quiesce_passes).max(1);
        let stops = spec.immediate
            || state.passes >= live_most
            || (state.passes >= spec.live_passes
                && (changed <= spec.stop_below_mib
                    || spec
                        .no_progress_pct
                        .is_some_and(|part| changed >= part / 100.0 * state.pass)));
        state.cpu = cpu;
        state.pass = changed;
        state.left = changed;
        if stops {
            state.stopped = now;
            state.passes += spec.quiesce_passes.min(1);
            state.phase = Phase::Stopped;
            effects.push(Effect::Stop);
        } else {
            state.passes += 1;
            if changed <= EPSILON {
                // Nothing changed: the passes that are still due send nothing.
                state.pass = PAGE;
                state.left = PAGE;
            }
        }
    }

    fn cancel(
        &mut self,
        now: Ticks,
        which: usize,
        code: u32,
        mut effects: Vec<Effect>,
    ) -> Vec<Effect> {
        let state = &mut self.states[which];
        state.phase = Phase::Over;
        state.ended = now;
        state.code = code;
        effects.push(Effect::Resume);
        effects
    }
}

/// Returns the MiB that differ after `written` MiB of writes to random pages of `storage` MiB.
fn changed(storage: f64, written: f64) -> f64 {
    if storage <= 0.0 {
        return 0.0;
    }
    storage * (1.0 - exp_of_minus(written / storage))
}

/// e to the power of a negative number, by exactly rounded operations only; the error is below 1e-14.
pub(crate) fn exp_of_minus(x: f64) -> f64 {
    if x > 700.0 {
        return 0.0;
    }
    // Halved until small, then a Taylor series, then squared again.
    let mut small = x;
    let mut halvings = 0;
    while small > 0.125 {
        small *= 0.5;
        halvings += 1;
    }
    let mut sum = 1.0;
    let mut n = 12.0;
    while n >= 1.0 {
        sum = 1.0 - small / n * sum;
        n -= 1.0;
    }
    for _ in 0..halvings {
        sum *= sum;
    }
    sum
}
