//! The jar's root: every step that puts something into it.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use belljar_linux::mount::{self, Attributes};
use rustix::fs::{Mode, OFlags};

use super::places::Places;
use super::{Room, Sources};
use crate::job::Program;
use crate::plan::{HOME, RUNTIME, SCRIPT, Step};

/// Where file systems are first put together; any folder does, and all of it goes with the host's root.
const SITE: &str = "/tmp";
const SITE_WITHOUT_TMP: &str = "/proc";
/// The skeleton holds folders, links and a few small files; the job's text comes on top.
const SKELETON_SIZE: u64 = 4 << 20;
/// The mode of a draft's folder when the guest first sees it.
pub(crate) const DRAFT_MODE: u32 = 0o755;

/// The root while it is being put together. It is entered at once, with the host's root still below our feet as the
/// current folder: from then on every path, and every link on the way, is resolved inside the jar.
pub(crate) struct Root {
    sources: Sources,
    /// The parts of the scratch tmpfs, in the order of its targets.
    parts: Vec<OwnedFd>,
    /// The overlay of a draft.
    overlay: Option<OwnedFd>,
    /// The draft's upper layer.
    pub upper: Option<OwnedFd>,
    /// Places in folders of the host.
    places: Places,
    /// Where packages are out of sight.
    hidden: Vec<PathBuf>,
    /// Whether the host's root is another's to detach.
    handed_over: bool,
}

impl Root {
    pub(super) fn new(sources: Sources) -> Self {
        Self {
            sources,
            parts: Vec::new(),
            overlay: None,
            upper: None,
            places: Places::default(),
            hidden: Vec::new(),
            handed_over: false,
        }
    }

    /// Hands the host's root over to another process of the jar, to be detached there. Not before /proc is mounted: the
    /// kernel allows that only as long as another one can be seen.
    pub(super) fn hand_over_host(&mut self) -> io::Result<OwnedFd> {
        let host = mount::step_off_host()?;
        self.handed_over = true;
        Ok(host)
    }

    /// Carries out one step of the root.
    pub(crate) fn step(&mut self, position: usize, step: &Step, room: &Room<'_>) -> io::Result<()> {
        match step {
            Step::Root => self.begin(room),
            Step::Bind { target, .. } | Step::Device { path: target } => {
                let tree = self.sources.trees.remove(&position);
                self.attach(tree, position, target, room)
            }
            Step::Overlay { target, .. } => {
                let overlay = self.overlay.take();
                self.attach(overlay, position, target, room)
            }
            Step::Protect { source, target } => {
                let places = room.obeyed.places(source);
                let mut paths = places.iter().map(|name| target.join(name));
                paths.try_for_each(|path| self.places.keep(position, &path, room))
            }
            Step::Keep { target } => self.places.keep(position, target, room),
            Step::Hide { target } => self.hide(target),
            Step::Folder { path } => folder(path),
            Step::Symlink { path, target } => place(path, || symlink(target, path)),
            Step::Text { path, content } => self.text(path, content.as_bytes()),
            Step::Tree { target, bytes, .. } => tree(target, *bytes, room),
            Step::Proc => {
                folder(Path::new("/proc"))?;
                mount::proc(Path::new("/proc"))
            }
            Step::Mask { paths, read_only } => {
                mask_sources()?;
                mask(paths, read_only)
            }
            Step::Scratch { targets, .. } => self.scratch(targets, room),
            Step::Pivot => self.finish(room),
            other => Err(other.left_undone()),
        }
    }

    fn begin(&mut self, room: &Room<'_>) -> io::Result<()> {
        let site = Path::new(if Path::new(SITE).is_dir() {
            SITE
        } else {
            SITE_WITHOUT_TMP
        });
        self.scratch_space(site, room)?;
        let size = (SKELETON_SIZE + job_bytes(room)).to_string();
        let tree = mount::fresh("tmpfs", &[("size", &size), ("mode", "755")], Attributes::WRITE)?;
        mount::attach(tree.as_fd(), site)?;
        mount::enter_root(site)?;
        folder(Path::new("/dev"))?;
        self.job(room)
    }

