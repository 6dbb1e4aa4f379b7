//! Records of virtual switches and PCI functions: traffic in proportion to the virtual CPU time of users.

use std::io::Write;

use super::*;
use crate::scenario::{Function, FunctionFormat, Port, Switch};

/// A communication controller, in the class of a device.
const CLASS_OSA: u64 = 2;

/// Packets of this many bytes.
fn packets(bytes: u64, packet: f64) -> u64 {
    (bytes as f64 / packet.max(1.0)) as u64
}

/// Returns the bytes that a port of a switch receives and sends.
fn carried(ports: &[[u64; 3]], at: usize) -> [u64; 2] {
    let before = ports[(at + ports.len() - 1) % ports.len()];
    [ports[at][1] + before[2], ports[at][0] + ports[at][2]]
}

/// Traffic of a user: received, then sent.
pub(super) struct Traffic {
    pub(super) interfaces: u64,
    pub(super) bytes: [u64; 2],
    pub(super) packets: [u64; 2],
}

impl<W: Write> Recorder<W> {
    /// Returns the bytes that each port of a switch sends by the uplink, receives by it, and sends to the next port.
    fn ports(&self, world: &World, switch: &Switch) -> Vec<[u64; 3]> {
        let first = world.users_of[self.system].start;
        let port = |port: &Port| {
            let used = virtual_s(world, first + port.user as usize) * MIB;
            [port.out_mib, port.in_mib, port.next_mib].map(|rate| (rate * used) as u64)
        };
        switch.ports.iter().map(port).collect()
    }

    /// Returns the traffic of a user's ports and PCI functions.
    pub(super) fn traffic(&self, world: &World, user: usize) -> Traffic {
        let system = &world.scenario.systems[self.system];
        let number = world.users[user].number;
        let mut traffic = Traffic {
            interfaces: 0,
            bytes: [0; 2],
            packets: [0; 2],
        };
        let mut add = |bytes: [u64; 2], packet: f64| {
            traffic.interfaces += 1;
            for (at, bytes) in bytes.into_iter().enumerate() {
                traffic.bytes[at] += bytes;
                traffic.packets[at] += packets(bytes, packet);
            }
        };
        for switch in &system.switches {
            let ports = self.ports(world, switch);
            for (at, port) in switch.ports.iter().enumerate() {
                if port.user == number {
                    add(carried(&ports, at), switch.packet_bytes);
                }
            }
        }
        for (at, function) in system.functions.iter().enumerate() {
            // These formats are those of network functions.
            if function.user == number
                && (matches!(
                    function.format,
                    FunctionFormat::Packets | FunctionFormat::BytesSent
                ))
            {
                let used = self.function_use(world, at) * MIB;
                let bytes = [function.in_mib, function.out_mib].map(|rate| (rate * used) as u64);
                add(bytes, function.packet_bytes);
            }
        }
        traffic
    }

    pub(super) fn network_configuration(&mut self, world: &World, tod: Ticks) {
        let system = &world.scenario.systems[self.system];
        for switch in &system.switches {
            self.write_record("D1R6", tod, |record| {
                record
                    .number("RDEVDEV", u64::from(switch.device))
                    .number("RDEVCLAS", CLASS_OSA)
                    .bytes("RDEVDVID", &[0x17, 0x31]);
            });
        }
        for function in &system.functions {
            self.write_record("D1R27", tod, |record| {
                record
                    .number("ZLPFID", u64::from(function.id))
                    .number("RPCIPFT", u64::from(function.kind));
            });
        }
    }

