//! Which packages a guest sees: those of its virtualenv, and what the policy names; those of the interpreter itself only
//! where somebody says so.

use std::path::{Path, PathBuf};

use belljar::plan::Step;
use belljar::policy::{Access, Mount, Workdir, WorkdirMode};
use belljar::python::Interpreter;
use belljar::{Plan, Policy};

use crate::{hosts, policies};

const PREFIX: &str = "/home/ada/.pyenv/versions/3.12.1";
const PACKAGES: &str = "/home/ada/.pyenv/versions/3.12.1/lib/python3.12/site-packages";
const SYSTEM: [&str; 2] = [
    "/usr/lib/python3/dist-packages",
    "/usr/local/lib/python3.12/dist-packages",
];

/// An interpreter that somebody keeps at home.
fn at_home() -> Interpreter {
    let executable = Path::new(PREFIX).join("bin/python3.12");
    Interpreter {
        executable: executable.clone(),
        base_executable: executable,
        base_prefix: PREFIX.into(),
        prefix: PREFIX.into(),
        stdlib: Path::new(PREFIX).join("lib/python3.12"),
        packages: vec![PACKAGES.into()],
        mounts: vec![PREFIX.into()],
        ..policies::interpreter(&Policy::default())
    }
}

fn in_venv(base: Interpreter, shares_packages: bool) -> Interpreter {
    let venv = PathBuf::from("/srv/app/.venv");
    let mut mounts = base.mounts;
    mounts.push(venv.clone());
    Interpreter {
        executable: venv.join("bin/python"),
        prefix: venv.clone(),
        venv: Some(venv),
        shares_packages,
        mounts,
        ..base
    }
}

fn steps(policy: &Policy, python: &Interpreter) -> Vec<Step> {
    let plan = Plan::resolve(policy, &hosts::user(), python).expect("a plan");
    plan.steps().to_vec()
}

fn hidden(policy: &Policy, python: &Interpreter) -> Vec<PathBuf> {
    let steps = steps(policy, python).into_iter();
    steps
        .filter_map(|step| match step {
            Step::Hide { target } => Some(target),
            _ => None,
        })
        .collect()
}

fn show(path: &str) -> Policy {
    Policy {
        mounts: vec![Mount {
            source: path.into(),
            target: path.into(),
            access: Access::ReadOnly,
        }],
        ..Policy::default()
    }
}

#[test]
fn those_of_the_interpreter_and_of_the_system_are_hidden() {
    let all = [SYSTEM[0], SYSTEM[1], PACKAGES];
    let bare = Policy::default();
    assert_eq!(hidden(&bare, &at_home()), all.map(PathBuf::from));
    assert_eq!(hidden(&bare, &in_venv(at_home(), false)), all.map(PathBuf::from));
    let system = policies::interpreter(&bare);
    assert_eq!(hidden(&bare, &system), SYSTEM.map(PathBuf::from));
    let open = Policy {
        site_packages: true,
        ..Policy::default()
    };
    for python in [at_home(), in_venv(at_home(), false), system] {
        assert!(hidden(&open, &python).is_empty(), "control");
    }
}

#[test]
fn without_the_system_there_is_less_to_hide() {
    let policy = Policy {
        system: false,
        ..Policy::default()
    };
    assert_eq!(hidden(&policy, &at_home()), [PathBuf::from(PACKAGES)]);
}

#[test]
fn virtualenv_that_shares_them_keeps_those_below_it_alone() {
    let bare = Policy::default();
    assert_eq!(
        hidden(&bare, &in_venv(at_home(), true)),
        SYSTEM.map(PathBuf::from)
    );
    // Debian's folder belongs to the interpreter of this host, the other one does not.
    let system = in_venv(policies::interpreter(&bare), true);
    assert_eq!(hidden(&bare, &system), [PathBuf::from(SYSTEM[1])]);
    // One that somebody made in /usr/local is the policy's own.
    let mut local = in_venv(policies::interpreter(&bare), false);
    local.venv = Some("/usr/local".into());
    assert_eq!(hidden(&bare, &local), [PathBuf::from(SYSTEM[0])]);
}

#[test]
fn what_the_policy_names_is_seen() {
    // The folder itself, one that holds it, and the working directory.
    for path in [PACKAGES, PREFIX, "/home/ada"] {
        assert_eq!(
            hidden(&show(path), &at_home()),
            SYSTEM.map(PathBuf::from),
            "{path}"
        );
        let policy = Policy {
            workdir: Some(Workdir {
                source: path.into(),
                target: path.into(),
                mode: WorkdirMode::Draft,
            }),
            ..Policy::default()
        };
        assert_eq!(hidden(&policy, &at_home()), SYSTEM.map(PathBuf::from), "{path}");
    }
    // One package of it comes after the folder is hidden, so that it is not.
    let package = format!("{PACKAGES}/numpy");
    let steps = steps(&show(&package), &at_home());
    let at = |wanted: &dyn Fn(&Step) -> bool| steps.iter().position(wanted).expect("a step");
    let hide = at(&|step| matches!(step, Step::Hide { target } if target == Path::new(PACKAGES)));
    let bind = at(&|step| matches!(step, Step::Bind { target, .. } if target == Path::new(&package)));
    assert!(hide < bind);
    // A name that only begins like it is another folder.
    assert!(hidden(&show("/home/ada/.pyenv/versions/3.12.10"), &at_home()).contains(&PACKAGES.into()));
}

#[test]
fn below_a_scratch_folder_they_are_hidden_last() {
    let mut python = at_home();
    python.mounts = vec!["/tmp/python3.12".into()];
    python.packages = vec!["/tmp/python3.12/lib/python3.12/site-packages".into()];
    let steps = steps(&Policy::default(), &python);
    let at = |wanted: &dyn Fn(&Step) -> bool| steps.iter().position(wanted).expect("a step");
    let scratch = at(&|step| matches!(step, Step::Scratch { .. }));
    let bind = at(&|step| matches!(step, Step::Bind { target, .. } if *target == python.mounts[0]));
    let hide = at(&|step| matches!(step, Step::Hide { target } if *target == python.packages[0]));
    assert!(scratch < bind && bind < hide);
}
