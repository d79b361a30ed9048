//! pip's settings, told to uv in its own words where uv's own say nothing of the same.

use std::collections::BTreeMap;
use std::path::Path;

use toml::Value;

use super::{Around, IndexSettings, read};
use crate::environment::EnvironmentError;

/// pip's name; uv's key and variables for the same; the variable that it becomes, and what joins several values there.
const SAME: [(&str, &str, &[&str], &str, &str); 7] = [
    (
        "index-url",
        "index-url",
        &["UV_DEFAULT_INDEX", "UV_INDEX_URL"],
        "UV_DEFAULT_INDEX",
        " ",
    ),
    (
        "extra-index-url",
        "extra-index-url",
        &["UV_INDEX", "UV_EXTRA_INDEX_URL"],
        "UV_INDEX",
        " ",
    ),
    (
        "find-links",
        "find-links",
        &["UV_FIND_LINKS"],
        "UV_FIND_LINKS",
        ",",
    ),
    (
        "trusted-host",
        "allow-insecure-host",
        &["UV_INSECURE_HOST"],
        "UV_INSECURE_HOST",
        " ",
    ),
    ("cert", "", &["SSL_CERT_FILE"], "SSL_CERT_FILE", " "),
    (
        "proxy",
        "",
        &["ALL_PROXY", "HTTPS_PROXY", "https_proxy", "all_proxy"],
        "ALL_PROXY",
        " ",
    ),
    ("timeout", "", &["UV_HTTP_TIMEOUT"], "UV_HTTP_TIMEOUT", " "),
];

/// Adds what pip's files and variables say.
pub(super) fn add(settings: &mut IndexSettings, around: &Around) -> Result<(), EnvironmentError> {
    let said = said(around)?;
    let indexes = settings.file.contains_key("index");
    for (name, key, variables, becomes, joint) in SAME {
        // An index of uv's own with a name may well be the default one: pip's does not push it aside.
        let told = settings.has(key, variables) || (indexes && name == "index-url");
        if let Some(values) = said.get(name)
            && !told
        {
            settings.variables.insert(becomes.to_owned(), values.join(joint));
        }
    }
    let none = said.get("no-index").and_then(|values| values.first());
    if none.is_some_and(|value| ["1", "true", "yes", "on"].contains(&value.as_str()))
        && !settings.has("no-index", &[])
    {
        settings.file.insert("no-index".into(), Value::Boolean(true));
    }
    Ok(())
}

/// What pip would know: files, the nearest last, then variables.
fn said(around: &Around) -> Result<BTreeMap<String, Vec<String>>, EnvironmentError> {
    let mut said = BTreeMap::new();
    for path in &around.pip {
        if let Some(text) = read(path)? {
            file(path, &text, &mut said)?;
        }
    }
    for (name, value) in &around.variables {
        if let Some(name) = name.strip_prefix("PIP_") {
            let name = match name {
                "DEFAULT_TIMEOUT" => "timeout".to_owned(),
                name => name.to_ascii_lowercase().replace('_', "-"),
            };
            said.insert(name, words(value));
        }
    }
    Ok(said)
}

/// The sections of a pip.conf that an installation obeys, `[install]` over `[global]`.
fn file(path: &Path, text: &str, said: &mut BTreeMap<String, Vec<String>>) -> Result<(), EnvironmentError> {
    let mut sections: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    let (mut section, mut last) = (String::new(), None::<String>);
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            (section, last) = (name.trim().to_owned(), None);
        } else if line.starts_with([' ', '\t']) {
            // A value goes on as long as lines are indented.
            let values = last
                .as_ref()
                .and_then(|name| sections.get_mut(&section)?.get_mut(name));
            values
                .into_iter()
                .for_each(|values| values.extend(words(trimmed)));
        } else if let Some((name, value)) = trimmed.split_once(['=', ':']) {
            let name = name.trim().to_ascii_lowercase().replace('_', "-");
            sections
                .entry(section.clone())
                .or_default()
                .insert(name.clone(), words(value));
            last = Some(name);
        } else {
            return Err(EnvironmentError::Settings {
                path: path.to_path_buf(),
                problem: format!("{trimmed:?} is neither a section nor a setting"),
            });
        }
    }
    for name in ["global", "install"] {
        said.extend(sections.remove(name).unwrap_or_default());
    }
    Ok(())
}

fn words(value: &str) -> Vec<String> {
    value.split_whitespace().map(str::to_owned).collect()
}
