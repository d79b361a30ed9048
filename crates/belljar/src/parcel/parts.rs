//! A body made of several raw parts: their lengths are in the header, each begins at a multiple of [`ALIGN`].

use std::ops::Range;

use thiserror::Error;

use crate::wire::{ALIGN, MAX_MEMORY};

/// Most parts of a body.
pub const MAX_PARTS: usize = 1 << 16;

/// Where each part of a body is.
pub type Parts = Vec<Range<usize>>;

/// Why a body is not what its header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PartsError {
    /// Too many parts.
    #[error("{0} parts are over the limit of {MAX_PARTS}")]
    Count(usize),
    /// Parts that end before or after the body does.
    #[error("the parts take {parts} bytes, and the body has {body}")]
    Size {
        /// What the lengths add up to, each at its place.
        parts: u64,
        /// What there is.
        body: u64,
    },
}

/// Where parts of these lengths are in a body of `size` bytes, which they must fill.
pub fn cut(lengths: &[u64], size: u64) -> Result<Parts, PartsError> {
    if lengths.len() > MAX_PARTS {
        return Err(PartsError::Count(lengths.len()));
    }
    let mut end = 0u64;
    let mut parts = Vec::with_capacity(lengths.len());
    for length in lengths {
        // Far below overflow: an end is at most the body's cap, which the next line checks.
        let start = end.next_multiple_of(ALIGN);
        end = start.saturating_add(*length);
        if end > MAX_MEMORY {
            return Err(PartsError::Size {
                parts: end,
                body: size,
            });
        }
        parts.push(start as usize..end as usize);
    }
    if end != size {
        return Err(PartsError::Size {
            parts: end,
            body: size,
        });
    }
    Ok(parts)
}

/// The size of a body with parts of these lengths; `None` if it would be over a cap.
pub(super) fn size(lengths: &[u64]) -> Option<u64> {
    let add = |end: u64, length: &u64| {
        end.next_multiple_of(ALIGN)
            .checked_add(*length)
            .filter(|end| *end <= MAX_MEMORY)
    };
    lengths
        .iter()
        .try_fold(0, add)
        .filter(|_| lengths.len() <= MAX_PARTS)
}

/// The body that parts make; `None` if it would be over a cap.
pub fn join(parts: &[&[u8]]) -> Option<Vec<u8>> {
    let lengths: Vec<u64> = parts.iter().map(|part| part.len() as u64).collect();
    let mut body = Vec::with_capacity(size(&lengths)? as usize);
    for part in parts {
        body.resize(body.len().next_multiple_of(ALIGN as usize), 0);
        body.extend_from_slice(part);
    }
    Some(body)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lengths_that_lie_are_refused() {
        assert_eq!(cut(&[], 0), Ok(vec![]));
        assert_eq!(cut(&[3, 5], 69), Ok(vec![0..3, 64..69]));
        for (lengths, size) in [
            (&[3, 5][..], 8),
            (&[3], 4),
            (&[], 1),
            (&[u64::MAX, 2], 1),
            (&[MAX_MEMORY, 1], MAX_MEMORY),
        ] {
            assert!(
                matches!(cut(lengths, size), Err(PartsError::Size { .. })),
                "{lengths:?}"
            );
        }
        assert_eq!(
            cut(&vec![0; MAX_PARTS + 1], 0),
            Err(PartsError::Count(MAX_PARTS + 1))
        );
    }

    proptest! {
        #[test]
        fn joined_parts_are_cut_again(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 0..20)) {
            let slices: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            let lengths: Vec<u64> = parts.iter().map(|part| part.len() as u64).collect();
            let body = join(&slices).unwrap();
            prop_assert_eq!(size(&lengths), Some(body.len() as u64));
            let places = cut(&lengths, body.len() as u64).unwrap();
            let again: Vec<&[u8]> = places.into_iter().map(|place| &body[place]).collect();
            prop_assert_eq!(again, slices);
        }

        #[test]
        fn any_lengths_are_survived(lengths in prop::collection::vec(any::<u64>(), 0..20), size: u64) {
            if let Ok(parts) = cut(&lengths, size) {
                prop_assert!(parts.iter().all(|part| part.end as u64 <= size));
            }
        }
    }
}
