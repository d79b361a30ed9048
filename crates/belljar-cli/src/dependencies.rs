//! From flags and a script's own header to an environment.

use std::io::Read;
use std::path::Path;
use std::time::Instant;

use belljar::client::own_binary;
use belljar::environment::{Checking, Environment, EnvironmentError, Environments, Progress, Wish};
use belljar::job::Program;
use belljar::policy::Policy;
use belljar::requirement::{Allow, Requirements};

use crate::args::{Building, Dependencies, Source};
use crate::failure::Failure;
use crate::printer::{Printer, Steps};

/// A header is at the top of a script; no more is read of one that the guest finds by itself.
const LARGEST: u64 = 1 << 20;

/// What beyond wheels of an index is allowed.
pub fn allow(building: &Building) -> Allow {
    Allow {
        builds: building.allow_builds,
        urls: building.allow_urls,
    }
}

/// The source of a script, where its header counts: code after `-c` has none.
pub fn script(source: &Source) -> Option<String> {
    let Source::File(path) = source else { return None };
    let path = Path::new(path);
    // A pipe can be read only once.
    path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut text = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(LARGEST).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// The source of a program that was read already.
pub fn read_script(program: &Program) -> Option<String> {
    match program {
        Program::Script { source, .. }
        | Program::Code {
            source,
            from_stdin: true,
        } => Some(String::from_utf8_lossy(source).into_owned()),
        _ => None,
    }
}

/// The environment that is asked for, built where it is not there yet; none where nothing is asked for.
pub fn environment(
    needs: &Dependencies,
    script: Option<String>,
    policy: &mut Policy,
    printer: Printer,
) -> Result<Option<Environment>, Failure> {
    match wish(needs, script, policy)? {
        Some(wish) => build(&wish, printer).map(Some),
        None => Ok(None),
    }
}

/// As [`environment`]; one that is there may still have to be compared with what it was when it was built.
pub fn environment_soon(
    needs: &Dependencies,
    script: Option<String>,
    policy: &mut Policy,
    printer: Printer,
) -> Result<Option<(Environment, Option<Checking>)>, Failure> {
    match wish(needs, script, policy)? {
        Some(wish) => {
            let all = environments()?;
            shown(&wish, printer, |tell| all.start(&wish, tell), |found| &found.0).map(Some)
        }
        None => Ok(None),
    }
}

/// As [`environment`], and builds nothing.
pub fn built(
    needs: &Dependencies,
    script: Option<String>,
    policy: &mut Policy,
) -> Result<Option<Environment>, Failure> {
    let Some(wish) = wish(needs, script, policy)? else {
        return Ok(None);
    };
    let found = environments()?.find(&wish)?;
    found.map(Some).ok_or_else(|| {
        Failure::with_hint(
            "the environment of this plan is not built yet",
            "build it with `belljar env build`, or run it once",
        )
    })
}

/// All environments of this user.
pub fn environments() -> Result<Environments, Failure> {
    Ok(Environments::of_this_user(Some(&own_binary()))?)
}

/// Finds or builds one, and shows how far it is.
pub fn build(wish: &Wish, printer: Printer) -> Result<Environment, Failure> {
    let all = environments()?;
    shown(
        wish,
        printer,
        |tell| all.get(wish, tell),
        |environment| environment,
    )
}

/// Shows how far something is that may have to build an environment.
fn shown<T>(
    wish: &Wish,
    printer: Printer,
    act: impl FnOnce(&mut dyn FnMut(Progress)) -> Result<T, EnvironmentError>,
    environment: impl Fn(&T) -> &Environment,
) -> Result<T, Failure> {
    let since = Instant::now();
    let mut steps = Steps::new(printer, &names(&wish.requirements));
    let mut begun = false;
    let built = act(&mut |progress: Progress| {
        begun = true;
        steps.show(&progress);
    });
    steps.clear();
    let built = built?;
    if begun {
        let about = environment(&built).about();
        steps.done(about.packages.len(), about.size, since.elapsed());
    }
    Ok(built)
}

/// Names of what is asked for, for people.
pub fn names(requirements: &Requirements) -> String {
    let names: Vec<String> = requirements.iter().map(|one| one.name().to_owned()).collect();
    names.join(", ")
}

/// What the flags and a header ask for; none where they ask for nothing. The interpreter that a header needs becomes the
/// policy's.
fn wish(needs: &Dependencies, script: Option<String>, policy: &mut Policy) -> Result<Option<Wish>, Failure> {
    let allow = allow(&needs.building);
    let mut requirements = Requirements::from_list(&needs.with, allow)?;
    for path in &needs.requirements {
        requirements = requirements.merge(Requirements::read(path, needs.building.group.as_deref(), allow)?);
    }
    if let Some(found) = script
        .map(|text| Requirements::script(&text, allow))
        .transpose()?
        .flatten()
    {
        requirements = requirements.merge(found);
    }
    Ok(Wish::for_policy(
        requirements,
        allow,
        needs.building.refresh,
        policy,
    )?)
}
