//! Volumes and HyperPAV aliases.
//!
//! A request uses the base device of its volume if that is free, else an alias of the volume's control unit,
//! else it waits. An alias that becomes free goes to the use (minidisk or paging I/O) with the least aliases
//! for its share, and there to the request that waits longest; so a use that wants less than its entitlement
//! leaves the rest to the other use. A base device takes the request of its volume that waits longest.
//!
//! Service is pending, disconnect and connect time. Only reads that miss the cache disconnect. Paging I/O
//! carries a block of pages; its connect time is that of the operation and of each page, or, where that of a page is
//! not given, that of one page for each.

mod waiting;

pub use self::waiting::Request;
use self::waiting::Waiting;
use crate::event_queue::Schedule;
use crate::random::{DurationDistribution, Stream};
use crate::scenario::{ControlUnit, Cp, Volume};
use crate::storage_servers::StorageServers;
use crate::time::{MICROSECOND, NEVER, Ticks};

/// No volume, control unit or request.
const NO_INDEX: u32 = u32::MAX;
/// Weight of the newest operation in CP's estimate of a volume's service time.
const SMOOTHING: i64 = 16;

/// Counters of a volume since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VolumeCounts {
    /// Operations that ended.
    pub operations: u64,
    /// Of these, reads.
    pub reads: u64,
    /// Of the reads, those found in the cache.
    pub hits: u64,
    /// Operations on aliases.
    pub alias_uses: u64,
    /// Pending, disconnect and connect time.
    pub pending: Ticks,
    /// Disconnect time.
    pub disconnect: Ticks,
    /// Connect time.
    pub connect: Ticks,
    /// Time that requests waited, all together.
    pub queued: Ticks,
    /// Pages read and written.
    pub pages: [u64; 2],
    /// Reads and writes in transport mode.
    pub transport: [u64; 2],
    /// High-frequency samples, and requests that waited at them.
    pub samples: [u64; 2],
    /// Requests that arrived.
    pub arrived: u64,
    /// Operations that the minidisk cache avoided.
    pub avoided: u64,
}

/// Counters of a control unit's aliases; minidisk I/O, then paging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// Aliases in use, integrated over time.
    pub in_use: [u128; 2],
    /// Requests that waited, integrated over time.
    pub waited: [u128; 2],
    /// Requests for an alias when none was free.
    pub tries: u64,
    /// Times none was free.
    pub fails: u64,
}

#[derive(Clone, Debug)]
struct Disk {
    unit: u32,
    usage: usize,
    pending: DurationDistribution,
    /// In command mode, and in transport mode (HPF).
    connect: [DurationDistribution; 2],
    /// Connect time of a page; without it, that of an operation is per page.
    connect_page: Option<[DurationDistribution; 2]>,
    /// Whether it can be in transport mode, and is.
    can_transport: bool,
    transport: bool,
    miss: DurationDistribution,
    /// Of 2^32 requests, the reads, and of 2^32 reads, the hits.
    reads: u64,
    hits: u64,
    hits_at_most: u64,
    stream: Stream,
    /// Which of the volumes that several systems share it is, and of 2^32 operations, those whose extents others use.
    shared: Option<u32>,
    conflicts: u64,
    running: u32,
    since: Ticks,
    estimate: i64,
    /// Cylinders and the one that the arm is at, if seeks are recorded.
    arm: Option<(u32, u32)>,
    seeks: Stream,
    counts: VolumeCounts,
}

#[derive(Clone, Debug)]
struct Pool {
    shares: Option<[u64; 2]>,
    aliases: u32,
    free: Vec<u32>,
    server: u32,
    in_use: [u32; 2],
    since: Ticks,
    counts: PoolCounts,
}

#[derive(Clone, Copy, Debug)]
struct Exposure {
    /// Control unit of an alias; `NO_INDEX` for a base device, whose number is that of its volume.
    unit: u32,
    volume: u32,
    request: Request,
    parts: [Ticks; 3],
    write: bool,
    hit: bool,
    transport: bool,
    began: Ticks,
}

