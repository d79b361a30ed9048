//! Every example runs as it is written, but the one that needs an index: that compiles.

use belljar::Error;

#[path = "../examples/files_and_drafts.rs"]
mod files_and_drafts;
#[path = "../examples/function_call.rs"]
mod function_call;
#[path = "../examples/limits.rs"]
mod limits;
#[path = "../examples/run_code.rs"]
mod run_code;
#[path = "../examples/warm_pool.rs"]
mod warm_pool;

#[test]
fn run_code() -> Result<(), Error> {
    run_code::main()
}

#[test]
fn function_call() -> Result<(), Error> {
    function_call::main()
}

#[test]
fn limits() -> Result<(), Error> {
    limits::main()
}

#[test]
fn files_and_drafts() -> Result<(), Error> {
    files_and_drafts::main()
}

#[test]
fn warm_pool() -> Result<(), Error> {
    warm_pool::main()
}
