//! Attacks that need more than one guest, a host that is set up for them, or a judge that can count.

mod callers;
mod exhaust;
mod families;
mod neighbours;
mod plants;
mod storm;
mod sweep;
mod terminal;
mod unfit;

use crate::judge::Verdict;
use crate::policy;
use crate::seam::{self, Report, Request};
use crate::skips::Skips;
use crate::stage::{self, Scene, Stage, Who};
use crate::support::canary::Tree;
use crate::support::leaks;

/// One of them.
pub struct Special {
    pub name: &'static str,
    pub claim: &'static str,
    pub cases: &'static str,
    /// What is wrong, in words.
    play: fn(&Stage, Who) -> Result<Vec<String>, String>,
}

/// All of them.
pub const ALL: &[Special] = &[
    Special {
        name: "special/system_calls",
        claim: "Every call number gets exactly what the list says, and what it allows behaves as without a filter.",
        cases: "SC-01 SC-03 SC-05",
        play: sweep::play,
    },
    Special {
        name: "special/socket_families",
        claim: "Of all socket families, types and protocols only those of the list can be had, with and without a loopback.",
        cases: "NET-05 NET-06 NET-12",
        play: families::play,
    },
    Special {
        name: "special/neighbours",
        claim: "Two jars at once share no namespace, and neither sees, signals or reaches the other's processes, queues, shared memory or files.",
        cases: "NS-01 PS-06 IPC-01 IPC-02",
        play: neighbours::two,
    },
    Special {
        name: "special/descriptors_in_flight",
        claim: "A guest that keeps descriptors on their way, which the kernel counts for the whole user, does not keep the command line from starting another jar.",
        cases: "NET-09",
        play: neighbours::in_flight,
    },
    Special {
        name: "special/reach_in",
        claim: "A guest that listens on every address of its loopback is not reached from the host.",
        cases: "NET-10",
        play: neighbours::listens,
    },
    Special {
        name: "special/dead_warden",
        claim: "When the warden is killed, everything in the jar is gone.",
        cases: "PS-07",
        play: neighbours::dead_warden,
    },
    Special {
        name: "special/host_queues",
        claim: "System V segments and POSIX queues of the host are not there, even by their exact key and name.",
        cases: "IPC-01",
        play: plants::queues,
    },
    Special {
        name: "special/set_uid_program",
        claim: "A set-uid program that the host shows runs as the guest.",
        cases: "FS-13 PR-02",
        play: plants::set_uid,
    },
    Special {
        name: "special/planted_device",
        claim: "A device file in a folder that the policy shows cannot be opened.",
        cases: "FS-11",
        play: plants::device,
    },
    Special {
        name: "special/own_program",
        claim: "A script whose interpreter is /proc/self/exe does not get to run, or to hold, the host's own belljar.",
        cases: "FS-08",
        play: plants::own_program,
    },
    Special {
        name: "special/bad_mounts",
        claim: "A mount whose source is missing, dangling or a symlink loop ends in an error that names it, and no guest runs.",
        cases: "FS-15",
        play: plants::bad_mounts,
    },
    Special {
        name: "special/inherited_capabilities",
        claim: "A caller with inheritable and ambient capabilities hands none of them to the jar.",
        cases: "PR-01 PR-05",
        play: callers::capabilities,
    },
    Special {
        name: "special/closed_streams",
        claim: "A caller without standard streams gets the same jar, and no descriptor of ours takes their numbers.",
        cases: "FD-03",
        play: callers::closed_streams,
    },
    Special {
        name: "special/random_calls",
        claim: "Thousands of calls by chance leave the host with an outcome, no process and unchanged files.",
        cases: "SC-01 FS-16",
        play: storm::random,
    },
    Special {
        name: "special/crowd",
        claim: "The deadline holds against a crowd of busy processes, even where they could make init slow.",
        cases: "TO-03",
        play: storm::crowd,
    },
    Special {
        name: "special/log",
        claim: "However often a guest dies or is denied a call, the kernel's log stays short: denials are not written, deaths as rarely as anyone's.",
        cases: "SC-12 RS-13",
        play: exhaust::log,
    },
    Special {
        name: "special/clock",
        claim: "A host whose clock is set a day ahead and back ends a run neither early nor late.",
        cases: "TO-04",
        play: exhaust::clock,
    },
    Special {
        name: "special/kernel_memory",
        claim: "What the kernel keeps for a guest (semaphores, queues, what is in sockets, page tables) counts as its memory wherever a cgroup counts.",
        cases: "RS-01 RS-15",
        play: exhaust::kernel_memory,
    },
    Special {
        name: "special/terminal",
        claim: "A guest with a terminal has one of its own, sees no other, types into none, and takes few of those that all jars share.",
        cases: "TTY-01 TTY-02 RS-10",
        play: terminal::play,
    },
    Special {
        name: "special/odd_state",
        claim: "A guest has an ordinary rank, mask and memory layout, whatever its caller has, and callers that ignore SIGCHLD get outcomes.",
        cases: "PR-05 RS-05",
        play: callers::odd_state,
    },
    Special {
        name: "special/cold_only",
        claim: "What a template must not be shown, or share with the host, keeps a job off parked workers, and the outcome says so.",
        cases: "FK-10",
        play: unfit::play,
    },
    Special {
        name: "special/untrusted_checkout",
        claim: "Files in a checkout cannot loosen the jar that it runs in.",
        cases: "MC-02",
        play: policy::checkout,
    },
    Special {
        name: "special/refused_variables",
        claim: "Variables that change what a program loads are refused before anything runs.",
        cases: "ENV-03",
        play: policy::variables,
    },
];