/// All volumes of a system.
#[derive(Clone, Debug)]
pub struct Io {
    disks: Vec<Disk>,
    pools: Vec<Pool>,
    exposures: Vec<Exposure>,
    waiting: Waiting,
    paging: Vec<u32>,
    /// Whether paging I/O uses aliases.
    paging_alias: bool,
    turn: usize,
}

impl Io {
    /// The volumes of a system, at rest.
    #[must_use]
    pub fn new(
        cp: &Cp,
        units: &[ControlUnit],
        volumes: &[Volume],
        seed: u64,
        system: &str,
    ) -> Self {
        let us =
            |mean: f64, variation| DurationDistribution::new(mean * MICROSECOND as f64, variation);
        let part = |percent: f64| (percent.clamp(0.0, 100.0) / 100.0 * 4_294_967_296.0) as u64;
        let idle = |unit| Exposure {
            unit,
            volume: NO_INDEX,
            request: Request {
                token: NO_INDEX,
                pages: 0,
                write: None,
            },
            parts: [0; 3],
            write: false,
            hit: false,
            transport: false,
            began: 0,
        };
        let mut disks = Vec::with_capacity(volumes.len());
        for volume in volumes {
            let modes = [1.0, volume.transport_pct.unwrap_or(100.0) / 100.0];
            let connect = modes.map(|part| 1_000.0 * volume.connect_ms * part);
            let pending = 1_000.0 * volume.pending_ms;
            let can_transport = volume.transport_pct.is_some();
            let transport = can_transport && (cp.paging_hpf || !volume.paging);
            let service = pending + connect[usize::from(transport)];
            disks.push(Disk {
                unit: volume.control_unit,
                usage: usize::from(volume.paging),
                pending: us(pending, volume.variation),
                connect: connect.map(|connect| us(connect, volume.variation)),
                connect_page: volume
                    .connect_page_ms
                    .map(|ms| modes.map(|part| us(1_000.0 * ms * part, 0.0))),
                can_transport,
                transport,
                miss: us(1_000.0 * volume.miss_ms, volume.variation),
                reads: part(volume.read_pct),
                hits: part(volume.read_hit_pct),
                hits_at_most: part(volume.read_hit_pct),
                stream: Stream::new(seed, &format!("{system}/volume/{}", volume.name)),
                shared: volume.shared,
                conflicts: part(volume.conflicts_pct),
                running: 0,
                since: 0,
                estimate: (service * MICROSECOND as f64) as i64,
                arm: volume.seek_cylinders.map(|cylinders| (cylinders.max(1), 0)),
                seeks: Stream::new(seed, &format!("{system}/seeks/{}", volume.name)),
                counts: VolumeCounts::default(),
            });
        }
        let mut exposures = vec![idle(NO_INDEX); volumes.len()];
        let mut pools = Vec::with_capacity(units.len());
        for (number, unit) in units.iter().enumerate() {
            let first = exposures.len() as u32;
            exposures.extend((0..unit.aliases).map(|_| idle(number as u32)));
            pools.push(Pool {
                shares: unit
                    .shares
                    .map(|shares| shares.map(|share| u64::from(share.max(1)))),
                aliases: unit.aliases,
                free: (first..first + unit.aliases).rev().collect(),
                server: unit.server,
                in_use: [0; 2],
                since: 0,
                counts: PoolCounts::default(),
            });
        }
        let paging = (0..volumes.len() as u32)
            .filter(|volume| volumes[*volume as usize].paging)
            .collect();
        Self {
            disks,
            pools,
            exposures,
            waiting: Waiting::new(volumes.len(), units.len()),
            paging,
            paging_alias: cp.paging_alias,
            turn: 0,
        }
    }

