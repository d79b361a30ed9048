//! Modules that are not there.

use super::{HintContext, between};
use crate::hint::{Hint, Setting};
use crate::nearest::nearest;
use crate::pyerror::PythonError;
use crate::python::known::{distribution, standard_library};

pub(super) fn hint(error: &PythonError, context: &HintContext) -> Option<Hint> {
    if !error.is("ModuleNotFoundError") {
        return None;
    }
    let module = between(&error.message, "No module named '", "'")?;
    let top = module.split('.').next().unwrap_or(module);
    if error.message.ends_with("is not a package") {
        return Some(Hint::code(format!(
            "a file named {top}.py hides the package of that name; rename your file"
        )));
    }
    if top == "pip" || top == "ensurepip" {
        return Some(
            Hint::code("a jar cannot install packages")
                .say("; name what it needs with ")
                .set(Setting::Dependencies)
                .say(", and belljar installs it before the run"),
        );
    }
    if standard_library().any(|name| name == top) {
        let hint = Hint::code(format!(
            "{module} is not part of this interpreter's standard library"
        ));
        return Some(hint.say("; try another one with ").set(Setting::Python));
    }
    let wanted = imported(error, top).unwrap_or(module);
    let known = prefixes(wanted).find_map(distribution);
    let what = match known {
        Some(name) => format!("{top} comes from the distribution {name}"),
        None => format!("{top} is not installed here"),
    };
    let name = known.unwrap_or(top);
    let hint = match nearest(top, standard_library()).filter(|_| known.is_none()) {
        Some(near) => Hint::code(format!("did you mean the module {near}?")).say(" If not: "),
        None => Hint::code(what).say("; "),
    };
    Some(if context.venv {
        hint.say(format!("install {name} into the virtualenv that "))
            .set(Setting::Venv)
            .say(" names")
    } else {
        hint.say("add it with ")
            .set_to(Setting::Dependencies, [name])
            .say(", or show it with ")
            .set_to(Setting::Workdir, ["DIR"])
            .say(" if it is your own code")
    })
}

/// The whole dotted name that the failing line imports; the message has only the part that was not found.
fn imported<'a>(error: &'a PythonError, top: &str) -> Option<&'a str> {
    let source = error.place()?.source.as_deref()?;
    let rest = source
        .strip_prefix("import ")
        .or_else(|| source.strip_prefix("from "))?;
    let name = rest.split([' ', ',', ';']).next()?;
    (name.split('.').next() == Some(top)).then_some(name)
}

/// `a.b.c`, `a.b`, `a`
fn prefixes(module: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(module), |name| name.rsplit_once('.').map(|(front, _)| front))
}
