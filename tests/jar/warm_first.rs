//! A sandbox's first jobs, where they run cold until a worker is ready: a caller has one slow job, and none waits for a
//! template that takes longer than the jobs themselves.

use belljar::outcome::Status;
use belljar::{Outcome, Pool, Sandbox};

use crate::glass::{code, expect, stdout, told};
use crate::warm::{Warm, pool, pool_with, until, with_module};

const EARLY: &str = "no worker was ready yet";

/// A pool such as the agent has.
fn cold_first() -> Warm {
    pool_with(|pool| pool.cold_first(true))
}

/// A sandbox whose template imports this module first.
fn preloads(name: &str, source: &str) -> (tempfile::TempDir, Sandbox) {
    let (folder, jar) = with_module(name, source);
    (folder, jar.with_preload([name]).expect("a name"))
}

/// A template of it is never ready.
fn never_ready() -> (tempfile::TempDir, Sandbox) {
    preloads("never_ends", "import time\ntime.sleep(3600)\n")
}

#[track_caller]
fn run(pool: &Pool, jar: &Sandbox, source: &str) -> Outcome {
    let outcome = pool.run(jar, code(source)).expect("an outcome");
    expect(&outcome, Status::Returned);
    outcome
}

both! {
    fn only_the_first_of_some_in_a_row_runs_cold(_who) {
        // The jobs need what the template imports, and both take two seconds for it: when the first job ends, the template
        // is nearly there, and another cold one would take as long again.
        let (_folder, jar) = preloads("takes_long", "import time\ntime.sleep(2)\n");
        let pool = cold_first();
        let reasons: Vec<Option<String>> = (0..4).map(|_| run(&pool, &jar, "import takes_long").cold).collect();
        assert_eq!(reasons, [Some(EARLY.to_owned()), None, None, None]);
        let stats = pool.stats();
        assert_eq!((stats.cold, stats.jobs), (1, 3), "{stats:?}");
    }

    fn none_waits_for_a_template_that_takes_longer_than_the_jobs(_who) {
        let (_folder, jar) = never_ready();
        let pool = cold_first();
        for _ in 0..4 {
            assert_eq!(run(&pool, &jar, "print('ran')").cold.as_deref(), Some(EARLY));
        }
        // Nor do those that find all processors taken, and wait in a queue.
        std::thread::scope(|scope| {
            for _ in 0..processors() + 3 {
                scope.spawn(|| assert_eq!(run(&pool, &jar, "print('ran')").cold.as_deref(), Some(EARLY)));
            }
        });
        let stats = pool.stats();
        assert_eq!((stats.jobs, stats.ready, stats.queued), (0, 0, 0), "{stats:?}");
    }

    fn those_that_wait_are_cancelled_or_run_cold_when_it_takes_too_long(_who) {
        let (_folder, jar) = never_ready();
        let pool = cold_first();
        let spawn = |source: &str| pool.spawn(&jar, code(source)).expect("a task");
        let sleepers: Vec<_> = (0..processors()).map(|_| spawn("import time; time.sleep(3600)")).collect();
        until("all processors have a job", || pool.stats().cold == sleepers.len() as u64);
        let (unwanted, wanted) = (spawn("print('unwanted')"), spawn("print('wanted')"));
        until("two wait", || pool.stats().queued == 2);
        unwanted.kill();
        expect(&unwanted.wait().expect("an outcome"), Status::Cancelled);
        until("one waits", || pool.stats().queued == 1);
        for sleeper in sleepers {
            sleeper.kill();
            expect(&sleeper.wait().expect("an outcome"), Status::Cancelled);
        }
        let outcome = wanted.wait().expect("an outcome");
        assert_eq!((stdout(&outcome).as_str(), outcome.cold.as_deref()), ("wanted\n", Some(EARLY)), "{}", told(&outcome));
    }

    fn a_template_that_takes_its_time_holds_up_no_other_sandbox(_who) {
        let (_folder, jar) = never_ready();
        let (pool, other) = (pool(), crate::glass::jar(|_| {}));
        let waiting: Vec<_> = (0..2 * processors()).map(|_| pool.spawn(&jar, code("")).expect("a task")).collect();
        until("workers are asked for", || pool.stats().making == waiting.len());
        let task = pool.spawn(&other, code("print('ran')")).expect("a task");
        until("it ran", || task.is_finished());
        assert_eq!(stdout(&task.wait().expect("an outcome")), "ran\n");
        // Control: the first ones still wait, and are ended.
        assert_eq!(pool.stats().queued, waiting.len());
        for task in waiting {
            task.kill();
            expect(&task.wait().expect("an outcome"), Status::Cancelled);
        }
    }

    fn a_template_that_fails_fails_no_job(_who) {
        let (_folder, jar) = preloads("ends_it", "import os\nif os.path.exists('/proc/self/fd/4'): os._exit(3)\n");
        let pool = cold_first();
        let mut reason = None;
        for _ in 0..100 {
            reason = run(&pool, &jar, "import ends_it").cold;
            if reason.as_deref() != Some(EARLY) {
                break;
            }
        }
        assert!(reason.as_ref().is_some_and(|reason| reason != EARLY), "{reason:?}");
        assert_eq!(pool.stats().jobs, 0);
    }
}

/// How many jobs run cold at once.
fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
