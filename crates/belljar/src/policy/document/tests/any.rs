//! Any policy can be written and read, and any text is survived.

use std::time::Duration;

use proptest::prelude::*;

use super::parse;
use crate::policy::document::PolicyDocument;
use crate::policy::*;

fn any_policy() -> impl Strategy<Value = Policy> {
    let path = prop::sample::select(vec!["/var", "/etc", "/home", "/usr/share"]);
    let access = prop::sample::select(vec![Access::ReadOnly, Access::ReadWrite]);
    let mounts = prop::collection::vec((path.clone(), access), 0..4).prop_map(|mounts| {
        let targets = mounts.into_iter().enumerate();
        targets
            .map(|(n, (source, access))| Mount {
                source: source.into(),
                target: format!("/data/{n} ü\"'").into(),
                access,
            })
            .collect()
    });
    let modes = vec![
        WorkdirMode::Read,
        WorkdirMode::Write,
        WorkdirMode::Draft,
        WorkdirMode::Apply,
    ];
    let workdir = prop::option::of(
        (path, prop::sample::select(modes)).prop_map(|(source, mode)| Workdir {
            source: source.into(),
            target: "/jar".into(),
            mode,
        }),
    );
    let env = prop::collection::btree_map("[A-C][a-z_.-]{0,8}", "[^\\p{Cc}]{0,40}", 0..5);
    let timeout = prop::option::of(
        (0_u64..1_000_000, 1_000_000_u32..1_000_000_000).prop_map(|(s, n)| Duration::new(s, n)),
    );
    let limits = (
        (16_u64 << 20)..(1 << 44),
        0.01_f64..4096.0,
        prop::option::of(0.001_f64..1e9),
        2_u64..4_194_304,
        (64_u64 << 10)..(1 << 44),
        64_u64..(1 << 32),
        16_u64..(1 << 20),
        prop::option::of(1_u64..(1 << 44)),
        1_u64..(1 << 40),
        timeout,
    )
        .prop_map(
            |(memory, cpus, cpu_seconds, pids, disk, inodes, open_files, file_size, output, timeout)| {
                Limits {
                    memory,
                    cpus,
                    cpu_seconds,
                    pids,
                    disk,
                    inodes,
                    open_files,
                    file_size,
                    output,
                    timeout,
                }
            },
        );
    let require = (
        prop::sample::select(vec![Tier::Sealed, Tier::Screened]),
        prop::sample::subsequence(Layer::ALL.to_vec(), 0..=9),
    )
        .prop_map(|(tier, layers)| Require { tier, layers });
    let python = prop::option::of(prop::sample::select(vec![
        "3.12".to_owned(),
        "/opt/py \"x\"/bin/python3".to_owned(),
    ]));
    let network = prop::sample::select(vec![Network::None, Network::Loopback, Network::Host]);
    let venv = prop::option::of(Just("/srv/a b/.venv".into()));
    (
        python,
        venv,
        any::<[bool; 3]>(),
        network,
        mounts,
        workdir,
        env,
        limits,
        require,
    )
        .prop_map(
            |(
                python,
                venv,
                [system, site_packages, locks],
                network,
                mounts,
                workdir,
                env,
                limits,
                require,
            )| {
                Policy {
                    python,
                    venv,
                    system,
                    site_packages,
                    locks,
                    network,
                    mounts,
                    workdir,
                    env,
                    limits,
                    require,
                }
            },
        )
}

proptest! {
    #[test]
    fn policy_written_is_the_policy_read(policy in any_policy()) {
        let text = policy.to_toml();
        let back = parse(&text).and_then(PolicyDocument::resolve);
        prop_assert!(back.is_ok(), "{}\n{text}", back.unwrap_err());
        prop_assert_eq!(back.unwrap(), policy);
    }

    #[test]
    fn reader_is_total(text in ".{0,200}") {
        parse(&text).ok();
    }

    /// Words of a policy in any order reach further than noise.
    #[test]
    fn reader_is_total_on_words(words in prop::collection::vec(prop::sample::select(vec![
        "memory", "=", "\"1G\"", "mount", "[", "]", "{", "}", "env", "profile", ".", "x", "\n", "1", "-1", "nan", "timeout", ",",
        "source", "\"/a\"", "[profile.a]\n", "require_layers", "true", "0x7fffffffffffffff", "workdir", "python",
    ]), 0..24)) {
        parse(&words.join(" ")).ok();
    }
}
