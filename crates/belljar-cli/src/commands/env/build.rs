//! `belljar env build`: environments ahead of time, several at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use belljar::environment::{About, Environment, Wish};
use belljar::policy::Policy;
use belljar::requirement::Requirements;
use serde::Serialize;

use crate::args::Build;
use crate::dependencies;
use crate::exit;
use crate::failure::Failure;
use crate::printer::{Printer, Several};

/// What one environment shall hold, and what the set is called.
struct Set {
    name: String,
    wish: Wish,
}

/// One that is there now, or why it is not.
type Ended = Result<Environment, Failure>;

#[derive(Serialize)]
struct Built<'a> {
    environments: Vec<&'a About>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<NotBuilt<'a>>,
}

#[derive(Serialize)]
struct NotBuilt<'a> {
    set: &'a str,
    message: &'a str,
    hint: Option<&'a str>,
}

/// Builds every set; the exit code.
pub fn build(args: &Build, printer: Printer) -> Result<i32, Failure> {
    let sets = sets(args)?;
    if let [set] = sets.as_slice() {
        let environment = dependencies::build(&set.wish, printer)?;
        match printer.is_json() {
            true => printer.json(&Built {
                environments: vec![environment.about()],
                failed: Vec::new(),
            }),
            false => printer.built(environment.about()),
        }
        return Ok(0);
    }
    let ended = build_all(&sets, printer)?;
    let both = || sets.iter().map(|set| set.name.as_str()).zip(&ended);
    let failures = || both().filter_map(|(set, ended)| Some((set, ended.as_ref().err()?)));
    if printer.is_json() {
        printer.json(&Built {
            environments: ended.iter().flatten().map(Environment::about).collect(),
            failed: failures()
                .map(|(set, Failure { message, hint })| NotBuilt {
                    set,
                    message,
                    hint: hint.as_deref(),
                })
                .collect(),
        });
    } else {
        let abouts = both().map(|(set, ended)| (set, ended.as_ref().ok().map(Environment::about)));
        printer.built_all(&abouts.collect::<Vec<_>>());
        for (set, failure) in failures() {
            printer.failure(&Failure {
                message: format!("{set}: {}", failure.message),
                hint: failure.hint.clone(),
            });
        }
    }
    Ok(if ended.iter().any(Result::is_err) {
        exit::OWN_FAILURE
    } else {
        0
    })
}

/// What is asked for, checked before the first is built.
fn sets(args: &Build) -> Result<Vec<Set>, Failure> {
    let allow = dependencies::allow(&args.building);
    let group = args.building.group.as_deref();
    let mut named = Vec::new();
    if !args.with.is_empty() {
        let requirements = Requirements::from_list(&args.with, allow)?;
        named.push((dependencies::names(&requirements), requirements));
    }
    for path in args.requirements.iter().chain(&args.script) {
        named.push((
            path.display().to_string(),
            Requirements::read(path, group, allow)?,
        ));
    }
    if named.is_empty() {
        return Err(Failure::with_hint(
            "nothing to build",
            "name packages, such as `belljar env build pandas`, or a file with -r or --script",
        ));
    }
    let mut sets = Vec::with_capacity(named.len());
    for (name, requirements) in named {
        let mut policy = Policy {
            python: args.python.clone(),
            ..Policy::default()
        };
        let wish = Wish::for_policy(requirements, allow, args.building.refresh, &mut policy)?;
        sets.extend(wish.map(|wish| Set { name, wish }));
    }
    Ok(sets)
}

/// Builds at most as many at once as there are processors. One that cannot be built is no reason not to have the others. What is
/// built is in use until all are, so that none is taken away to make room for another.
fn build_all(sets: &[Set], printer: Printer) -> Result<Vec<Ended>, Failure> {
    let environments = dependencies::environments()?;
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(sets.len());
    let lock = |several: &Mutex<Several>, act: &mut dyn FnMut(&mut Several)| {
        act(&mut several.lock().unwrap_or_else(PoisonError::into_inner));
    };
    let (several, next) = (Mutex::new(Several::new(printer, sets.len())), AtomicUsize::new(0));
    let one = |set: &Set| -> Ended {
        let since = Instant::now();
        let mut begun = false;
        let built = environments.get(&set.wish, &mut |step| {
            begun = true;
            lock(&several, &mut |several| several.show(&set.name, &step));
        });
        let about = built.as_ref().ok().filter(|_| begun).map(Environment::about);
        lock(&several, &mut |several| {
            several.ended(&set.name, about, since.elapsed());
        });
        Ok(built?)
    };
    let mut ended: Vec<(usize, Ended)> = std::thread::scope(|scope| {
        let work = || {
            let numbers = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
            let mine = numbers.map_while(|number| Some((number, one(sets.get(number)?))));
            mine.collect::<Vec<_>>()
        };
        let crew: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = crew.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        joined.flatten().collect()
    });
    several
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .clear();
    ended.sort_unstable_by_key(|(number, _)| *number);
    Ok(ended.into_iter().map(|(_, ended)| ended).collect())
}
