//! Mounts and workdirs: how they are written, and where in the jar they may be.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use super::{Access, Mount, PathProblem, PlaceProblem, PolicyError, Workdir, WorkdirMode};

/// Where a workdir is unless told.
pub(super) const JAR: &str = "/jar";

/// Trees of the jar that are belljar's: neither they nor anything in them can be a target.
const TREES: [&str; 18] = [
    "/proc",
    "/sys",
    "/dev",
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/run/belljar",
    "/script",
    "/own",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/fonts",
    "/etc/pki",
    "/etc/ssl",
];
/// Single places that are belljar's: things may lie below, but not there.
const PLACES: [&str; 14] = [
    "/jar",
    "/tmp",
    "/etc/group",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/localtime",
    "/etc/machine-id",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/resolv.conf",
    "/etc/shadow",
];
/// Folders of the host where its services listen, so that a guest could talk to them; what lies in one can be shown.
const SERVICES: [&str; 3] = ["/run", "/var/run", "/run/user"];
/// Trees of the host that show the whole of it.
const HOST_TREES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Whether a path of the host can be mounted at the same place in a jar.
pub(crate) fn can_be_shown(path: &Path) -> bool {
    source("mount", path).is_ok() && target("mount", path, false).is_ok()
}

impl Mount {
    /// Reads `SRC[:DST][:ro|rw]`. A relative source starts from `base`, or is refused where there is none.
    pub fn parse(text: &str, base: Option<&Path>) -> Result<Self, PolicyError> {
        let (paths, access) = match text.rsplit_once(':') {
            Some((paths, "ro")) => (paths, Access::ReadOnly),
            Some((paths, "rw")) => (paths, Access::ReadWrite),
            // A path here would be absolute, so this is a misspelt access.
            Some((paths, last)) if paths.contains(':') && !last.starts_with('/') => {
                return Err(wrong("mount", Path::new(text), PathProblem::Access));
            }
            _ => (text, Access::ReadOnly),
        };
        let (source, target) = pair("mount", paths)?;
        let source = absolute("mount", source, base)?;
        let target = target.map_or_else(|| source.clone(), PathBuf::from);
        Ok(Self {
            source,
            target,
            access,
        })
    }

    /// Refuses what no host could mount, without looking at the host.
    pub(super) fn check_words(&self) -> Result<(), PolicyError> {
        source("mount", &self.source)?;
        target("mount", &self.target, false)
    }
}

impl Workdir {
    /// Reads `DIR[:DST]`. A relative folder starts from `base`, or is refused where there is none.
    pub fn parse(text: &str, base: Option<&Path>) -> Result<Self, PolicyError> {
        let (folder, target) = pair("workdir", text)?;
        let source = absolute("workdir", folder, base)?;
        let target = PathBuf::from(target.unwrap_or(JAR));
        Ok(Self {
            source,
            target,
            mode: WorkdirMode::Write,
        })
    }

    /// Refuses what no host could mount, without looking at the host.
    pub(super) fn check_words(&self) -> Result<(), PolicyError> {
        source("workdir", &self.source)?;
        target("workdir", &self.target, true)
    }
}

