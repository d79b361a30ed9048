//! Why uv could not do it, in a line and a next step. uv writes for people too, but at length, and of flags that nobody
//! gave here.

mod said;
#[cfg(test)]
mod tests;

use rustix::process::Signal;

use super::EnvironmentError;
use super::limits::Clock;
use super::room::Ran;
use super::settings::without_secrets;
use crate::hint::{Hint, Setting};
use crate::outcome::{Limit, Status};
use said::Said;

/// Longest reason, in bytes.
const LONGEST: usize = 400;

const SPACE: &str = "free some space with `belljar env prune`, or set BELLJAR_CACHE_DIR";
const SMALLER: &str = "ask for fewer or smaller packages";
const DECEIT: &str = "ask for another version, and tell whoever runs the index";
const SETTINGS: &str =
    "check the network and the index settings (UV_DEFAULT_INDEX, pip.conf), then try again";

/// What its end means.
pub(super) fn of(ran: &Ran, clock: Clock) -> EnvironmentError {
    let ended = |what: &str, next: &'static str| EnvironmentError::Ended {
        what: what.to_owned(),
        next: next.into(),
    };
    if ran.full {
        return ended("it nearly filled the disk", SPACE);
    }
    match (ran.outcome.status, ran.outcome.limit) {
        (Status::TimedOut, _) => clock.over(),
        (Status::OutOfMemory, _) | (_, Some(Limit::Memory)) => {
            ended("it needed more than 2 GiB of memory", SMALLER)
        }
        (Status::Signalled, _) if ran.outcome.signal == Some(Signal::XFSZ.as_raw()) => {
            ended("a file of a package is larger than 4 GiB", SMALLER)
        }
        (Status::Signalled, _) => {
            let signal = ran.outcome.signal.unwrap_or_default();
            ended(&format!("uv died by signal {signal}"), "try again")
        }
        (Status::Cancelled, _) => ended("it was cancelled", "try again"),
        _ => {
            let (what, next) = explain(&ran.stderr);
            EnvironmentError::Refused { what, next }
        }
    }
}

/// What it said, as a reason and a next step.
fn explain(stderr: &str) -> (String, Hint) {
    let said = Said::parse(stderr);
    let (what, next) = [space, index, file, build, versions]
        .iter()
        .find_map(|known| known(&said))
        .unwrap_or_else(|| {
            let all = said.chain.join(": ");
            let why = if all.is_empty() { said.last() } else { &all };
            let what = format!("uv could not build the environment: {why}");
            (
                what,
                "the reason is uv's own; change the requirements, or the index settings".into(),
            )
        });
    (shorten(&without_secrets(&what)), next)
}

type Reason = Option<(String, Hint)>;

fn reason(what: impl Into<String>, next: impl Into<Hint>) -> Reason {
    Some((what.into(), next.into()))
}

fn space(said: &Said) -> Reason {
    let full = said.has("No space left") || said.has("Disk quota exceeded");
    full.then(|| ("the disk is full".into(), SPACE.into()))
}

/// The index cannot be reached, or does not let us in.
fn index(said: &Said) -> Reason {
    if let Some((before, _)) = said.around(" could not be queried due to a lack of valid authentication") {
        let url = before
            .rsplit_once('(')
            .map_or("the index", |(_, url)| url.trim_end_matches(')'));
        return reason(
            format!("the index {url} needs credentials, or other ones"),
            "give them in its URL, in a netrc, or as UV_INDEX_NAME_USERNAME and UV_INDEX_NAME_PASSWORD",
        );
    }
    let url = ["Failed to fetch: ", "error sending request for url ("];
    let url = url.iter().find_map(|sign| {
        said.around(sign)?
            .1
            .split([' ', ')', '`'])
            .find(|word| !word.is_empty())
    })?;
    if said.has("certificate") {
        return reason(
            format!(
                "this machine does not trust the certificate of {url}: {}",
                said.last()
            ),
            "name the file of its authority with SSL_CERT_FILE",
        );
    }
    if said.has("401 Unauthorized") || said.has("403 Forbidden") {
        return reason(
            format!("{url} denies access: {}", said.last()),
            "give credentials in the URL of the index, in a netrc, or as UV_INDEX_NAME_USERNAME and UV_INDEX_NAME_PASSWORD",
        );
    }
    if said.has("timed out") || said.has("timeout") {
        return reason(
            format!("{url} did not answer in time"),
            "try again, or allow more seconds with UV_HTTP_TIMEOUT",
        );
    }
    reason(format!("{url} cannot be fetched: {}", said.last()), SETTINGS)
}

/// A file did not come, or is not what it should be.
fn file(said: &Said) -> Reason {
    if let Some((_, hashes)) = said.around("Hash mismatch for `") {
        let package = said.package()?;
        let hash = |sign: &str| hashes.split_once(sign)?.1.split_whitespace().next();
        let (expected, computed) = (hash("Expected: ")?, hash("Computed: ")?);
        return reason(
            format!(
                "the index gave a file for {package} with the wrong hash: expected {expected}, got {computed}"
            ),
            Hint::from("choose versions again with ")
                .set(Setting::Refresh)
                .say(", and if that does not help do not trust that index"),
        );
    }
    if let Some((_, names)) = said.around("Package metadata name `") {
        let mut words = names.split('`');
        let (found, wanted) = (words.next()?, words.nth(1)?);
        return reason(
            format!("the package that the index offers as {wanted} is {found}"),
            DECEIT,
        );
    }
    // A build says this of its own package, and has more to tell.
    let package = said.package().filter(|_| !said.has("Failed to build"))?;
    if let Some((_, after)) = said.around("network timeout") {
        let seconds = after
            .split("current value: ")
            .nth(1)
            .and_then(|rest| rest.split(')').next());
        return reason(
            format!(
                "the file of {package} did not arrive in time ({})",
                seconds.unwrap_or("too slow")
            ),
            "try again, or allow more seconds with UV_HTTP_TIMEOUT",
        );
    }
    let broken = [
        "error decoding response body",
        "error reading a body",
        "connection closed",
        "Connection reset",
    ];
    if broken.iter().any(|sign| said.has(sign)) {
        return reason(
            format!("the download of {package} broke off: {}", said.last()),
            "try again",
        );
    }
    let wheel = [
        "Failed to extract archive",
        "The wheel is invalid",
        "Failed to install",
        "reserved name",
    ];
    if wheel.iter().any(|sign| said.has(sign)) {
        let cause = said.last().trim_start_matches("The wheel is invalid: ");
        return reason(
            format!("the wheel of {package} is damaged, or made to do harm: {cause}"),
            DECEIT,
        );
    }
    reason(format!("{package} cannot be fetched: {}", said.last()), SETTINGS)
}

