//! Codes, and fields that several records have.

use crate::encode::Record;
use crate::scenario::{ControlUnit, PartitionShare, Pool, Share, System, User, Volume};
use crate::state::{Polarity, VcpuTimes};
use crate::storage::PAGES;
use crate::time::{MICROSECOND, SECOND, Ticks, seconds};
use crate::world::World;

/// Bytes of a MiB.
pub(super) const MIB: f64 = 1_048_576.0;

/// The kind of a pool's limit, and the limit in hundredths.
pub(super) fn limit_of(pool: &Pool) -> (u64, u64) {
    let (kind, limit) = match (pool.limithard_pct, pool.capacity) {
        (Some(part), _) => (1, part),
        (None, Some(processors)) => (2, processors),
        (None, None) => (0, 0.0),
    };
    (kind, (limit * 100.0 + 0.5) as u64)
}

/// Whether a volume is online in the interval that ends now: what changes at its end belongs to the next one.
pub(super) fn online(world: &World, volume: &Volume) -> bool {
    let at = world.now.saturating_sub(world.begin + 1);
    !volume
        .offline
        .iter()
        .any(|(from, to)| (seconds(*from)..seconds(*to)).contains(&at))
}

/// Progress of a user since the beginning of the simulation, in seconds.
pub(super) fn virtual_s(world: &World, user: usize) -> f64 {
    let user = &world.users[user];
    let vcpus = &world.vcpus[user.vcpus()];
    let now: Ticks = if user.logged_on {
        vcpus.iter().map(|vcpu| world.progress(&vcpu.times)).sum()
    } else {
        0
    };
    (user.earlier + now) as f64 / SECOND as f64
}

/// The code of EXCESSUSE by the part of the excess it takes.
pub(super) fn excess_use(part: Option<f64>) -> u64 {
    match part {
        None => 4,
        Some(part) if part >= 75.0 => 3,
        Some(part) if part >= 35.0 => 2,
        Some(_) => 1,
    }
}

/// The settings of SET SRM, which D1R16 has at the beginning and D2R7 after a change.
pub(super) fn scheduler_settings(world: &World, system: usize) -> [(&'static str, u64); 16] {
    let spec = &world.scenario.systems[system];
    let (cp, machine) = (&spec.cp, &world.scenario.machine);
    let partition = &world.scenario.partitions[spec.partition as usize];
    // 0 says that there are no such processors.
    let excess = |name: &str| {
        let has = |share: &PartitionShare| machine.types[usize::from(share.kind)] == name;
        if partition.shares.iter().any(has) {
            excess_use(cp.unparking.excess_pct)
        } else {
            0
        }
    };
    [
        ("SRMBIASI", u64::from(cp.settings.iabias[0])),
        ("SRMBIASD", u64::from(cp.settings.iabias[1])),
        ("SRMTSLIC", (cp.slice_ms * 1_000.0) as u64 * MICROSECOND),
        ("SRMP1LDG", u64::from(cp.settings.ldubuf[0])),
        ("SRMP2LDG", u64::from(cp.settings.ldubuf[1])),
        ("SRMP3LDG", u64::from(cp.settings.ldubuf[2])),
        ("SRMP1WSS", u64::from(cp.storbuf_1_pct)),
        ("SRMP2WSS", u64::from(cp.storbuf_2_pct)),
        ("SRMP3WSS", cp.storbuf_pct as u64),
        ("SRML1DSP", u64::from(cp.settings.dspbuf[0])),
        ("SRML2DSP", u64::from(cp.settings.dspbuf[1])),
        ("SRML3DSP", u64::from(cp.settings.dspbuf[2])),
        ("ZLUNPARK", cp.unparking.model as u64 + 1),
        ("ZLEXUCP", excess("CP")),
        ("ZLEXUIFL", excess("IFL")),
        ("ZLEXUZIIP", excess("ZIIP")),
    ]
}

/// The code of a core's type.
pub(super) fn code(world: &World, core: usize) -> u64 {
    let kind = world.shares[world.cores[core].share as usize].kind;
    u64::from(world.scenario.machine.type_codes[usize::from(kind)])
}

/// The status of multithreading: enabled, or disabled without a statement.
pub(super) fn multithreading_status(system: &System) -> u64 {
    if system.multithreading { 3 } else { 1 }
}

/// The polarity of a core in STSI's code; dedicated cores of a vertical partition are vertical-high.
pub(super) fn polarity(world: &World, core: usize) -> u64 {
    let state = &world.cores[core];
    let share = &world.shares[state.share as usize];
    match state.polarity {
        Polarity::Horizontal if world.scenario.partitions[share.partition as usize].vertical => 3,
        Polarity::Horizontal => 0,
        Polarity::Low => 1,
        Polarity::Medium => 2,
        Polarity::High => 3,
    }
}

/// Writes which processor a record is of, and its type.
pub(super) fn processor(record: &mut Record<'_>, number: u64, kind: u64) {
    record.number("PFXCPUAD", number).number("PFXCPUTY", kind);
}

/// The subchannel of a volume.
pub(super) const fn subchannel(volume: usize) -> u64 {
    0x0001_0000 | volume as u64
}

/// Writes which volume a record is of.
pub(super) fn device(record: &mut Record<'_>, volume: &Volume, at: usize) {
    record
        .number("RDEVDEV", u64::from(volume.device))
        .number("RDEVSID", subchannel(at));
}

/// Writes a volume's model and paths.
pub(super) fn model(record: &mut Record<'_>, volume: &Volume, unit: &ControlUnit) {
    record
        .number("RDEVCLAS", 4)
        .number("RDEVDVID", 0x3390)
        .number("CALMODLN", 9)
        .text("RDEVSER", &volume.name)
        .bytes("RDEVCHPS", &unit.chpids)
        .number("RDEVCUID", 0x2107);
}

/// The field that counts a user's virtual CPUs of its type.
pub(super) fn count_field(world: &World, user: usize) -> &'static str {
    let kind = usize::from(world.users[user].kind);
    match world.scenario.machine.types[kind].as_str() {
        "IFL" => "CALIFLCT",
        "ZIIP" => "CALZIPCT",
        _ => "CALCPCT",
    }
}

