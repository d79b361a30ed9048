use proptest::prelude::*;

use super::*;

fn frame(kind: u8, header: &[u8], body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind, VERSION, 0, 0];
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(header);
    bytes.extend(body);
    bytes
}

#[test]
fn a_frame_survives_being_split_at_every_byte() {
    let bytes = frame(1, b"{}", b"value");
    for split in 0..=bytes.len() {
        let mut decoder = Decoder::default();
        let mut got = None;
        for part in [&bytes[..split], &bytes[split..]] {
            let mut rest = part;
            while !rest.is_empty() {
                let take = decoder.wants().min(rest.len());
                got = got.or(decoder.push(&rest[..take]).unwrap());
                rest = &rest[take..];
            }
        }
        let got = got.unwrap();
        assert_eq!(
            (got.kind, got.header, got.body),
            (Kind::Returned, b"{}".to_vec(), b"value".to_vec())
        );
        assert_eq!(decoder.wants(), 0);
    }
}

#[test]
fn hostile_sizes_are_refused_before_anything_is_kept() {
    for (bytes, error) in [
        (
            [1, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0],
            WireError::Header(u32::MAX),
        ),
        (
            [
                1, 1, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
            ],
            WireError::Body(u64::MAX >> 1),
        ),
        (
            [1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            WireError::Version(2),
        ),
        (
            [9, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            WireError::Kind(9),
        ),
        (
            [1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            WireError::Reserved,
        ),
        (
            [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            WireError::Descriptor,
        ),
        (
            [2, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
            WireError::Descriptor,
        ),
        (
            [1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0x40, 0, 0, 0, 0],
            WireError::Body((1 << 30) + 1),
        ),
        (
            [16, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0],
            WireError::Body(1 << 16),
        ),
    ] {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(&bytes), Err(error));
        assert_eq!(decoder.wants(), 0);
        assert_eq!(decoder.push(&frame(1, b"", b"")), Ok(None));
    }
}

#[test]
fn a_second_frame_is_not_read() {
    let mut decoder = Decoder::default();
    assert!(decoder.push(&frame(3, b"", b"")).unwrap().is_some());
    assert_eq!(decoder.push(&frame(1, b"", b"")), Ok(None));
}

#[test]
fn items_come_before_the_last_word() {
    let mut bytes = frame(16, b"one", b"1");
    // Its body is elsewhere.
    bytes.extend([16, VERSION, DESCRIPTOR, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend(frame(1, b"", b"end"));
    bytes.extend(frame(16, b"", b"late"));
    for step in 1..bytes.len() {
        let (mut decoder, mut got) = (Decoder::default(), Vec::new());
        for piece in bytes.chunks(step) {
            let mut rest = piece;
            while decoder.wants() > 0 && !rest.is_empty() {
                let take = decoder.wants().min(rest.len());
                got.extend(decoder.push(&rest[..take]).unwrap());
                rest = &rest[take..];
            }
        }
        let got: Vec<_> = got
            .into_iter()
            .map(|frame| (frame.kind, frame.body, frame.descriptor))
            .collect();
        let expected = [
            (Kind::Item, b"1".to_vec(), None),
            (Kind::Item, Vec::new(), Some(5)),
            (Kind::Returned, b"end".to_vec(), None),
        ];
        assert_eq!(got, expected, "{step}");
    }
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_are_survived(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20)) {
        let mut decoder = Decoder::default();
        for piece in pieces {
            let _ = decoder.push(&piece);
        }
    }
}

/// Names in capitals and their numbers, where a line of Python gives a number to each: `A, B = 1, 1 << 16`.
fn constants(source: &str) -> Vec<(&str, u64)> {
    let number = |text: &str| match text.split_once(" << ") {
        Some((base, shift)) => Some(base.parse::<u64>().ok()? << shift.parse::<u32>().ok()?),
        None => text.parse().ok(),
    };
    let lines = source.lines().filter_map(|line| line.split_once(" = "));
    lines
        .flat_map(|(names, values)| names.split(", ").zip(values.split(", ")))
        .filter(|(name, _)| name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'))
        .filter_map(|(name, value)| Some((name, number(value)?)))
        .collect()
}

fn python(folder: &str) -> Vec<(String, String)> {
    let folder = format!("{}/../../{folder}", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "py"));
    let read =
        |path: std::path::PathBuf| (path.display().to_string(), std::fs::read_to_string(path).unwrap());
    files.map(read).collect()
}

#[test]
fn the_guest_has_the_numbers_of_the_table() {
    let kinds = Kind::ALL.map(|kind| (format!("{kind:?}").to_uppercase(), kind as u64));
    let sizes = [
        ("PREFIX", PREFIX as u64),
        ("LEAST", LEAST_JOB as u64),
        ("INLINE", INLINE),
        ("ALIGN", ALIGN),
    ];
    let table: std::collections::HashMap<&str, u64> = kinds
        .iter()
        .map(|(name, kind)| (name.as_str(), *kind))
        .chain(sizes)
        .collect();
    let files = python("guest");
    let mut missing: std::collections::HashSet<&str> = table.keys().copied().collect();
    for (file, source) in &files {
        for (name, number) in constants(source) {
            if let Some(expected) = table.get(name) {
                assert_eq!(number, *expected, "{name} in {file}");
                missing.remove(name);
            }
        }
        for call in source.split("send").skip(1) {
            let argument = call.trim_start_matches(['"', ']']).strip_prefix('(');
            let literal = argument.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
            assert!(!literal, "{file} sends a frame whose kind has no name");
        }
    }
    assert!(missing.is_empty(), "the guest lacks {missing:?}");
    // Its tests have a table of their own.
    for (file, source) in python("guest/tests") {
        let Some((_, kinds)) = source.split_once("\nKINDS = {") else {
            continue;
        };
        for entry in kinds.split('}').next().unwrap().split(", ") {
            let (number, name) = entry.split_once(": ").unwrap();
            let name = name.trim_matches('"').to_uppercase();
            assert_eq!(
                table.get(name.as_str()),
                number.parse().ok().as_ref(),
                "{name} in {file}"
            );
        }
    }
}

#[test]
fn the_page_has_every_kind() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/wire.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).collect();
    for kind in Kind::ALL {
        let row = format!("| {} | {} |", kind as u8, format!("{kind:?}").to_lowercase());
        assert!(
            rows.iter().any(|line| line.starts_with(&row)),
            "docs/reference/wire.md has no {row}"
        );
    }
    let numbered = rows
        .iter()
        .filter(|line| line[2..].starts_with(|first: char| first.is_ascii_digit()));
    let kinds = numbered.filter(|line| {
        line.split('|')
            .nth(1)
            .is_some_and(|cell| cell.trim().parse::<u8>().is_ok())
    });
    assert_eq!(
        kinds.count(),
        Kind::ALL.len() + PREFIX_ROWS,
        "a row for what is not there"
    );
}

/// Rows of the page's table of the prefix that begin with a number alone.
const PREFIX_ROWS: usize = 4;
