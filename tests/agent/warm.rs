//! Workers that are asked for ahead, and what they have imported.

use belljar::agent::Kind;
use serde_json::{Value, json};

use crate::client::Client;

fn warmed(client: &mut Client, id: u64) -> Value {
    let answer = client.answer(id);
    assert_eq!(answer.kind, Kind::Warmed, "{}", answer.header);
    serde_json::from_slice(answer.parts()[0]).expect("a JSON object")
}

both! {
    fn workers_are_ready_when_it_is_answered(_who) {
        let mut client = Client::new();
        let (sandbox, id) = (client.id(), 98);
        // Asked for before the sandbox is open, as jobs may be.
        client.say(Kind::Open, sandbox, &json!({"preload": ["csv", "asyncio.windows_utils"]}), &[]);
        client.say(Kind::Warm, id, &json!({"sandbox": sandbox, "workers": 2}), &[]);
        let told = warmed(&mut client, id);
        assert!(told["ready"].as_u64() >= Some(2) && told["cold"].is_null(), "{told}");
        let modules = told["modules"].as_array().expect("a list");
        let error = |name: &str| modules.iter().find(|module| module["name"] == name).map(|module| &module["error"]);
        assert_eq!(error("csv"), Some(&Value::Null));
        assert!(error("asyncio.windows_utils").is_some_and(Value::is_string), "{told}");
        let job = client.code(sandbox, "import sys; print('csv' in sys.modules)", &json!({}));
        let answer = client.answer(job);
        assert_eq!((answer.stdout().as_str(), &answer.document()["cold"]), ("True\n", &Value::Null));
        client.finish();
    }

    fn a_module_that_guests_lack_is_told_at_once(_who) {
        let mut client = Client::new();
        for (names, message, hint) in [
            (json!(["csv", "jsno"]), "cannot preload \"jsno\": guests have no such module", "did you mean `json`?"),
            (json!(["nowhere_at_all"]), "cannot preload \"nowhere_at_all\": guests have no such module", "your own modules"),
            (json!(["a b"]), "cannot preload \"a b\": it is not the name of a module", "give names"),
        ] {
            let id = client.id();
            client.say(Kind::Open, id, &json!({"preload": names}), &[]);
            let answer = client.answer(id);
            assert_eq!((&answer.header["code"], &answer.header["message"]), (&json!("policy"), &json!(message)));
            assert!(answer.header["hint"]["caller"][0].as_str().unwrap_or_default().contains(hint), "{}", answer.header);
        }
        client.finish();
    }

    fn what_cannot_be_warmed_is_told(_who) {
        let mut client = Client::new();
        let sandbox = client.open(&json!({}));
        for (header, code) in [
            (json!({"sandbox": 77, "workers": 1}), "unknown"),
            (json!({"sandbox": sandbox}), "request"),
            (json!({"sandbox": sandbox, "workers": -1}), "request"),
            (json!({"sandbox": sandbox, "workers": 1, "more": 1}), "request"),
        ] {
            let id = client.id();
            client.say(Kind::Warm, id, &header, &[]);
            assert_eq!(client.answer(id).header["code"], code, "{header}");
        }
        let id = client.id();
        client.say(Kind::Warm, id, &json!({"sandbox": sandbox, "workers": 1}), &[b"body"]);
        assert_eq!(client.answer(id).header["code"], "request");
        let (bad, id) = (1000, 1001);
        client.say(Kind::Open, bad, &json!({"policy": {"venv": "/no/such/venv"}}), &[]);
        client.say(Kind::Warm, id, &json!({"sandbox": bad, "workers": 1}), &[]);
        assert_eq!(client.answer(bad).kind, Kind::Error);
        assert_eq!(client.answer(id).kind, Kind::Error);
        // Control: a number that is larger than what is kept is met as far as it goes.
        let id = client.id();
        client.say(Kind::Warm, id, &json!({"sandbox": sandbox, "workers": 1_000_000}), &[]);
        assert!(warmed(&mut client, id)["ready"].as_u64() >= Some(1));
        client.finish();
    }
}
