//! Readers that survive any bytes.

use std::fs;

use proptest::prelude::*;

use crate::python::{elf, venv};

proptest! {
    #[test]
    fn elf_reader_is_total(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        let mut file = b"\x7fELF\x02\x01".to_vec();
        file.extend(bytes);
        elf::parse(&file);
    }

    /// One wrong byte in a real file, at the front where the tables are.
    #[test]
    fn elf_reader_survives_damage(at in 0_usize..4096, byte in any::<u8>()) {
        let mut file = fs::read("/bin/true").unwrap();
        let at = at % file.len();
        file[at] = byte;
        elf::parse(&file);
    }

    #[test]
    fn config_reader_is_total(text in ".{0,256}") {
        venv::parse(&text);
    }
}
