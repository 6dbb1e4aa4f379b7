//! Parking: the number of cores that a system of a vertical partition runs in, decided every two seconds.
//!
//! The rules are those of the solver (`zlens.models.unparking`, policy zvm), and both give the same numbers.
//! A cap, which the solver leaves to its user, bounds what is projected and what vertical-low cores can get.
//!
//! Power and use are percent of one core.

use crate::scenario::{Unparking, UnparkingModel};
use crate::time::{SECOND, Ticks};

/// Time between decisions.
pub const INTERVAL: Ticks = 2 * SECOND;
/// Power of a whole core.
const CORE: f64 = 100.0;
/// Less than this much of a core is negligible.
const NEGLIGIBLE: f64 = 1e-9;

/// Online cores of one type, which run in the order vertical-high, medium, low.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cores {
    /// Vertical-high cores.
    pub highs: u32,
    /// Vertical-medium cores.
    pub mediums: u32,
    /// Vertical-low cores.
    pub lows: u32,
    /// Entitlement of each vertical-medium core.
    pub medium: f64,
}

impl Cores {
    /// All of them.
    #[must_use]
    pub const fn online(&self) -> u32 {
        self.highs + self.mediums + self.lows
    }

    /// Entitlement of the partition.
    #[must_use]
    pub fn entitlement(&self) -> f64 {
        CORE * f64::from(self.highs) + self.medium * f64::from(self.mediums)
    }
}

/// Another partition, as Global Performance Data shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeerPartition {
    pub weight: f64,
    pub entitlement: f64,
    /// Its use.
    pub used: f64,
    /// Its demand; at least its use.
    pub demand: f64,
}

/// Observation of one type in the last interval.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'s> {
    pub cores: Cores,
    /// Weight of the partition.
    pub weight: f64,
    /// Its use.
    pub used: f64,
    /// Its cap, whatever it comes from.
    pub cap: Option<f64>,
    /// The other partitions with shared cores of the type.
    pub others: &'s [PeerPartition],
}

/// A decision for one type, as MRPRCPUP (domain 5 record 16) shows it: hundredths of a percent of one core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Cores online.
    pub online: u32,
    /// Cores that run, the first ones.
    pub unparked: u32,
    pub entitlement: u32,
    /// Use expected in the next interval.
    pub projection: u32,
    /// The cap; 0 if uncapped.
    pub cap: u32,
    /// Power beyond the entitlement that EXCESSUSE counts on.
    pub excess: u32,
}

#[derive(Clone, Copy, Debug)]
struct Claim {
    weight: f64,
    most: f64,
}

#[derive(Clone, Copy, Debug)]
struct Rising {
    full: f64,
    claim: usize,
    slope: f64,
}

/// Decides for one system.
#[derive(Clone, Debug)]
pub struct Unparker {
    rules: Unparking,
    claims: Vec<Claim>,
    rising: Vec<Rising>,
}

impl Unparker {
    /// Creates a policy with these rules for a machine with `partitions` other partitions.
    #[must_use]
    pub fn new(rules: &Unparking, partitions: usize) -> Self {
        Self {
            rules: rules.clone(),
            claims: Vec::with_capacity(partitions + 1),
            rising: Vec::with_capacity(partitions + 1),
        }
    }

    /// Replaces the rules.
    pub fn set_rules(&mut self, rules: &Unparking) {
        self.rules = rules.clone();
    }

    /// The decision after an interval.
    pub fn decide(&mut self, seen: &Observation) -> Decision {
        let cores = seen.cores;
        let rules = &self.rules;
        let capped = |power: f64| seen.cap.map_or(power, |cap| power.min(cap));
        let expected = rules.projection_factor * seen.used + rules.projection_base_pct;
        let projection = capped(expected);
        let excess = if rules.global_performance_data {
            self.excess(seen)
        } else {
            0.0
        };
        let rules = &self.rules;
        let unparked = if !rules.active {
            cores.online()
        } else if rules.global_performance_data {
            let powered = self.powered_lows(excess, cores.lows);
            let least = cores.online().min(1);
            let all = cores.highs + cores.mediums + powered;
            let power = |at| self.low_power(excess, cores.lows, at);
            let small = fewest(&cores, powered, power, projection).max(least);
            match rules.model {
                UnparkingModel::Large => all.max(least),
                UnparkingModel::Medium => small.max(cores.highs + cores.mediums),
                UnparkingModel::Small => small,
            }
        } else {
            let padded = if rules.pad_beyond_entitlement {
                expected + rules.pad_pct
            } else {
                let within = (expected + rules.pad_pct).min(cores.entitlement());
                expected.max(within)
            };
            let wanted = capped(padded);
            fewest(&cores, cores.lows, |_| CORE, wanted).max(cores.online().min(1))
        };
        Decision {
            online: cores.online(),
            unparked,
            entitlement: hundredths(cores.entitlement()),
            projection: hundredths(projection),
            cap: seen.cap.map_or(0, hundredths),
            excess: hundredths(excess),
        }
    }

