//! The texts of procfs, read without trust in their length or order.

/// What /proc says of a process's credentials, threads and filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// One letter: `R`, `S`, `Z` (ended, not reaped) …
    pub state: char,
    /// Its parent's number in this procfs; 0 when the parent is not in it.
    pub ppid: i32,
    /// Real, effective, saved and file system user, as the reader's user namespace names them.
    pub uids: [u32; 4],
    /// Its number in each pid namespace from this procfs's down to its own.
    pub ns_pids: Vec<i32>,
    /// How many threads it has.
    pub threads: u32,
    /// Capabilities: inheritable, permitted, effective, bounding, ambient.
    pub caps: [u64; 5],
    /// Whether exec can give it nothing.
    pub no_new_privs: bool,
    /// Filters of system calls on it. Before Linux 5.9, which does not count, 1 if there is any.
    pub filters: u32,
}

/// Reads `status`. `None` when something that every kernel writes is not there.
pub(super) fn status(bytes: &[u8]) -> Option<Status> {
    let text = std::str::from_utf8(after_name(bytes)?).ok()?;
    let (mut state, mut ppid, mut uids, mut ns_pids) = (None, None, None, Vec::new());
    let (mut threads, mut caps, mut no_new_privs) = (None, [None; 5], None);
    let (mut mode, mut filters) = (0, None);
    for line in text.lines() {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim();
        match name {
            "State" => state = value.chars().next(),
            "PPid" => ppid = value.parse().ok(),
            "Uid" => uids = four(value),
            "NSpid" => {
                ns_pids = value
                    .split_whitespace()
                    .filter_map(|pid| pid.parse().ok())
                    .collect()
            }
            "Threads" => threads = value.parse().ok(),
            "CapInh" => caps[0] = u64::from_str_radix(value, 16).ok(),
            "CapPrm" => caps[1] = u64::from_str_radix(value, 16).ok(),
            "CapEff" => caps[2] = u64::from_str_radix(value, 16).ok(),
            "CapBnd" => caps[3] = u64::from_str_radix(value, 16).ok(),
            "CapAmb" => caps[4] = u64::from_str_radix(value, 16).ok(),
            "NoNewPrivs" => no_new_privs = Some(value == "1"),
            "Seccomp" => mode = value.parse().ok()?,
            "Seccomp_filters" => filters = value.parse().ok(),
            _ => {}
        }
    }
    let [
        Some(inheritable),
        Some(permitted),
        Some(effective),
        Some(bounding),
        Some(ambient),
    ] = caps
    else {
        return None;
    };
    Some(Status {
        state: state?,
        ppid: ppid?,
        uids: uids?,
        ns_pids,
        threads: threads?,
        caps: [inheritable, permitted, effective, bounding, ambient],
        no_new_privs: no_new_privs?,
        filters: filters.unwrap_or(u32::from(mode == 2)),
    })
}

/// The lines after the first, which holds a name of the process's own choice. The kernel escapes line feeds in it.
fn after_name(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    bytes.get(end + 1..)
}

fn four(value: &str) -> Option<[u32; 4]> {
    let mut numbers = value.split_whitespace().map(|word| word.parse().ok());
    let mut next = || numbers.next().flatten();
    Some([next()?, next()?, next()?, next()?])
}

/// The parent in `stat`, after the name, which may hold anything but comes in the last round bracket.
pub(super) fn parent(bytes: &[u8]) -> Option<i32> {
    let end = bytes.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(bytes.get(end + 1..)?).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The numbers in `children`.
pub(super) fn pids(bytes: &[u8]) -> Vec<i32> {
    let text = String::from_utf8_lossy(bytes);
    text.split_ascii_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// The lines of `maps` that others may see change.
pub(super) fn shared(bytes: &[u8]) -> Vec<String> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines
        .filter(|line| is_shared(line))
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect()
}

fn is_shared(line: &[u8]) -> bool {
    // ADDRESSES rwxp OFFSET DEVICE INODE NAME
    let Some(space) = line.iter().position(|byte| *byte == b' ') else {
        return false;
    };
    let Some([_, write, _, kind]) = line.get(space + 1..space + 5) else {
        return false;
    };
    // A deleted name is a memfd, a segment or anonymous shared memory: mprotect may make it writable again.
    let nameless = || line.ends_with(b" (deleted)") || contains(line, b" /dev/shm/");
    *kind == b's' && (*write == b'w' || nameless())
}

fn contains(line: &[u8], piece: &[u8]) -> bool {
    line.windows(piece.len()).any(|window| window == piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\ta\\nUid:\t0\nState:\tS (sleeping)\nPPid:\t7\nUid:\t1\t2\t3\t4\nNSpid:\t90\t2\nThreads:\t3\n\
        CapInh:\t0000000000000001\nCapPrm:\t0000000000000002\nCapEff:\t0000000000000003\nCapBnd:\t000001ffffffffff\n\
        CapAmb:\t0000000000000004\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t5\n";

    #[test]
    fn status_is_read_field_by_field() {
        let read = status(STATUS.as_bytes()).unwrap();
        assert_eq!(
            read,
            Status {
                state: 'S',
                ppid: 7,
                uids: [1, 2, 3, 4],
                ns_pids: vec![90, 2],
                threads: 3,
                caps: [1, 2, 3, 0x1ff_ffff_ffff, 4],
                no_new_privs: true,
                filters: 5,
            }
        );
        let older = STATUS.replace("Seccomp_filters:\t5\n", "");
        assert_eq!(status(older.as_bytes()).unwrap().filters, 1);
        for line in STATUS.lines().skip(1) {
            let name = line.split(':').next().unwrap();
            if !["NSpid", "Seccomp", "Seccomp_filters"].contains(&name) {
                let without = STATUS.replace(&format!("{line}\n"), "");
                assert_eq!(status(without.as_bytes()), None, "{name}");
            }
        }
        // A name that is no text must not keep a process from being looked at.
        let mut odd = b"Name:\t\xff\xfe\n".to_vec();
        odd.extend_from_slice(STATUS.split_once('\n').unwrap().1.as_bytes());
        assert!(status(&odd).is_some());
    }

    #[test]
    fn the_parent_comes_after_whatever_the_name_holds() {
        assert_eq!(parent(b"12 (a) S 3 4 5"), Some(3));
        assert_eq!(parent(b"12 (a) S 9 (\xff) ) Z 3 4 5"), Some(3));
        assert_eq!(parent(b"12 (a"), None);
        assert_eq!(parent(b"12 (a)"), None);
    }

    #[test]
    fn shared_memory_is_told_from_private() {
        let maps = b"1000-2000 rw-p 00000000 00:00 0\n\
            1000-2000 r--s 00000000 08:01 99                         /usr/lib/gconv.cache\n\
            1000-2000 rw-s 00000000 00:01 12                         /dev/zero (deleted)\n\
            1000-2000 -w-s 00000000 08:01 13                         /jar/file\n\
            1000-2000 ---s 00000000 00:01 14                         /memfd:x (deleted)\n\
            1000-2000 r--s 00000000 00:20 15                         /dev/shm/x\n\
            1000-2000 r--p 00000000 00:01 16                         /gone (deleted)\n\
            1000-2000\n";
        let found = shared(maps);
        let inodes: Vec<&str> = found
            .iter()
            .map(|line| line.split_whitespace().nth(4).unwrap())
            .collect();
        assert_eq!(inodes, ["12", "13", "14", "15"]);
    }
}
