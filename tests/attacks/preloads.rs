//! Attacks that are imported by a template: a virtualenv with the attack as a module, and the job that tells what it saw.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use serde_json::Value;

use crate::stage::Scene;

/// The module's name.
pub const NAME: &str = "hostile";
/// What every job does: the template's output goes nowhere, its memory comes along.
const JOB: &str = "\
import json
import sys

import hostile

for probe, saw in hostile.seen:
    print(json.dumps({'probe': probe, 'saw': saw}))
if hasattr(hostile, 'job'):
    hostile.job()
sys.stdout.flush()
";
/// The control without a process of its own: another job has run in it before.
const BEFORE: &str = "\
import contextlib
import io

import hostile

with contextlib.redirect_stdout(io.StringIO()):
    hostile.job()
";
/// The control without a jar of its own: the job runs where the template is.
const THERE: &str = "

if TEMPLATE:
    import contextlib as _contextlib
    import io as _io

    with _contextlib.redirect_stdout(_io.StringIO()) as _told:
        job()
    for _line in map(_json.loads, _told.getvalue().splitlines()):
        tell(_line['probe'], _line['saw'])
    del job
";
/// What every such attack begins with. Only a template has a descriptor 4 while it imports; a cold guest imports too.
const HEAD: &str = "\
import os as _os

TEMPLATE = _os.path.exists('/proc/self/fd/4')
seen = []


def tell(probe, saw):
    seen.append((probe, str(saw)))


";

/// The job, as a control has it.
pub fn job(without: &[String]) -> String {
    let shared = without.iter().any(|knob| knob == "own process");
    format!("{}{JOB}", if shared { BEFORE } else { "" })
}

/// Makes a virtualenv of the system's Python that has the attack in it, as a control has it.
pub fn venv(
    scene: &Scene,
    source: &str,
    facts: &BTreeMap<String, Value>,
    without: &[String],
) -> io::Result<PathBuf> {
    let there = without.iter().any(|knob| knob == "own jar");
    let tail = if there { THERE } else { "" };
    let python = fs::canonicalize("/usr/bin/python3")?;
    let version = python
        .file_name()
        .and_then(|name| name.to_str()?.strip_prefix("python"))
        .ok_or(io::ErrorKind::NotFound)?
        .to_owned();
    let venv = scene.folder.join("venv");
    let packages = venv.join(format!("lib/python{version}/site-packages"));
    fs::create_dir_all(&packages)?;
    fs::create_dir(venv.join("bin"))?;
    std::os::unix::fs::symlink(&python, venv.join("bin/python"))?;
    fs::write(
        venv.join("pyvenv.cfg"),
        format!("home = /usr/bin\ninclude-system-site-packages = false\nversion = {version}\n"),
    )?;
    let facts = serde_json::to_string(facts)?;
    fs::write(
        packages.join(format!("{NAME}.py")),
        format!("{HEAD}import json as _json\n\nFACTS = _json.loads({facts:?})\n{source}{tail}"),
    )?;
    Ok(venv)
}