    /// The excess power counted on: what the others leave of their entitlement, shared by weight with those
    /// that want more than theirs, and of that the part that EXCESSUSE takes.
    fn excess(&mut self, seen: &Observation) -> f64 {
        let Some(part) = self.rules.excess_pct else {
            return 0.0;
        };
        if seen.others.is_empty() {
            return 0.0;
        }
        let lows = CORE * f64::from(seen.cores.lows);
        let room = seen.cap.map_or(lows, |cap| {
            0.0_f64.max(lows.min(cap - seen.cores.entitlement()))
        });
        self.claims.clear();
        self.claims.push(Claim {
            weight: seen.weight,
            most: room,
        });
        let mut spare = 0.0;
        for other in seen.others {
            spare += 0.0_f64.max(other.entitlement - other.used);
            let demand = other.demand.max(other.used);
            if demand > other.entitlement {
                self.claims.push(Claim {
                    weight: other.weight,
                    most: demand - other.entitlement,
                });
            }
        }
        self.first_fill(spare) * part / 100.0
    }

    /// Returns the part of `spare` that the first claim gets: weighted max-min.
    fn first_fill(&mut self, spare: f64) -> f64 {
        let first = self.claims[0];
        let level = self.level(spare);
        if first.weight > 0.0 {
            return first.most.min(level * first.weight);
        }
        // Those without weight share equally what those with weight do not want.
        let mut taken = 0.0;
        for claim in &mut self.claims {
            if claim.weight > 0.0 {
                taken += claim.most.min(level * claim.weight);
                claim.most = 0.0;
            }
            claim.weight = 1.0;
        }
        if level < f64::INFINITY || spare <= taken {
            return 0.0;
        }
        first.most.min(self.level(spare - taken))
    }

    /// The level to which all claims rise; without bound if all can be met.
    fn level(&mut self, spare: f64) -> f64 {
        self.rising.clear();
        for (claim, &Claim { weight, most }) in self.claims.iter().enumerate() {
            if weight > 0.0 && most > 0.0 {
                self.rising.push(Rising {
                    full: most / weight,
                    claim,
                    slope: weight,
                });
            }
        }
        self.rising.sort_unstable_by(|one, other| {
            let by_full = one.full.total_cmp(&other.full);
            by_full.then(one.claim.cmp(&other.claim))
        });
        let mut slope = 0.0;
        for rising in self.rising.iter_mut().rev() {
            slope += rising.slope;
            rising.slope = slope;
        }
        let mut left = spare;
        for rising in &self.rising {
            if rising.full * rising.slope >= left {
                return left.max(0.0) / rising.slope;
            }
            left -= self.claims[rising.claim].most;
        }
        f64::INFINITY
    }

    /// Vertical-low cores with enough power to count.
    fn powered_lows(&self, excess: f64, lows: u32) -> u32 {
        let counts = |at: &u32| self.low_power(excess, lows, *at) >= self.rules.low_powered_pct;
        (0..lows).take_while(counts).count() as u32
    }

    /// Power that a vertical-low core appears to have; none has more than the one before.
    fn low_power(&self, excess: f64, lows: u32, at: u32) -> f64 {
        let power = if self.rules.lows_evenly {
            excess / f64::from(lows)
        } else {
            0.0_f64.max(excess - CORE * f64::from(at))
        };
        CORE.min(power)
    }
}

/// Returns the number of leading cores that provide the requested power; all if they do not.
fn fewest(cores: &Cores, lows: u32, low: impl Fn(u32) -> f64, wanted: f64) -> u32 {
    let entitled = cores.highs + cores.mediums;
    let mut reached = 0.0;
    for at in 0..entitled + lows {
        if reached >= wanted - NEGLIGIBLE {
            return at;
        }
        reached += if at < cores.highs {
            CORE
        } else if at < entitled {
            cores.medium
        } else {
            low(at - entitled)
        };
    }
    entitled + lows
}

fn hundredths(power: f64) -> u32 {
    (power * 100.0 + 0.5) as u32
}
