//! Virtualenvs: what they bring, and what they cannot.

use std::fs;

use super::Stage;
use crate::python::venv;

#[test]
fn virtualenv_brings_the_interpreter_below_and_the_links_between() {
    let stage = Stage::new();
    stage.install("uv/cpython-3.12.9-linux-x86_64-gnu", 12, Some(9));
    stage.link(
        "uv/cpython-3.12-linux-x86_64-gnu",
        "cpython-3.12.9-linux-x86_64-gnu",
    );
    stage.link(
        "env/bin/python",
        "@uv/cpython-3.12-linux-x86_64-gnu/bin/python3.12",
    );
    let home = stage.at("uv/cpython-3.12-linux-x86_64-gnu/bin");
    let config = format!(
        "home = {}\nimplementation = CPython\nuv = 0.9\nversion_info = 3.12.9\n",
        home.display()
    );
    stage.write("env/pyvenv.cfg", &config, 0o644);
    for found in [
        stage.find(None, Some("env")),
        stage.find(Some("./env/bin/python"), None),
        stage.find(Some("./env"), None),
    ] {
        let found = found.unwrap();
        assert_eq!(found.executable, stage.at("env/bin/python"));
        assert_eq!(
            found.base_executable,
            stage.at("uv/cpython-3.12.9-linux-x86_64-gnu/bin/python3.12")
        );
        assert_eq!(found.venv, Some(stage.at("env")));
        assert_eq!(
            found.mounts,
            [stage.at("env"), stage.at("uv/cpython-3.12.9-linux-x86_64-gnu")]
        );
        let links: Vec<_> = found
            .links
            .iter()
            .map(|link| (link.path.clone(), link.target.clone()))
            .collect();
        let alias = stage.at("uv/cpython-3.12-linux-x86_64-gnu");
        assert_eq!(links, [(alias, stage.at("uv/cpython-3.12.9-linux-x86_64-gnu"))]);
    }
    assert!(stage.find(Some("3.12"), Some("env")).is_ok());
    assert_eq!(
        stage.refusal(Some("3.11"), Some("env")),
        "virtualenv env is for Python 3.12.9, and python 3.11 was asked for; leave one of the two out"
    );
}

#[test]
fn virtualenv_on_path_counts_as_the_interpreter_below_it() {
    let mut stage = Stage::new();
    stage.install("opt/python3.12", 12, None);
    stage.link("env/bin/python3", "@opt/python3.12/bin/python3.12");
    stage.write("env/pyvenv.cfg", "version = 3.12.0\n", 0o644);
    stage.around.path = Some(stage.at("env/bin").into());
    let found = stage.find(None, None).unwrap();
    assert_eq!(
        (found.venv, found.mounts),
        (None, vec![stage.at("opt/python3.12")])
    );
}

#[test]
fn copied_virtualenv_is_resolved_by_home() {
    let stage = Stage::new();
    stage.install("opt/python3.11", 11, None);
    stage.write("env/bin/python", "\x7fELF", 0o755);
    let config = format!(
        "home = {}\nversion = 3.11.2\n",
        stage.at("opt/python3.11/bin").display()
    );
    stage.write("env/pyvenv.cfg", &config, 0o644);
    let found = stage.find(None, Some("env")).unwrap();
    assert_eq!(found.base_prefix, stage.at("opt/python3.11"));
}

#[test]
fn broken_virtualenvs_say_what_is_wrong() {
    let stage = Stage::new();
    stage.install("opt/python3.11", 11, None);
    stage.link("gone/bin/python", "/nowhere/bin/python3.12");
    stage.write("gone/pyvenv.cfg", "home = /nowhere/bin\n", 0o644);
    stage.write("empty/pyvenv.cfg", "", 0o644);
    stage.link("moved/bin/python", "@opt/python3.11/bin/python3");
    stage.write("moved/pyvenv.cfg", "version = 3.10.2\n", 0o644);
    stage.write("pypy/pyvenv.cfg", "implementation = PyPy\n", 0o644);
    let again = |name: &str| format!("make it again with `python3 -m venv --clear @/{name}`");
    assert_eq!(
        stage.refusal(None, Some("gone")),
        format!(
            "virtualenv @/gone is broken: the interpreter below it, /nowhere/bin/python3.12, is gone; {}",
            again("gone")
        )
    );
    assert_eq!(
        stage.refusal(None, Some("empty")),
        format!(
            "virtualenv @/empty is broken: it has no bin/python; {}",
            again("empty")
        )
    );
    assert_eq!(
        stage.refusal(None, Some("moved")),
        format!(
            "virtualenv @/moved is broken: it was made for Python 3.10, and @/opt/python3.11/bin/python3.11 is now 3.11; {}",
            again("moved")
        )
    );
    assert!(stage.refusal(None, Some("pypy")).contains("is PyPy, not CPython"));
}

/// A virtualenv of a stranger, with an installation of its own beside it.
#[test]
fn hostile_virtualenv_shows_nothing_but_itself() {
    let stage = Stage::new();
    stage.install("stranger/base", 11, None);
    stage.write("home/.ssh/id_rsa", "secret", 0o600);
    stage.write("home/os.py", "", 0o644);
    stage.link("stranger/base/lib/libpython3.11.so", "@home/.ssh");
    stage.link("stranger/base/lib/libpython3.11.so.1.0", "@home/.ssh/id_rsa");
    stage.write("stranger/env/bin/python", "\x7fELF", 0o755);
    let home = stage.at("stranger/base/bin");
    let config = format!("home = {}\nversion = 3.11.2\n", home.display());
    stage.write("stranger/env/pyvenv.cfg", &config, 0o644);
    let found = stage.find(None, Some("stranger/env")).unwrap();
    let expected = [
        stage.at("stranger/base/bin/python3.11"),
        stage.at("stranger/base/lib/python3.11"),
        stage.at("stranger/env"),
    ];
    assert_eq!(found.mounts, expected);

    fs::remove_dir_all(stage.at("stranger/base/lib/python3.11")).unwrap();
    stage.link("stranger/base/lib/python3.11", "@home");
    let refusal = stage.refusal(None, Some("stranger/env"));
    assert!(refusal.contains("outside its installation"), "{refusal}");
}

#[test]
fn config_of_every_maker_is_read() {
    let stdlib = "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11.2\nexecutable = /usr/bin/python3.11\n";
    let virtualenv = "Home=/usr/bin\nversion_info = 3.11.2.final.0\nbase-executable = /usr/bin/python3.11\nimplementation = CPython\nbroken line\n";
    for text in [stdlib, virtualenv] {
        let config = venv::parse(text);
        assert_eq!(config.home, Some("/usr/bin".into()));
        assert_eq!(config.executable, Some("/usr/bin/python3.11".into()));
        assert_eq!(config.version, Some((3, 11)));
    }
}
