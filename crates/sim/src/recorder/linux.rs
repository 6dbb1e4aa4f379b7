//! Data that Linux guests pass to CP about themselves: processors, memory and network, as the appldata modules of
//! the kernel lay them out.
//!
//! A guest cannot distinguish waiting for a processor, CP's work for it, and the time that PR/SM gives its
//! processor to other partitions: all are steal time.

use std::io::Write;

use super::*;
use crate::relocation::exp_of_minus;
use crate::scenario::User;

/// Units of the records, as the layout of D10R2 states them: times in 10 ms, load averages of one, five and
/// fifteen minutes in 2048ths.
const JIFFY: Ticks = SECOND / 100;
const SPANS: [f64; 3] = [60.0, 300.0, 900.0];
const LOAD: f64 = 2048.0;

impl<W: Write> Recorder<W> {
    pub(super) fn linux(&mut self, world: &World, tod: Ticks) {
        self.linux.resize(world.users.len(), LinuxBefore::default());
        for user in world.users_of[self.system].clone() {
            let state = &world.users[user];
            let spec = &world.scenario.systems[self.system].users[state.number as usize];
            if spec.application_data && state.logged_on {
                self.linux_memory(spec, tod);
                self.linux_processors(world, user, spec, tod);
                self.linux_network(world, user, spec, tod);
            }
        }
    }

    fn linux_memory(&mut self, spec: &User, tod: Ticks) {
        let kib = |mib: f64| (mib * 1024.0) as u64;
        let used = spec.working_set_mib.min(spec.storage_mib);
        self.write_record("D10R2", tod, |record| {
            record
                .text("USERID", &spec.name)
                .entries("linux_mem", 1, |_, data| {
                    data.number("timestamp", tod)
                        .number("totalram", kib(spec.storage_mib))
                        .number("freeram", kib(spec.storage_mib - used));
                });
        });
    }

    fn linux_processors(&mut self, world: &World, user: usize, spec: &User, tod: Ticks) {
        let state = &world.users[user];
        let vcpus = &world.vcpus[state.vcpus()];
        let running = vcpus.iter().filter(|vcpu| vcpu.state.wants()).count() as u64;
        let wanted: Ticks = vcpus.iter().map(|vcpu| vcpu.times.wanting).sum();
        let span = world.machine_timings.interval as f64 / SECOND as f64;
        let before = &mut self.linux[user];
        // A user that logged on again counts from 0.
        let mean = wanted.saturating_sub(before.wanted) as f64 / SECOND as f64 / span;
        before.wanted = wanted;
        for (average, length) in before.averages.iter_mut().zip(SPANS) {
            let kept = exp_of_minus(span / length);
            *average = *average * kept + mean * (1.0 - kept);
        }
        let averages = before.averages.map(|average| (average * LOAD + 0.5) as u64);
        self.write_record("D10R2", tod, |record| {
            record
                .text("USERID", &spec.name)
                .entries("linux_os", 1, |_, data| {
                    data.number("timestamp", tod)
                        .number("nr_running", running)
                        .number("nr_threads", vcpus.len() as u64)
                        .number("avenrun_1", averages[0])
                        .number("avenrun_5", averages[1])
                        .number("avenrun_15", averages[2]);
                })
                .entries("linux_os_cpu", vcpus.len(), |at, entry| {
                    let times = &vcpus[at].times;
                    let stolen = times.wanting - times.emulation;
                    let elapsed = world.now.saturating_sub(state.logon);
                    let idle = elapsed.saturating_sub(times.wanting);
                    entry
                        .number("per_cpu_user", times.emulation / JIFFY)
                        .number("per_cpu_idle", idle / JIFFY)
                        .number("per_cpu_steal", stolen / JIFFY)
                        .number("cpu_id", u64::from(vcpus[at].number));
                });
        });
    }

    fn linux_network(&mut self, world: &World, user: usize, spec: &User, tod: Ticks) {
        let traffic = self.traffic(world, user);
        if traffic.interfaces == 0 {
            return;
        }
        self.write_record("D10R2", tod, |record| {
            record
                .text("USERID", &spec.name)
                .entries("linux_net", 1, |_, data| {
                    data.number("timestamp", tod)
                        .number("nr_interfaces", traffic.interfaces)
                        .number("rx_bytes", traffic.bytes[0])
                        .number("tx_bytes", traffic.bytes[1])
                        .number("rx_packets", traffic.packets[0])
                        .number("tx_packets", traffic.packets[1]);
                });
        });
    }
}
