//! A victim with twenty calls a second, beside a neighbour that may have one processor: a harmless loop, or a hostile one.

use std::time::{Duration, Instant};

use belljar::job::Sink;
use belljar::{Job, Pool, Sandbox};

use crate::bench::Sample;

/// The first is what the others are held against.
const NEIGHBOURS: [(&str, &str); 4] = [
    ("busy loop", "while True: pass"),
    (
        "fork bomb",
        "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n",
    ),
    (
        "memory hog",
        "held = []\nwhile True:\n    try:\n        held.append(bytearray(1 << 20))\n    except MemoryError:\n        held.clear()\n",
    ),
    (
        "output flood",
        "import os\nwhile True:\n    os.write(1, b'x' * 65536)\n",
    ),
];
/// Twenty calls each second.
const PERIOD: Duration = Duration::from_millis(50);

/// The victim's times beside each neighbour.
pub fn measure(victim: &Sandbox, time: Duration) -> anyhow::Result<Vec<(String, Sample)>> {
    let mut all = Vec::new();
    for (name, code) in NEIGHBOURS {
        let pool = Pool::new()?;
        super::warm(&pool, victim, 4)?;
        let job = |code: &str| {
            let mut job = Job::code(code);
            job.stdout = Sink::Capture;
            job
        };
        let mut sample = Sample::default();
        let mut neighbour = pool.spawn(victim, job(code))?;
        let (start, mut number) = (Instant::now(), 0);
        let mut renewed = Instant::now();
        while start.elapsed() < time {
            // One that was ended by a limit is followed by another.
            if renewed.elapsed() > Duration::from_secs(1) && neighbour.is_finished() {
                neighbour = pool.spawn(victim, job(code))?;
                renewed = Instant::now();
            }
            sample.add(super::call(&pool, victim, number)?);
            number += 1;
            let next = PERIOD * number as u32;
            std::thread::sleep(next.saturating_sub(start.elapsed()));
        }
        neighbour.kill();
        let _ = neighbour.wait();
        all.push((name.to_owned(), sample));
    }
    Ok(all)
}