/// Runs one, unless this host is known not to have what it needs.
pub fn run(stage: &Stage, skips: &Skips, special: &Special, who: Who) -> Verdict {
    // Without root there is nothing to set up, so nothing is played and no failure is thrown away.
    if let Some(reason) = skips.lacks_root(special.name) {
        return Verdict::Skipped(reason.to_owned());
    }
    Verdict::of(
        match ((special.play)(stage, who), skips.special(special.name, who)) {
            (Ok(wrong), None) => wrong.into_iter().chain(strays(stage)).collect(),
            (Err(error), None) => vec![error],
            (Err(_), Some(_)) => Vec::new(),
            (Ok(_), Some(_)) => vec!["skips.toml says that this cannot be run here, and it can".into()],
        },
    )
}

fn strays(stage: &Stage) -> Vec<String> {
    stage
        .strays()
        .iter()
        .map(|pid| format!("process {pid} is left behind"))
        .collect()
}

/// Everything that a guest said, and how it ended.
pub struct Run {
    pub seen: Vec<(String, String)>,
    pub report: Report,
}

impl Run {
    /// What one probe saw.
    pub fn saw(&self, probe: &str) -> Option<&str> {
        self.seen
            .iter()
            .find(|(name, _)| name == probe)
            .map(|(_, saw)| saw.as_str())
    }

    /// Holds one probe against what it must see.
    pub fn want(&self, probe: &str, wanted: &str) -> Option<String> {
        let saw = self.saw(probe).unwrap_or("nothing");
        (saw != wanted).then(|| format!("{probe}: saw `{saw}`, not `{wanted}` {}", self.end()))
    }

    fn end(&self) -> String {
        match (&self.report.outcome, &self.report.error) {
            (Some(outcome), _) => String::from_utf8_lossy(&outcome.stderr.head).trim().to_owned(),
            (None, error) => error.clone().unwrap_or_default(),
        }
    }
}

/// A run in a scene of its own, from start to end.
pub fn solo(
    stage: &Stage,
    who: Who,
    source: &str,
    (given, without): (&[&str], &[&str]),
    prefix: &[&str],
    prepare: impl FnOnce(&Scene, &mut Request) -> Result<(), String>,
) -> Result<Run, String> {
    let scene = stage.scene(who)?;
    let run = (|| {
        let mut request = request(&scene, source, given, without)?;
        prepare(&scene, &mut request)?;
        let canaries = || Tree::look(&scene.folder.join("secret"), true).map_err(|error| error.to_string());
        let before = canaries()?;
        let mut live = seam::start(stage, who, &request, prefix)?;
        let mut seen = Vec::new();
        live.read(&mut seen)?;
        let report = live.finish(stage)?;
        let wardens = report.others.iter().chain([&report.warden]);
        let left: Vec<String> = wardens.flat_map(|warden| leaks::groups(*warden)).collect();
        let cold = report.outcome.as_ref().and_then(|outcome| outcome.cold.as_ref());
        if let Some(cold) = cold.filter(|_| given.contains(&"parked worker")) {
            return Err(format!("it ran cold: {cold}"));
        }
        let changed = before.differs(&canaries()?);
        match (left.is_empty(), changed.is_empty()) {
            (true, true) => Ok(Run { seen, report }),
            (false, _) => Err(format!("left behind: {left:?}")),
            (_, false) => Err(format!("canaries were changed: {changed:?}")),
        }
    })();
    stage.clear(scene);
    run
}

pub fn request(scene: &Scene, source: &str, given: &[&str], without: &[&str]) -> Result<Request, String> {
    let own = |list: &[&str]| list.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
    stage::request(scene, source, &own(given), &own(without))
}
