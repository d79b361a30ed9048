//! The guest runtime that is embedded in this library: what a jar gets in its runtime folder.

/// The runtime as source: the file that is started first, then those that it loads when it needs them.
pub(crate) const SOURCE: [(&str, &[u8]); 5] = [
    ("boot.py", include_bytes!("../../../guest/boot.py")),
    ("ended.py", include_bytes!("../../../guest/ended.py")),
    ("report.py", include_bytes!("../../../guest/report.py")),
    ("script.py", include_bytes!("../../../guest/script.py")),
    ("call.py", include_bytes!("../../../guest/call.py")),
];
