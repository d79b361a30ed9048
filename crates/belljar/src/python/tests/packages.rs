//! Where packages of an interpreter itself are, and when they are among what it brings.

use std::process::Command;

use super::*;
use crate::python::{fitted, packages};

#[test]
fn every_place_that_is_there_is_found() {
    let stage = Stage::new();
    stage.install("opt/python3.12", 12, None);
    let found = || stage.find(Some("./opt/python3.12"), None).unwrap().packages;
    assert!(found().is_empty());
    let places = [
        "lib/python3/dist-packages",
        "lib/python3.12/dist-packages",
        "lib/python3.12/site-packages",
        "lib64/python3.12/site-packages",
        "local/lib/python3.12/dist-packages",
    ]
    .map(|place| stage.at("opt/python3.12").join(place));
    places.iter().for_each(|place| fs::create_dir_all(place).unwrap());
    // Another version's are not its own.
    fs::create_dir_all(stage.at("opt/python3.12/lib/python3.11/site-packages")).unwrap();
    assert_eq!(found(), places);
}

#[test]
fn links_are_followed_inside_the_installation_alone() {
    let stage = Stage::new();
    stage.install("opt/python3.12", 12, None);
    stage.write("home/.ssh/id_rsa", "secret", 0o600);
    stage.write("opt/python3.12/packages/six.py", "", 0o644);
    stage.link("opt/python3.12/lib64", "lib");
    stage.link("opt/python3.12/lib/python3.12/site-packages", "../../packages");
    stage.link("opt/python3.12/lib/python3.12/dist-packages", "@home/.ssh");
    stage.write("opt/python3.12/lib/python3/site-packages", "a file", 0o644);
    let found = stage.find(Some("./opt/python3.12"), None).unwrap();
    assert_eq!(found.packages, [stage.at("opt/python3.12/packages")]);
}

#[test]
fn virtualenv_says_whether_it_shares_them() {
    let stage = Stage::new();
    stage.install("opt/python3.12", 12, None);
    let site = stage.at("opt/python3.12/lib/python3.12/site-packages");
    fs::create_dir(&site).unwrap();
    stage.link("env/bin/python", "@opt/python3.12/bin/python3.12");
    for (text, shares) in [
        ("include-system-site-packages = true\n", true),
        ("Include-System-Site-Packages=TRUE\n", true),
        ("include-system-site-packages = false\n", false),
        ("include-system-site-packages = yes\n", false),
        ("", false),
    ] {
        stage.write("env/pyvenv.cfg", &format!("version = 3.12.1\n{text}"), 0o644);
        let found = stage.find(None, Some("env")).unwrap();
        assert_eq!(found.shares_packages, shares, "{text}");
        assert_eq!(found.packages, std::slice::from_ref(&site));
    }
}

#[test]
fn they_are_brought_along_where_they_lie_apart() {
    let stage = Stage::new();
    stage.install("home/.local", 12, None);
    let (inside, apart) = (
        stage.at("home/.local/lib/python3.12/site-packages"),
        stage.at("home/.local/lib64/python3.12/site-packages"),
    );
    for folder in [&inside, &apart] {
        fs::create_dir_all(folder).unwrap();
    }
    let found = stage.find(Some("./home/.local"), None).unwrap();
    assert_eq!(found.packages, [inside, apart.clone()]);
    for site_packages in [false, true] {
        for shares_packages in [false, true] {
            let policy = Policy {
                site_packages,
                ..Policy::default()
            };
            let given = Interpreter {
                shares_packages,
                ..found.clone()
            };
            let mounts = fitted(&policy, given, None).unwrap().mounts;
            assert_eq!(
                mounts.contains(&apart),
                site_packages || shares_packages,
                "{mounts:?}"
            );
        }
    }
}

#[test]
fn without_the_system_those_of_debian_are_brought_along() {
    let shared = Path::new("/usr/lib/python3/dist-packages");
    let Ok(found) = find(Some("/usr/bin/python3"), None) else {
        return;
    };
    if !shared.is_dir() || !found.packages.iter().any(|folder| folder == shared) {
        return;
    }
    for site_packages in [false, true] {
        let policy = Policy {
            system: false,
            site_packages,
            ..Policy::default()
        };
        let mounts = fitted(&policy, found.clone(), None).unwrap().mounts;
        assert_eq!(mounts.iter().any(|mount| mount == shared), site_packages);
    }
}

/// The interpreters of this machine look nowhere else.
#[test]
fn real_interpreters_agree() {
    let own = find(None, None).expect("this machine has a Python");
    for found in [Some(own), find(Some("/usr/bin/python3"), None).ok()]
        .into_iter()
        .flatten()
    {
        let code = "import os, site; print(*(os.path.realpath(p) for p in site.getsitepackages() if os.path.isdir(p)), sep='\\n')";
        let output = Command::new(&found.executable)
            .args(["-I", "-c", code])
            .output()
            .unwrap();
        for folder in String::from_utf8(output.stdout).unwrap().lines() {
            assert!(
                found.packages.iter().any(|known| known == Path::new(folder)),
                "{folder}: {found:?}"
            );
        }
        let system = packages::of_system();
        for folder in found.packages.iter().filter(|folder| folder.starts_with("/usr")) {
            assert!(system.contains(folder), "{folder:?} is not in {system:?}");
        }
    }
}
