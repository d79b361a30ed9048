//! Runs code that nobody has vetted. What it does is an outcome; an error is belljar's own.

use belljar::outcome::Status;
use belljar::{Error, Sandbox};

pub(crate) fn main() -> Result<(), Error> {
    let jar = Sandbox::builder().build()?;
    let outcome = jar.run("print(sum(range(10)))")?;
    assert_eq!(outcome.stdout.text(), "45\n");

    // The jar has no /etc/shadow, and the guest's exception says so.
    let outcome = jar.run("open('/etc/shadow')")?;
    assert_eq!(outcome.status, Status::Raised);
    let exception = outcome.exception.map(|exception| exception.type_name);
    assert_eq!(exception.as_deref(), Some("FileNotFoundError"));

    // Any other program, shaped like `std::process::Command`.
    let listed = jar.command("ls").arg("/jar").output()?;
    assert!(listed.success() && listed.stdout.text().is_empty());
    Ok(())
}
