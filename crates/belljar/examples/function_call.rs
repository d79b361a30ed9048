//! Calls a Python function with values, and takes its value back as a Rust type.

use belljar::{Error, Sandbox};

pub(crate) fn main() -> Result<(), Error> {
    let jar = Sandbox::builder().build()?;
    let words: Vec<String> = jar.call("lambda text: sorted(text.split())", ("pear apple fig",))?;
    assert_eq!(words, ["apple", "fig", "pear"]);

    // A value that is no number, or a function that raises, is `Error::Call`, with the whole outcome in it.
    let wrong: Result<i64, Error> = jar.call("lambda: 'seven'", ());
    assert!(matches!(wrong, Err(Error::Call(_))));
    Ok(())
}