    /// The tmpfs that holds everything the guest writes, at the site, where the jar's root will cover it; what of it
    /// the guest sees is attached later.
    fn scratch_space(&mut self, site: &Path, room: &Room<'_>) -> io::Result<()> {
        let Some(scratch) = room.plan.scratch() else {
            return Ok(());
        };
        let (size, inodes) = (scratch.size.to_string(), scratch.inodes.to_string());
        let options = [
            ("size", size.as_str()),
            ("nr_inodes", inodes.as_str()),
            ("mode", "755"),
        ];
        let space = mount::fresh("tmpfs", &options, Attributes::WRITE)?;
        mount::attach(space.as_fd(), site)?;
        for (number, target) in scratch.targets.iter().enumerate() {
            let part = site.join(number.to_string());
            self.parts.push(scratch_part(&part, target)?);
        }
        room.plan
            .draft()
            .map_or(Ok(()), |position| self.draft(site, position))
    }

    /// The overlay of a draft: the host's folder below, the scratch tmpfs above.
    fn draft(&mut self, site: &Path, position: usize) -> io::Result<()> {
        let (lower, upper, work) = (site.join("lower"), site.join("upper"), site.join("work"));
        for path in [&lower, &upper, &work] {
            folder(path)?;
        }
        // Whatever the caller's mask: a change of it is then the guest's.
        fs::set_permissions(&upper, fs::Permissions::from_mode(DRAFT_MODE))?;
        let tree = self
            .sources
            .trees
            .remove(&position)
            .ok_or(io::ErrorKind::NotFound)?;
        mount::attach(tree.as_fd(), &lower)?;
        let options = [
            ("lowerdir", lower.to_str().unwrap_or_default()),
            ("upperdir", upper.to_str().unwrap_or_default()),
            ("workdir", work.to_str().unwrap_or_default()),
            ("userxattr", ""),
        ];
        self.overlay = Some(mount::fresh("overlay", &options, Attributes::WRITE)?);
        self.upper = Some(open_folder(&upper)?);
        Ok(())
    }

    fn attach(
        &mut self,
        tree: Option<OwnedFd>,
        position: usize,
        target: &Path,
        room: &Room<'_>,
    ) -> io::Result<()> {
        let tree = tree.ok_or(io::ErrorKind::NotFound)?;
        match self.places.find(position, target, room)? {
            Some(place) => mount::attach_over(tree.as_fd(), place.as_fd()),
            None => show(&tree, target),
        }
    }

    /// Puts an empty folder of our own over what is there. It is locked with the root: what the policy shows in it needs a
    /// place there first.
    fn hide(&mut self, target: &Path) -> io::Result<()> {
        let place = match mount::open_unlinked(target) {
            // Nothing is left to hide.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            place => place?,
        };
        let empty = Path::new(RUNTIME).join(format!("hidden{}", self.hidden.len()));
        folder(&empty)?;
        let tree = mount::detach(&empty, false)?;
        mount::attach_over(tree.as_fd(), place.as_fd())?;
        self.hidden.push(target.into());
        Ok(())
    }

    fn text(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        file(path, content, 0o444)
    }

