//! Documents as people write them, the message for each way to get one wrong.

mod any;

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::PolicyDocument;
use crate::policy::*;

fn parse(text: &str) -> Result<PolicyDocument, PolicyError> {
    PolicyDocument::parse(text, Path::new("jar.toml"))
}

/// The message for a document, wherever it is refused.
fn refusal(text: &str) -> String {
    parse(text)
        .and_then(|document| document.resolve_with(|_| None))
        .expect_err(text)
        .to_string()
}

#[test]
fn empty_document_is_the_default_policy() {
    assert_eq!(parse("").unwrap().resolve().unwrap(), Policy::default());
    assert_eq!(
        PolicyDocument::builtin("default").unwrap().resolve().unwrap(),
        Policy::default()
    );
}

#[test]
fn every_key_is_read() {
    let text = r#"
        python = "3.12"
        venv = "/srv/env"
        system = false
        site_packages = true
        locks = false
        network = "loopback"
        mount = ["/var:/data:rw", { source = "/etc", target = "/conf" }]
        workdir = { source = "/var", target = "/w", mode = "read" }
        env = { A = "1" }
        timeout = 2.5
        memory = "512MB"
        cpus = 2
        cpu_seconds = 10
        pids = 64
        disk = 1048576
        inodes = 1_000
        open_files = 256
        file_size = "1M"
        output = "64K"
        require = "screened"
        require_layers = ["cgroup", "landlock"]
    "#;
    let policy = parse(text).unwrap().resolve().unwrap();
    let mount = |source: &str, target: &str, access| Mount {
        source: source.into(),
        target: target.into(),
        access,
    };
    let expected = Policy {
        python: Some("3.12".into()),
        venv: Some("/srv/env".into()),
        system: false,
        site_packages: true,
        locks: false,
        network: Network::Loopback,
        mounts: vec![
            mount("/var", "/data", Access::ReadWrite),
            mount("/etc", "/conf", Access::ReadOnly),
        ],
        workdir: Some(Workdir {
            source: "/var".into(),
            target: "/w".into(),
            mode: WorkdirMode::Read,
        }),
        env: [("A".to_owned(), "1".to_owned())].into(),
        limits: Limits {
            memory: 512 << 20,
            cpus: 2.0,
            cpu_seconds: Some(10.0),
            pids: 64,
            disk: 1 << 20,
            inodes: 1000,
            open_files: 256,
            file_size: Some(1 << 20),
            output: 64 << 10,
            timeout: Some(Duration::from_millis(2500)),
        },
        require: Require {
            tier: Tier::Screened,
            layers: vec![Layer::Cgroup, Layer::Landlock],
        },
    };
    assert_eq!(policy, expected);
}

#[test]
fn examples_and_defaults_of_the_reference_are_true() {
    for key in KEYS {
        parse(key.example).unwrap_or_else(|error| panic!("{}: {error}", key.example));
        // A default that is a value can be written, and changes nothing.
        let line = format!("{} = {}", key.name, key.default);
        if let Ok(document) = parse(&line) {
            assert_eq!(document.resolve().unwrap(), Policy::default(), "{line}");
        } else {
            assert!(
                ["python", "venv", "workdir", "profile"].contains(&key.name),
                "{line}"
            );
        }
    }
}

