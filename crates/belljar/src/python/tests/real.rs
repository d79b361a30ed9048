//! The real interpreter of this machine, asked by starting it.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;

/// The interpreter of this machine says of itself what was read from files.
#[test]
fn real_interpreter_agrees() {
    let found = find(None, None).expect("this machine has a Python");
    let code = "import sys; print(sys.base_prefix, sys.version_info[0], sys.version_info[1], sys.version_info[2], sep='\\n')";
    let output = Command::new(&found.executable)
        .args(["-I", "-S", "-c", code])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(found.base_prefix, Path::new(lines[0]));
    assert_eq!(
        (found.version.major.to_string(), found.version.minor.to_string()),
        (lines[1].into(), lines[2].into())
    );
    assert!(
        found
            .version
            .patch
            .is_none_or(|patch| patch.to_string() == lines[3])
    );
}

/// Whatever the real interpreter maps when it imports its extension modules is among what it needs alone.
#[test]
fn real_interpreter_needs_nothing_else() {
    let found = find(None, None).expect("this machine has a Python");
    let needs = found.alone().unwrap();
    let code = "import json, ssl, sqlite3, zlib, hashlib, math, socket, select\n\
                try: import ctypes, lzma, bz2\n\
                except ImportError: pass\n\
                print(open('/proc/self/maps').read())";
    let output = Command::new(&found.executable)
        .args(["-I", "-c", code])
        .output()
        .unwrap();
    let maps = String::from_utf8(output.stdout).unwrap();
    let mapped: Vec<&str> = maps
        .lines()
        .filter_map(|line| line.split_once('/').map(|_| &line[line.find('/').unwrap()..]))
        .collect();
    assert!(
        mapped
            .iter()
            .any(|path| path.contains("libc.so.6") || path.contains("libc-")),
        "{mapped:?}"
    );
    for path in mapped
        .iter()
        .filter(|path| !path.contains("/locale/") && !path.contains("gconv"))
    {
        assert!(
            needs
                .mounts
                .iter()
                .any(|mount| Path::new(path).starts_with(mount)),
            "{path} is not in {needs:?}"
        );
    }
    assert!(
        !needs
            .mounts
            .iter()
            .any(|mount| mount == Path::new("/usr") || mount == Path::new("/usr/lib"))
    );
}

/// A virtualenv that the real interpreter made says of itself what was read from its files.
#[test]
fn real_virtualenv_agrees() {
    let base = find(None, None).expect("this machine has a Python");
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (name, how) in [("linked", "--symlinks"), ("copied", "--copies")] {
        let venv = root.join(name);
        let made = Command::new(&base.executable)
            .args(["-I", "-m", "venv", "--without-pip", how])
            .arg(&venv)
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let found = find(None, Some(&venv)).unwrap();
        let code = "import sys; print(sys.prefix, sys.base_prefix, sep='\\n')";
        let output = Command::new(&found.executable)
            .args(["-I", "-c", code])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let prefixes = [found.prefix, found.base_prefix].map(|prefix| prefix.display().to_string());
        assert_eq!(text.lines().collect::<Vec<_>>(), prefixes, "{how}");
        assert_eq!(found.base_executable, base.base_executable);
        assert!(found.mounts.contains(&venv), "{:?}", found.mounts);
    }
}

#[test]
fn own_program_names_its_libraries() {
    let elf = elf::parse(&fs::read("/proc/self/exe").unwrap()).unwrap();
    assert!(elf.needed.iter().any(|name| name == "libc.so.6"), "{elf:?}");
    assert!(elf.loader.unwrap().contains("/ld-"));
}
