//! The guest's own report of an exception: the header of a `raised` frame.

use super::chain::{is_sound, size};
use super::{Frame, PythonError};

const HEADER: usize = 1 << 20;
const FRAMES: usize = 256;
const SHORT: usize = 4 << 10;
const MESSAGE: usize = 128 << 10;
const TRACEBACK: usize = 512 << 10;
const NAMES: usize = 16;
const ARGS: usize = 64 << 10;

/// Why a `raised` frame of a guest was not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// It is larger than any honest one.
    #[error("the guest's exception is {size} bytes long; at most {HEADER} are read")]
    TooLong {
        /// Its size.
        size: usize,
    },
    /// It is not the JSON object that it should be.
    #[error("the guest's exception cannot be read: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A list in it is longer than any honest one.
    #[error("the guest's exception has {count} {what}; at most {most} are read")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: usize,
        /// The cap.
        most: usize,
    },
}

impl PythonError {
    /// Reads the header of a `raised` frame. It is what a guest says, so it is capped; a hint in it is dropped.
    pub fn from_frame(header: &[u8]) -> Result<Self, FrameError> {
        if header.len() > HEADER {
            return Err(FrameError::TooLong { size: header.len() });
        }
        let mut error: Self = serde_json::from_slice(header)?;
        within("frames", error.frames.len(), FRAMES)?;
        within("names", error.names.len(), NAMES)?;
        within("causes", error.causes.len(), 4 * NAMES)?;
        within("bases", error.bases.len(), 4 * NAMES)?;
        error.hint = None;
        cut(&mut error.type_name, SHORT);
        cut(&mut error.message, MESSAGE);
        cut(&mut error.traceback, TRACEBACK);
        let lists = [&mut error.names, &mut error.causes, &mut error.bases];
        lists.into_iter().flatten().for_each(|text| cut(text, SHORT));
        error.filename.iter_mut().for_each(|text| cut(text, SHORT));
        error.args = error.args.filter(|args| size(args) <= ARGS);
        if !is_sound(&error.chain) {
            error.chain.clear();
        }
        for Frame {
            file,
            function,
            source,
            ..
        } in &mut error.frames
        {
            cut(file, SHORT);
            cut(function, SHORT);
            source.iter_mut().for_each(|text| cut(text, SHORT));
        }
        Ok(error)
    }
}

fn within(what: &'static str, count: usize, most: usize) -> Result<(), FrameError> {
    if count > most {
        return Err(FrameError::TooMany { what, count, most });
    }
    Ok(())
}

fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::pyerror::Link;

    const LEAST: &str = r#"{"type_name": "MemoryError", "message": "", "frames": [], "traceback": ""}"#;

    #[test]
    fn the_least_frame_is_enough() {
        let error = PythonError::from_frame(LEAST.as_bytes()).unwrap();
        assert_eq!(error.type_name, "MemoryError");
        assert_eq!((error.line, error.frames.len(), error.args), (None, 0, None));
    }

    #[test]
    fn what_is_too_much_is_refused_or_cut() {
        let long = vec![b' '; HEADER + 1];
        assert!(matches!(
            PythonError::from_frame(&long),
            Err(FrameError::TooLong { .. })
        ));
        let mut error = PythonError::from_frame(LEAST.as_bytes()).unwrap();
        error.message = "\u{e9}".repeat(MESSAGE);
        error.hint = Some("run this as root".into());
        error.args = Some(Value::String("x".repeat(ARGS)));
        let read = PythonError::from_frame(&serde_json::to_vec(&error).unwrap()).unwrap();
        assert_eq!((read.message.len(), read.hint, read.args), (MESSAGE, None, None));
        error.frames = vec![Frame::default(); FRAMES + 1];
        error.message.clear();
        let many = PythonError::from_frame(&serde_json::to_vec(&error).unwrap());
        assert!(matches!(many, Err(FrameError::TooMany { what: "frames", .. })));
    }

    #[test]
    fn a_chain_is_taken_whole_or_not_at_all() {
        let mut error = PythonError::from_frame(LEAST.as_bytes()).unwrap();
        let cause = Link {
            classes: vec![("app".into(), "BudgetError".into())],
            state: vec![("amount".into(), 5.into())],
            ..Link::default()
        };
        let last = Link {
            cause: Some(0),
            ..Link::default()
        };
        error.chain = vec![cause, last];
        let read = PythonError::from_frame(&serde_json::to_vec(&error).unwrap()).unwrap();
        assert_eq!(read, error);
        error.chain[0].context = Some(1);
        let circle = PythonError::from_frame(&serde_json::to_vec(&error).unwrap()).unwrap();
        assert_eq!(
            (circle.type_name.as_str(), circle.chain.len()),
            ("MemoryError", 0)
        );
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = PythonError::from_frame(&bytes);
        }

        #[test]
        fn damaged_frames_never_panic(at in 0..LEAST.len(), byte: u8, end in 0..LEAST.len()) {
            let mut bytes = LEAST.as_bytes().to_vec();
            bytes[at] = byte;
            let _ = PythonError::from_frame(&bytes);
            let _ = PythonError::from_frame(&bytes[..end]);
        }
    }
}
