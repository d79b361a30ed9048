//! Files go in, files come out, and changes to a folder of the host are a draft that nobody has applied.

use belljar::policy::WorkdirMode;
use belljar::{Error, Sandbox};

pub(crate) fn main() -> Result<(), Error> {
    let folder = std::env::temp_dir().join(format!("belljar-example-{}", std::process::id()));
    let done = draft(&folder);
    // Gone, whatever happened.
    std::fs::remove_dir_all(&folder).expect("the folder that was made below");
    done
}

fn draft(folder: &std::path::Path) -> Result<(), Error> {
    std::fs::create_dir(folder).expect("a new folder");
    std::fs::write(folder.join("notes.txt"), "one\n").expect("a new file");

    let jar = Sandbox::builder().workdir(folder, WorkdirMode::Draft).build()?;
    let outcome = jar.run("open('notes.txt', 'a').write('two\\n'); open('new.txt', 'w').write('x')")?;
    assert!(outcome.success());
    assert_eq!(outcome.changes.created, ["new.txt"]);
    assert_eq!(outcome.changes.modified, ["notes.txt"]);
    // The folder is as it was.
    assert_eq!(
        std::fs::read_to_string(folder.join("notes.txt")).expect("the file"),
        "one\n"
    );
    assert!(!folder.join("new.txt").exists());

    // A file for one run, in a fresh /jar.
    let jar = Sandbox::builder().build()?;
    let outcome = jar
        .command("cat")
        .arg("in.txt")
        .file("in.txt", "hello")
        .output()?;
    assert_eq!(outcome.stdout.text(), "hello");
    Ok(())
}
