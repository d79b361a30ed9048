//! The jar's root: every step that puts something into it.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use belljar_linux::mount::{self, Attributes};
use rustix::fs::{Mode, OFlags};

use super::{Room, Sources};
use crate::files::{self, TrustClass};
use crate::job::Program;
use crate::plan::{HOME, RUNTIME, SCRIPT, Step};

/// Where the root is put together; any folder does, it is only ours to see.
const SITE: &str = "/tmp";
const SITE_WITHOUT_TMP: &str = "/proc";
/// Folders of the scratch tmpfs that are not the guest's to see.
const SCRATCH: &str = "/.scratch";
const LOWER: &str = "/.lower";
/// The skeleton holds folders, links and a few small files; the job's text comes on top.
const SKELETON_SIZE: u64 = 4 << 20;

/// The root while it is being put together.
pub(super) struct Root {
    site: PathBuf,
    sources: Sources,
    /// The draft's upper layer, once there is one.
    pub upper: Option<OwnedFd>,
}

impl Root {
    pub(super) fn new(sources: Sources) -> Self {
        let site = if Path::new(SITE).is_dir() {
            SITE
        } else {
            SITE_WITHOUT_TMP
        };
        Self {
            site: site.into(),
            sources,
            upper: None,
        }
    }

    /// Where a path of the jar is at the moment.
    fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.site.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Carries out one step; steps of other layers are not its business.
    pub(super) fn step(&mut self, position: usize, step: &Step, room: &Room<'_>) -> io::Result<()> {
        match step {
            Step::Root => self.begin(room),
            Step::Bind { target, .. } => self.attach(position, target),
            Step::Device { path } => self.attach(position, path),
            Step::Protect { target } => protect(&self.at(target)),
            Step::Overlay { target, .. } => self.draft(position, target, room),
            Step::Folder { path } => folder(&self.at(path)),
            Step::Symlink { path, target } => {
                let path = self.at(path);
                parents(&path)?;
                symlink(target, path)
            }
            Step::Text { path, content } => self.text(path, content.as_bytes()),
            Step::Proc => {
                folder(&self.at("/proc"))?;
                mount::proc(&self.at("/proc"))
            }
            Step::Mask { paths, read_only } => self.mask(paths, read_only),
            Step::Scratch { targets, .. } => self.scratch(targets, room),
            Step::Pivot => self.finish(room),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, room: &Room<'_>) -> io::Result<()> {
        let size = SKELETON_SIZE + job_bytes(room);
        let tree = mount::fresh(
            "tmpfs",
            &[("size", &size.to_string()), ("mode", "755")],
            Attributes::WRITE,
        )?;
        mount::attach(tree.as_fd(), &self.site)?;
        folder(&self.at("/dev"))?;
        self.job(room)?;
        self.scratch_space(room)
    }

    /// The tmpfs that holds everything the guest writes; its parts are shown later, once their places exist.
    fn scratch_space(&self, room: &Room<'_>) -> io::Result<()> {
        for step in room.plan.steps() {
            if let Step::Scratch { size, inodes, .. } = step {
                let options = [
                    ("size", size.to_string()),
                    ("nr_inodes", inodes.to_string()),
                    ("mode", "755".to_owned()),
                ];
                let options: Vec<(&str, &str)> = options
                    .iter()
                    .map(|(key, value)| (*key, value.as_str()))
                    .collect();
                let tree = mount::fresh("tmpfs", &options, Attributes::WRITE)?;
                let space = self.at(SCRATCH);
                folder(&space)?;
                mount::attach(tree.as_fd(), &space)?;
            }
        }
        Ok(())
    }

    fn attach(&mut self, position: usize, target: &Path) -> io::Result<()> {
        let tree = self.sources.remove(&position).ok_or(io::ErrorKind::NotFound)?;
        let target = self.at(target);
        let is_folder = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&tree)?.st_mode)
            == rustix::fs::FileType::Directory;
        if is_folder {
            folder(&target)?;
        } else {
            parents(&target)?;
            file(&target, b"", 0o444)?;
        }
        mount::attach(tree.as_fd(), &target)
    }

    fn draft(&mut self, position: usize, target: &Path, _room: &Room<'_>) -> io::Result<()> {
        self.attach_at(position, LOWER)?;
        let (upper, work) = (self.at(SCRATCH).join("upper"), self.at(SCRATCH).join("work"));
        folder(&upper)?;
        folder(&work)?;
        let place = self.at(target);
        folder(&place)?;
        let options = [
            ("lowerdir", self.at(LOWER)),
            ("upperdir", upper.clone()),
            ("workdir", work),
            ("userxattr", PathBuf::new()),
        ];
        let options: Vec<(&str, &str)> = options
            .iter()
            .map(|(key, path)| (*key, path.to_str().unwrap_or_default()))
            .collect();
        let tree = mount::fresh("overlay", &options, Attributes::WRITE)?;
        mount::attach(tree.as_fd(), &place)?;
        self.upper = Some(open_folder(&upper)?);
        detach(&self.at(LOWER))
    }

    fn attach_at(&mut self, position: usize, target: &str) -> io::Result<()> {
        self.attach(position, Path::new(target))
    }

    fn text(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let path = self.at(path);
        parents(&path)?;
        file(&path, content, 0o444)
    }

    /// The guest runtime and what it shall run.
    fn job(&self, room: &Room<'_>) -> io::Result<()> {
        let runtime = Path::new(RUNTIME);
        folder(&self.at(runtime))?;
        folder(&self.at(SCRIPT))?;
        for (name, content) in room.runtime {
            self.text(&runtime.join(name), content)?;
        }
        match &room.job.program {
            Program::Code { source, .. } => self.text(&runtime.join("job"), source),
            Program::Script { source, name } => self.text(&Path::new(SCRIPT).join(name), source),
            Program::Call { function, arguments } => {
                self.text(&runtime.join("job"), function.as_bytes())?;
                self.text(&runtime.join("args.json"), arguments)
            }
            _ => Ok(()),
        }
    }

    fn mask(&self, paths: &[PathBuf], read_only: &[PathBuf]) -> io::Result<()> {
        // Masks are parts of our own root: an empty file and an empty folder, never a path that the host chooses.
        let (nothing, nowhere) = (self.at("/run/belljar/nothing"), self.at("/run/belljar/nowhere"));
        file(&nothing, b"", 0o444)?;
        folder(&nowhere)?;
        for path in paths {
            let path = self.at(path);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => mount::bind(&nowhere, &path)?,
                Ok(found) if found.is_file() => mount::bind(&nothing, &path)?,
                _ => {}
            }
        }
        for path in read_only {
            let path = self.at(path);
            mount::bind(&path, &path)?;
            mount::lock(&path)?;
        }
        Ok(())
    }

    fn scratch(&self, targets: &[PathBuf], room: &Room<'_>) -> io::Result<()> {
        for (number, target) in targets.iter().enumerate() {
            let part = self.at(SCRATCH).join(number.to_string());
            fs::DirBuilder::new().mode(0o755).create(&part)?;
            let tree = mount::detach(&part, false)?;
            let shared_memory = target == Path::new("/dev/shm");
            mount::restrict(
                tree.as_fd(),
                Attributes {
                    no_exec: shared_memory,
                    ..Attributes::WRITE
                },
            )?;
            let target = self.at(target);
            folder(&target)?;
            mount::attach(tree.as_fd(), &target)?;
        }
        folder(&self.at(HOME))?;
        for input in &room.job.files {
            let path = self.at(room.plan.current_dir()).join(&input.path);
            parents(&path)?;
            file(&path, &input.content, 0o644)?;
        }
        detach(&self.at(SCRATCH))
    }

    fn finish(&mut self, room: &Room<'_>) -> io::Result<()> {
        if room.job.terminal.is_some() {
            let options = [("ptmxmode", "0666"), ("mode", "0620"), ("newinstance", "")];
            let terminals = mount::fresh(
                "devpts",
                &options,
                Attributes {
                    no_exec: true,
                    devices: true,
                    read_only: false,
                },
            )?;
            folder(&self.at("/dev/pts"))?;
            mount::attach(terminals.as_fd(), &self.at("/dev/pts"))?;
            symlink("pts/ptmx", self.at("/dev/ptmx"))?;
        }
        mount::pivot(&self.site)?;
        mount::lock(Path::new("/"))
    }
}

