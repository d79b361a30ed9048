//! RS-12, NS-05: the end of a run is bounded whatever it left, and many runs leave no more than one.

use std::time::Duration;

use belljar::outcome::Status;

use crate::glass::{code, expect, jar, run, stdout, told};

both! {
    fn end_is_quick_after_the_worst(_who) {
        let source = "\
import os, time
for i in range(60_000): open(f'/tmp/{i}', 'w').close()
for i in range(100):
    if os.fork() == 0: time.sleep(600)
with open('/jar/big', 'wb') as f: f.write(bytes(128 << 20))
print(time.monotonic(), flush=True)";
        let jar = jar(|policy| policy.limits.timeout = Some(Duration::from_secs(60)));
        let outcome = jar.run_job(code(source)).expect("an outcome");
        expect(&outcome, Status::Returned);
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let last: f64 = stdout(&outcome).trim().parse().expect("a time");
        let took = now.tv_sec as f64 + now.tv_nsec as f64 / 1e9 - last;
        assert!(took < 60.0, "{took} s from the guest's last line to the answer");
    }

    fn jars_at_once_do_not_disturb_each_other(_who) {
        let jar = jar(|_| {});
        let threads: Vec<_> = (0..6)
            .map(|number| {
                let jar = jar.clone();
                std::thread::spawn(move || {
                    for round in 0..4 {
                        let source = format!("open('mine', 'w').write('{number}-{round}'); print(open('mine').read())");
                        let outcome = jar.run_job(code(&source)).expect("an outcome");
                        assert_eq!(stdout(&outcome), format!("{number}-{round}\n"), "{}", told(&outcome));
                        assert_eq!(outcome.changes.created, ["mine"]);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("all outcomes are right");
        }
    }

    fn many_runs_leave_nothing(_who) {
        for number in 0..60 {
            let outcome = run(&format!("print({number})"));
            assert_eq!(stdout(&outcome), format!("{number}\n"));
        }
    }

    fn second_run_sees_nothing_of_the_first(_who) {
        let mark = "import os\nfor p in ('/jar', '/tmp', '/dev/shm', '/tmp/home'):\n    open(p + '/mark', 'w').close()";
        expect(&run(mark), Status::Returned);
        let look = run("import os\nprint([p for p in ('/jar', '/tmp', '/dev/shm', '/tmp/home') if os.path.exists(p + '/mark')])");
        assert_eq!(stdout(&look), "[]\n");
    }
}