/// Finds mounts and a workdir on the host, once and for all: their sources become the paths that no link leads through.
/// Refuses those that are not there, lie on top of each other in the jar, or have no place in each other.
pub(super) fn settle(mounts: &mut [Mount], workdir: Option<&mut Workdir>) -> Result<(), PolicyError> {
    let mut shown: Vec<(&Path, &Path)> = Vec::new();
    for mount in mounts {
        mount.check_words()?;
        mount.source = on_host("mount", &mount.source)?;
        shown.push((&mount.target, &mount.source));
    }
    if let Some(workdir) = workdir {
        workdir.check_words()?;
        let real = on_host("workdir", &workdir.source)?;
        if !real.is_dir() {
            return Err(wrong("workdir", &workdir.source, PathProblem::NotFolder));
        }
        if matches!(workdir.mode, WorkdirMode::Draft | WorkdirMode::Apply)
            && let Some(mounted) = mounted_in(&real)
        {
            return Err(PolicyError::Mounted {
                path: workdir.source.clone(),
                mounted,
            });
        }
        workdir.source = real;
        shown.push((&workdir.target, &workdir.source));
    }
    shown.sort_unstable();
    if let Some(pair) = shown.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(wrong("mount", pair[0].0, PathProblem::Twice));
    }
    for (number, (target, source)) in shown.iter().enumerate() {
        // Sorted, the nearest around it is the last before it.
        let outer = shown[..number]
            .iter()
            .rev()
            .find(|(outer, _)| target.starts_with(outer));
        if let Some((outer, folder)) = outer {
            place(target, source, outer, folder)?;
        }
    }
    Ok(())
}

/// Another file system in a folder of the host. A draft would show an empty folder there, and could not be applied.
fn mounted_in(folder: &Path) -> Option<PathBuf> {
    let table = std::fs::read("/proc/self/mountinfo").ok()?;
    let place = |line: &[u8]| {
        let text = line.split(|byte| *byte == b' ').nth(4)?;
        Some(PathBuf::from(OsString::from_vec(unescape(text))))
    };
    let mut places = table.split(|byte| *byte == b'\n').filter_map(place);
    places.find(|place| place.starts_with(folder) && place != folder)
}

/// A path as the kernel lists it: blanks and the like as three octal digits.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(code) if *byte == b'\\' => {
                path.push(code);
                rest = &after[3..];
            }
            _ => {
                path.push(*byte);
                rest = after;
            }
        }
    }
    path
}

/// Refuses a target in a folder of the host that has no place for it. A guest may have put a link there in an earlier run,
/// and a place that is made there would stay.
fn place(target: &Path, source: &Path, outer: &Path, folder: &Path) -> Result<(), PolicyError> {
    let mut path = folder.to_path_buf();
    let refused = |path: &Path, problem| {
        Err(PolicyError::Place {
            target: target.to_path_buf(),
            path: path.to_path_buf(),
            problem,
        })
    };
    for part in target.strip_prefix(outer).into_iter().flatten() {
        path.push(part);
        match path.symlink_metadata() {
            Ok(found) if found.is_symlink() => return refused(&path, PlaceProblem::Link),
            Ok(_) => {}
            Err(_) => return refused(&path, PlaceProblem::Missing),
        }
    }
    match (source.is_dir(), path.is_dir()) {
        (true, false) => refused(&path, PlaceProblem::NotFolder),
        (false, true) => refused(&path, PlaceProblem::NotFile),
        _ => Ok(()),
    }
}

/// An absolute path, as a document must write it.
pub(super) fn absolute(key: &'static str, path: &str, base: Option<&Path>) -> Result<PathBuf, PolicyError> {
    let path = match base {
        Some(base) if !path.is_empty() => base.join(path),
        _ => PathBuf::from(path),
    };
    whole(key, &path).map(|()| path)
}

fn wrong(key: &'static str, path: &Path, problem: PathProblem) -> PolicyError {
    PolicyError::Path {
        key,
        path: path.to_path_buf(),
        problem,
    }
}

/// Splits `A[:B]`.
fn pair<'a>(key: &'static str, text: &'a str) -> Result<(&'a str, Option<&'a str>), PolicyError> {
    match text.split_once(':') {
        Some((_, target)) if target.contains(':') => Err(wrong(key, Path::new(text), PathProblem::Colons)),
        Some((source, target)) => Ok((source, Some(target))),
        None => Ok((text, None)),
    }
}

/// Refuses a path that is relative, empty or not fit to be shown.
pub(super) fn whole(key: &'static str, path: &Path) -> Result<(), PolicyError> {
    if path.as_os_str().is_empty() || path.as_os_str().as_bytes().iter().any(u8::is_ascii_control) {
        return Err(wrong(key, path, PathProblem::Name));
    }
    if !path.is_absolute() {
        return Err(wrong(key, path, PathProblem::Relative));
    }
    Ok(())
}

