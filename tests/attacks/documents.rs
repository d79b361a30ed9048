//! docs/reference/attacks.md, made from the attacks' own words.

use std::fmt::Write;

use crate::attack::Attack;
use crate::cases::Cases;
use crate::skips::Skips;
use crate::{runner, special};

const HEAD: &str = "# Attacks

This page lists what hostile guests try, and what holds them. Each line is a file in
`tests/attacks/`: plain Python that you can run with `belljar run FILE`, with the results that it
must observe. Every attack runs in a whole jar, as root and as a plain user, cold and on a parked
worker. `cargo test --test attacks` runs them all. `BLESS=1` writes this page again.

COUNT

## Classes

- **Escape**: runs or writes outside the jar
- **HostLeak**: reads something of the host's
- **Exfil**: sends something out
- **Lateral**: reaches another jar
- **HostDoS**, **PeerDoS**: harms the host or another jar

What a guest does to itself is not an attack.

## How to write an attack

A new attack is a new file. Comment lines at its top describe it, and the code prints one line of
JSON for each probe.

| line | meaning |
|---|---|
| `claim`, `case`, `class` | what must hold, its cases in the catalogue, and its class |
| `given` | what both runs have |
| `observe` | what the host looks at after the guest has printed `{\"ready\": true}` |
| `control: without ...` | the protections that the control leaves out |
| `expect: PROBE = SEALED -> CONTROL` | what a probe sees in the jar and in the control. `!x` is anything but x. Without an arrow, both runs see the same |
| `left: nothing -> a process` | checked on the host: what the guest started outlives the control, and not the jar |
| `expect warm`, `expect user` | as `expect`, only for warm runs or for runs as a plain user |

With `given: preload`, the file is a module that the template imports. It calls `tell(PROBE, SAW)`,
and its function `job` runs in the worker. `cold` is then the reason for which belljar forks no
worker from that template.

`tests/attacks/cases.toml` is the whole catalogue; it also names what holds the cases without an
attack. `tests/attacks/skips.toml` lists what the kernel still refuses in a control.
";

const TAIL: &str = "
## Accepted

These are known, and do not count as holes. [SECURITY.md](../../SECURITY.md#known-and-accepted) says
the same.

- Jars share the host's page cache and inodes. If two jars see the same file, each can notice the
  other's lock on it, or a futex in a shared mapping of it. A lock makes others wait until the run
  ends. Two guests that want to talk can exchange bits this way; neither can read anything.
- A host folder that a policy shows also shows its listening sockets. Connecting to a socket is not
  a write, and Linux before Landlock ABI 9 cannot distinguish it. Do not show folders with sockets
  in them.
- `/proc/self/mountinfo` names the host folders that the policy shows. `/proc/stat`,
  `/proc/meminfo`, `/proc/loadavg` and `/proc/uptime` are the host's, because Python packages read
  them.
- What a guest prints is passed on unchanged. A terminal acts on escape sequences in it; a pipe or
  `--json` does not.
- If a plain user started the jar, the guest keeps that user's supplementary groups, which only root
  can drop. The outcome says so.
- Timing, caches and other side channels of shared hardware.
";

/// How many have a control, and what to think of the others.
fn count(attacks: &[Attack]) -> String {
    let with = attacks.iter().filter(|attack| !attack.without.is_empty()).count();
    format!(
        "{with} of these {} attacks have a control: the same code in a jar without the protections in the last\n\
         column, where the attack succeeds. The control shows that the probe can tell the difference. Without\n\
         its `own jar`, a job runs in the template itself; without its `own process`, it runs after another\n\
         job in the same one. The other {} attacks (`-`) have no control: the kernel itself holds them, or a\n\
         part of belljar that cannot be left out alone, and some show what must work.\n",
        attacks.len(),
        attacks.len() - with
    )
}

/// The page as it should be.
fn page(attacks: &[Attack], skips: &Skips, cases: &Cases) -> String {
    let mut page = HEAD.replace("COUNT\n", &count(attacks));
    let mut group = "";
    for attack in attacks {
        let (of, name) = attack.name.split_once('/').unwrap_or_default();
        if of != group {
            group = of;
            let _ = write!(
                page,
                "\n## {of}\n\n| attack | claim | cases | class | succeeds without |\n|---|---|---|---|---|\n"
            );
        }
        let without = if attack.without.is_empty() {
            "-".into()
        } else {
            attack.without.join(", ")
        };
        let cases = attack.cases.join(" ");
        let _ = writeln!(
            page,
            "| `{name}` | {} | {cases} | {} | {without} |",
            attack.claim, attack.class
        );
    }
    let _ = write!(
        page,
        "\n## Played from the host\n\nThese attacks need more than one guest, or a host that is prepared for them.\n\n"
    );
    let _ = write!(page, "| test | claim | cases |\n|---|---|---|\n");
    for special in special::ALL {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} |",
            special.name, special.claim, special.cases
        );
    }
    let _ = write!(
        page,
        "\n## Cold only\n\nA parked worker cannot have these, or cannot do without them. Attacks that need one run cold;\n\
         for controls without one, the cold control counts.\n\n| what | why |\n|---|---|\n"
    );
    for entry in skips.cold_only() {
        let _ = writeln!(page, "| {} | {} |", entry.what, entry.reason);
    }
    page + &cases.page() + TAIL
}

/// Whether the page in the repository is that.
pub fn check(attacks: &[Attack], skips: &Skips) -> Vec<String> {
    let path = runner::folder().join("../../docs/reference/attacks.md");
    let cases = match Cases::load() {
        Ok(cases) => cases,
        Err(error) => return vec![error],
    };
    let wrong = cases.check(attacks);
    if !wrong.is_empty() {
        return wrong;
    }
    let wanted = page(attacks, skips, &cases);
    if std::env::var_os("BLESS").is_some() {
        return std::fs::write(&path, wanted)
            .err()
            .map(|error| error.to_string())
            .into_iter()
            .collect();
    }
    match std::fs::read_to_string(&path) {
        Ok(found) if found == wanted => Vec::new(),
        _ => vec!["docs/reference/attacks.md is not what the attacks say; run with BLESS=1".into()],
    }
}
