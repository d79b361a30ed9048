//! Keeps workers ready, so that a call takes less than a millisecond. Each worker runs one job and is gone.

use belljar::{Error, Job, Pool, Sandbox};

pub(crate) fn main() -> Result<(), Error> {
    let jar = Sandbox::builder().preload(["json"]).build()?;
    let pool = Pool::new()?;
    pool.warm(&jar, 1)?;
    let double: i64 = pool.call(&jar, "lambda x: x * 2", (21,))?;
    assert_eq!(double, 42);

    // Nothing of one job is there for the next.
    let first = pool.run(&jar, Job::code("import json; json.left = 1; print('left')"))?;
    let second = pool.run(&jar, Job::code("import json; print(hasattr(json, 'left'))"))?;
    assert_eq!(
        (first.stdout.text(), second.stdout.text()),
        ("left\n".into(), "False\n".into())
    );
    Ok(())
}
