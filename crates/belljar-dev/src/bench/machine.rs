//! The machine, in words that name nobody.

use std::fs;

/// What the figures depend on.
pub struct Machine {
    pub kernel: String,
    pub processors: usize,
    pub load: String,
}

impl Machine {
    pub fn look() -> Self {
        let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
        let numbers = |text: &str| {
            let end = text
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .unwrap_or(text.len());
            text[..end].to_owned()
        };
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Self {
            kernel: numbers(&kernel),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            load: load.split(' ').next().unwrap_or("unknown").to_owned(),
        }
    }
}
