//! Versions come first, and whoever does not fit hears one clear error.

use belljar::agent::{Kind, PROTOCOL};
use serde_json::{Value, json};

use crate::client::Client;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn refused(kind: Kind, header: &Value) -> Value {
    let client = Client::silent(4);
    client.say(kind, u64::from(kind != Kind::Hello), header, &[]);
    client.last_error()
}

both! {
    fn other_versions_hear_why(_who) {
        let error = refused(Kind::Hello, &json!({"protocol": PROTOCOL + 1, "version": "99.0"}));
        assert_eq!(error["code"], "version");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("99.0") && message.contains(VERSION), "{message}");
        let error = refused(Kind::Hello, &json!({"protocol": PROTOCOL, "version": "0.0.1"}));
        assert_eq!(error["code"], "version");
        // Another version may say more than this one knows.
        let error = refused(Kind::Hello, &json!({"protocol": 9, "version": "0.0.1", "new": []}));
        assert_eq!(error["code"], "version");
    }

    fn another_process_than_the_one_that_made_the_pair_is_refused(_who) {
        let error = refused(Kind::Hello, &json!({"protocol": PROTOCOL, "version": VERSION, "pid": 1}));
        assert_eq!(error["code"], "client");
    }

    fn nothing_comes_before_hello(_who) {
        assert_eq!(refused(Kind::Open, &json!({}))["code"], "protocol");
        assert_eq!(refused(Kind::Hello, &json!({"version": VERSION}))["code"], "protocol");
        let client = Client::new();
        client.hello();
        assert_eq!(client.last_error()["code"], "protocol");
    }

    fn agent_has_its_socket_and_nothing_else_of_its_client(_who) {
        let mut client = Client::new();
        // Answered once all is set up.
        let id = client.id();
        client.say(Kind::Stats, id, &json!({}), &[]);
        assert_eq!(client.answer(id).kind, Kind::Figures);
        let process = std::path::PathBuf::from(format!("/proc/{}", client.agent.id()));
        let environment = std::fs::read(process.join("environ")).expect("its environment");
        assert!(!String::from_utf8_lossy(&environment).contains("SECRET"), "the client's variables are gone");
        let open: Vec<String> = std::fs::read_dir(process.join("fd"))
            .expect("its descriptors")
            .map(|entry| std::fs::read_link(entry.unwrap().path()).unwrap().display().to_string())
            .collect();
        let others = open
            .iter()
            .filter(|link| !["socket:", "anon_inode:", "/dev/null"].iter().any(|ours| link.starts_with(ours)));
        assert_eq!(others.collect::<Vec<_>>(), Vec::<&String>::new(), "{open:?}");
        let session = rustix::process::getsid(rustix::process::Pid::from_raw(client.agent.id() as i32));
        assert_eq!(session.expect("a session").as_raw_nonzero().get() as u32, client.agent.id());
        assert_eq!(std::fs::read_link(process.join("cwd")).expect("its folder"), std::path::Path::new("/"));
        client.finish();
    }
}
