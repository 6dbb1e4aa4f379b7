//! Tests of the simulator against queueing theory; stations are users with dedicated virtual CPUs.

mod builders;

use builders::{alone, run, user};
use zlens_sim::scenario::{Scenario, Step, Transaction, User};
use zlens_sim::time::SECOND;
use zlens_sim::world::World;

/// Number of seeds per setting.
const SEEDS: u64 = 8;
/// Student's t for 99.9% two-sided at 7 degrees of freedom, because there are dozens of settings.
const T: f64 = 5.408;

fn station(servers: u32, quantum_ms: Option<f64>) -> User {
    let mut station = user("S", 100, servers, vec![]);
    station.dedicated = servers;
    station.quantum_ms = quantum_ms;
    station
}

fn class(steps: Vec<Step>) -> Transaction {
    Transaction {
        name: "T".into(),
        customers: None,
        rate: None,
        rate_variation: 1.0,
        most: 50_000,
        think_s: 0.0,
        think_variation: 1.0,
        steps,
        profile: Vec::new(),
    }
}

fn cpu(user: u32, mean_s: f64, variation: f64) -> Step {
    Step::Cpu {
        users: vec![user],
        cpu_ms: 1e3 * mean_s,
        variation,
        lock: None,
    }
}

/// Returns response time and throughput of the class after the warm-up.
fn measured(scenario: &Scenario, seed: u64) -> (f64, f64) {
    let mut scenario = scenario.clone();
    scenario.seed = seed;
    let mut world = World::new(scenario).expect("a scenario");
    let begin = world.begin;
    world.run(begin);
    world.settle_all();
    let before = world.classes[0].clone();
    world.run(begin + (world.scenario.seconds as u64) * SECOND);
    world.settle_all();
    let class = &world.classes[0];
    // Little's law avoids the bias of transactions that are still inside.
    let inside = (class.integral - before.integral) as f64;
    let completed = (class.completed - before.completed) as f64;
    let ended = (class.response - before.response) as f64 / completed / SECOND as f64;
    let little = inside / completed / SECOND as f64;
    assert!(
        (ended - little).abs() <= 0.05 * little + 1e-3,
        "Little's law: {ended} and {little}"
    );
    (little, completed / world.scenario.seconds)
}

/// Asserts that theory is within the confidence interval of the mean over seeds.
fn agrees(name: &str, scenario: &Scenario, response: Option<f64>, throughput: Option<f64>) {
    let runs: Vec<_> = (1..=SEEDS).map(|seed| measured(scenario, seed)).collect();
    let check = |values: Vec<f64>, expected: f64, what: &str| {
        let mean = values.iter().sum::<f64>() / SEEDS as f64;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
        let half = T * (variance / (SEEDS - 1) as f64 / SEEDS as f64).sqrt();
        assert!(
            (mean - expected).abs() <= half + 1e-3 * expected,
            "{name}: {what} {mean} ± {half}, theory {expected}"
        );
        // A wide interval proves nothing.
        assert!(half < 0.15 * expected, "{name}: {what} ± {half}");
    };
    if let Some(expected) = response {
        check(runs.iter().map(|run| run.0).collect(), expected, "response");
    }
    if let Some(expected) = throughput {
        check(
            runs.iter().map(|run| run.1).collect(),
            expected,
            "throughput",
        );
    }
}

fn open(servers: u32, rate: f64, service: f64, variation: f64, quantum: Option<f64>) -> Scenario {
    let mut scenario = alone(servers, vec![station(servers, quantum)], 4_000.0);
    scenario.warmup_s = 200.0;
    let mut transactions = class(vec![cpu(0, service, variation)]);
    transactions.rate = Some(rate);
    scenario.systems[0].transactions = vec![transactions];
    scenario
}

/// Returns Erlang's C: the probability of waiting at `c` servers with `a` in service on average.
fn erlang_c(c: u32, a: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 0.0;
    for k in 0..c {
        sum += term;
        term *= a / f64::from(k + 1);
    }
    let last = term * f64::from(c) / (f64::from(c) - a);
    last / (sum + last)
}

#[test]
fn m_m_1_and_m_m_c() {
    for servers in [1, 2, 3, 5, 8] {
        for busy in [0.3, 0.6, 0.8] {
            let service = 0.05;
            let rate = busy * f64::from(servers) / service;
            let wait = erlang_c(servers, busy * f64::from(servers)) * service
                / (f64::from(servers) * (1.0 - busy));
            let name = format!("M/M/{servers} at {busy}");
            let scenario = open(servers, rate, service, 1.0, None);
            agrees(&name, &scenario, Some(service + wait), None);
        }
    }
}

