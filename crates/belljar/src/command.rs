//! A program in a jar, shaped like [`std::process::Command`].

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::client::Running;
use crate::error::Error;
use crate::job::{Collect, InputFile, Job, Program, Sink, Stdin};
use crate::outcome::{Captured, Outcome};
use crate::sandbox::Sandbox;

/// A program to run in a jar, and how.
///
/// ```
/// # fn main() -> Result<(), belljar::Error> {
/// let jar = belljar::Sandbox::builder().build()?;
/// let output = jar.command("ls").arg("/").output()?;
/// assert!(output.success());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Command {
    sandbox: Sandbox,
    program: Program,
    args: Vec<std::ffi::OsString>,
    env: Vec<(String, String)>,
    current_dir: Option<PathBuf>,
    files: Vec<InputFile>,
    collect: Option<Collect>,
    stdin: Option<Stdio>,
    stdout: Option<Stdio>,
    stderr: Option<Stdio>,
}

/// Where a standard stream of a [`Command`] goes.
#[derive(Debug)]
pub enum Stdio {
    /// Nowhere.
    Null,
    /// To or from the caller's own stream. The guest never holds it: bytes are copied and capped.
    Inherit,
    /// A pipe whose other end the [`Child`] has.
    Piped,
    /// To or from this descriptor; bytes are copied and capped as well.
    Fd(OwnedFd),
    /// From these bytes; for standard input.
    Bytes(Vec<u8>),
}

impl From<File> for Stdio {
    fn from(file: File) -> Self {
        Self::Fd(file.into())
    }
}

impl From<OwnedFd> for Stdio {
    fn from(fd: OwnedFd) -> Self {
        Self::Fd(fd)
    }
}

/// A program that runs in a jar. Dropping it ends the program.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::io::Write;
/// use belljar::{Sandbox, Stdio};
///
/// let jar = Sandbox::builder().build()?;
/// let mut child = jar.command("sort").stdin(Stdio::Piped).stdout(Stdio::Piped).spawn()?;
/// child.stdin.take().unwrap().write_all(b"b\na\n")?;
/// let outcome = child.wait_with_output()?;
/// assert_eq!(outcome.stdout.text(), "a\nb\n");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Child {
    /// The other end of a piped standard input; dropping it is end of file.
    pub stdin: Option<File>,
    /// The other end of a piped standard output.
    pub stdout: Option<File>,
    /// The other end of a piped standard error.
    pub stderr: Option<File>,
    running: Running,
}

impl Command {
    pub(crate) fn new(sandbox: Sandbox, program: Program) -> Self {
        Self {
            sandbox,
            program,
            args: Vec::new(),
            env: Vec::new(),
            current_dir: None,
            files: Vec::new(),
            collect: None,
            stdin: None,
            stdout: None,
            stderr: None,
        }
    }

    /// Adds one argument.
    pub fn arg(&mut self, arg: impl AsRef<OsStr>) -> &mut Self {
        self.args.push(arg.as_ref().to_os_string());
        self
    }

    /// Adds arguments.
    pub fn args<Arg: AsRef<OsStr>>(&mut self, args: impl IntoIterator<Item = Arg>) -> &mut Self {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_os_string()));
        self
    }

    /// Sets a variable for this run, on top of the policy's. Nothing is inherited.
    pub fn env(&mut self, name: impl Into<String>, value: impl Into<String>) -> &mut Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Starts in this folder of the jar.
    pub fn current_dir(&mut self, folder: impl Into<PathBuf>) -> &mut Self {
        self.current_dir = Some(folder.into());
        self
    }

    /// Puts a file into the fresh working directory before the start.
    pub fn file(&mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> &mut Self {
        self.files.push(InputFile {
            path: path.into(),
            content: content.into(),
        });
        self
    }

    /// Copies the files that the run leaves in a fresh working directory to this folder of the host.
    pub fn collect(&mut self, folder: impl AsRef<Path>) -> &mut Self {
        self.collect = Some(Collect::Folder(folder.as_ref().to_path_buf()));
        self
    }

    /// Where standard input comes from. By default it is empty.
    pub fn stdin(&mut self, stdio: impl Into<Stdio>) -> &mut Self {
        self.stdin = Some(stdio.into());
        self
    }

    /// Where standard output goes.
    pub fn stdout(&mut self, stdio: impl Into<Stdio>) -> &mut Self {
        self.stdout = Some(stdio.into());
        self
    }

    /// Where standard error goes.
    pub fn stderr(&mut self, stdio: impl Into<Stdio>) -> &mut Self {
        self.stderr = Some(stdio.into());
        self
    }

    /// Runs it to its end. Captures its output, unless you set another target.
    pub fn output(&mut self) -> Result<Outcome, Error> {
        let (job, ..) = self.job(Sink::Capture, Sink::Capture)?;
        self.sandbox.run_job(job)
    }

    /// Runs it to its end. Passes its output on to the caller's own streams, unless you set another target.
    pub fn status(&mut self) -> Result<Outcome, Error> {
        let (stdout, stderr) = (inherited(io::stdout())?, inherited(io::stderr())?);
        let (job, ..) = self.job(Sink::Forward(stdout), Sink::Forward(stderr))?;
        self.sandbox.run_job(job)
    }

    /// Starts it. Passes its output on to the caller's own streams, unless you set another target.
    pub fn spawn(&mut self) -> Result<Child, Error> {
        let (stdout, stderr) = (inherited(io::stdout())?, inherited(io::stderr())?);
        let (job, stdin, stdout, stderr) = self.job(Sink::Forward(stdout), Sink::Forward(stderr))?;
        Ok(Child {
            stdin,
            stdout,
            stderr,
            running: self.sandbox.spawn_job(job)?,
        })
    }

    /// The job, and our ends of the pipes that were asked for.
    #[allow(clippy::type_complexity)] // Three ends of three pipes, used in one place.
    fn job(
        &mut self,
        stdout: Sink,
        stderr: Sink,
    ) -> Result<(Job, Option<File>, Option<File>, Option<File>), Error> {
        crate::policy::check_env(
            self.env
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        )?;
        let mut job = Job::new(self.program.clone());
        job.args = self.args.clone();
        job.env = self.env.clone();
        job.current_dir = self.current_dir.clone();
        job.files = std::mem::take(&mut self.files);
        job.collect = self.collect.take();
        let (source, to_guest) = input(self.stdin.take())?;
        job.stdin = source;
        let (sink, from_stdout) = output(self.stdout.take(), stdout, inherited(io::stdout()))?;
        job.stdout = sink;
        let (sink, from_stderr) = output(self.stderr.take(), stderr, inherited(io::stderr()))?;
        job.stderr = sink;
        Ok((job, to_guest, from_stdout, from_stderr))
    }
}

