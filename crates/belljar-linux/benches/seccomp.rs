//! What compiling and loading a filter costs: `cargo bench -p belljar-linux --bench seccomp`.

#[path = "../tests/seccomp/child.rs"]
mod child;

use belljar_linux::seccomp::{Arch, Families, Options, init_program, install, number, program};
use child::{End, Shared, call, child};

const ARCH: Arch = Arch::native();
const LOCAL: Options = Options {
    families: Families::Local,
    tty: false,
    affinity: false,
    ipc: false,
    disk: false,
    locks: false,
};
/// The exit code of a child that could not put itself under the filter.
const NOT_FILTERED: i32 = 99;

fn no_new_privs() -> bool {
    let prctl = number(ARCH, "prctl").unwrap_or(0);
    call(prctl, [libc::PR_SET_NO_NEW_PRIVS as u64, 1, 0, 0, 0, 0]) == 0
}

fn main() {
    for options in [
        LOCAL,
        Options {
            families: Families::Internet,
            tty: true,
            affinity: true,
            ipc: true,
            disk: true,
            locks: false,
        },
    ] {
        let started = std::time::Instant::now();
        for _ in 0..1000 {
            std::hint::black_box(program(ARCH, &options));
        }
        let compile = started.elapsed() / 1000;
        let guest = program(ARCH, &options);
        let init = init_program(ARCH);
        for (what, program) in [("guest", &guest), ("init", &init)] {
            let mut times: Vec<i64> = (0..200)
                .map(|_| {
                    let shared = Shared::new(1);
                    let end = child(|| {
                        let ready = no_new_privs();
                        let started = std::time::Instant::now();
                        let loaded = install(program).is_ok();
                        shared.set(0, started.elapsed().as_nanos() as i64);
                        if ready && loaded { 0 } else { NOT_FILTERED }
                    });
                    assert_eq!(end, End::Exited(0));
                    shared.all()[0]
                })
                .collect();
            times.sort_unstable();
            println!(
                "{what}: {} instructions, load median {:.1} us, p95 {:.1} us, compile {compile:?}",
                program.len(),
                times[100] as f64 / 1e3,
                times[190] as f64 / 1e3
            );
        }
    }
}
