//! The next step after an error or an exception. Settings in it are data, so that each front names them in its own words:
//! `--memory` at a shell, `memory=` in Python, `.memory(...)` in Rust.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::policy::KEYS;

/// One or two sentences that say what to do next.
///
/// Its text comes in two halves, for two readers: whoever wrote the guest's code can change that and nothing else; whoever
/// called belljar can change the policy as well.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// What to change in the guest's code.
    pub code: Cow<'static, str>,
    /// What to change outside of it; it continues the sentence.
    pub caller: Vec<Piece>,
}

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Piece {
    /// Words.
    Text(Cow<'static, str>),
    /// A setting, and the values that it should have; none where any will do.
    Set {
        /// Which.
        setting: Setting,
        /// What it should be.
        #[serde(default)]
        values: Vec<String>,
    },
}

/// What a hint can ask a caller to set: a key of the policy, or a choice about dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[allow(missing_docs)] // Each is the key, or the flag, of its name.
pub enum Setting {
    AllowBuilds,
    AllowUrls,
    Apply,
    Dependencies,
    Disk,
    Draft,
    FileSize,
    Group,
    Memory,
    Mount,
    Network,
    Pids,
    Policy,
    Python,
    Refresh,
    RequireLayers,
    Timeout,
    Venv,
    Workdir,
}

impl Setting {
    /// Its name in a policy, and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::AllowBuilds => "allow_builds",
            Self::AllowUrls => "allow_urls",
            Self::Apply => "apply",
            Self::Dependencies => "dependencies",
            Self::Disk => "disk",
            Self::Draft => "draft",
            Self::FileSize => "file_size",
            Self::Group => "group",
            Self::Memory => "memory",
            Self::Mount => "mount",
            Self::Network => "network",
            Self::Pids => "pids",
            Self::Policy => "policy",
            Self::Python => "python",
            Self::Refresh => "refresh",
            Self::RequireLayers => "require_layers",
            Self::Timeout => "timeout",
            Self::Venv => "venv",
            Self::Workdir => "workdir",
        }
    }

    /// Whether [`Builder`](crate::Builder) has a method of its name.
    fn is_method(self) -> bool {
        match self {
            Self::Disk
            | Self::Memory
            | Self::Mount
            | Self::Network
            | Self::Pids
            | Self::Policy
            | Self::Python
            | Self::Timeout
            | Self::Venv
            | Self::Workdir => true,
            Self::AllowBuilds
            | Self::AllowUrls
            | Self::Apply
            | Self::Dependencies
            | Self::Draft
            | Self::FileSize
            | Self::Group
            | Self::Refresh
            | Self::RequireLayers => false,
        }
    }

    /// Its flag.
    fn flag(self) -> Cow<'static, str> {
        match KEYS.iter().find(|key| key.name == self.name()) {
            Some(key) => key.flag.into(),
            None if self == Self::Dependencies => "--with".into(),
            None => format!("--{}", self.name().replace('_', "-")).into(),
        }
    }
}

impl Hint {
    /// Advice about the guest's code.
    pub fn code(text: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code: text.into(),
            caller: Vec::new(),
        }
    }

    /// Goes on for the caller.
    #[must_use]
    pub fn say(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.caller.push(Piece::Text(text.into()));
        self
    }

    /// Names a setting.
    #[must_use]
    pub fn set(self, setting: Setting) -> Self {
        self.set_to(setting, [] as [String; 0])
    }

    /// Names a setting with values for it.
    #[must_use]
    pub fn set_to<Value: Into<String>>(
        mut self,
        setting: Setting,
        values: impl IntoIterator<Item = Value>,
    ) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        self.caller.push(Piece::Set { setting, values });
        self
    }

    /// The whole text, for someone at a shell.
    pub fn in_flags(&self) -> String {
        self.text(|setting, values| {
            let flag = setting.flag();
            match values {
                [] => flag.into_owned(),
                values => {
                    let each: Vec<String> = values.iter().map(|value| format!("{flag} {value}")).collect();
                    each.join(" ")
                }
            }
        })
    }

    fn text(&self, words: impl Fn(Setting, &[String]) -> String) -> String {
        let mut text = self.code.clone().into_owned();
        for piece in &self.caller {
            match piece {
                Piece::Text(more) => text.push_str(more),
                Piece::Set { setting, values } => text.push_str(&words(*setting, values)),
            }
        }
        text
    }
}

/// For a caller of the library.
impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(|setting, values| match (setting.is_method(), values) {
            (true, []) => format!(".{}(...)", setting.name()),
            (true, values) => format!(".{}({})", setting.name(), values.join(", ")),
            (false, []) => format!("`{}`", setting.name()),
            (false, values) => format!("`{}` ({})", setting.name(), values.join(", ")),
        }))
    }
}

impl From<&'static str> for Hint {
    fn from(text: &'static str) -> Self {
        Self::default().say(text)
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self::default().say(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_front_has_its_words() {
        let hint = Hint::code("work on smaller pieces")
            .say(", or raise ")
            .set(Setting::Memory);
        assert_eq!(hint.in_flags(), "work on smaller pieces, or raise --memory");
        assert_eq!(hint.to_string(), "work on smaller pieces, or raise .memory(...)");
        let hint = Hint::from("add ").set_to(Setting::Dependencies, ["six", "toolz"]);
        assert_eq!(hint.in_flags(), "add --with six --with toolz");
        assert_eq!(hint.to_string(), "add `dependencies` (six, toolz)");
        let hint = Hint::from("leave cgroup out of ").set(Setting::RequireLayers);
        assert_eq!(hint.in_flags(), "leave cgroup out of --require-layer");
    }

    #[test]
    fn a_hint_is_data() {
        let hint = Hint::code("write less").say(", or raise ").set(Setting::Disk);
        let text = serde_json::to_string(&hint).unwrap();
        assert_eq!(
            text,
            r#"{"code":"write less","caller":[", or raise ",{"setting":"disk","values":[]}]}"#
        );
        assert_eq!(serde_json::from_str::<Hint>(&text).unwrap(), hint);
    }
}
