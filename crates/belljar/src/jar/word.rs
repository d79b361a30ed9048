//! What a guest's frame holds besides its bytes: a value that only its client can read, or why there is none.

use serde::Deserialize;

use super::foreign::Foreign;
use crate::outcome::Refused;
use crate::parcel::{Parcel, ParcelError};
use crate::wire::{Frame, INLINE, Kind};

/// Longest text of a refusal that is kept.
const TEXT: usize = 4 << 10;

/// Why a frame is not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WordError {
    #[error("the header of a frame cannot be read: {0}")]
    Header(#[from] serde_json::Error),
    #[error(transparent)]
    Wire(#[from] crate::wire::WireError),
    #[error(transparent)]
    Parcel(#[from] ParcelError),
    #[error("a frame speaks of a descriptor, and no file came")]
    NoDescriptor,
    #[error("a body of {0} bytes is in the stream, and not in a sealed memfd")]
    Inline(usize),
    #[error("descriptors came that no frame speaks of")]
    Descriptor,
    #[error("an item came without leave")]
    Item,
}

/// The header of a value or an item.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Head {
    encoding: Encoding,
    parts: Vec<u64>,
    refused: Option<Refused>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    #[default]
    Json,
    Belljar,
}

/// The parcel in a frame, taken out of it, or why the guest has sent none.
pub(crate) fn open(
    frame: &mut Frame,
    descriptor: Option<Foreign>,
) -> Result<(Option<Parcel>, Option<Refused>), WordError> {
    if !matches!(frame.kind, Kind::Returned | Kind::Item) {
        return Ok((None, None));
    }
    let head: Head = match frame.header.is_empty() {
        true => Head::default(),
        false => serde_json::from_slice(&frame.header)?,
    };
    let parcel = match frame.descriptor {
        Some(size) => {
            let fd = descriptor.and_then(Foreign::into_file);
            let fd = fd.ok_or(WordError::NoDescriptor)?;
            Parcel::memory(head.parts, fd, size)?
        }
        None if head.encoding == Encoding::Json && frame.kind == Kind::Returned => {
            return Ok((None, head.refused.map(cap)));
        }
        None if frame.body.len() as u64 >= INLINE => return Err(WordError::Inline(frame.body.len())),
        None => Parcel::inline(head.parts, std::mem::take(&mut frame.body))?,
    };
    Ok((Some(parcel), None))
}

fn cap(mut refused: Refused) -> Refused {
    for text in [&mut refused.path, &mut refused.r#type, &mut refused.message] {
        if let Some((end, _)) = text.char_indices().nth(TEXT) {
            text.truncate(end);
        }
    }
    refused
}
