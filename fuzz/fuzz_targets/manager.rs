//! What a service manager answers, or whoever poses as one.
#![no_main]

use belljar_linux::dbus;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut rest = match dbus::welcome(bytes) {
        Ok(Some(length)) => &bytes[length..],
        _ => bytes,
    };
    while let Ok(Some((_, length))) = dbus::next(rest) {
        assert!(length > 0 && length <= dbus::MAX_MESSAGE);
        rest = &rest[length..];
    }
});
