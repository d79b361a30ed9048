//! What a guest may use up, and how an outcome tells which limit ended it.

use std::time::Duration;

use belljar::outcome::{Limit, Status};
use belljar::{Error, Sandbox};

pub(crate) fn main() -> Result<(), Error> {
    let brief = Sandbox::builder().timeout(Duration::from_secs(1)).build()?;
    let outcome = brief.run("while True: pass")?;
    assert_eq!(outcome.status, Status::TimedOut);

    let jar = Sandbox::builder().memory(256 << 20).pids(16).build()?;
    let outcome = jar.run("x = bytearray(1 << 30)")?;
    assert_eq!(outcome.limit, Some(Limit::Memory));

    // The next run has a jar of its own.
    assert!(jar.run("print('fine')")?.success());
    Ok(())
}