    /// Slots of the event queue: the base device of each volume, then all aliases.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.exposures.len()
    }

    /// The paging volume where a request would wait least, by CP's estimate of service times.
    pub fn paging_volume(&mut self) -> Option<u32> {
        self.paging_volume_of(|_| true).map(|(volume, _)| volume)
    }

    /// The same of some paging volumes, with its index among all of them.
    pub fn paging_volume_of(&mut self, among: impl Fn(usize) -> bool) -> Option<(u32, usize)> {
        let count = self.paging.len();
        if count == 0 {
            return None;
        }
        // Among equals they take turns.
        self.turn = (self.turn + 1) % count;
        let mut least = i64::MAX;
        let mut found = None;
        for turns in [self.turn..count, 0..self.turn] {
            for at in turns {
                let volume = self.paging[at];
                let disk = &self.disks[volume as usize];
                let ahead = i64::from(disk.running + self.waiting.of_volume(volume as usize));
                let wait = disk.estimate.saturating_mul(ahead + 1);
                if (wait < least || found.is_none()) && among(at) {
                    least = wait;
                    found = Some((volume, at));
                }
            }
        }
        found
    }

    /// All paging volumes.
    #[must_use]
    pub fn paging_volumes(&self) -> &[u32] {
        &self.paging
    }

    /// Starts a request, or lets it wait.
    pub fn start(
        &mut self,
        now: Ticks,
        volume: u32,
        request: Request,
        servers: &mut StorageServers,
        schedule: &mut Schedule<'_>,
    ) {
        self.disks[volume as usize].counts.arrived += 1;
        if self.exposures[volume as usize].volume == NO_INDEX {
            self.run(now, volume as usize, volume, request, servers, schedule);
            return;
        }
        let unit = self.disks[volume as usize].unit as usize;
        self.settle_pool(now, unit);
        let usage = self.disks[volume as usize].usage;
        let pool = &mut self.pools[unit];
        if pool.aliases > 0 && (usage == 0 || self.paging_alias) {
            pool.counts.tries += 1;
            if let Some(alias) = pool.free.pop() {
                self.run(now, alias as usize, volume, request, servers, schedule);
                return;
            }
            pool.counts.fails += 1;
        }
        self.wait(now, volume, request);
    }

    /// An exposure has ended its operation; the token of its request.
    pub fn fire(
        &mut self,
        now: Ticks,
        slot: usize,
        servers: &mut StorageServers,
        schedule: &mut Schedule<'_>,
    ) -> u32 {
        let done = self.exposures[slot];
        let volume = done.volume as usize;
        let unit = self.disks[volume].unit as usize;
        self.settle_pool(now, unit);
        self.settle_disk(now, volume);
        let disk = &mut self.disks[volume];
        disk.running -= 1;
        let service = now - done.began;
        disk.estimate += (service as i64 - disk.estimate) / SMOOTHING;
        let counts = &mut disk.counts;
        counts.operations += 1;
        counts.reads += u64::from(!done.write);
        counts.hits += u64::from(done.hit);
        counts.transport[usize::from(done.write)] += u64::from(done.transport);
        counts.pending += done.parts[0];
        counts.disconnect += done.parts[1];
        counts.connect += done.parts[2];
        counts.pages[usize::from(done.write)] += u64::from(done.request.pages);
        let usage = disk.usage;
        self.exposures[slot].volume = NO_INDEX;
        schedule.set(slot, NEVER);
        if done.unit == NO_INDEX {
            // Its queue was settled above.
            if let Some(request) = self.waiting.take_of_volume(volume) {
                self.run(now, slot, done.volume, request, servers, schedule);
            }
        } else {
            self.disks[volume].counts.alias_uses += 1;
            self.pools[unit].in_use[usage] -= 1;
            if !self.run_next(now, unit, slot, servers, schedule) {
                self.pools[unit].free.push(slot as u32);
            }
        }
        done.request.token
    }

    /// The part of reads of the paging volumes of a control unit that its cache has, at most that of each volume.
    pub fn set_paging_hits(&mut self, unit: u32, hits: f64) {
        let hits = (hits.clamp(0.0, 1.0) * 4_294_967_296.0) as u64;
        for disk in &mut self.disks {
            if disk.unit == unit && disk.usage == 1 {
                disk.hits = hits.min(disk.hits_at_most);
            }
        }
    }

    /// SET CU: shares of minidisk and paging I/O in the aliases of a control unit.
    pub fn set_alias_shares(&mut self, unit: usize, shares: [u32; 2]) {
        self.pools[unit].shares = Some(shares.map(|share| u64::from(share.max(1))));
    }

    /// SET PAGING ALIAS: with ON, paging I/O that waits gets the aliases that are free.
    pub fn set_paging_alias(
        &mut self,
        now: Ticks,
        on: bool,
        servers: &mut StorageServers,
        schedule: &mut Schedule<'_>,
    ) {
        self.paging_alias = on;
        for unit in 0..self.pools.len() {
            self.settle_pool(now, unit);
            while let Some(alias) = self.pools[unit].free.pop() {
                if !self.run_next(now, unit, alias as usize, servers, schedule) {
                    self.pools[unit].free.push(alias);
                    break;
                }
            }
        }
    }

    /// SET PAGING HPF: operations of paging volumes that begin from now on are in transport mode, if they can be.
    pub fn set_paging_hpf(&mut self, on: bool) {
        for disk in self.disks.iter_mut().filter(|disk| disk.usage == 1) {
            disk.transport = on && disk.can_transport;
        }
    }

    /// Counts an operation that the minidisk cache avoided.
    pub fn avoid(&mut self, volume: usize) {
        self.disks[volume].counts.avoided += 1;
    }

    /// Moves the arm of a volume whose seeks are recorded: the cylinder it was at, and the one sought.
    pub fn seek(&mut self, volume: usize) -> Option<(u32, u32)> {
        let disk = &mut self.disks[volume];
        let (cylinders, from) = disk.arm?;
        let to = disk.seeks.below(u64::from(cylinders)) as u32;
        disk.arm = Some((cylinders, to));
        Some((from, to))
    }

    /// High-frequency samples of all volumes.
    pub fn sample(&mut self) {
        for (volume, disk) in self.disks.iter_mut().enumerate() {
            disk.counts.samples[0] += 1;
            disk.counts.samples[1] += u64::from(self.waiting.of_volume(volume));
        }
    }

    /// Brings integrals up to date.
    pub fn settle(&mut self, now: Ticks) {
        for unit in 0..self.pools.len() {
            self.settle_pool(now, unit);
        }
        for disk in 0..self.disks.len() {
            self.settle_disk(now, disk);
        }
    }

    /// Returns the counters of a volume.
    #[must_use]
    pub fn volume(&self, volume: usize) -> &VolumeCounts {
        &self.disks[volume].counts
    }

    /// CP's estimate of a volume's service time, and the requests that wait for it now.
    #[must_use]
    pub fn load(&self, volume: usize) -> (Ticks, u32) {
        let estimate = self.disks[volume].estimate.max(0) as Ticks;
        (estimate, self.waiting.of_volume(volume))
    }

    /// Returns the counters of a control unit's aliases.
    #[must_use]
    pub fn pool(&self, unit: usize) -> &PoolCounts {
        &self.pools[unit].counts
    }

    /// Laws that hold at any moment.
    ///
    /// # Errors
    /// Checks the invariants; the error names the violated one.
    pub fn check(&self) -> Result<(), String> {
        for (number, pool) in self.pools.iter().enumerate() {
            let used = pool.in_use[0] + pool.in_use[1];
            if used + pool.free.len() as u32 != pool.aliases {
                return Err(format!(
                    "control unit {number}: {used} aliases in use and {} free of {}",
                    pool.free.len(),
                    pool.aliases
                ));
            }
            if !pool.free.is_empty() && self.next_usage(number).is_some() {
                return Err(format!(
                    "control unit {number}: requests wait for free aliases"
                ));
            }
        }
        for (number, disk) in self.disks.iter().enumerate() {
            let waiting = self.waiting.of_volume(number);
            let inside = u64::from(disk.running + waiting);
            if disk.counts.operations + inside != disk.counts.arrived {
                return Err(format!(
                    "volume {number}: {} arrived, {} ended, {inside} are inside",
                    disk.counts.arrived, disk.counts.operations
                ));
            }
            if self.exposures[number].volume == NO_INDEX && waiting > 0 {
                return Err(format!(
                    "volume {number}: requests wait for a free base device"
                ));
            }
        }
        Ok(())
    }

    /// The use whose turn it is to get an alias, and the volume of its first request; `None` if none waits.
    fn next_usage(&self, unit: usize) -> Option<(usize, u32)> {
        let pool = &self.pools[unit];
        let minidisk = self.waiting.first_of_pool(unit, 0);
        let paging = self.waiting.first_of_pool(unit, 1);
        let paging = paging.filter(|_| self.paging_alias);
        let (Some(first), Some(other)) = (minidisk, paging) else {
            let alone = |usage| move |(_, volume)| (usage, volume);
            return minidisk.map(alone(0)).or(paging.map(alone(1)));
        };
        let is_paging = match pool.shares {
            Some(shares) => {
                let claims = [0, 1].map(|usage| u64::from(pool.in_use[usage]) * shares[1 - usage]);
                claims[1] < claims[0]
            }
            // First come, first served.
            None => other.0 < first.0,
        };
        let (_, volume) = if is_paging { other } else { first };
        Some((usize::from(is_paging), volume))
    }

    /// Gives an alias to the request whose turn it is; whether there was one.
    fn run_next(
        &mut self,
        now: Ticks,
        unit: usize,
        alias: usize,
        servers: &mut StorageServers,
        schedule: &mut Schedule<'_>,
    ) -> bool {
        let Some((usage, volume)) = self.next_usage(unit) else {
            return false;
        };
        self.settle_disk(now, volume as usize);
        let Some(request) = self.waiting.take_of_pool(unit, usage) else {
            return false;
        };
        self.run(now, alias, volume, request, servers, schedule);
        true
    }

    fn run(
        &mut self,
        now: Ticks,
        slot: usize,
        volume: u32,
        request: Request,
        servers: &mut StorageServers,
        schedule: &mut Schedule<'_>,
    ) {
        self.settle_disk(now, volume as usize);
        let disk = &mut self.disks[volume as usize];
        disk.running += 1;
        let write = request
            .write
            .unwrap_or_else(|| disk.stream.bits() >> 32 >= disk.reads);
        let hit = !write && disk.stream.bits() >> 32 < disk.hits;
        let mut pending = disk.pending.sample(&mut disk.stream);
        if let Some(shared) = disk.shared
            && disk.stream.bits() >> 32 < disk.conflicts
        {
            pending += servers.wait(shared, now + pending, write);
        }
        let disconnect = if write || hit {
            0
        } else {
            let read = disk.miss.sample(&mut disk.stream);
            let server = self.pools[disk.unit as usize].server;
            servers.read(server, now + pending, read)
        };
        let pages = u64::from(request.pages.max(1));
        let mode = usize::from(disk.transport);
        let connect = disk.connect[mode].sample(&mut disk.stream);
        let connect = match disk.connect_page {
            Some(page) if request.pages > 0 => {
                connect + page[mode].sample(&mut disk.stream) * pages
            }
            _ => connect * pages,
        };
        if let Some(shared) = disk.shared {
            servers.uses(shared, now + pending + disconnect + connect, write);
        }
        let transport = disk.transport;
        let (usage, unit) = (disk.usage, self.exposures[slot].unit);
        if unit != NO_INDEX {
            self.pools[unit as usize].in_use[usage] += 1;
        }
        self.exposures[slot] = Exposure {
            unit,
            volume,
            request,
            parts: [pending, disconnect, connect],
            write,
            hit,
            transport,
            began: now,
        };
        schedule.set(slot, now + pending + disconnect + connect);
    }

    fn settle_disk(&mut self, now: Ticks, volume: usize) {
        let disk = &mut self.disks[volume];
        let waiting = u64::from(self.waiting.of_volume(volume));
        disk.counts.queued += (now - disk.since.min(now)) * waiting;
        disk.since = now;
    }

    fn settle_pool(&mut self, now: Ticks, unit: usize) {
        let pool = &mut self.pools[unit];
        let span = u128::from(now - pool.since.min(now));
        pool.since = now;
        for usage in 0..2 {
            pool.counts.in_use[usage] += span * u128::from(pool.in_use[usage]);
            let waiting = u128::from(self.waiting.of_pool(unit, usage));
            pool.counts.waited[usage] += span * waiting;
        }
    }

    fn wait(&mut self, now: Ticks, volume: u32, request: Request) {
        self.settle_disk(now, volume as usize);
        let disk = &self.disks[volume as usize];
        self.waiting
            .add(now, volume, disk.unit as usize, disk.usage, request);
    }
}
