//! Test that the shipped example has the same history in the test build and in a release build.
//!
//! Both files are written by `tests/simulation/test_everywhere.py`.

use std::io::Sink;

use serde_json::Value;
use zlens_sim::recorder::Recorder;
use zlens_sim::run::simulate;
use zlens_sim::scenario::Scenario;

#[test]
fn example_history_is_platform_independent() {
    let scenario: Scenario =
        serde_json::from_str(include_str!("expected/example.json")).expect("a scenario");
    let expected: Value =
        serde_json::from_str(include_str!("expected/example_summary.json")).expect("a summary");
    let none: &mut [Recorder<Sink>] = &mut [];
    let summary = simulate(scenario, none, Vec::new(), &mut |_| true).expect("it runs");
    // Converted to text like the expected summary.
    let text = serde_json::to_string(&summary).expect("JSON");
    let summary: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(summary, expected);
}
