//! A client that does not read makes jobs wait, not the agent grow.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::client::Client;

const JOBS: u64 = 48;
const OUTPUT: usize = 2 << 20;

/// What an agent holds: its own memory, and bodies that nobody has mapped. Bodies that the socket has are not among them.
fn held(agent: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{agent}/status")).expect("its status");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .expect("a size");
    let kilobytes: u64 = line
        .split_whitespace()
        .nth(1)
        .expect("a number")
        .parse()
        .expect("a number");
    let bodies = std::fs::read_dir(format!("/proc/{agent}/fd"))
        .expect("its descriptors")
        .flatten();
    let bodies = bodies.filter(|entry| {
        std::fs::read_link(entry.path()).is_ok_and(|link| link.to_string_lossy().contains("memfd:"))
    });
    let bodies: u64 = bodies
        .filter_map(|entry| entry.path().metadata().ok())
        .map(|meta| meta.len())
        .sum();
    kilobytes * 1024 + bodies
}

both! {
    fn client_that_does_not_read_bounds_what_is_held(_who) {
        let mut client = Client::with_jobs(4);
        let sandbox = client.open(&json!({"timeout": 100, "output": OUTPUT}));
        let before = held(client.agent.id());
        let source = format!("print('x' * {})", OUTPUT - 1);
        let ids: Vec<u64> = (0..JOBS).map(|_| client.code(sandbox, &source, &json!({}))).collect();
        let mut most = 0;
        let (mut last, mut same) = (0, 0);
        // Until it no longer grows.
        while same < 20 {
            std::thread::sleep(Duration::from_millis(100));
            let now = held(client.agent.id());
            most = most.max(now);
            same = if now <= last { same + 1 } else { 0 };
            last = last.max(now);
        }
        let grown = most.saturating_sub(before);
        assert!(grown < 40 << 20, "{grown} bytes more for {} of answers", JOBS * OUTPUT as u64);
        // Nor does the socket hold what the agent does not.
        let mut left: std::collections::BTreeSet<u64> = ids.into_iter().collect();
        let agent = Pid::from_raw(client.agent.id() as i32).expect("a pid");
        kill_process(agent, Signal::STOP).expect("to stop it");
        let mut afloat = 0;
        while client.has_more() {
            let heard = client.hear().expect("an answer");
            assert!(left.remove(&heard.id));
            afloat += heard.body.len();
        }
        kill_process(agent, Signal::CONT).expect("to let it go on");
        assert!((OUTPUT..12 << 20).contains(&afloat), "{afloat} bytes in the socket");
        // Nothing was lost: all of it comes as soon as somebody reads.
        while !left.is_empty() {
            let heard = client.hear().expect("an answer");
            assert!(left.remove(&heard.id));
            assert_eq!(heard.stdout().len(), OUTPUT);
        }
        client.finish();
    }

    fn streaming_job_waits_for_its_reader_and_can_be_cancelled(_who) {
        let mut client = Client::new();
        let sandbox = client.open(&json!({"timeout": 100, "output": "1G"}));
        let before = held(client.agent.id());
        let id = client.code(sandbox, "while True: print('x' * 4096)", &json!({"stream": true}));
        std::thread::sleep(Duration::from_secs(2));
        let grown = held(client.agent.id()).saturating_sub(before);
        assert!(grown < 30 << 20, "{grown} bytes more");
        client.say(belljar::agent::Kind::Cancel, id, &json!({}), &[]);
        let last = loop {
            let heard = client.answer(id);
            if heard.kind != belljar::agent::Kind::Output {
                break heard;
            }
        };
        assert_eq!(last.document()["status"], "cancelled");
        client.finish();
    }
}
