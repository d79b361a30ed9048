//! Native wheels from a virtualenv just work: numpy, pandas, matplotlib, requests, and a notebook that is executed.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use belljar::job::InputFile;
use belljar::outcome::Status;
use belljar::policy::Network;
use tempfile::TempDir;

use crate::glass::{code, expect, jar, program, stdout, told};
use crate::twice::{self, Who};

/// Where the virtualenv is kept between runs: beside the build, or, if others cannot reach that, with temporary files.
fn venv() -> PathBuf {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let reachable = built
        .ancestors()
        .all(|folder| fs::metadata(folder).is_ok_and(|meta| meta.mode() & 0o005 == 0o005));
    let mut hasher = DefaultHasher::new();
    include_str!("../requirements.txt").hash(&mut hasher);
    let folder = if reachable {
        built.to_path_buf()
    } else {
        std::env::temp_dir()
    };
    folder.join(format!("belljar-packages-{:016x}", hasher.finish()))
}

/// Makes the virtualenv unless it is there; `false` when the packages cannot be had.
fn prepare() -> bool {
    let venv = venv();
    let done = venv.join("complete");
    if done.exists() {
        return true;
    }
    let lock = File::create(venv.with_extension("lock")).expect("a lock");
    lock.lock().expect("the lock");
    if done.exists() {
        return true;
    }
    let _ = fs::remove_dir_all(&venv);
    let python = if Path::new("/usr/bin/python3").exists() {
        "/usr/bin/python3"
    } else {
        "python3"
    };
    let list = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/requirements.txt");
    let made = run(Command::new(python).args(["-m", "venv"]).arg(&venv))
        && run(Command::new(venv.join("bin/python")).args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--only-binary",
            ":all:",
            "-r",
            list,
        ]))
        && run(Command::new("chmod").args(["-R", "a+rX"]).arg(&venv));
    if made {
        File::create(&done).expect("a mark");
    }
    made
}

fn run(command: &mut Command) -> bool {
    let output = command.output();
    let ok = output.as_ref().is_ok_and(|output| output.status.success());
    if !ok {
        println!("{command:?}: {output:?}");
    }
    ok
}

/// As `both!`, with the virtualenv made first by whoever runs the tests.
macro_rules! packages {
    ($(fn $name:ident() $body:block)+) => { $(
        mod $name {
            use super::*;

            fn body(_: Who) $body

            #[test]
            fn as_root() {
                start(Who::Root, concat!(module_path!(), "::as_root"), body);
            }

            #[test]
            fn as_user() {
                start(Who::User, concat!(module_path!(), "::as_user"), body);
            }
        }
    )+ };
}

fn start(who: Who, name: &str, body: fn(Who)) {
    if twice::is_outer() && !prepare() {
        return crate::skips::skip("packages", name);
    }
    twice::run(who, name, body);
}

const NOTEBOOK: &str = r##"{"cells": [{"cell_type": "code", "execution_count": null, "id": "a", "metadata": {}, "outputs": [], "source": [
"%matplotlib inline\n", "import os\n", "import matplotlib.pyplot as plt\n", "plt.plot([1, 2, 3])\n", "plt.show()\n", "print(os.getcwd(), 6 * 7)"]}],
"metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}, "nbformat": 4, "nbformat_minor": 5}"##;

packages! {
    fn arrays_and_tables() {
        let source = "\
import numpy as np, pandas as pd, requests, sys
a = np.random.default_rng(0).normal(size=(400, 400))
assert np.allclose(np.linalg.inv(a) @ a, np.eye(400), atol=1e-6)
frame = pd.DataFrame({'k': ['a', 'b'] * 50, 'v': range(100)})
assert frame.groupby('k').v.sum().to_dict() == {'a': 2450, 'b': 2500}
frame.to_csv('out.csv', index=False); assert pd.read_csv('out.csv').equals(frame)
try: requests.get('http://example.com', timeout=2); print('reached')
except requests.exceptions.ConnectionError: print('no network')
assert sys.prefix != sys.base_prefix";
        let outcome = jar(|policy| policy.venv = Some(venv())).run_job(code(source)).expect("an outcome");
        expect(&outcome, Status::Returned);
        assert_eq!(stdout(&outcome), "no network\n");
        assert_eq!(outcome.changes.created, ["out.csv"], "nothing but what the script wrote");
        assert_eq!(outcome.limit, None, "{}", told(&outcome));
    }

    fn plot_is_collected() {
        let folder = TempDir::new().expect("a folder");
        let mut job = code("import matplotlib.pyplot as plt\nplt.plot([1, 4, 9]); plt.title('héllo'); plt.savefig('plot.png')");
        job.collect = Some(folder.path().into());
        let outcome = jar(|policy| policy.venv = Some(venv())).run_job(job).expect("an outcome");
        expect(&outcome, Status::Returned);
        assert_eq!(outcome.changes.created, ["plot.png"], "caches stay out of /jar");
        let plot = fs::read(folder.path().join("plot.png")).expect("the plot");
        assert!(plot.starts_with(b"\x89PNG\r\n\x1a\n") && plot.len() > 5000, "{} bytes", plot.len());
    }

    fn virtualenv_cannot_be_changed() {
        let source = "import sys, sysconfig\ntry: open(sysconfig.get_path('purelib') + '/x.pth', 'w'); print('wrote')\nexcept OSError as e: print(e.errno)";
        let outcome = jar(|policy| policy.venv = Some(venv())).run_job(code(source)).expect("an outcome");
        assert!(matches!(stdout(&outcome).as_str(), "30\n" | "13\n"), "{}", told(&outcome));
    }

    fn notebook_is_executed() {
        let folder = TempDir::new().expect("a folder");
        let mut job = program(&["jupyter", "nbconvert", "--to", "notebook", "--execute", "--output", "done.ipynb", "in.ipynb"]);
        job.files = vec![InputFile { path: "in.ipynb".into(), content: NOTEBOOK.into() }];
        job.collect = Some(folder.path().into());
        let jar = jar(|policy| {
            policy.venv = Some(venv());
            policy.network = Network::Loopback;
            policy.limits.timeout = Some(std::time::Duration::from_secs(90));
        });
        let outcome = jar.run_job(job).expect("an outcome");
        assert_eq!((outcome.status, outcome.exit_code), (Status::Exited, Some(0)), "{}", told(&outcome));
        assert_eq!(outcome.changes.created, ["done.ipynb"], "Jupyter's, IPython's and matplotlib's folders are elsewhere in the jar");
        let text = fs::read_to_string(folder.path().join("done.ipynb")).expect("the notebook");
        let notebook: serde_json::Value = serde_json::from_str(&text).expect("json");
        let outputs = notebook["cells"][0]["outputs"].as_array().expect("outputs");
        assert!(outputs.iter().any(|output| output["data"]["image/png"].as_str().is_some_and(|plot| plot.starts_with("iVBORw0KGgo"))), "no plot: {text}");
        assert!(outputs.iter().any(|output| output["text"].to_string().contains("/jar 42")), "{text}");
    }
}
