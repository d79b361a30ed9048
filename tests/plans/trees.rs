//! Snapshots of what people see: for each host the tree of the default policy, and what other policies change in it.

use belljar::{Host, Plan, Policy};

use crate::{hosts, policies};

fn resolve(policy: &Policy, host: &Host) -> Result<Plan, belljar::plan::Refusal> {
    Plan::resolve(policy, host, &policies::interpreter(policy))
}

#[test]
fn every_host_has_the_plan_or_the_refusal_that_was_reviewed() {
    for (name, host) in hosts::all() {
        insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, page(&host));
        });
    }
}

#[test]
fn plan_as_data_is_the_one_that_was_reviewed() {
    for (name, host) in [("root", hosts::root()), ("user", hosts::user())] {
        let plan = resolve(&Policy::default(), &host).unwrap();
        insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_json_snapshot!(format!("{name}-as-data"), plan);
        });
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(
            serde_json::from_str::<Plan>(&text).unwrap(),
            plan,
            "a plan survives being stored"
        );
    }
}

/// One host: the default plan as a tree, then each other policy as a difference from it.
fn page(host: &Host) -> String {
    let mut page = String::new();
    let mut base = String::new();
    for (name, policy) in policies::all() {
        let (sign, text) = match resolve(&policy, host) {
            Ok(plan) => ("", plan.to_string()),
            Err(refusal) => ("! ", refusal.to_string()),
        };
        page += &format!("## {name}\n");
        if name == "default" {
            base.clone_from(&text);
        }
        page += &match sign {
            _ if name != "default" && text == base => "(the same)\n".into(),
            "! " => format!("{sign}{text}\n"),
            _ if name == "default" => text,
            _ => difference(&base, &text),
        };
        page += "\n";
    }
    page
}

fn difference(base: &str, text: &str) -> String {
    let mut left: Vec<&str> = text.lines().map(bare).collect();
    let mut out = String::new();
    for line in base.lines().map(bare) {
        match left.iter().position(|other| *other == line) {
            Some(position) => drop(left.remove(position)),
            None => out += &format!("- {line}\n"),
        }
    }
    for line in left {
        out += &format!("+ {line}\n");
    }
    if out.is_empty() {
        "(the same)\n".into()
    } else {
        out
    }
}

/// A line without its branches, which depend on its neighbours.
fn bare(line: &str) -> &str {
    line.trim_start_matches(['│', '├', '└', '─', ' '])
}
