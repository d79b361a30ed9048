//! Reading answers, of which only two things matter: that something happened, and what an error is called.

use super::MAX_MESSAGE;

/// The bytes are no message that we would ever be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a D-Bus message")]
pub struct Malformed;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Which kind it is.
    pub kind: Kind,
    /// Whose answer it is: the serial of a call.
    pub reply_to: Option<u32>,
}

/// Kinds of messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A call was carried out, or is going to be.
    Reply,
    /// A call was refused: the error's name, and its text where it has one.
    Error {
        /// Such as `org.freedesktop.systemd1.UnitExists`.
        name: String,
        /// In the manager's words.
        text: String,
    },
    /// Something happened, such as the end of a job.
    Signal,
    /// None of these.
    Other,
}

/// Fixed part of a header, up to and with the length of its fields.
const FIXED: usize = 16;
const ERROR_NAME: u8 = 4;
const REPLY_SERIAL: u8 = 5;

/// The first message of `bytes` and its length; `None` as long as it is not there whole.
pub fn next(bytes: &[u8]) -> Result<Option<(Answer, usize)>, Malformed> {
    let Some(fixed) = bytes.get(..FIXED) else {
        return Ok(None);
    };
    // Managers answer in the byte order of their machine, which is ours.
    if fixed[0] != b'l' || fixed[3] != 1 {
        return Err(Malformed);
    }
    let length = |at: usize| -> Result<usize, Malformed> {
        let word = fixed.get(at..at + 4).and_then(|word| word.try_into().ok());
        let length = u32::from_le_bytes(word.ok_or(Malformed)?) as usize;
        (length <= MAX_MESSAGE).then_some(length).ok_or(Malformed)
    };
    let (body, fields) = (length(4)?, length(12)?);
    let header = (FIXED + fields).next_multiple_of(8);
    let whole = header + body;
    if whole > MAX_MESSAGE {
        return Err(Malformed);
    }
    let Some(message) = bytes.get(..whole) else {
        return Ok(None);
    };
    let (error, reply_to) = header_fields(&message[..FIXED + fields])?;
    let kind = match fixed[1] {
        2 => Kind::Reply,
        3 => Kind::Error {
            name: error.unwrap_or_default(),
            // The text is the first value where there is one; a body of another shape has none.
            text: Reader(&message[header..], 0).text().unwrap_or_default(),
        },
        4 => Kind::Signal,
        _ => Kind::Other,
    };
    Ok(Some((Answer { kind, reply_to }, whole)))
}

/// The error's name and the reply's serial. All fields of a header have one of four plain types.
fn header_fields(header: &[u8]) -> Result<(Option<String>, Option<u32>), Malformed> {
    let (mut error, mut reply_to) = (None, None);
    let mut reader = Reader(header, FIXED);
    while reader.1 < header.len() {
        reader.align(8);
        let code = reader.byte()?;
        match reader.signature()? {
            b"s" | b"o" => {
                let text = reader.text()?;
                if code == ERROR_NAME {
                    error = Some(text);
                }
            }
            b"g" => drop(reader.signature()?),
            b"u" => {
                let number = reader.number()?;
                if code == REPLY_SERIAL {
                    reply_to = Some(number);
                }
            }
            _ => return Err(Malformed),
        }
    }
    Ok((error, reply_to))
}

/// Bytes, and how far they were read.
struct Reader<'a>(&'a [u8], usize);

impl<'a> Reader<'a> {
    fn align(&mut self, to: usize) {
        self.1 = self.1.next_multiple_of(to);
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let end = self.1.checked_add(count).ok_or(Malformed)?;
        let taken = self.0.get(self.1..end).ok_or(Malformed)?;
        self.1 = end;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    fn number(&mut self) -> Result<u32, Malformed> {
        self.align(4);
        let word = self.take(4)?.try_into().map_err(|_| Malformed)?;
        Ok(u32::from_le_bytes(word))
    }

    /// A text for people's eyes: no control character of a stranger's reaches a terminal.
    fn text(&mut self) -> Result<String, Malformed> {
        let length = self.number()? as usize;
        let bytes = self.take(length)?;
        if self.byte()? != 0 {
            return Err(Malformed);
        }
        let text = String::from_utf8_lossy(bytes);
        Ok(text.chars().filter(|c| !c.is_control()).take(300).collect())
    }

    fn signature(&mut self) -> Result<&'a [u8], Malformed> {
        let length = usize::from(self.byte()?);
        let bytes = self.take(length)?;
        if self.byte()? != 0 {
            return Err(Malformed);
        }
        Ok(bytes)
    }
}