fn build(said: &Said) -> Reason {
    let package = said.around("Failed to build `")?.1.split('`').next()?;
    let output = said.around("[stderr]").or_else(|| said.around("[stdout]"));
    let why = output.map_or(said.last(), |(_, output)| output.trim());
    // The end is where it says what is wrong.
    let start = why.len().saturating_sub(200);
    let start = (start..=why.len())
        .find(|start| why.is_char_boundary(*start))
        .unwrap_or(0);
    let cut = if start == 0 { "" } else { "\u{2026} " };
    reason(
        format!("{package} could not be built in its jar: {cut}{}", &why[start..]),
        "ask for a version that has a wheel, or install what it needs on the host",
    )
}

/// No versions fit together.
fn versions(said: &Said) -> Reason {
    let (_, text) = said.chain.iter().find_map(|line| line.split_once("ecause "))?;
    let subject = |sign: &str| {
        let (before, _) = text.split_once(sign)?;
        let clause = before.rsplit([',', '.']).next()?;
        clause
            .rsplit(" and ")
            .next()
            .map(|clause| clause.trim_start_matches(" And because ").trim())
    };
    if let Some(package) = subject(" was not found in the package registry") {
        let asker = text
            .split_once(" depend")
            .and_then(|(before, _)| before.rsplit([' ']).next());
        let asker = asker.map_or(String::new(), |asker| format!(", which {asker} needs"));
        return reason(
            format!("the index has no package {package}{asker}"),
            "check the spelling, and which indexes are asked (UV_DEFAULT_INDEX, UV_INDEX, pip.conf)",
        );
    }
    if let Some(package) = subject(" was not found in the cache") {
        return reason(
            format!("{package} was not fetched before, and UV_OFFLINE forbids to fetch it now"),
            "unset UV_OFFLINE",
        );
    }
    if let Some(package) = subject(" was not found in the provided package locations") {
        return reason(
            format!("there is no package {package} in the folders of find-links"),
            "check the spelling, and which folders are named",
        );
    }
    if let Some(package) = subject(" has no usable wheels").or_else(|| subject(" have no usable wheels")) {
        let package = package.trim_start_matches("all versions of ");
        return reason(
            format!("there is no wheel of {package}, only its source, and building that runs its code"),
            Hint::from("allow it, in a jar, with ").set(Setting::AllowBuilds),
        );
    }
    if let Some(package) =
        subject(" has no wheels with a matching ").or_else(|| subject(" have no wheels with a matching "))
    {
        let what = text.split(" wheels with a matching ").nth(1)?;
        let what = what
            .split([',', '('])
            .next()?
            .split(" and ")
            .next()?
            .trim()
            .trim_end_matches(" tag");
        return reason(
            format!("no wheel of {package} has the {what} of this interpreter"),
            other_python(),
        );
    }
    // `the current Python version (3.11.2) does not satisfy Python>=3.99 and lib==1 depends on Python>=3.99`
    if let (Some(package), Some((_, rest))) =
        (subject(" depends on Python"), text.split_once("Python version ("))
    {
        let (has, rest) = rest.split_once(')')?;
        let wanted = rest.split_once("satisfy Python")?.1.split([' ', ',']).next()?;
        return reason(
            format!("{package} needs Python {wanted}, and this is {has}"),
            other_python(),
        );
    }
    let clauses = clauses(text);
    if text.contains(" yanked") {
        return reason(clauses, "ask for another version, or for that one by its number");
    }
    if text.contains("Python version") {
        return reason(clauses, other_python());
    }
    reason(
        format!("no versions fit together: {clauses}"),
        "loosen the requirements",
    )
}

fn other_python() -> Hint {
    Hint::from("name another interpreter with ")
        .set(Setting::Python)
        .say(", or another version")
}

/// What it reasons from, without what it concludes.
fn clauses(text: &str) -> String {
    let mut kept = Vec::new();
    for sentence in text.split(". ") {
        let premise = sentence.split(", we can conclude").next().unwrap_or_default();
        let premise = premise
            .trim_start_matches("And because ")
            .trim_start_matches("Because ")
            .trim_end_matches('.');
        if !premise.is_empty() {
            kept.push(premise.trim());
        }
    }
    kept.join(", and ").replace("you require", "you ask for")
}

fn shorten(what: &str) -> String {
    let what = what.trim_end_matches('.');
    if what.len() <= LONGEST {
        return what.to_owned();
    }
    let end = (0..=LONGEST)
        .rev()
        .find(|end| what.is_char_boundary(*end))
        .unwrap_or(0);
    format!("{} \u{2026}", &what[..end])
}
