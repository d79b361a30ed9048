//! The exceptions in `testdata` were raised for real under the guest runtime, by the interpreter that the name gives:
//! the network cases in a namespace without one, the limits by rlimits.

use serde_json::Value;

use super::*;

const RAISED: &[(&str, &str)] = &[
    ("3.10", include_str!("../testdata/hints-3.10.jsonl")),
    ("3.11", include_str!("../testdata/hints-3.11.jsonl")),
    ("3.13", include_str!("../testdata/hints-3.13.jsonl")),
];

fn context() -> HintContext {
    HintContext {
        network: Network::None,
        memory: 1 << 30,
        pids: 128,
        disk: 256 << 20,
        open_files: 1024,
        venv: false,
        workdir: false,
    }
}

fn raised(line: &str) -> (String, String, PythonError) {
    let row: Value = serde_json::from_str(line).unwrap();
    let text = |key: &str| row[key].as_str().unwrap().to_owned();
    let header = serde_json::to_vec(&row["raised"]).unwrap();
    (
        text("name"),
        text("wants"),
        PythonError::from_frame(&header).unwrap(),
    )
}

#[test]
fn every_exception_has_its_hint() {
    let mut wrong = Vec::new();
    for (version, rows) in RAISED {
        assert!(rows.lines().count() >= 70);
        for (name, wants, error) in rows.lines().map(raised) {
            let given = hint(&error, &context());
            let given = given.map_or("none".to_owned(), |hint| hint.in_flags());
            if !given.contains(&wants) || given.len() > 220 {
                wrong.push(format!(
                    "{version} {name}: {}: {}: {given:?}",
                    error.type_name, error.message
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_jar_decides_what_is_said_of_the_network() {
    let row = RAISED[0].1.lines().find(|line| line.contains("\"dns\"")).unwrap();
    let (_, _, error) = raised(row);
    let with = |network| hint(&error, &HintContext { network, ..context() });
    assert!(
        with(Network::Loopback)
            .unwrap()
            .in_flags()
            .contains("only the jar's own loopback")
    );
    assert_eq!(with(Network::Host), None);
}

#[test]
fn a_virtualenv_changes_how_a_module_is_added() {
    let error = PythonError {
        type_name: "ModuleNotFoundError".into(),
        message: "No module named 'yaml'".into(),
        ..PythonError::default()
    };
    let with = |venv| {
        hint(&error, &HintContext { venv, ..context() })
            .unwrap()
            .in_flags()
    };
    assert!(with(false).contains("add it with --with PyYAML, or"));
    assert!(with(true).contains("install PyYAML into the virtualenv"));
}

#[test]
fn what_is_not_known_gets_no_hint() {
    let error = PythonError {
        type_name: "myapp.Broken".into(),
        message: "on purpose".into(),
        ..PythonError::default()
    };
    assert_eq!(hint(&error, &context()), None);
}

#[test]
fn sizes_read_as_flags() {
    assert_eq!(
        [1 << 30, 256 << 20, 1536 << 20, 64 << 10].map(bytes),
        ["1G", "256M", "1536M", "64K"]
    );
}

#[test]
fn no_mount_is_suggested_that_would_be_refused() {
    for (path, can) in [
        ("/home/me/data.csv", true),
        ("/etc/app.conf", true),
        ("/etc/shadow", false),
        ("/usr/lib/x", false),
        ("/proc/kcore", false),
    ] {
        let error = PythonError {
            type_name: "FileNotFoundError".into(),
            message: format!("[Errno 2] No such file or directory: '{path}'"),
            errno: Some(2),
            filename: Some(path.into()),
            ..PythonError::default()
        };
        let given = hint(&error, &context()).unwrap().in_flags();
        assert_eq!(given.contains(&format!("--mount {path}")), can, "{given}");
    }
}
