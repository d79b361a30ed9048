//! docs/reference/syscalls.md: what a guest gets for every system call, from the list that the filter is compiled from.

#[path = "../../belljar-linux/build/list.rs"]
#[allow(
    dead_code,
    reason = "the reader is shared with the build script, which needs more of it"
)]
mod list;

use std::fmt::Write;

use anyhow::{Context, anyhow};
use list::{Case, ERRNOS, OPTIONS, Rule, Verdict};

use crate::repository;

const LIST: &str = "policies/syscalls.txt";
const NUMBERS: &str = "policies/syscall-numbers.txt";

/// The whole page.
pub fn whole() -> anyhow::Result<String> {
    let (text, numbers) = (repository::read(LIST)?, repository::read(NUMBERS)?);
    let known = list::numbers(&numbers).map_err(|error| anyhow!("{NUMBERS}: {error}"))?;
    let rules = list::rules(&text, &known).map_err(|error| anyhow!("{LIST}: {error}"))?;
    page(&text, &rules)
}

fn page(text: &str, rules: &[Rule]) -> anyhow::Result<String> {
    let allowed = rules.iter().filter(|rule| rule.verdict.is_none()).count();
    let by_case = rules
        .iter()
        .filter(|rule| rule.verdict.is_some() && rule.cases.iter().any(|case| case.verdict.is_none()))
        .count();
    let mut page = format!(
        "# System calls of a guest\n\n\
         Written by `make docs` from `{LIST}`, which the filter is compiled from. Of {} calls {allowed} are allowed, {by_case} in\n\
         some cases, and {} are denied. A number that is not listed gets ENOSYS; a foreign architecture ends the process. Where a\n\
         call has cases, the first that matches decides, and the call's own line decides when none does. `internet` is set by\n\
         `network = \"loopback\"` and `\"host\"`, `tty` by `belljar shell`, `affinity` where a cgroup counts processors.\n",
        rules.len(),
        rules.len() - allowed - by_case,
    );
    let mut rules = rules.iter();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("# -- ") {
            let title = title.trim_end_matches('-').trim();
            write!(
                page,
                "\n## {}{}\n\n| call | gets | because |\n|---|---|---|\n",
                title[..1].to_uppercase(),
                &title[1..]
            )?;
        } else if !line.is_empty() && !line.starts_with(['#', '-']) {
            let rule = rules.next().context("more lines than rules")?;
            row(&mut page, &format!("`{}`", rule.name), rule.verdict, &rule.reason)?;
            for case in &rule.cases {
                row(
                    &mut page,
                    &format!("… {}", condition(case)),
                    case.verdict,
                    &case.reason,
                )?;
            }
        }
    }
    Ok(page)
}

fn row(page: &mut String, what: &str, verdict: Verdict, reason: &str) -> std::fmt::Result {
    let verdict = match verdict {
        None => "allowed",
        Some(errno) => ERRNOS
            .iter()
            .find(|(_, number)| *number == errno)
            .map_or("denied", |(name, _)| name),
    };
    writeln!(page, "| {what} | {verdict} | {} |", reason.replace('|', "\\|"))
}

fn condition(case: &Case) -> String {
    let tests = case.tests.iter().map(|test| {
        if test.mask == u64::from(u32::MAX) {
            format!("arg{} = {:#x}", test.arg, test.value)
        } else {
            format!("arg{} & {:#x} = {:#x}", test.arg, test.mask, test.value)
        }
    });
    let mut words: Vec<String> = tests.collect();
    words.extend(case.option.map(|option| format!("with {}", OPTIONS[option])));
    words.join(", ")
}