fn source(key: &'static str, path: &Path) -> Result<(), PolicyError> {
    whole(key, path)?;
    if shows_host(path) {
        Err(wrong(key, path, PathProblem::HostTree))
    } else if shows_services(path) {
        Err(wrong(key, path, PathProblem::Services))
    } else {
        Ok(())
    }
}

fn shows_host(path: &Path) -> bool {
    path.parent().is_none() || HOST_TREES.iter().any(|tree| path.starts_with(tree))
}

/// Whether services of the host have their sockets there.
fn shows_services(path: &Path) -> bool {
    SERVICES.iter().any(|folder| path == Path::new(folder)) || path.parent() == Some(Path::new("/run/user"))
}

/// A source on the host, at the end that links and `..` on the way lead to. What is itself a link is refused: a guest that
/// could write there may have put it in the place of a folder.
fn on_host(key: &'static str, path: &Path) -> Result<PathBuf, PolicyError> {
    // Without a slash or dot at the end, which would have a link followed.
    let plain: PathBuf = path.components().collect();
    if let Ok(leads) = plain.read_link() {
        let leads = plain.parent().unwrap_or(&plain).join(leads);
        return Err(PolicyError::Link {
            key,
            path: plain,
            leads,
        });
    }
    let real = path
        .canonicalize()
        .map_err(|_| wrong(key, path, PathProblem::Missing))?;
    source(key, &real).map_err(|error| match error {
        PolicyError::Path { problem, .. } => wrong(key, path, problem),
        other => other,
    })?;
    Ok(real)
}

