//! A job can be ended in every phase, and is answered exactly once.

use std::time::Duration;

use belljar::agent::Kind;
use serde_json::json;

use crate::client::Client;

both! {
    fn cancelled_job_is_answered_in_every_phase(_who) {
        let mut client = Client::with_jobs(2);
        let sandbox = client.open(&json!({"timeout": 50}));
        for moment in [0, 1, 3, 10, 20, 40, 80, 160, 300] {
            let id = client.code(sandbox, "import time; time.sleep(60)", &json!({}));
            std::thread::sleep(Duration::from_millis(moment));
            client.say(Kind::Cancel, id, &json!({}), &[]);
            client.say(Kind::Cancel, id, &json!({}), &[]);
            let heard = client.answer(id);
            match heard.kind {
                Kind::Outcome => assert_eq!(heard.document()["status"], "cancelled", "after {moment} ms"),
                _ => assert_eq!(heard.header["code"], "cancelled", "after {moment} ms: {heard:?}"),
            }
        }
        // One that has its answer, and one that never was: nothing comes of it.
        let id = client.code(sandbox, "print('done')", &json!({}));
        assert_eq!(client.answer(id).stdout(), "done\n");
        client.say(Kind::Cancel, id, &json!({}), &[]);
        client.say(Kind::Interrupt, 12345, &json!({}), &[]);
        let id = client.code(sandbox, "print('next')", &json!({}));
        assert_eq!(client.hear().expect("an answer").id, id);
        client.finish();
    }

    fn waiting_job_is_cancelled_at_once(_who) {
        let mut client = Client::with_jobs(1);
        let sandbox = client.open(&json!({}));
        // It has to run before it is cancelled below: one that is still being set up is answered with an error instead.
        let running = client.code(sandbox, "import time; print('on', flush=True); time.sleep(60)", &json!({"stream": true}));
        assert_eq!(client.answer(running).body, b"on\n");
        let waiting = client.code(sandbox, "print('never')", &json!({}));
        let interrupted = client.code(sandbox, "print('never')", &json!({}));
        client.say(Kind::Cancel, waiting, &json!({}), &[]);
        client.say(Kind::Interrupt, interrupted, &json!({}), &[]);
        for id in [waiting, interrupted] {
            let heard = client.hear().expect("an answer");
            assert_eq!((heard.id, &heard.header["code"]), (id, &json!("cancelled")));
        }
        client.say(Kind::Cancel, running, &json!({}), &[]);
        assert_eq!(client.answer(running).document()["status"], "cancelled");
        client.finish();
    }

    fn job_is_cancelled_while_its_sandbox_is_opened(_who) {
        let mut client = Client::new();
        for _ in 0..5 {
            let (sandbox, job) = (client.id(), client.id());
            client.say(Kind::Open, sandbox, &json!({}), &[]);
            client.say(Kind::Job, job, &json!({"sandbox": sandbox, "kind": "code", "parts": [19]}), &[b"while True: pass  #"]);
            client.say(Kind::Cancel, job, &json!({}), &[]);
            let heard = client.answer(job);
            match heard.kind {
                Kind::Outcome => assert_eq!(heard.document()["status"], "cancelled"),
                _ => assert_eq!(heard.header["code"], "cancelled", "{heard:?}"),
            }
            assert_eq!(client.answer(sandbox).kind, Kind::Opened);
        }
        client.finish();
    }

    fn interrupt_is_an_exception_in_the_guest(_who) {
        let mut client = Client::new();
        let sandbox = client.open(&json!({"timeout": 50}));
        let source = "import time\ntry:\n    print('ready', flush=True)\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print('interrupted')";
        let id = client.code(sandbox, source, &json!({"stream": true}));
        assert_eq!(client.answer(id).body, b"ready\n");
        client.say(Kind::Interrupt, id, &json!({}), &[]);
        assert_eq!(client.answer(id).body, b"interrupted\n");
        assert_eq!(client.answer(id).document()["status"], "returned");
        client.finish();
    }
}
