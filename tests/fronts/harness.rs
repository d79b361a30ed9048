//! Starts the command with nothing of this machine's environment, in a folder of its own, as each kind of user.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

/// An account that exists everywhere and owns nothing.
const NOBODY: u32 = 65534;

/// Who starts belljar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Whoever runs the tests when that is root.
    Root,
    /// An unprivileged user without supplementary groups.
    User,
}

/// Everyone that the tests can be: root can be both; a plain user cannot become root.
pub fn everyone() -> &'static [Who] {
    if rustix::process::getuid().is_root() {
        &[Who::Root, Who::User]
    } else {
        &[Who::User]
    }
}

/// A folder to start in, and the way to start.
pub struct Place {
    who: Who,
    folder: TempDir,
}

/// What a run left.
#[derive(Debug)]
pub struct Ran {
    /// The exit code, or 1000 + N when a signal ended belljar itself.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Place {
    /// A fresh folder that this user may write to, and in which nobody can replace what is another's.
    pub fn new(who: Who) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o1777)).expect("open to all");
        Self { who, folder }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file that this user owns.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("a folder");
            self.own(parent);
        }
        std::fs::write(&path, text).expect("a file");
        self.own(&path);
        path
    }

    fn own(&self, path: &Path) {
        if self.who == Who::User && rustix::process::getuid().is_root() && path != self.path() {
            std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).expect("given away");
        }
    }

    /// A file's text.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The command, to be changed before it is started.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(args).current_dir(self.path()).env_clear();
        // The system's own interpreter: every user can read it.
        command.env("PATH", "/usr/bin:/bin").env("HOME", self.path());
        self.become_user(&mut command);
        command
    }

    /// Makes a command run as this place's user. std drops root's supplementary groups along with the user id.
    pub fn become_user(&self, command: &mut Command) {
        if self.who == Who::User && rustix::process::getuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
    }

    /// Runs with this standard input.
    pub fn run_with(&self, args: &[&str], input: &str) -> Ran {
        finish(&mut self.command(args), input)
    }

    /// Runs with an empty standard input.
    pub fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, "")
    }

    /// Text with this folder's name taken out.
    pub fn plain(&self, text: &str) -> String {
        text.replace(&*self.path().to_string_lossy(), "[folder]")
    }
}

/// Starts a command, feeds it, and waits for its end.
pub fn finish(command: &mut Command, input: &str) -> Ran {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("belljar starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A run that does not read its input may be gone already.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("belljar ends");
    Ran {
        code: output
            .status
            .code()
            .unwrap_or_else(|| 1000 + output.status.signal().unwrap_or(0)),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A copy of the binary where every user can reach it: the build folder may be readable by root alone. One copy serves
/// every test process, and takes the place of the last build's.
pub fn binary() -> &'static Path {
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    COPY.get_or_init(|| {
        let built = Path::new(env!("CARGO_BIN_EXE_belljar"));
        let mut hasher = DefaultHasher::new();
        (built, rustix::process::getuid().as_raw()).hash(&mut hasher);
        let folder = std::env::temp_dir().join(format!("belljar-fronts-{:016x}", hasher.finish()));
        std::fs::create_dir_all(&folder).expect("a folder for the copy");
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).expect("open to all");
        let meta = built.metadata().expect("the built binary");
        let path = folder.join(format!("belljar-{}-{}", meta.mtime(), meta.mtime_nsec()));
        if !path.exists() {
            // Only copies of other builds: another test process may be making this one now.
            for old in std::fs::read_dir(&folder).expect("the folder").flatten() {
                if old.file_name().to_string_lossy().starts_with("belljar-") && old.path() != path {
                    let _ = std::fs::remove_file(old.path());
                }
            }
            // Renamed into place whole: another test process may be looking for it now.
            let part = folder.join(format!("part-{}", std::process::id()));
            std::fs::copy(built, &part).expect("a copy");
            std::fs::rename(&part, &path).expect("in place");
        }
        path
    })
}
