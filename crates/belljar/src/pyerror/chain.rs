//! An exception and all that hangs on it, as data: what a client needs that makes them again. Nothing here reads it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

const LINKS: usize = 64;
const SIZE: usize = 256 << 10;

/// One exception of a chain. Others are named by their places in it, which are before its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Module and qualified name of its class and of the classes that this is derived from, nearest first, without those
    /// that are builtin.
    pub classes: Vec<(String, String)>,
    /// The builtin classes that it is an instance of, nearest first.
    pub bases: Vec<String>,
    /// Its text; of a group, its message.
    #[serde(default)]
    pub message: String,
    /// Its arguments. Data is as docs/reference/agent.md has it.
    pub args: Vec<Value>,
    /// Its attributes.
    pub state: Vec<(String, Value)>,
    /// What builtin exceptions keep beside those, such as `errno`.
    pub fields: Vec<(String, Value)>,
    /// Its notes.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What of it is no plain data, or too much.
    pub left: Vec<String>,
    /// Its `__cause__`.
    pub cause: Option<usize>,
    /// Its `__context__`.
    pub context: Option<usize>,
    /// Its `__suppress_context__`.
    pub suppress: bool,
    /// The members of a group.
    #[serde(default)]
    pub members: Option<Vec<usize>>,
}

/// Whether a chain is one that an honest guest may send: of bounded size, without circles, and no exception in it a
/// member twice. Python searches groups in groups without a look at what it has seen, so a few that hold each other
/// several times would keep it busy for ever.
pub(super) fn is_sound(chain: &[Link]) -> bool {
    let mut members = vec![false; chain.len()];
    let in_order = chain.iter().enumerate().all(|(place, link)| {
        let before = |other: &usize| *other < place;
        let own = link.members.iter().flatten();
        link.cause.iter().chain(&link.context).all(before)
            && own
                .into_iter()
                .all(|member| before(member) && !std::mem::replace(&mut members[*member], true))
    });
    in_order && chain.len() <= LINKS && chain.iter().map(weight).sum::<usize>() <= SIZE
}

fn weight(link: &Link) -> usize {
    let names = link.classes.iter().flat_map(|(module, name)| [module, name]);
    let texts = names.chain(&link.bases).chain(&link.notes).chain(&link.left);
    let pairs = link.state.iter().chain(&link.fields);
    link.message.len()
        + texts.map(|text| text.len() + 8).sum::<usize>()
        + link.args.iter().map(size).sum::<usize>()
        + pairs.map(|(name, value)| name.len() + size(value)).sum::<usize>()
}

/// About how many bytes a value takes.
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 8,
        Value::Array(items) => items.iter().map(size).sum::<usize>() + 8,
        Value::Object(items) => {
            items
                .iter()
                .map(|(key, item)| key.len() + size(item))
                .sum::<usize>()
                + 8
        }
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(cause: Option<usize>, context: Option<usize>, members: Option<Vec<usize>>) -> Link {
        Link {
            cause,
            context,
            members,
            ..Link::default()
        }
    }

    #[test]
    fn honest_chains_are_sound() {
        let end = || link(None, None, None);
        assert!(is_sound(&[]));
        assert!(is_sound(&[end()]));
        assert!(
            is_sound(&[end(), link(Some(0), Some(0), None)]),
            "raise from what is handled"
        );
        let group = link(Some(0), None, Some(vec![0, 1]));
        assert!(is_sound(&[end(), link(None, Some(0), None), group]));
        assert!(is_sound(&vec![end(); LINKS]));
    }

    #[test]
    fn circles_shared_members_and_giants_are_not() {
        let end = || link(None, None, None);
        for link in [
            link(Some(0), None, None),
            link(None, Some(0), None),
            link(None, None, Some(vec![0])),
            link(Some(usize::MAX), None, None),
        ] {
            assert!(!is_sound(std::slice::from_ref(&link)), "{link:?}");
        }
        assert!(!is_sound(&[end(), link(None, None, Some(vec![0, 0]))]));
        let twice = link(None, None, Some(vec![0]));
        assert!(!is_sound(&[end(), twice.clone(), twice]));
        assert!(!is_sound(&vec![end(); LINKS + 1]));
        let large = Value::String("x".repeat(SIZE));
        for link in [
            Link {
                args: vec![large.clone()],
                ..end()
            },
            Link {
                state: vec![("a".into(), Value::Array(vec![large]))],
                ..end()
            },
            Link {
                args: vec![Value::Null; SIZE / 8 + 1],
                ..end()
            },
            Link {
                notes: vec![String::new(); SIZE / 8 + 1],
                ..end()
            },
        ] {
            assert!(!is_sound(&[link]));
        }
    }
}
