//! The belljar command: reads what was typed, makes a policy and a job of it, and prints what happened.
//!
//! This process becomes the warden of a one-shot run, so no thread of it lives by then. Only `agent`, `run --each` and `env build` have some: they are
//! engines, which never fork a guest; their wardens are this same binary, started by exec.

mod args;
mod commands;
mod dependencies;
mod engine;
mod exit;
mod failure;
mod printer;
mod program;
mod settings;
mod streams;
mod terminal;
mod trace;
mod usage;
mod values;

use args::Typed;
use printer::Printer;

/// musl's own asks the kernel for memory dozens of times before a jar is started: 0.3 ms.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() {
    // A caller's limit may be too small for what a jar is built of: that is an error to be told, not a death.
    belljar_linux::signals::ignore_file_size();
    std::process::exit(match args::read() {
        Ok(typed) => dispatch(typed),
        Err(error) => misread(&error),
    });
}

fn dispatch(typed: Typed) -> i32 {
    let printing = typed.printing();
    trace::start(printing.verbose);
    let printer = Printer::new(printing);
    let result = match typed {
        Typed::Run(args) => commands::run::run(*args, printer),
        Typed::Exec(args) => commands::exec::exec(*args, printer),
        Typed::Shell(args) => commands::shell::shell(*args, printer),
        Typed::Plan(args) => commands::plan::plan(&args, printer),
        Typed::Env(args) => commands::env::env(*args, printer),
        Typed::Doctor(_) => commands::doctor::doctor(printer),
        Typed::Completions(args) => commands::generate::completions(&args, printer),
        Typed::Man(args) => commands::generate::man(&args, printer),
        Typed::Agent(args) => {
            belljar_agent::serve(args.fd, args.jobs).map_err(|error| failure::Failure::of(&error))
        }
        Typed::Warden => Ok(engine::serve()),
        Typed::Cgroup => Ok(engine::cgroup(printer)),
    };
    result.unwrap_or_else(|failure| {
        printer.failure(&failure);
        exit::OWN_FAILURE
    })
}

fn misread(error: &clap::Error) -> i32 {
    let mistake = usage::mistake(error);
    printer::clap(error, mistake.as_ref(), usage::wants_json());
    if error.use_stderr() { exit::OWN_FAILURE } else { 0 }
}