fn inherited(stream: impl std::os::fd::AsFd) -> Result<OwnedFd, Error> {
    stream
        .as_fd()
        .try_clone_to_owned()
        .map_err(|error| Error::setup("take the caller's stream", error))
}

fn pipe() -> Result<(OwnedFd, OwnedFd), Error> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|error| Error::setup("make a pipe", error))
}

fn input(stdio: Option<Stdio>) -> Result<(Stdin, Option<File>), Error> {
    Ok(match stdio {
        None | Some(Stdio::Null) => (Stdin::Null, None),
        Some(Stdio::Bytes(bytes)) => (Stdin::Bytes(bytes), None),
        Some(Stdio::Fd(fd)) => (Stdin::Copy(fd), None),
        Some(Stdio::Inherit) => (Stdin::Copy(inherited(io::stdin())?), None),
        Some(Stdio::Piped) => {
            let (wardens, ours) = pipe()?;
            (Stdin::Copy(wardens), Some(ours.into()))
        }
    })
}

fn output(
    stdio: Option<Stdio>,
    default: Sink,
    caller: Result<OwnedFd, Error>,
) -> Result<(Sink, Option<File>), Error> {
    Ok(match stdio {
        None => (default, None),
        Some(Stdio::Null | Stdio::Bytes(_)) => (Sink::Null, None),
        Some(Stdio::Fd(fd)) => (Sink::Forward(fd), None),
        Some(Stdio::Inherit) => (Sink::Forward(caller?), None),
        Some(Stdio::Piped) => {
            let (ours, wardens) = pipe()?;
            (Sink::Forward(wardens), Some(ours.into()))
        }
    })
}

impl Child {
    /// The warden's process id.
    pub fn id(&self) -> u32 {
        self.running.warden_pid()
    }

    /// A handle with which another thread can end it.
    pub(crate) fn killer(&self) -> impl Fn() + Send + use<> {
        let reins = self.running.reins();
        move || {
            let _ = reins.as_ref().map(|mut socket| socket.write_all(b"k"));
        }
    }

    /// Ends the program and everything in its jar.
    pub fn kill(&self) {
        self.running.kill();
    }

    /// Sends it an interrupt, as Ctrl-C would.
    pub fn interrupt(&self) {
        self.running.interrupt();
    }

    /// Closes a piped standard input and waits for the outcome.
    pub fn wait(mut self) -> Result<Outcome, Error> {
        drop(self.stdin.take());
        self.running.wait()
    }

    /// Also reads what was piped, up to the policy's limit on output.
    pub fn wait_with_output(mut self) -> Result<Outcome, Error> {
        drop(self.stdin.take());
        let (stdout, stderr) = (self.stdout.take(), self.stderr.take());
        let reader = std::thread::spawn(move || read(stderr));
        let stdout = read(stdout);
        let stderr = reader.join().unwrap_or_default();
        let mut outcome = self.running.wait()?;
        outcome.stdout = Captured {
            head: stdout,
            ..outcome.stdout
        };
        outcome.stderr = Captured {
            head: stderr,
            ..outcome.stderr
        };
        Ok(outcome)
    }
}

fn read(file: Option<File>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut file) = file {
        // The warden caps what it lets through; a broken pipe leaves what came before it.
        let _ = file.read_to_end(&mut bytes);
    }
    bytes
}
