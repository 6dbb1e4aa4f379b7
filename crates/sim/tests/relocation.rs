//! Tests of live guest relocation against the recurrence of passes and published rules.

mod builders;

use builders::{alone, load, run, user};
use zlens_sim::relocation::{MAXQUIESCE, MAXTOTAL, Phase, SUCCESS, State};
use zlens_sim::scenario::{Link, Relocation, Scenario};
use zlens_sim::time::SECOND;

/// Returns a guest with 1,000 MiB, all of which changes, on a link of 100 MiB/s.
fn relocation(change_mib: f64) -> Relocation {
    Relocation {
        user: 0,
        to: "THERE".into(),
        target: None,
        at_s: 1.0,
        immediate: false,
        maxquiesce_s: None,
        maxtotal_s: None,
        touched_mib: 1_000.0,
        writes: vec![[1e9, change_mib]],
        setup_s: 0.0,
        walk_s: 0.0,
        page_in_s: 0.0,
        fixed_quiesce_s: 0.0,
        live_passes: 1,
        passes_most: 16,
        quiesce_passes: 1,
        stop_below_mib: 30.0,
        no_progress_pct: None,
    }
}

fn scenario(relocations: Vec<Relocation>, at_once: u32) -> Scenario {
    let users = (0..relocations.len())
        .map(|at| user(&format!("G{at}"), 100, 1, vec![load(None)]))
        .collect();
    let mut scenario = alone(4, users, 300.0);
    scenario.systems[0].relocations = relocations;
    scenario.systems[0].link = Some(Link {
        rate_mib: 100.0,
        most_per_guest_mib: None,
        several_pct: 100.0,
        at_once,
        cpu_ms: 0.0,
        receive_ms: 0.0,
        cluster_us: 0.0,
        throttle_at: f64::INFINITY,
        throttle_to_pct: 100.0,
        cluster: "TESTSSI".into(),
        members: Vec::new(),
        devices: vec![0xC000, 0xC001],
    });
    scenario
}

fn ended(scenario: Scenario) -> Vec<State> {
    let world = run(scenario);
    let states = world.relocations[0].states.clone();
    assert!(states.iter().all(|state| state.phase == Phase::Over));
    states
}

fn seconds(state: &State) -> (f64, f64) {
    let of = |span: u64| span as f64 / SECOND as f64;
    (
        of(state.ended - state.began),
        of(state.ended - state.stopped),
    )
}

/// relocation.geometric: storage 8, link 1, changes 0.5 of the link; V(i+1) = V(i) / 2 until at most 0.3 is
/// left. All written pages are distinct if the changing storage is unlimited.
#[test]
fn passes_shrink_geometrically() {
    let mut only = relocation(50.0);
    only.stop_below_mib = 37.5;
    let state = &ended(scenario(vec![only], 1))[0];
    // 1000, 500, 250, 125, 62.5 while the guest runs, then 31.25 in the quiesce.
    assert_eq!((state.passes, state.code), (6, SUCCESS));
    assert!((state.sent - 1_968.75).abs() < 1.0, "{}", state.sent);
    let (total, quiesce) = seconds(state);
    assert!(
        (total - 19.687_5).abs() < 0.02 && (quiesce - 0.312_5).abs() < 0.01,
        "{total} {quiesce}"
    );
}

/// Writes to few pages change each page once: a pass sends at most the changing storage.
#[test]
fn working_set_bounds_what_pass_sends() {
    let mut only = relocation(200.0);
    only.writes = vec![[400.0, 200.0]];
    only.passes_most = 8;
    let state = &ended(scenario(vec![only], 1))[0];
    assert_eq!(state.passes, 8);
    // 1000 MiB, then seven passes of nearly, and at most, 400.
    assert!(
        state.sent > 1_000.0 + 7.0 * 330.0 && state.sent < 1_000.0 + 7.0 * 400.0,
        "{}",
        state.sent
    );
}