    /// The guest runtime and what it shall run.
    fn job(&self, room: &Room<'_>) -> io::Result<()> {
        let runtime = Path::new(RUNTIME);
        folder(runtime)?;
        folder(Path::new(SCRIPT))?;
        for (name, content) in room.runtime {
            self.text(&runtime.join(&**name), content)?;
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

    fn scratch(&mut self, targets: &[PathBuf], room: &Room<'_>) -> io::Result<()> {
        for (tree, target) in self.parts.drain(..).zip(targets) {
            folder(target)?;
            mount::attach(tree.as_fd(), target)?;
        }
        folder(Path::new(HOME))?;
        for input in &room.job.files {
            let path = room.plan.current_dir().join(&input.path);
            file(&path, &input.content, 0o644)?;
        }
        Ok(())
    }

    fn finish(&mut self, room: &Room<'_>) -> io::Result<()> {
        if room.job.terminal.is_some() {
            // The kernel has 3,072 terminals for all that is not the host itself: one guest could take them all.
            let options = [
                ("ptmxmode", "0666"),
                ("mode", "0620"),
                ("max", "64"),
                ("newinstance", ""),
            ];
            let terminals = mount::fresh(
                "devpts",
                &options,
                Attributes {
                    no_exec: true,
                    devices: true,
                    read_only: false,
                },
            )?;
            folder(Path::new("/dev/pts"))?;
            mount::attach(terminals.as_fd(), Path::new("/dev/pts"))?;
            symlink("pts/ptmx", Path::new("/dev/ptmx"))?;
        }
        if !self.handed_over {
            mount::leave_host()?;
        }
        let hidden = self.hidden.iter().map(PathBuf::as_path);
        hidden.chain([Path::new("/")]).try_for_each(mount::lock)
    }
}

/// A file system of its own for the caller's source files, which is read-only once they are there.
fn tree(target: &Path, bytes: u64, room: &Room<'_>) -> io::Result<()> {
    let tree = room.job.tree.as_ref().ok_or(io::ErrorKind::NotFound)?;
    let size = (bytes + SKELETON_SIZE).to_string();
    let space = mount::fresh("tmpfs", &[("size", &size), ("mode", "755")], Attributes::WRITE)?;
    folder(target)?;
    mount::attach(space.as_fd(), target)?;
    for (name, content) in tree.each() {
        file(&target.join(name), &content.map_err(io::Error::other)?, 0o444)?;
    }
    mount::lock(target)
}

/// What masks are made of: an empty file and an empty folder of our own root, never a path that the host chooses.
const NOTHING: &str = "/run/belljar/nothing";
const NOWHERE: &str = "/run/belljar/nowhere";

/// Puts the empty file and the empty folder there, read-only: binds of a read-only mount are read-only.
pub(crate) fn mask_sources() -> io::Result<()> {
    file(Path::new(NOTHING), b"", 0o444)?;
    folder(Path::new(NOWHERE))?;
    for mask in [Path::new(NOTHING), Path::new(NOWHERE)] {
        mount::bind(mask, mask)?;
        mount::lock(mask)?;
    }
    Ok(())
}

/// Hides `paths` and makes `locked` read-only.
fn mask(paths: &[PathBuf], locked: &[PathBuf]) -> io::Result<()> {
    // First, because such a bind would cover the masks below it.
    read_only(locked)?;
    for path in paths {
        if let Some(cover) = Cover::of(path) {
            cover.put(path)?;
        }
    }
    Ok(())
}

/// Makes parts of the root read-only.
pub(crate) fn read_only(paths: &[PathBuf]) -> io::Result<()> {
    for path in paths {
        mount::bind(path, path)?;
        mount::lock(path)?;
    }
    Ok(())
}

/// What hides a path: something empty of the same kind.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cover {
    /// An empty folder.
    Folder,
    /// An empty file.
    File,
}

impl Cover {
    /// The one for a path; `None` when there is nothing to hide.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_dir() => Some(Self::Folder),
            Ok(found) if found.is_file() => Some(Self::File),
            _ => None,
        }
    }

    /// Hides the path.
    pub(crate) fn put(self, path: &Path) -> io::Result<()> {
        let source = match self {
            Self::Folder => NOWHERE,
            Self::File => NOTHING,
        };
        mount::bind(Path::new(source), path)
    }
}

fn job_bytes(room: &Room<'_>) -> u64 {
    let program = match &room.job.program {
        Program::Code { source, .. } | Program::Script { source, .. } => source.len(),
        Program::Call { function, arguments } => function.len() + arguments.len(),
        _ => 0,
    };
    program as u64 * 2
}

/// Tries first and makes the folders above only if they are missing: most are there, and each look costs every start.
pub(crate) fn place<T>(path: &Path, make: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match make() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            path.parent().map_or(Ok(()), folder)?;
            make()
        }
        done => done,
    }
}

/// Makes a place for a detached tree, and attaches it there.
pub(crate) fn show(tree: &OwnedFd, target: &Path) -> io::Result<()> {
    let is_folder = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(tree)?.st_mode)
        == rustix::fs::FileType::Directory;
    if is_folder {
        folder(target)?;
    } else {
        file(target, b"", 0o444)?;
    }
    mount::attach(tree.as_fd(), target)
}

/// A folder of the scratch space as a mount of its own, for `target`. Nothing runs from shared memory.
pub(crate) fn scratch_part(part: &Path, target: &Path) -> io::Result<OwnedFd> {
    folder(part)?;
    let tree = mount::detach(part, false)?;
    let no_exec = target == Path::new("/dev/shm");
    mount::restrict(
        tree.as_fd(),
        Attributes {
            no_exec,
            ..Attributes::WRITE
        },
    )?;
    Ok(tree)
}

pub(crate) fn folder(path: &Path) -> io::Result<()> {
    match place(path, || fs::DirBuilder::new().mode(0o755).create(path)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

fn file(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let mut file = place(path, || {
        fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(path)
    })?;
    if content.is_empty() {
        Ok(())
    } else {
        io::Write::write_all(&mut file, content)
    }
}

/// A folder of the jar, for the warden to read when the jar is empty.
pub(crate) fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(
        path,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW,
        Mode::empty(),
    )?)
}
