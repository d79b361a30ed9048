//! docs/reference/attacks.md, made from the attacks' own words.

use std::fmt::Write;

use crate::attack::Attack;
use crate::cases::Cases;
use crate::skips::Skips;
use crate::{runner, special};

const HEAD: &str = "# Attacks

What guests try, and what holds them. Each line is a file in `tests/attacks/`: plain Python that anyone can run with
`belljar run FILE`, and what it must observe. Every one runs as root and as a plain user, cold and on a parked worker, in a whole jar;
what the kernel still refuses in a control is listed in `tests/attacks/skips.toml`. `cargo test --test attacks` runs them all; `BLESS=1`
makes this page anew.

COUNT

A new attack is a new file. Comment lines at its top say `claim`, `case`, `class`, `given` (what both runs have), `observe` (what the
host looks at once the guest has printed `{\"ready\": true}`), `control: without ...` and, for each probe, `expect: PROBE = SEALED ->
CONTROL`; the code prints one line of JSON a probe. `!x` is anything but x; no arrow is the same in both runs. `left: nothing -> a process`
is for the host to see: what the guest started outlives the control. `expect warm` and
`expect user` hold for such runs alone. `tests/attacks/cases.toml` is the whole catalogue: what holds the cases that no attack names. With `given: preload` the file is a module that the template imports: it calls
`tell(PROBE, SAW)`, its function `job` runs in the worker, and `cold` is what the reason says for which no worker is forked from it.

Classes: Escape (runs or writes outside), HostLeak (reads what is the host's), Exfil (sends something out), Lateral (reaches
another jar), HostDoS and PeerDoS (harms the host or another jar). What a guest does to itself is its own affair.
";

const TAIL: &str = "
## Accepted

Known, and not counted as holes; SECURITY.md says the same.

- Jars share the host's page cache and inodes: a lock or a futex in a shared mapping on a file that two jars both see can be
  noticed by the other, and a lock makes others wait until the run ends. It carries bits between guests that want to talk; it
  reads nothing.
- A host folder that a policy shows also shows its listening sockets: connecting to one is not a write, and Linux before Landlock
  ABI 9 cannot tell it apart. Do not show folders with sockets in them.
- `/proc/self/mountinfo` names the host folders that the policy shows. `/proc/stat`, `/proc/meminfo`, `/proc/loadavg` and `/proc/uptime` are
  the host's: Python packages read them.
- What a guest prints is passed on as it is. A terminal acts on escape sequences in it; a pipe or `--json` does not.
- Started by a plain user, the guest keeps that user's supplementary groups, which only root can drop; the outcome says so.
- Timing, caches and other side channels of shared hardware.
";

/// How many have a control, and what to think of the others.
fn count(attacks: &[Attack]) -> String {
    let with = attacks.iter().filter(|attack| !attack.without.is_empty()).count();
    format!(
        "{with} of these {} attacks have a control: the same code in a jar without the protections in the last column, where it succeeds, which \
         shows that the probe can tell. (Without its `own jar` a job is played in the template itself, and without its `own process` after another \
         in the same one.) The other {} (`-`) have none: what holds there is the kernel itself or a part of belljar that cannot be taken out alone, \
         and some show what must work.\n",
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
        "\n## Played from the host\n\nThese need more than one guest, or a host that is set up for them.\n\n"
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
        "\n## Cold only\n\nNo parked worker can be given these, or be without them: attacks that need one run cold, and the cold control of \
         those without one stands.\n\n| what | why |\n|---|---|\n"
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