/// Makes the top-level entries of a folder read-only that tools on the host obey. Links are left alone: what they lead
/// to is not in the folder, or is there under its own name.
fn protect(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let obeyed = matches!(
            files::trust_class(entry.file_name().as_bytes()),
            TrustClass::Protected(_)
        );
        if obeyed && (kind.is_dir() || kind.is_file()) {
            let path = entry.path();
            mount::bind(&path, &path)?;
            mount::lock(&path)?;
        }
    }
    Ok(())
}

fn job_bytes(room: &Room<'_>) -> u64 {
    let program = match &room.job.program {
        Program::Code { source, .. } | Program::Script { source, .. } => source.len(),
        Program::Call { function, arguments } => function.len() + arguments.len(),
        _ => 0,
    };
    program as u64 * 2
}

fn folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o755).create(path)
}

fn parents(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), folder)
}

fn file(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)?;
    io::Write::write_all(&mut file, content)
}

/// Takes a helper mount out of sight; what was made from it stays.
fn detach(path: &Path) -> io::Result<()> {
    rustix::mount::unmount(path, rustix::mount::UnmountFlags::DETACH)?;
    fs::remove_dir(path)
}

/// A folder of the jar, for the warden to read when the jar is empty.
pub(super) fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(
        path,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW,
        Mode::empty(),
    )?)
}
