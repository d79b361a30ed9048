use std::fs;
use std::os::unix::fs::symlink;

use super::*;

/// A project with these files and links; a link is `name -> target`.
fn project(names: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    for name in names {
        let (name, target) = name.split_once(" -> ").unwrap_or((name, ""));
        let path = top.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match (target, name.ends_with('/')) {
            ("", true) => fs::create_dir_all(path).unwrap(),
            ("", false) => fs::write(path, "x").unwrap(),
            (target, _) => symlink(target.replace("TOP", top.to_str().unwrap()), path).unwrap(),
        }
    }
    (dir, top)
}

#[track_caller]
fn keeps(top: &Path, expected: &[&str]) {
    let found = obeyed(&[top]);
    let places = found.places(top);
    assert_eq!(
        places,
        expected.iter().map(Path::new).collect::<Vec<_>>(),
        "{found:?}"
    );
}

#[test]
fn what_is_plain_is_not_kept() {
    let (_dir, top) = project(&["a/b", "link -> a/b", "src/main.py", "git/config"]);
    keeps(&top, &[]);
    assert_eq!(obeyed(&[&top]), Obeyed::default());
    assert_eq!(obeyed(&[]), Obeyed::default());
}

#[test]
fn links_are_kept_with_every_link_on_the_way_and_the_end() {
    let (_dir, top) = project(&[
        "envs/dev",
        "one -> two",
        "two -> envs/dev",
        ".envrc -> one",
        "conf/vscode/tasks.json",
        "to -> TOP/conf",
        ".vscode -> to/vscode",
        ".idea -> missing/idea",
        ".claude -> .",
        ".zed -> .zed",
        ".fleet -> /usr",
        "sub/.cursor -> ../conf2",
        "conf2/x",
    ]);
    let expected = [
        ".claude",
        ".envrc",
        ".fleet",
        ".idea",
        ".vscode",
        "conf/vscode",
        "conf2",
        "envs/dev",
        "missing/idea",
        "one",
        "sub/.cursor",
        "to",
        "two",
    ];
    keeps(&top, &expected);
    let found = obeyed(&[&top]);
    assert_eq!(found.notes.keys().collect::<Vec<_>>(), [".claude"]);
    assert_eq!(found.reason_in(&top, b"envs/dev"), Some(".envrc leads to it"));
    assert_eq!(
        found.reason_in(&top, b"conf/vscode/new"),
        Some(".vscode leads to it")
    );
    assert_eq!(found.reason_in(&top, b"conf/other"), None);
}

#[test]
fn folders_of_packages_are_not_searched() {
    let (_dir, top) = project(&[
        "node_modules/a/.vscode/x",
        "deep/er/.vscode/x",
        ".envrc -> node_modules/e",
        "node_modules/e",
    ]);
    keeps(&top, &[".envrc", "deep/er/.vscode", "node_modules/e"]);
}

#[test]
fn what_a_repository_names_is_kept() {
    let (_dir, top) = project(&[
        ".git",
        "store/git/config",
        "hooks/pre-commit",
        "more/settings",
        "tools/fsmonitor",
        "tools/plain",
        "lib/.git/hooks -> ../../lib-hooks",
        "lib-hooks/post-merge -> ../scripts/post-merge",
        "scripts/post-merge",
        "scripts/plain",
    ]);
    fs::write(top.join(".git"), "gitdir: store/git\n").unwrap();
    let config = "[core]\n\thooksPath = hooks\n\tfsmonitor = ./tools/fsmonitor -x\n[include]\n\tpath = ../../more/settings\n[user]\n name = tools/none\n";
    fs::write(top.join("store/git/config"), config).unwrap();
    fs::write(top.join("more/settings"), "[includeIf \"x\"]\npath = ../third\n").unwrap();
    let expected = [
        ".git",
        "hooks",
        "lib/.git",
        "lib-hooks",
        "more/settings",
        "scripts/post-merge",
        "store/git",
        "third",
        "tools/fsmonitor",
    ];
    keeps(&top, &expected);
}

#[test]
fn what_lies_around_the_folder_may_lead_into_it() {
    let (_dir, top) = project(&[
        "in/hooks/x",
        "in/envs/dev",
        ".envrc -> in/envs/dev",
        ".git/config",
        ".vscode/x",
    ]);
    fs::write(top.join(".git/config"), "[core]\nhooksPath = in/hooks\n").unwrap();
    keeps(&top.join("in"), &["envs/dev", "hooks"]);
    // Named itself, it is meant.
    keeps(&top.join(".vscode"), &[]);
}

#[test]
fn other_names_of_a_file_are_kept() {
    let (_dir, top) = project(&[".envrc", "sub/.git/config", "sub/.git/objects/a", "d/plain"]);
    for (from, to) in [
        (".envrc", "same"),
        ("sub/.git/config", "d/config"),
        ("sub/.git/objects/a", "d/a"),
        ("d/plain", "d/two"),
    ] {
        fs::hard_link(top.join(from), top.join(to)).unwrap();
    }
    keeps(&top, &[".envrc", "d/config", "same", "sub/.git"]);
}

#[test]
fn names_at_the_top_are_found_in_a_flood() {
    let (_dir, top) = project(&["sub/.envrc"]);
    let mut search = Search {
        folders: &[&top],
        found: Obeyed::default(),
        todo: Vec::new(),
        linked: HashSet::new(),
        names: 10,
    };
    for number in 0..100 {
        fs::write(top.join(format!("{number}")), "").unwrap();
    }
    fs::write(top.join(".envrc"), "").unwrap();
    search.top(&top);
    assert_eq!(search.found.places(&top), [Path::new(".envrc")]);
    assert!(search.found.notes["."].contains("names"), "{:?}", search.found);
}
