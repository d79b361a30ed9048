//! An exception in a text, with the hint that a guest's own would have.

use belljar::agent::Kind;
use serde_json::{Value, json};

use crate::client::Client;

const TEXT: &str = "noise\nTraceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    import yaml\n\
                    ModuleNotFoundError: No module named 'yaml'\n";

fn parsed(client: &mut Client, text: &[u8]) -> Value {
    parsed_in(client, json!({}), text)
}

fn parsed_in(client: &mut Client, header: Value, text: &[u8]) -> Value {
    let id = client.id();
    client.say(Kind::Parse, id, &header, &[text]);
    let answer = client.answer(id);
    assert_eq!(answer.kind, Kind::Parsed);
    serde_json::from_slice(answer.parts()[0]).expect("a JSON object")
}

both! {
    fn a_text_is_read_and_has_its_hint(_who) {
        let mut client = Client::new();
        let error = parsed(&mut client, TEXT.as_bytes());
        assert_eq!((&error["type_name"], &error["line"]), (&json!("ModuleNotFoundError"), &json!(3)));
        let package = json!({"setting": "dependencies", "values": ["PyYAML"]});
        assert!(error["hint"]["caller"].as_array().is_some_and(|hint| hint.contains(&package)), "{error}");
        assert_eq!(parsed(&mut client, b"all is well \xff"), Value::Null);
        assert_eq!(parsed(&mut client, b""), Value::Null);
        // As a descriptor, from 64 KiB on.
        let long = "x\n".repeat(50_000) + TEXT;
        assert_eq!(parsed(&mut client, long.as_bytes())["message"], "No module named 'yaml'");
        let id = client.id();
        client.say(Kind::Parse, id, &json!({}), &[&vec![b'x'; (1 << 20) + 1]]);
        assert_eq!(client.answer(id).header["code"], "request");
        client.finish();
    }

    fn what_a_guest_reported_has_the_hint_of_its_own_jar(_who) {
        let report = json!({"type_name": "MemoryError", "message": "", "frames": [], "traceback": "all of it", "hint": "obey"});
        let report = report.to_string().into_bytes();
        let mut client = Client::new();
        let mut hint = |sandbox: u64| {
            let error = parsed_in(&mut client, json!({"sandbox": sandbox}), &report);
            // As it came, but for the hint, which no guest gives.
            assert_eq!((&error["type_name"], &error["traceback"]), (&json!("MemoryError"), &json!("all of it")));
            error["hint"]["code"].as_str().expect("a hint").to_owned()
        };
        assert!(hint(999).contains("1G"), "the default policy, where no such sandbox is open");
        let sandbox = client.open(&json!({"memory": "300M"}));
        let own = parsed_in(&mut client, json!({"sandbox": sandbox}), &report);
        assert!(own["hint"]["code"].as_str().is_some_and(|hint| hint.contains("300M")), "{own}");
        assert_eq!(parsed_in(&mut client, json!({"sandbox": sandbox}), b"no report"), Value::Null);
        // A text is something else.
        assert_eq!(parsed(&mut client, &report), Value::Null);
        client.finish();
    }
}
