//! Where a job was when its time was up, from the dump that CPython's fault handler writes.

use std::time::Duration;

use crate::hint::{Hint, Setting};

use super::{Frame, PythonError, is_library, printable};

/// The dump itself stops at 100 frames.
const MAX_FRAMES: usize = 128;
/// Far longer than a path or name in a dump.
const MAX_TEXT: usize = 4096;

impl PythonError {
    /// Reads a stack dump; `None` when no frame of the user's is in it. Total: any text will do.
    pub fn from_stack(text: &str, timeout: Duration) -> Option<Self> {
        let mut frames: Vec<Frame> = text
            .lines()
            .filter_map(frame)
            .filter(|frame| !frame.file.starts_with(crate::plan::RUNTIME))
            .take(MAX_FRAMES)
            .collect();
        frames.reverse();
        // The library that it waits in says less than the line of the user's that called it.
        let own = frames.iter().rfind(|frame| !is_library(&frame.file));
        let place = own.or(frames.last())?;
        let hint = Hint::code(format!(
            "the code was at line {} of {} (in {}) when its time was up; make that faster",
            place.line, place.file, place.function
        ));
        let hint = hint.say(", or give it longer with ").set(Setting::Timeout);
        Some(Self {
            type_name: "TimeoutError".into(),
            message: format!("timed out after {} s", timeout.as_secs_f64()),
            line: own.map(|frame| frame.line),
            hint: Some(hint),
            traceback: printable(text).chars().take(64 << 10).collect(),
            bases: vec!["TimeoutError".into(), "OSError".into()],
            frames,
            ..Self::default()
        })
    }
}

/// Whether nothing follows in a dump: it ends with the frame that started the job, or where it has too many frames.
pub(crate) fn is_whole(dump: &[u8]) -> bool {
    let Some(lines) = dump.strip_suffix(b"\n") else {
        return false;
    };
    let last = lines.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = format!("  File \"{}/", crate::plan::RUNTIME);
    last == b"  ..." || last.starts_with(first.as_bytes()) && last.ends_with(b" in <module>")
}

/// `  File "/script/a.py", line 3 in f`
fn frame(line: &str) -> Option<Frame> {
    let rest = line.trim_start().strip_prefix("File \"")?;
    let (file, rest) = rest.rsplit_once("\", line ")?;
    let (number, function) = rest.split_once(" in ")?;
    if file.len() > MAX_TEXT || function.len() > MAX_TEXT {
        return None;
    }
    Some(Frame {
        file: printable(file).into_owned(),
        line: number.parse().ok()?,
        column: None,
        function: printable(function).into_owned(),
        source: None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_users_own_line_is_told_before_the_librarys() {
        let text = "Current thread 0x00007f (most recent call first):\n  File \"/usr/lib/python3.11/subprocess.py\", line 1264 in wait\n  File \"/script/a.py\", line 7 in work\n  File \"/script/a.py\", line 9 in <module>\n  File \"/run/belljar/boot.py\", line 99 in <module>\n";
        let error = PythonError::from_stack(text, Duration::from_secs(2)).unwrap();
        assert_eq!(error.line, Some(7));
        assert_eq!(error.frames.len(), 3);
        assert_eq!(error.frames[0].function, "<module>");
        assert_eq!(
            error.hint.unwrap().in_flags(),
            "the code was at line 7 of /script/a.py (in work) when its time was up; make that faster, or give it longer with --timeout"
        );
        let waits = "  File \"/usr/lib/python3.11/selectors.py\", line 468 in select\n";
        let error = PythonError::from_stack(waits, Duration::from_secs(2)).unwrap();
        assert_eq!(error.line, None, "no line of the user's");
        assert_eq!(
            PythonError::from_stack("nothing of the kind", Duration::from_secs(2)),
            None
        );
    }

    #[test]
    fn a_dump_is_whole_when_it_has_come_to_its_first_frame() {
        let text = "Stack (most recent call first):\n  File \"<string>\", line 3 in <module>\n  File \"/run/belljar/boot.py\", line 9 in main\n  File \"/run/belljar/boot.py\", line 99 in <module>\n";
        assert!(is_whole(text.as_bytes()));
        for end in 0..text.len() {
            assert!(!is_whole(&text.as_bytes()[..end]), "{:?}", &text[..end]);
        }
        assert!(is_whole(b"Stack:\n  File \"a\", line 1 in f\n  ...\n"));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in ".*") {
            let _ = is_whole(text.as_bytes());
            let _ = PythonError::from_stack(&text, Duration::from_secs(1));
        }
    }
}