    pub(super) fn network(&mut self, world: &World, tod: Ticks) {
        let system = &world.scenario.systems[self.system];
        let first = world.users_of[self.system].start;
        for switch in &system.switches {
            let lan = format!("{:8}{:8}", switch.owner, switch.name);
            let ports = self.ports(world, switch);
            let packets = |bytes: u64| packets(bytes, switch.packet_bytes);
            // What every port sends and receives, and what passes the uplink.
            let mut outwards = 0;
            let mut inwards = 0;
            for (at, port) in switch.ports.iter().enumerate() {
                let [received, sent] = carried(&ports, at);
                outwards += ports[at][0];
                inwards += ports[at][1];
                let user = first + port.user as usize;
                if !world.users[user].logged_on {
                    continue;
                }
                self.write_record("D8R1", tod, |record| {
                    record
                        .text("OWNER", &system.users[port.user as usize].name)
                        .number("VDEVDEV", u64::from(port.device))
                        .number("NICBASE", u64::from(port.device))
                        .text("LANID", &lan)
                        .number("SESTXBYT", sent)
                        .number("SESRXBYT", received)
                        .number("SESTXPKT", packets(sent))
                        .number("SESRXPKT", packets(received));
                });
            }
            let discarded = (packets(inwards) as f64 * switch.discarded / 1e6) as u64;
            // The data device is the third of the adapter's.
            let device = u64::from(switch.device) + 2;
            self.write_record("D6R21", tod, |record| {
                record
                    .number("RDEVDEV", device)
                    .text("VMDUSER", &switch.controller)
                    .text("LANID", &lan)
                    .number("NICTXBYT", outwards)
                    .number("NICRXBYT", inwards)
                    .number("NICTXPKT", packets(outwards))
                    .number("NICRXPKT", packets(inwards))
                    .number("NICRXDSC", discarded)
                    .number("VQSIQOVR", discarded);
            });
            if switch.global {
                self.write_record("D8R4", tod, |record| {
                    record
                        .text("ZLNAME", &lan)
                        .number("ZLTXBYT", outwards)
                        .number("ZLTXPKT", packets(outwards))
                        .number("ZLRXBYT", inwards)
                        .number("ZLRXPKT", packets(inwards))
                        .number("ZLRXDSC", discarded);
                });
            }
            self.write_record("D6R26", tod, |record| {
                record
                    .number("RDEVDEV", device)
                    .number("BYTOA", outwards)
                    .number("BYFRA", inwards);
            });
            self.write_record("D6R3", tod, |record| {
                record
                    .number("RDEVDEV", u64::from(switch.device))
                    .number("RDEVLPM", 0x80);
            });
        }
        for (at, function) in system.functions.iter().enumerate() {
            if function.attach_s.is_some() && self.attached[at].is_none() {
                if tod <= attached_at(world, function) {
                    continue;
                }
                self.attached[at] = Some(virtual_s(world, first + function.user as usize));
            }
            self.function(function, self.function_use(world, at), tod);
        }
    }

    /// Virtual CPU time in which a user has had a PCI function; none before it is attached.
    fn function_use(&self, world: &World, at: usize) -> f64 {
        let function = &world.scenario.systems[self.system].functions[at];
        let used = virtual_s(
            world,
            world.users_of[self.system].start + function.user as usize,
        );
        let before = self.attached[at].or(function.attach_s.is_none().then_some(0.0));
        used - before.unwrap_or(used)
    }

    fn function(&mut self, function: &Function, used: f64, tod: Ticks) {
        let count = |rate: f64| (rate * used) as u64;
        let [received, sent] = [function.in_mib, function.out_mib].map(|rate| count(rate * MIB));
        let packets = |bytes: u64| packets(bytes, function.packet_bytes);
        self.write_record("D6R39", tod, |record| {
            record
                .number("RPCIPFID", u64::from(function.id))
                .number("VPCIPFID", u64::from(function.id))
                .number("ZLFORMAT", function.format as u64)
                .number("ZLLOADS", count(function.loads))
                .number("ZLSTORES", count(function.stores))
                .number("ZLREFRSH", count(function.refreshes));
            match function.format {
                FunctionFormat::Dma => {
                    record.number("ZLDMARD", received).number("ZLDMAWR", sent);
                }
                FunctionFormat::Packets => {
                    record
                        .number("ZLRXBYTE", received)
                        .number("ZLRXPACK", packets(received))
                        .number("ZLTXBYTE", sent)
                        .number("ZLTXPACK", packets(sent));
                }
                FunctionFormat::BytesSent => {
                    record
                        .number("ZLTXBYTE", sent)
                        .number("ZLTXPACK", packets(sent));
                }
                FunctionFormat::WorkUnits => {}
            }
        });
    }

    /// PCI functions that were attached from one moment to another.
    pub(super) fn attachments(&mut self, world: &World, from: Ticks, to: Ticks) {
        let system = &world.scenario.systems[self.system];
        for function in &system.functions {
            let at = attached_at(world, function);
            if function.attach_s.is_none() || at < from || at >= to {
                continue;
            }
            self.write_record("D6R36", at, |record| {
                record
                    .number("RPCIPFID", u64::from(function.id))
                    .number("VPCIPFID", u64::from(function.id))
                    .text("VMDUSER", &system.users[function.user as usize].name);
            });
        }
    }
}

/// When a PCI function is attached, or when recording starts.
fn attached_at(world: &World, function: &Function) -> Ticks {
    world.begin + crate::time::seconds(function.attach_s.unwrap_or(0.0))
}