/// The formula of Pollaczek and Khinchine.
#[test]
fn m_g_1() {
    for variation in [0.0, 0.25, 0.5, 4.0] {
        for busy in [0.3, 0.6, 0.75] {
            let service = 0.05;
            let wait = busy / (1.0 - busy) * service * (1.0 + variation) / 2.0;
            let name = format!("M/G/1 with {variation} at {busy}");
            let scenario = open(1, busy / service, service, variation, None);
            agrees(&name, &scenario, Some(service + wait), None);
        }
    }
}

/// Processor sharing: the response time equals that of M/M/1 for any distribution.
#[test]
fn processor_sharing() {
    for variation in [0.0, 0.25, 4.0] {
        for busy in [0.4, 0.7] {
            let service = 0.05;
            let name = format!("PS with {variation} at {busy}");
            let scenario = open(1, busy / service, service, variation, Some(0.5));
            agrees(&name, &scenario, Some(service / (1.0 - busy)), None);
        }
    }
}

/// Returns the throughput of the machine repairman, with `n` customers and `c` servers, by birth and death.
fn repairman(n: u32, c: u32, think: f64, service: f64) -> f64 {
    let mut weight = 1.0;
    let (mut sum, mut busy) = (1.0, 0.0);
    for k in 1..=n {
        weight *= f64::from(n - k + 1) / think * service / f64::from(k.min(c));
        sum += weight;
        busy += weight * f64::from(k.min(c));
    }
    busy / sum / service
}

#[test]
fn machine_repairman() {
    for (n, c, think, service) in [
        (5, 1, 1.0, 0.1),
        (10, 1, 1.0, 0.1),
        (20, 1, 1.0, 0.1),
        (12, 3, 0.5, 0.2),
        (30, 4, 1.0, 0.1),
    ] {
        let mut scenario = alone(c, vec![station(c, None)], 2_000.0);
        scenario.warmup_s = 100.0;
        let mut transactions = class(vec![cpu(0, service, 1.0)]);
        transactions.customers = Some(n);
        transactions.think_s = think;
        scenario.systems[0].transactions = vec![transactions];
        let throughput = repairman(n, c, think, service);
        let response = f64::from(n) / throughput - think;
        let name = format!("repairman {n} at {c}");
        agrees(&name, &scenario, Some(response), Some(throughput));
    }
}

/// Solves single-server stations by exact mean value analysis.
fn mva(demands: &[f64], think: f64, n: u32) -> (f64, f64) {
    let mut queues = vec![0.0; demands.len()];
    let (mut response, mut throughput) = (0.0, 0.0);
    for k in 1..=n {
        let at: Vec<f64> = demands
            .iter()
            .zip(&queues)
            .map(|(d, q)| d * (1.0 + q))
            .collect();
        response = at.iter().sum::<f64>();
        throughput = f64::from(k) / (think + response);
        queues = at.iter().map(|r| throughput * r).collect();
    }
    (response, throughput)
}

#[test]
fn closed_networks() {
    for (demands, think, n) in [
        (vec![0.05, 0.05], 0.0, 2),
        (vec![0.05, 0.05], 0.0, 8),
        (vec![0.08, 0.05, 0.03], 0.5, 5),
        (vec![0.08, 0.05, 0.03], 0.5, 15),
        (vec![0.02, 0.06, 0.04, 0.01], 0.2, 10),
    ] {
        let users = vec![station(1, None); demands.len()];
        let mut scenario = alone(demands.len() as u32, users, 2_000.0);
        scenario.warmup_s = 100.0;
        let steps = demands
            .iter()
            .enumerate()
            .map(|(at, demand)| cpu(at as u32, *demand, 1.0))
            .collect();
        let mut transactions = class(steps);
        transactions.customers = Some(n);
        transactions.think_s = think;
        scenario.systems[0].transactions = vec![transactions];
        let (response, throughput) = mva(&demands, think, n);
        let name = format!("{n} in {demands:?}");
        agrees(&name, &scenario, Some(response), Some(throughput));
    }
}

/// The utilization law holds in every run: busy time equals the time of transactions.
#[test]
fn utilization_law() {
    let world = run(open(2, 20.0, 0.05, 1.0, None));
    let busy: u64 = world.cpus.iter().map(|cpu| cpu.times.user).sum();
    let charged: u64 = world.vcpus.iter().map(|vcpu| vcpu.times.total).sum();
    assert_eq!(busy, charged);
    let done: u64 = world.vcpus.iter().map(|vcpu| vcpu.times.work).sum();
    assert_eq!(busy, done);
}
