//! What an ELF file names: its loader, the libraries it needs and where it looks for them. A total reader: every offset
//! is checked, every list has an end, and a file that makes no sense is `None`.

/// What a 64-bit little-endian ELF file names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Elf {
    /// The program loader (PT_INTERP).
    pub(super) loader: Option<String>,
    /// Names of libraries (DT_NEEDED).
    pub(super) needed: Vec<String>,
    /// Folders searched for them: DT_RPATH and DT_RUNPATH, not expanded.
    pub(super) search: Vec<String>,
}

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;
const MOST_ENTRIES: usize = 4096;
const LONGEST_NAME: usize = 4096;

struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    size: u64,
}

/// Reads a file's content.
pub(super) fn parse(bytes: &[u8]) -> Option<Elf> {
    // Magic, 64 bits, little-endian: all that belljar runs on.
    if bytes.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let table = word(bytes, 32)?;
    let entry = u64::from(half(bytes, 54)?);
    let count = u64::from(half(bytes, 56)?);
    let mut segments = Vec::new();
    for index in 0..count {
        let at = table.checked_add(index.checked_mul(entry)?)?;
        segments.push(Segment {
            kind: quad(bytes, at)?,
            offset: word(bytes, at.checked_add(8)?)?,
            address: word(bytes, at.checked_add(16)?)?,
            size: word(bytes, at.checked_add(32)?)?,
        });
    }
    let mut elf = Elf::default();
    if let Some(segment) = segments.iter().find(|segment| segment.kind == PT_INTERP) {
        elf.loader = Some(name(bytes, segment.offset)?);
    }
    let Some(dynamic) = segments.iter().find(|segment| segment.kind == PT_DYNAMIC) else {
        return Some(elf);
    };
    let entries: Vec<(u64, u64)> = (0..(dynamic.size / 16).min(MOST_ENTRIES as u64))
        .map_while(|index| {
            let at = dynamic.offset.checked_add(index * 16)?;
            Some((word(bytes, at)?, word(bytes, at.checked_add(8)?)?))
        })
        .take_while(|(tag, _)| *tag != 0)
        .collect();
    let strings = entries.iter().find(|(tag, _)| *tag == DT_STRTAB)?.1;
    // The table is given as an address; the segment that is loaded there tells where it is in the file.
    let loaded = segments.iter().find(|segment| {
        segment.kind == PT_LOAD
            && strings
                .checked_sub(segment.address)
                .is_some_and(|inside| inside < segment.size)
    })?;
    let strings = loaded.offset.checked_add(strings - loaded.address)?;
    for (tag, value) in entries {
        let text = || name(bytes, strings.checked_add(value)?);
        match tag {
            DT_NEEDED => elf.needed.push(text()?),
            DT_RPATH | DT_RUNPATH => elf.search.extend(text()?.split(':').map(str::to_owned)),
            _ => {}
        }
    }
    Some(elf)
}

fn take<const N: usize>(bytes: &[u8], at: u64) -> Option<[u8; N]> {
    let at = usize::try_from(at).ok()?;
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn half(bytes: &[u8], at: u64) -> Option<u16> {
    take(bytes, at).map(u16::from_le_bytes)
}

fn quad(bytes: &[u8], at: u64) -> Option<u32> {
    take(bytes, at).map(u32::from_le_bytes)
}

fn word(bytes: &[u8], at: u64) -> Option<u64> {
    take(bytes, at).map(u64::from_le_bytes)
}

/// A string that ends with a zero byte.
fn name(bytes: &[u8], at: u64) -> Option<String> {
    let rest = bytes.get(usize::try_from(at).ok()?..)?;
    let end = rest.iter().take(LONGEST_NAME).position(|byte| *byte == 0)?;
    String::from_utf8(rest[..end].to_vec()).ok()
}
