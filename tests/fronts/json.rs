//! `--json`: one object, whatever happens, as the schema says.

use serde_json::Value;

use crate::harness::{Place, Who, everyone};
use crate::schema;

/// The object that a run prints, held against the schema.
fn object(who: Who, args: &[&str], code: i32) -> Value {
    let ran = Place::new(who).run_with(args, "input");
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (code, ""),
        "{args:?} as {who:?}: {}",
        ran.stdout
    );
    let value: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout));
    schema::hold(&value).unwrap_or_else(|wrong| panic!("{args:?} as {who:?}: {wrong}"));
    value
}

/// Figures that differ from run to run and from host to host.
pub fn steady(mut value: Value) -> Value {
    for (name, figure) in value["usage"].as_object_mut().expect("usage") {
        *figure = Value::from(format!("[{name}]"));
    }
    let exception = &mut value["exception"];
    // Columns, and the marks below a line, come with Python 3.11.
    exception["column"] = Value::from("[column]");
    for frame in exception["frames"].as_array_mut().into_iter().flatten() {
        frame["column"] = Value::from("[column]");
    }
    exception["traceback"] = Value::from("[traceback]");
    value["stderr"] = Value::from(value["stderr"].as_str().and_then(|text| text.lines().next()));
    for (_, layer) in value["isolation"]["layers"].as_object_mut().expect("layers") {
        layer["detail"] = Value::from("[detail]");
    }
    value["isolation"]["layers"]["cgroup"]["state"] = Value::from("[state]");
    value["isolation"]["layers"]["landlock"]["state"] = Value::from("[state]");
    value
}

#[test]
fn an_exception() {
    let code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\ndef f():\n    return 1/0\nf()";
    let mut seen: Vec<Value> = everyone()
        .iter()
        .map(|who| steady(object(*who, &["run", "--json", "-c", code], 1)))
        .collect();
    seen.dedup();
    assert_eq!(seen.len(), 1, "every user is told the same: {seen:#?}");
    insta::assert_json_snapshot!("json_exception", seen[0]);
}

#[test]
fn each_status() {
    for who in everyone() {
        let end = |args: &[&str], code| {
            let value = object(*who, &[&args[..1], &["--json"], &args[1..]].concat(), code);
            let word = |name: &str| value[name].as_str().unwrap_or("null").to_owned();
            format!(
                "{} {} {} {}",
                word("status"),
                word("limit"),
                value["exit_code"],
                value["signal"]
            )
        };
        assert_eq!(end(&["run", "-c", "pass"], 0), "returned null 0 null");
        assert_eq!(
            end(&["run", "-c", "raise SystemExit(3)"], 3),
            "exited null 3 null"
        );
        assert_eq!(end(&["run", "-c", "1/0"], 1), "raised null 1 null");
        assert_eq!(end(&["exec", "sh", "-c", "exit 4"], 4), "exited null 4 null");
        assert_eq!(
            end(&["exec", "sh", "-c", "kill -11 $$"], 139),
            "signalled null null 11"
        );
        assert!(
            end(&["run", "--timeout", "300ms", "-c", "while True: pass"], 124).starts_with("timed_out time ")
        );
        assert_eq!(
            end(&["run", "--output", "10", "-c", "print('x' * 99)"], 0),
            "returned output 0 null"
        );
    }
}

#[test]
fn streams_as_text() {
    for who in everyone() {
        let value = object(*who, &["exec", "--json", "--", "cat"], 0);
        assert_eq!(value["stdout"], "input");
        let value = object(*who, &["exec", "--json", "--", "printf", r"a\377b"], 0);
        assert_eq!(value["stdout"], "a\u{fffd}b");
        let value = object(
            *who,
            &["run", "--json", "--output", "10", "-c", "print('x' * 99 + 'end')"],
            0,
        );
        let text = value["stdout"].as_str().expect("text");
        assert!(
            text.contains("\n[belljar: ") && text.contains(" bytes dropped]\n"),
            "{text}"
        );
        assert!(text.starts_with('x') && text.ends_with("end\n"), "{text}");
        assert!(value["dropped"]["stdout"].as_u64() >= Some(90), "{value}");
    }
}

#[test]
fn changes() {
    for who in everyone() {
        let place = Place::new(*who);
        place.write("work/old", "old");
        let ran = place.run(&[
            "run",
            "--json",
            "--workdir",
            "work",
            "--draft",
            "-c",
            "open('new', 'w'); open('old', 'a').write('!')",
        ]);
        let value: Value = serde_json::from_str(&ran.stdout).expect("an object");
        schema::hold(&value).expect("as the schema says");
        assert_eq!(value["changes"]["created"], serde_json::json!(["new"]));
        assert_eq!(value["changes"]["modified"], serde_json::json!(["old"]));
        assert_eq!(value["changes"]["deleted"], serde_json::json!([]));
    }
}

#[test]
fn our_own_failure_is_an_object_too() {
    for who in everyone() {
        let value = object(*who, &["run", "--json", "nope.py"], 125);
        let expected = "cannot read script nope.py: no such file or directory";
        assert_eq!(value["error"]["message"], expected);
        assert_eq!(value["error"]["hint"], "write code after -c, a module after -m");
        assert!(
            object(*who, &["run", "--json", "--timeot", "3", "-c", "1"], 125)["error"]["hint"].is_string()
        );
        assert!(
            object(*who, &["exec", "--json", "--", "no-such-program"], 125)["error"]["message"].is_string()
        );
        // What was typed may look like the border between message and hint.
        let typed = ["run", "--json", "--with", "lib; python_version > ", "-c", "1"];
        let error = &object(*who, &typed, 125)["error"];
        let message = error["message"].as_str().expect("a message");
        assert!(
            message.starts_with("cannot read `lib; python_version >` at column "),
            "{message}"
        );
        assert_eq!(
            error["hint"],
            "write for example pandas>=2, or pandas>=2; python_version > '3.10'"
        );
        let error = &object(*who, &["run", "--json", "--venv", "/no; where", "-c", "1"], 125)["error"];
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains("/no; where"), "{message}");
        assert!(
            error["hint"].as_str().is_some_and(|hint| !hint.contains("where")),
            "{error}"
        );
    }
}

#[test]
fn a_guests_own_json_flag_is_not_ours() {
    let ran = Place::new(everyone()[0]).run(&["run", "--timeot", "3", "x.py", "--", "--json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (125, ""));
}