/// Writes the common fields of a user's records.
pub(super) fn identify(record: &mut Record<'_>, world: &World, user: usize) {
    let state = &world.users[user];
    let spec = &world.scenario.systems[state.system as usize].users[state.number as usize];
    record
        .text("VMDUSER", &spec.name)
        .text("VMDACTNO", &spec.account)
        .number("ASCDEFSZ", (spec.storage_mib * MIB) as u64)
        .number("VMDMXRVP", (spec.reserve_mib * PAGES) as u64)
        .number("CALTODON", state.logon);
    share(record, &state.share, spec);
}

/// Writes the share of a user and its limit.
pub(super) fn share(record: &mut Record<'_>, share: &Share, spec: &User) {
    match share {
        Share::Relative(share) => record.number("VMDRELSH", u64::from(*share)),
        Share::Absolute(pct) => record.number("VMDABSSH", (pct / 100.0 * 65_536.0).round() as u64),
    };
    // The unit is not public, only that 0 is no limit.
    match spec.maximum {
        Some(Share::Relative(maximum)) => _ = record.number("VMDMXSHR", u64::from(maximum)),
        Some(Share::Absolute(maximum)) => _ = record.number("VMDMXSHR", maximum.ceil() as u64),
        None => {}
    }
}

/// Writes whether a user has QUICKDSP.
pub(super) fn quick_dispatch(record: &mut Record<'_>, world: &World, user: usize) {
    let state = &world.users[user];
    let spec = &world.scenario.systems[state.system as usize].users[state.number as usize];
    record.number("CALSTAT", if spec.quick_dispatch { 0x40 } else { 0 });
}

/// The CPU times of a virtual CPU.
pub(super) fn activity(record: &mut Record<'_>, times: &VcpuTimes) {
    record
        .number("VMDTTIME", times.total)
        .number("VMDVTIME", times.emulation)
        .number("VMDTTIME_MT1", times.mt1[0])
        .number("VMDTTIME_PRO", times.prorated[0]);
}
