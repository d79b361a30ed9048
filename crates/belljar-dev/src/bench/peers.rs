//! The contenders: the bare interpreter, belljar, and what else a machine may have.

use std::ffi::OsString;
use std::path::Path;

use super::contender::{CODE, Contender, Stage, User};
use super::oci;

/// An open file is something that an interpreter closes at its end, so it goes the whole way.
const TIDIED: &str = "print(1); file = open(0, closefd=False)";

/// Everyone, slowest last. Those that are not installed are rows too.
pub fn all(stage: &Stage, engines: bool) -> anyhow::Result<Vec<Contender>> {
    let mut all = Vec::new();
    for user in User::here() {
        all.push(Contender {
            name: "bare interpreter",
            holds: "nothing",
            user,
            command: words([stage.python.as_os_str()], ["-c", CODE]),
            env: stage.env.clone(),
            numbered: false,
        });
        all.push(belljar(stage, user, "belljar", CODE)?);
        all.push(belljar(stage, user, "belljar, tidied", TIDIED)?);
        all.push(bubblewrap(stage, user));
    }
    if User::here().contains(&User::Root) {
        all.push(firejail(stage));
        if engines {
            all.extend(engines_as_root(stage)?);
        }
    }
    Ok(all)
}

fn belljar(stage: &Stage, user: User, name: &'static str, code: &str) -> anyhow::Result<Contender> {
    let cache = stage.cache(user)?.to_string_lossy().into_owned();
    Ok(Contender {
        name,
        holds: "every layer of the default policy",
        user,
        command: words(
            [stage.belljar.as_os_str()],
            ["run", "--python", &stage.python.to_string_lossy(), "-c", code],
        ),
        env: vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("XDG_CACHE_HOME".into(), cache),
        ],
        numbered: false,
    })
}

fn bubblewrap(stage: &Stage, user: User) -> Contender {
    let mut args = vec![
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--ro-bind",
        "/usr",
        "/usr",
    ];
    for (link, target) in oci::LINKS {
        args.extend(["--symlink", target, link]);
    }
    args.extend([
        "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/jar",
    ]);
    args.extend(["--chdir", "/jar", "--"]);
    let python = stage.python.to_string_lossy();
    args.extend([&*python, "-c", CODE]);
    Contender {
        name: "bubblewrap",
        holds: "namespaces and root; no filter, no limits",
        user,
        command: words([Path::new("/usr/bin/bwrap").as_os_str()], args),
        env: stage.env.clone(),
        numbered: false,
    }
}

fn firejail(stage: &Stage) -> Contender {
    let python = stage.python.to_string_lossy();
    let args = [
        "--quiet",
        "--noprofile",
        "--private",
        "--private-dev",
        "--net=none",
        "--caps.drop=all",
        "--seccomp",
        "--nonewprivs",
        &python,
        "-c",
        CODE,
    ];
    Contender {
        name: "firejail",
        holds: "namespaces, deny-list filter; the host's files stay visible",
        user: User::Root,
        command: words([Path::new("/usr/bin/firejail").as_os_str()], args),
        env: stage.env.clone(),
        numbered: false,
    }
}

fn engines_as_root(stage: &Stage) -> anyhow::Result<Vec<Contender>> {
    let bundle = oci::bundle(stage)?;
    let state = stage.room("state")?;
    let (bundle, state) = (bundle.to_string_lossy(), state.to_string_lossy());
    let engine = |name, holds, program: &str, args: Vec<&str>| Contender {
        name,
        holds,
        user: User::Root,
        command: words([Path::new(program).as_os_str()], args),
        env: stage.env.clone(),
        numbered: true,
    };
    let run = |root| vec!["--root", root, "run", "--bundle", &*bundle, "{}"];
    let mut runsc = vec!["--network=none", "--ignore-cgroups"];
    runsc.extend(run(&*state));
    Ok(vec![
        engine(
            "crun",
            "namespaces, root, cgroup; no filter",
            "/usr/bin/crun",
            run(&state),
        ),
        engine(
            "runc",
            "namespaces, root, cgroup; no filter",
            "/usr/sbin/runc",
            run(&state),
        ),
        engine(
            "gVisor (runsc)",
            "a kernel of its own in user space",
            "/usr/bin/runsc",
            runsc,
        ),
        podman(stage, &bundle),
    ])
}

fn podman(stage: &Stage, bundle: &str) -> Contender {
    let rootfs = format!("{bundle}/rootfs");
    let python = stage.python.to_string_lossy();
    let args = [
        "run",
        "--rm",
        "--network=none",
        "--cgroups=disabled",
        "--read-only",
        "--volume=/usr:/usr:ro",
        "--rootfs",
        &rootfs,
        &python,
        "-c",
        CODE,
    ];
    let mut env = stage.env.clone();
    env.retain(|(name, _)| name != "HOME" && !name.starts_with("XDG_"));
    env.push(("HOME".into(), "/root".into()));
    Contender {
        name: "podman",
        holds: "namespaces, root, filter of the engine",
        user: User::Root,
        command: words([Path::new("/usr/bin/podman").as_os_str()], args),
        env,
        numbered: false,
    }
}

fn words<'a>(
    program: impl IntoIterator<Item = &'a std::ffi::OsStr>,
    args: impl IntoIterator<Item = &'a str>,
) -> Vec<OsString> {
    let program = program.into_iter().map(OsString::from);
    program.chain(args.into_iter().map(OsString::from)).collect()
}
