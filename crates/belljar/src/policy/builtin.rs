//! Profiles that belljar brings along, in `policies/`. They are parsed only when they are named.

const PROFILES: [(&str, &str); 4] = [
    // What holds without a profile is `Policy::default`, so that a bare run parses nothing.
    ("default", ""),
    ("strict", include_str!("../../../../policies/strict.toml")),
    ("data", include_str!("../../../../policies/data.toml")),
    ("jupyter", include_str!("../../../../policies/jupyter.toml")),
];

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|(name, _)| *name)
}

pub(super) fn text(name: &str) -> Option<&'static str> {
    PROFILES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}