fn target(key: &'static str, path: &Path, workdir: bool) -> Result<(), PolicyError> {
    whole(key, path)?;
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(wrong(key, path, PathProblem::Dots));
    }
    if workdir && path == Path::new(JAR) {
        return Ok(());
    }
    // On top of a place, or of a folder that a place lies in.
    let covers = |place: &&str| Path::new(place).starts_with(path);
    if TREES.iter().any(|tree| path.starts_with(tree)) || TREES.iter().chain(&PLACES).any(covers) {
        return Err(wrong(key, path, PathProblem::Reserved));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(result: Result<(), PolicyError>) -> Option<PathProblem> {
        match result {
            Ok(()) => None,
            Err(PolicyError::Path { problem, .. }) => Some(problem),
            Err(other) => panic!("{other}"),
        }
    }

    fn check(mounts: &[Mount], workdir: Option<&Workdir>) -> Result<(), PolicyError> {
        settle(&mut mounts.to_vec(), workdir.cloned().as_mut())
    }

    fn mount(text: &str) -> Option<PathProblem> {
        problem(Mount::parse(text, None).and_then(|mount| mount.check_words()))
    }

    #[test]
    fn mounts_are_read() {
        let parse = |text| Mount::parse(text, Some(Path::new("/base"))).unwrap();
        let expected = |source: &str, target: &str, access| Mount {
            source: source.into(),
            target: target.into(),
            access,
        };
        assert_eq!(parse("/data"), expected("/data", "/data", Access::ReadOnly));
        assert_eq!(parse("/data:rw"), expected("/data", "/data", Access::ReadWrite));
        assert_eq!(parse("/a:/b"), expected("/a", "/b", Access::ReadOnly));
        assert_eq!(parse("/a:/b:rw"), expected("/a", "/b", Access::ReadWrite));
        assert_eq!(parse("a:/b:ro"), expected("/base/a", "/b", Access::ReadOnly));
        let workdir = Workdir::parse("work:/w", Some(Path::new("/base"))).unwrap();
        assert_eq!(
            (workdir.source, workdir.target),
            ("/base/work".into(), "/w".into())
        );
        assert_eq!(Workdir::parse("/work", None).unwrap().target, Path::new("/jar"));
    }

    #[test]
    fn targets_that_are_belljars_own_are_refused() {
        for target in [
            "/",
            "/proc",
            "/proc/x",
            "/dev/shm",
            "/run/belljar/x",
            "/run",
            "/script",
            "/usr",
            "/usr/share/x",
            "/etc",
            "/etc/passwd",
            "/etc/ssl/certs",
            "/jar",
            "/tmp",
            "/lib64",
            "//proc",
            "/./dev",
        ] {
            assert_eq!(
                mount(&format!("/var:{target}")),
                Some(PathProblem::Reserved),
                "{target}"
            );
        }
        for target in [
            "/data",
            "/jar/data",
            "/tmp/data",
            "/etc/app",
            "/procedures",
            "/run/app",
            "/home/me",
        ] {
            assert_eq!(mount(&format!("/var:{target}")), None, "{target}");
        }
        assert_eq!(mount("/var:/data/../proc"), Some(PathProblem::Dots));
        assert_eq!(mount("/var:data"), Some(PathProblem::Relative));
        assert_eq!(mount("/var:"), Some(PathProblem::Name));
    }

    #[test]
    fn sources_are_whole_paths_of_something_particular() {
        assert_eq!(mount("data:/data"), Some(PathProblem::Relative));
        assert_eq!(mount(""), Some(PathProblem::Name));
        assert_eq!(mount("/a\u{1b}b"), Some(PathProblem::Name));
        assert_eq!(mount("/a:/b:/c"), Some(PathProblem::Colons));
        assert_eq!(mount("/a:/b:rx"), Some(PathProblem::Access));
        for source in ["/", "/proc", "/sys/kernel", "/dev", "/proc/self/root"] {
            assert_eq!(
                mount(&format!("{source}:/data")),
                Some(PathProblem::HostTree),
                "{source}"
            );
        }
        let roundabout = Mount::parse("/var/..:/data", None).unwrap();
        assert_eq!(problem(check(&[roundabout], None)), Some(PathProblem::HostTree));
    }

    #[test]
    fn mounts_in_a_folder_are_found() {
        // On every Linux that can run this test.
        assert!(mounted_in(Path::new("/")).is_some());
        assert_eq!(mounted_in(Path::new("/proc/self/fd")), None);
        assert_eq!(unescape(br"/a\040b\134c\9"), br"/a b\c\9");
    }

    #[test]
    fn services_of_the_host_are_not_shown() {
        for source in ["/run", "/run/", "/var/run", "/run/user", "/run/user/1000"] {
            assert_eq!(
                mount(&format!("{source}:/data")),
                Some(PathProblem::Services),
                "{source}"
            );
        }
        assert_eq!(mount("/run/media/me:/data"), None);
    }

    #[test]
    fn host_and_overlap_are_checked_at_the_end() {
        let one = |source: &str, target: &str| Mount {
            source: source.into(),
            target: target.into(),
            access: Access::ReadOnly,
        };
        assert_eq!(
            problem(check(&[one("/var", "/a"), one("/etc", "/b")], None)),
            None
        );
        assert_eq!(
            problem(check(&[one("/var", "/a"), one("/etc", "/a/")], None)),
            Some(PathProblem::Twice)
        );
        assert_eq!(
            problem(check(&[one("/no/such/thing", "/a")], None)),
            Some(PathProblem::Missing)
        );
        let workdir = |source: &str, target: &str| Workdir {
            source: source.into(),
            target: target.into(),
            mode: WorkdirMode::Write,
        };
        assert_eq!(problem(check(&[], Some(&workdir("/var", "/jar")))), None);
        assert_eq!(
            problem(check(&[], Some(&workdir("/etc/passwd", "/jar")))),
            Some(PathProblem::NotFolder)
        );
        assert_eq!(
            problem(check(&[one("/var", "/w")], Some(&workdir("/var", "/w")))),
            Some(PathProblem::Twice)
        );
    }
}