#[test]
fn manual_has_the_reference() {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/policy.md");
    let text = fs::read_to_string(manual).unwrap();
    assert!(
        text.contains(&reference()),
        "docs/reference/policy.md must have this table:\n{}",
        reference()
    );
    for name in ["strict", "data", "jupyter", "default"] {
        assert!(text.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn slips_are_named_with_their_line() {
    assert_eq!(
        refusal("\n\nmemroy = \"1G\""),
        "jar.toml:3: unknown key `memroy`; did you mean `memory`?"
    );
    assert_eq!(
        refusal("colour = 1"),
        "jar.toml:1: unknown key `colour`; `docs/reference/policy.md` lists the keys"
    );
    assert_eq!(
        refusal("[profile.ci]\npid = 1"),
        "jar.toml:2: unknown key `pid`; did you mean `pids`?"
    );
    assert_eq!(
        refusal("[profile.ci.profile.x]\n"),
        "jar.toml:1: unknown key `profile`; `docs/reference/policy.md` lists the keys"
    );
    assert_eq!(
        refusal("system = 1"),
        "jar.toml:1: `system` must be true or false, not integer; write for example system = false"
    );
    assert_eq!(
        refusal("profile = 1"),
        "jar.toml:1: `profile` must be a table, not integer; write for example [profile.ci]"
    );
    assert_eq!(
        refusal("mount = \"/a\""),
        "jar.toml:1: `mount` must be a list, not string; write for example mount = [\"/srv/data:/data:ro\"]"
    );
    assert!(refusal("memory = ").starts_with("jar.toml:1: not valid TOML: "));
    assert!(refusal("pids = 1\npids = 2").starts_with("jar.toml:2: not valid TOML: duplicate key"));
    assert_eq!(
        refusal("mount = [{ source = \"/a\", mode = \"rw\" }]"),
        "jar.toml:1: unknown key `mount.mode`; `docs/reference/policy.md` lists the keys"
    );
}

#[test]
fn values_out_of_range_are_named_with_an_example() {
    let expected = [
        (
            "memory = \"lots\"",
            "`memory` cannot be \"lots\": not a size; write for example memory = \"512M\"",
        ),
        (
            "memory = 0",
            "`memory` cannot be \"0\": too little to start in; write for example memory = \"512M\"",
        ),
        (
            "memory = -1",
            "`memory` cannot be -1: not a size; write for example memory = \"512M\"",
        ),
        (
            "memory = \"999T\"",
            "`memory` cannot be \"999T\": more than any host has; write for example memory = \"512M\"",
        ),
        (
            "pids = 0",
            "`pids` cannot be 0: too little to start in; write for example pids = 128",
        ),
        (
            "timeout = \"soon\"",
            "`timeout` cannot be \"soon\": not a duration; write for example timeout = \"30s\"",
        ),
        (
            "timeout = 0",
            "`timeout` cannot be \"0s\": shorter than a millisecond; write for example timeout = \"30s\"",
        ),
        (
            "network = \"all\"",
            "`network` cannot be \"all\": none, loopback or host; write for example network = \"loopback\"",
        ),
        (
            "require_layers = [\"wall\"]",
            "`require_layers` cannot be \"wall\": the layers are namespaces, root, privileges, seccomp, landlock, cgroup, rlimits, descriptors and clock; write for example require_layers = [\"cgroup\"]",
        ),
    ];
    for (text, message) in expected {
        assert_eq!(refusal(text), format!("jar.toml:1: {message}"));
    }
    for text in [
        "cpus = 0",
        "cpus = -1",
        "cpus = nan",
        "cpus = inf",
        "cpus = 1e9",
        "cpu_seconds = 0",
    ] {
        assert!(refusal(text).contains("not a number in range"), "{text}");
    }
    for text in [
        "timeout = \"9999d\"",
        "timeout = inf",
        "timeout = nan",
        "timeout = -1",
        "timeout = 0x10",
    ] {
        assert!(refusal(text).contains("`timeout`"), "{text}");
    }
}

#[test]
fn paths_and_variables_are_refused_where_they_stand() {
    let expected = [
        (
            "mount = [\"data\"]",
            "jar.toml:1: mount \"data\" is relative; write the whole path, from `/`",
        ),
        (
            "venv = \".venv\"",
            "jar.toml:1: venv \".venv\" is relative; write the whole path, from `/`",
        ),
        (
            "python = \"./python3\"",
            "jar.toml:1: python \"./python3\" is relative; write the whole path, from `/`",
        ),
        (
            "workdir = \".\"",
            "jar.toml:1: workdir \".\" is relative; write the whole path, from `/`",
        ),
        (
            "mount = [\"/no/such\"]",
            "mount \"/no/such\" does not exist on the host, or cannot be reached; make it first, or name another",
        ),
        (
            "mount = [\"/var:/proc\"]",
            "jar.toml:1: mount \"/proc\" is belljar's own place in the jar; choose another target, such as /data or /jar/data",
        ),
        (
            "mount = [\"/var:/a\", \"/etc:/a\"]",
            "mount \"/a\" is the target of two mounts; give one of them another target",
        ),
        (
            "draft = true",
            "`draft` needs a workdir, whose changes it lists or applies; add for example workdir = \"/home/me/project\"",
        ),
        (
            "env = { LD_PRELOAD = \"x\" }",
            "jar.toml:1: environment variable \"LD_PRELOAD\" is refused: it changes which code runs before the guest's own; leave it out",
        ),
        (
            "env = [\"HOME=/x\"]",
            "jar.toml:1: environment variable \"HOME\" is set by belljar itself, to a place in the jar; leave it out",
        ),
        (
            "env = [\"TOKEN\"]",
            "environment variable \"TOKEN\" is not set where belljar was started; write NAME=VALUE",
        ),
        (
            "env = [\"=x\"]",
            "jar.toml:1: environment variable \"\" is not a name; use letters, digits and `_`, no `=`, space or control character",
        ),
        (
            "env = { A = 1 }",
            "jar.toml:1: `env` must be a string, not integer; write for example env = { API_URL = \"http://127.0.0.1\" }",
        ),
    ];
    for (text, message) in expected {
        assert_eq!(refusal(text), message);
    }
}

#[test]
fn messages_obey_no_terminal() {
    for text in [
        "\"\\u001b]0;x\" = 1",
        "memory = \"\\u001b[2J\"",
        "mount = [\"/a\\u001bb\"]",
        "env = { \"\\u001b\" = \"\" }",
        "profile = { \"\\u001b\" = 1 }",
    ] {
        let message = refusal(text);
        assert!(!message.chars().any(char::is_control), "{message:?}");
    }
}

#[test]
fn name_alone_takes_the_callers_value_and_a_table_never_does() {
    let caller = |name: &str| (name == "TOKEN").then(|| "secret".to_owned());
    let policy = parse("env = [\"TOKEN\", \"A=b=c\"]")
        .unwrap()
        .resolve_with(caller)
        .unwrap();
    assert_eq!(policy.env["TOKEN"], "secret");
    assert_eq!(policy.env["A"], "b=c");
    assert!(parse("env = [\"PATH\"]").is_err(), "dangerous by name");
    let escape = parse("env = [\"TOKEN\"]")
        .unwrap()
        .resolve_with(|_| Some("\u{1b}".into()));
    assert!(matches!(
        escape,
        Err(PolicyError::Env {
            problem: EnvProblem::Control,
            ..
        })
    ));
}

#[test]
fn profile_lies_over_the_document_and_flags_over_both() {
    let document = parse("memory = \"2G\"\npids = 10\nmount = [\"/var:/a\"]\n[profile.ci]\nmemory = \"3G\"\nmount = [\"/etc:/b\"]\n").unwrap();
    let flags = PolicyDocument {
        limits: [("pids", Some(Amount::Whole(20)))].into(),
        ..PolicyDocument::default()
    };
    let policy = document
        .clone()
        .profile("ci")
        .unwrap()
        .merge(flags)
        .resolve()
        .unwrap();
    assert_eq!(
        (policy.limits.memory, policy.limits.pids, policy.mounts.len()),
        (3 << 30, 20, 2)
    );
    let strict = document.clone().profile("strict").unwrap().resolve().unwrap();
    assert_eq!(
        (strict.limits.memory, strict.limits.pids, strict.system),
        (256 << 20, 16, false)
    );
    assert_eq!(
        document.profile("c").unwrap_err().to_string(),
        "there is no profile `c`; there are default, strict, data, jupyter, ci"
    );
}

#[test]
fn draft_and_apply_set_the_mode() {
    let mode = |text: &str| parse(text).unwrap().resolve().unwrap().workdir.unwrap().mode;
    assert_eq!(mode("workdir = \"/var\""), WorkdirMode::Write);
    assert_eq!(mode("workdir = \"/var\"\ndraft = true"), WorkdirMode::Draft);
    assert_eq!(
        mode("workdir = \"/var\"\ndraft = true\napply = true"),
        WorkdirMode::Apply
    );
    assert_eq!(
        mode("workdir = { source = \"/var\", mode = \"draft\" }"),
        WorkdirMode::Draft
    );
}

#[test]
fn builtin_profiles_hold_and_have_a_reason_on_every_line() {
    for name in ["strict", "data", "jupyter"] {
        PolicyDocument::builtin(name).unwrap().resolve().unwrap();
        let text = builtin::text(name).unwrap();
        for line in text.lines().filter(|line| !line.is_empty()) {
            assert!(line.contains("# "), "{name}: {line}");
        }
    }
}

#[test]
fn pyproject_is_read_at_its_table() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pyproject.toml");
    fs::write(&file, "[project]\nname = \"x\"\n[tool.belljar]\npids = 7\n").unwrap();
    let read = PolicyDocument::read(&file).unwrap();
    assert_eq!(read.limits["pids"], Some(Amount::Whole(7)));
    fs::write(&file, "[project]\nname = \"x\"\n").unwrap();
    assert!(matches!(
        PolicyDocument::read(&file),
        Err(PolicyError::NoTable { .. })
    ));
    fs::write(&file, "tool = { belljar = 1 }").unwrap();
    assert!(
        PolicyDocument::read(&file)
            .unwrap_err()
            .to_string()
            .ends_with("`tool.belljar` must be a table, not integer")
    );
}

#[test]
fn file_that_is_missing_huge_or_no_text_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jar.toml");
    assert!(matches!(
        PolicyDocument::read(&file),
        Err(PolicyError::Read { .. })
    ));
    fs::write(&file, " ".repeat(1 << 20)).unwrap();
    assert!(PolicyDocument::read(&file).is_ok(), "just fits");
    fs::write(&file, " ".repeat((1 << 20) + 1)).unwrap();
    assert!(matches!(
        PolicyDocument::read(&file),
        Err(PolicyError::TooLarge { .. })
    ));
    fs::write(&file, [0xff, 0xfe]).unwrap();
    assert!(matches!(
        PolicyDocument::read(&file),
        Err(PolicyError::Read { .. })
    ));
}

#[test]
fn depth_and_length_are_safe() {
    for open in ["[", "{a="] {
        assert!(parse(&format!("env = {}", open.repeat(200_000))).is_err());
    }
    assert!(parse(&format!("{} = 1", "a.".repeat(100_000) + "a")).is_err());
    assert!(
        parse(&format!("{} = 1", "a".repeat(500_000)))
            .unwrap_err()
            .to_string()
            .len()
            < 300
    );
}