/// Hot pages change within a pass, cold pages rarely: 100 of 1,000 MiB get all writes.
#[test]
fn hot_pages_bound_what_pass_sends() {
    let sent = |writes: Vec<[f64; 2]>| {
        let mut only = relocation(0.0);
        only.writes = writes;
        only.passes_most = 3;
        ended(scenario(vec![only], 1))[0].sent
    };
    let (even, hot) = (
        sent(vec![[1_000.0, 100.0]]),
        sent(vec![[100.0, 90.0], [900.0, 0.0]]),
    );
    // 1000 in 10 s, 1000 (1 - e^-1) = 632.1 in 6.321 s, 1000 (1 - e^-0.6321) = 468.5.
    assert!((even - 2_100.6).abs() < 5.0, "{even}");
    // 1000 in 10 s, 100 (1 - e^-9) = 100.0 in 1 s, 100 (1 - e^-0.9) = 59.3.
    assert!((hot - 1_159.3).abs() < 5.0, "{hot}");
}

/// IMMEDIATE: one pass, then the quiesce.
#[test]
fn immediate_stops_after_one_pass() {
    let mut only = relocation(50.0);
    only.immediate = true;
    let state = &ended(scenario(vec![only], 1))[0];
    assert_eq!(state.passes, 2);
    assert!((state.sent - 1_500.0).abs() < 1.0, "{}", state.sent);
    assert!((seconds(state).1 - 5.0).abs() < 0.02);
}

/// IBM, "z/VM 6.2 and 6.3 Performance": limits cancel a relocation, and the guest continues.
#[test]
fn limits_cancel_with_their_codes() {
    let mut slow = relocation(80.0);
    slow.maxtotal_s = Some(12.0);
    let mut long = relocation(80.0);
    long.immediate = true;
    long.maxquiesce_s = Some(3.0);
    for (only, code) in [(slow, MAXTOTAL), (long, MAXQUIESCE)] {
        let world = run(scenario(vec![only], 1));
        assert_eq!(world.relocations[0].states[0].code, code);
        assert!(world.users[0].logged_on);
        let elapsed = world.now - (world.begin - 10 * SECOND);
        assert!(world.vcpus[0].times.total > elapsed - 20 * SECOND);
    }
}

#[test]
fn relocated_guest_is_removed() {
    let world = run(scenario(vec![relocation(0.0)], 1));
    assert!(!world.users[0].logged_on);
    assert!(world.vcpus[0].times.total < 40 * SECOND);
}

/// Serial relocations quiesce shorter, because each has the entire link; the link never exceeds its rate.
#[test]
fn serial_quiesces_shorter_than_concurrent() {
    let two = || {
        let mut second = relocation(30.0);
        second.user = 1;
        vec![relocation(30.0), second]
    };
    let serial = ended(scenario(two(), 1));
    let concurrent = ended(scenario(two(), 2));
    let longest = |states: &[State]| states.iter().map(|s| seconds(s).1).fold(0.0, f64::max);
    let quiesces = (longest(&serial), longest(&concurrent));
    assert!(quiesces.0 < quiesces.1, "{quiesces:?}");
    for states in [serial, concurrent] {
        let sent: f64 = states.iter().map(|state| state.sent).sum();
        let begin = states.iter().map(|state| state.began).min().unwrap_or(0);
        let end = states.iter().map(|state| state.ended).max().unwrap_or(0);
        assert!(sent <= 100.0 * (end - begin) as f64 / SECOND as f64 + 10.0);
    }
}

#[test]
fn paging_throttles() {
    let took = |page_rate: f64, throttle_at: f64| {
        let mut scenario = scenario(vec![relocation(0.0)], 1);
        let mut pages = load(None);
        pages.page_rate = page_rate;
        scenario.systems[0]
            .users
            .push(user("PAGES", 100, 1, vec![pages]));
        let link = scenario.systems[0].link.as_mut().unwrap();
        link.throttle_at = throttle_at;
        link.throttle_to_pct = 25.0;
        seconds(&ended(scenario)[0]).0
    };
    let plain = took(0.0, f64::INFINITY);
    assert_eq!(took(200.0, f64::INFINITY), plain);
    assert_eq!(took(0.0, 50.0), plain);
    assert_eq!(took(200.0, 1e6), plain);
    // After the first second, in which no rate is known, a quarter of 100 MiB/s.
    let throttled = took(200.0, 50.0);
    let expected = 1.0 + (plain - 1.0) * 4.0;
    assert!(
        (throttled - expected).abs() < 0.5,
        "{throttled} s for {expected} s"
    );
}

/// The second relocation of a guest that has moved ends, too.
#[test]
fn relocation_loop_ends() {
    let twice = vec![relocation(10.0), relocation(10.0)];
    assert_eq!(ended(scenario(twice, 2)).len(), 2);
}
