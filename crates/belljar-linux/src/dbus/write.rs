//! Writing one call. Little endian; every value begins at a multiple of its own size, counted from the message's start.

/// A property of a transient unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Property<'a> {
    /// `b`
    Bool(bool),
    /// `t`
    Number(u64),
    /// `s`
    Text(&'a str),
    /// `au`
    Numbers(&'a [u32]),
}

/// Fields of a header.
const PATH: u8 = 1;
const INTERFACE: u8 = 2;
const MEMBER: u8 = 3;
const SIGNATURE: u8 = 8;

/// The call `StartTransientUnit` of a manager, without a bus's destination.
pub fn call(serial: u32, unit: &str, properties: &[(&str, Property<'_>)]) -> Vec<u8> {
    let mut body = Writer::default();
    body.text(unit);
    // Mode: fail where a unit of that name is there already.
    body.text("fail");
    body.array(8, |body| {
        for (name, value) in properties {
            body.align(8);
            body.text(name);
            body.variant(value);
        }
    });
    // No auxiliary units.
    body.array(8, |_| {});

    let mut message = Writer::default();
    // Little endian, a call, no flags, version 1.
    message.0.extend_from_slice(&[b'l', 1, 0, 1]);
    message.number(body.0.len() as u32);
    message.number(serial);
    message.array(8, |header| {
        let mut field = |code: u8, kind: &str, value: &str| {
            header.align(8);
            header.0.push(code);
            header.signature(kind);
            match kind {
                "g" => header.signature(value),
                _ => header.text(value),
            }
        };
        field(PATH, "o", "/org/freedesktop/systemd1");
        field(INTERFACE, "s", "org.freedesktop.systemd1.Manager");
        field(MEMBER, "s", "StartTransientUnit");
        field(SIGNATURE, "g", "ssa(sv)a(sa(sv))");
    });
    message.align(8);
    message.0.extend_from_slice(&body.0);
    message.0
}

#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn align(&mut self, to: usize) {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
    }

    fn number(&mut self, value: u32) {
        self.align(4);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn text(&mut self, value: &str) {
        self.number(value.len() as u32);
        self.0.extend_from_slice(value.as_bytes());
        self.0.push(0);
    }

    fn signature(&mut self, value: &str) {
        self.0.push(value.len() as u8);
        self.0.extend_from_slice(value.as_bytes());
        self.0.push(0);
    }

    /// The padding before the first element is not part of the length, and is there even where no element is.
    fn array(&mut self, of: usize, fill: impl FnOnce(&mut Self)) {
        self.number(0);
        let length = self.0.len() - 4;
        self.align(of);
        let start = self.0.len();
        fill(self);
        let bytes = (self.0.len() - start) as u32;
        self.0[length..length + 4].copy_from_slice(&bytes.to_le_bytes());
    }

    fn variant(&mut self, value: &Property<'_>) {
        match value {
            Property::Bool(value) => {
                self.signature("b");
                self.number(u32::from(*value));
            }
            Property::Number(value) => {
                self.signature("t");
                self.align(8);
                self.0.extend_from_slice(&value.to_le_bytes());
            }
            Property::Text(value) => {
                self.signature("s");
                self.text(value);
            }
            Property::Numbers(values) => {
                self.signature("au");
                self.array(4, |writer| values.iter().for_each(|value| writer.number(*value)));
            }
        }
    }
}
