//! The figures as a page.

use std::fmt::Write;

use super::Figures;
use super::contender::User;

/// The table of cold starts.
pub fn table(figures: &Figures) -> String {
    let mut text = String::from(
        "| what | started by | holds back | median | 95 % | against bare | against bubblewrap |\n\
         |---|---|---|---:|---:|---:|---:|\n",
    );
    for row in &figures.rows {
        let (name, user, holds) = (row.contender.name, row.contender.user, row.contender.holds);
        let line = match &row.result {
            Ok(sample) => {
                let median = sample.median();
                let against = |other: Option<f64>| {
                    other.map_or("–".into(), |other| format!("{:.2}×", median / other))
                };
                format!(
                    "| {name} | {} | {holds} | {median:.1} ms | {:.1} ms | {} | {} |",
                    user.name(),
                    sample.quantile(0.95),
                    against(median_of(figures, "bare interpreter", user)),
                    against(median_of(figures, "bubblewrap", user)),
                )
            }
            Err(reason) => format!(
                "| {name} | {} | {holds} | not available here: {} | | | |",
                user.name(),
                reason.replace('|', "\\|")
            ),
        };
        text.push_str(&line);
        text.push('\n');
    }
    for (user, sample) in &figures.deadlines {
        let _ = write!(
            text,
            "\nKill at the deadline, started by {}, {} runs with a timeout of 200 ms on a guest that ignores every signal and \
             catches every exception:\nthe command is over {:.1} ms after the deadline in the median, {:.1} ms at p99. \
             belljar's own start is in that figure.\n",
            user.name(),
            sample.len(),
            sample.median(),
            sample.quantile(0.99),
        );
    }
    text
}

/// The median of a contender, if it ran.
pub fn median_of(figures: &Figures, name: &str, user: User) -> Option<f64> {
    let row = figures
        .rows
        .iter()
        .find(|row| row.contender.name == name && row.contender.user == user)?;
    row.result.as_ref().ok().map(super::Sample::median)
}

/// The whole page.
pub fn page(figures: &Figures) -> String {
    format!(
        "# Cold start\n\n\
         Written by `make bench`. Every contender runs `{} -c 'print(1)'` with the variables that a guest has, {} times, in\n\
         turns: each round has one run of each, in an order that changes. A time is from the start of the\n\
         process to its end, measured by a small harness. Ratios travel between machines; milliseconds do not.\n\n\
         {}{}\n\n\
         ![Median cold start of each contender](bench.svg)\n\n\
         ## Figures\n\n{}\n\
         ## What the rows are\n\n\
         - **bare interpreter**: the same interpreter, flags and variables, no isolation at all.\n\
         - **belljar**: `belljar run --python … -c 'print(1)'`: namespaces, root, privileges, filter, Landlock, limits, deadline, outcome. Started\n  \
         by root the limits are a cgroup's; a plain user without a delegated cgroup gets rlimits. The guest's interpreter does not tidy up at its\n  \
         end, because here [nobody would notice](../decisions/0010-end-at-once.md). That saves 1.5 ms that the other rows spend.\n\
         - **belljar, tidied**: the same with a file left open, so that the interpreter tidies up completely.\n\
         - **bubblewrap**: all namespaces, /usr read-only, proc, dev, a tmpfs; no system-call filter, no limits, no deadline, no outcome.\n\
         - **firejail**: no profile, private home and devices, no network, its default deny list.\n\
         - **crun, runc, gVisor**: a bundle with the same /usr and three tmpfs. **podman**: the same root, without a network or cgroups.\n\n\
         ## Repeat it\n\n\
         ```sh\n\
         apt-get install bubblewrap firejail crun runc runsc podman   # as many of them as you like\n\
         make bench                                                   # this page, warm.md, package.md and environments.md\n\
         make neighbours                                              # neighbours.md\n\
         ```\n",
        figures.python.display(),
        figures.rounds,
        figures.machine.sentence("make bench"),
        spread(figures),
        table(figures),
    )
}

/// How well ratios are known on a machine that had other things to do.
fn spread(figures: &Figures) -> String {
    let bare = |user| median_of(figures, "bare interpreter", user);
    match (bare(User::Root), bare(User::Plain)) {
        (Some(root), Some(plain)) if figures.machine.is_busy() => format!(
            " The two bare rows run the same program and differ by {:.2}×: no ratio here is better known than that.",
            root.max(plain) / root.min(plain)
        ),
        _ => String::new(),
    }
}
