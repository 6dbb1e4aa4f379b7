//! How fast the simulator is: events per second, against a loop that only pops and pushes the event queue.
//!
//! `cargo run --release -p zlens-sim --example speed [SECONDS]` prints one line of JSON.

use std::collections::BinaryHeap;
use std::time::Instant;

#[path = "../tests/builders/mod.rs"]
mod builders;

use builders::{alone, load, user};
use zlens_sim::event_queue::EventQueue;
use zlens_sim::random::Stream;
use zlens_sim::world::World;

/// Seconds of CPU time so far, which other programs do not lengthen; where the system does not tell, the time.
fn used(since: Instant) -> f64 {
    let stated = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanoseconds = stated.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| since.elapsed().as_secs_f64(), |number| number / 1e9)
}

fn main() {
    let since = Instant::now();
    let seconds = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(600.0);
    // Eight processors and a hundred guests: a third of them want all, the others bursts.
    let users = (0..100)
        .map(|number| {
            let demand = (number % 3 != 0).then_some(4.0 + f64::from(number % 7));
            let mut guest = user(
                &format!("U{number:03}"),
                100,
                1 + number % 3,
                vec![load(demand)],
            );
            guest.loads[0].simulation_rate = 2_000.0;
            guest.loads[0].simulation_cost_us = 5.0;
            guest
        })
        .collect();
    let mut scenario = alone(8, users, seconds);
    scenario.systems[0].cp.dispatch_user_us = 2.0;
    scenario.systems[0].cp.dispatch_system_us = 1.0;
    scenario.systems[0].cp.lock_hold_us = 0.2;
    scenario.machine.move_us = [5.0, 20.0, 60.0];
    let mut world = World::new(scenario).expect("a scenario");
    let slots = world.subjects.len();
    let pending = world.events.len();
    let begin = used(since);
    world.run(world.begin + zlens_sim::time::seconds(seconds));
    let took = used(since) - begin;
    let dispatches: u64 = world.cpus.iter().map(|cpu| cpu.counts.dispatches).sum();

    let events = world.handled;
    let mut queue = EventQueue::new(0, slots);
    let mut stream = Stream::new(1, "queue");
    for slot in 0..pending as u32 {
        queue.set(slot, stream.below(1 << 30));
    }
    let begin = used(since);
    for _ in 0..events {
        if let Some((at, slot)) = queue.first() {
            queue.set(slot, at + 1 + stream.below(1 << 30));
        }
    }
    let own = used(since) - begin;

    let mut heap = BinaryHeap::with_capacity(pending);
    for slot in 0..pending as u32 {
        heap.push(std::cmp::Reverse((stream.below(1 << 30), slot)));
    }
    let begin = used(since);
    for _ in 0..events {
        if let Some(std::cmp::Reverse((at, slot))) = heap.pop() {
            heap.push(std::cmp::Reverse((at + 1 + stream.below(1 << 30), slot)));
        }
    }
    let binary = used(since) - begin;
    println!(
        "{{\"simulated_s\": {seconds}, \"events\": {events}, \"dispatches\": {dispatches}, \"pending\": {pending}, \
         \"s\": {took:.3}, \"queue_s\": {own:.3}, \"binary_heap_s\": {binary:.3}, \
         \"dispatches_per_s\": {:.0}, \"events_per_s\": {:.0}, \"ratio\": {:.2}}}",
        dispatches as f64 / took,
        events as f64 / took,
        took / own
    );
}
