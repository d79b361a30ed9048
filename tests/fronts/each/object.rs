//! `run --each --json`: one object for all scripts, which also tells that they ran warm.

use serde_json::Value;

use super::{object, run};
use crate::harness::{Place, everyone};
use crate::json::steady;

#[test]
fn more_scripts_than_one_template_serves() {
    for who in everyone() {
        let place = Place::new(*who);
        let names: Vec<String> = (0..230).map(|number| format!("s{number:03}.py")).collect();
        let all: Vec<(&str, &str)> = names
            .iter()
            .map(|name| (name.as_str(), "print(__file__)"))
            .collect();
        let value = object(*who, &run(&place, &["--json", "--jobs", "16"], &all));
        for (name, script) in names.iter().zip(value["scripts"].as_array().expect("scripts")) {
            let printed = format!("/script/{name}\n");
            assert_eq!(script["outcome"]["stdout"], printed, "as {who:?}: {script}");
            assert_eq!(script["outcome"]["status"], "returned", "as {who:?}: {script}");
        }
        assert_eq!(value["summary"]["clean"], 230, "as {who:?}");
        assert_eq!(value["pool"]["cold"], 0, "as {who:?}");
    }
}

#[test]
fn one_object_for_all() {
    let seen = everyone().iter().map(|who| {
        let place = Place::new(*who);
        let all = [
            ("good.py", "print('hi')"),
            ("bad.py", "def f():\n    raise ValueError('no')\nf()"),
            ("slow.py", "while True: pass"),
        ];
        let ran = run(&place, &["--json", "--timeout", "1s"], &all);
        assert_eq!(ran.code, 1, "as {who:?}");
        let mut value = object(*who, &ran);
        for script in value["scripts"].as_array_mut().expect("scripts") {
            let outcome = &mut script["outcome"];
            // Where the guest was when its time was up is told only if it can still answer.
            let raised = outcome["status"] == "raised";
            *outcome = steady(outcome.take());
            // The test of a single outcome looks at these.
            outcome["isolation"] = Value::from("[isolation]");
            outcome["stderr"] = Value::from("[stderr]");
            outcome["exception"]["frames"] = Value::from("[frames]");
            if !raised {
                outcome["exception"] = Value::from("[exception]");
            }
        }
        value["summary"]["wall"] = Value::from("[wall]");
        value["summary"]["jobs"] = Value::from("[jobs]");
        value["pool"]["workers"] = Value::from("[workers]");
        for (_, step) in value["pool"]["steps"].as_object_mut().expect("steps") {
            *step = Value::from("[microseconds]");
        }
        value
    });
    let mut seen: Vec<Value> = seen.collect();
    seen.dedup();
    assert_eq!(seen.len(), 1, "every user is told the same: {seen:#?}");
    insta::assert_json_snapshot!("json_each", seen[0]);
}

#[test]
fn scripts_run_on_workers_that_were_ready() {
    for who in everyone() {
        let place = Place::new(*who);
        let names: Vec<String> = (0..12).map(|number| format!("s{number:02}.py")).collect();
        let all: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "pass")).collect();
        let value = object(*who, &run(&place, &["--json"], &all));
        assert_eq!(value["pool"]["jobs"], 12, "as {who:?}: {}", value["pool"]);
        assert_eq!(value["pool"]["cold"], 0, "as {who:?}");
        assert!(
            value["pool"]["workers"].as_u64() >= Some(12),
            "as {who:?}: {}",
            value["pool"]
        );
        for script in value["scripts"].as_array().expect("scripts") {
            assert_eq!(script["cold"], Value::Null, "as {who:?}");
        }
        for step in ["jar", "fork", "setns", "seal", "rehearse", "check", "job"] {
            assert!(
                value["pool"]["steps"][step].as_f64() > Some(0.0),
                "{step}: {}",
                value["pool"]
            );
        }
        // What cannot run warm runs all the same, and says why.
        place.write("work/x", "");
        let ran = run(&place, &["--workdir", "work", "--timings"], &all[..2]);
        assert_eq!(ran.code, 0, "as {who:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("belljar: 2 ran cold: "),
            "as {who:?}: {}",
            ran.stderr
        );
        assert!(
            ran.stderr
                .contains("timings: 0 workers made, 0 had a script, 2 scripts ran cold\n"),
            "{}",
            ran.stderr
        );
        let ran = run(&place, &["--timings"], &all[..2]);
        assert!(
            ran.stderr
                .contains(" workers made, 2 had a script, 0 scripts ran cold\n"),
            "{}",
            ran.stderr
        );
        for step in ["seal", "rehearse", "reap"] {
            assert!(
                ran.stderr.contains(&format!("timings: {step} ")),
                "{}",
                ran.stderr
            );
        }
    }
}
