//! A policy that came as JSON. It goes through the reader of documents, so that both forms take the same keys, values and
//! checks, and answer with the same words.

use std::path::Path;

use super::Open;
use crate::policy::{Access, Mount, Policy, PolicyDocument, PolicyError};

/// The policy that a request stands for. Nothing is taken from the agent's own environment.
pub fn policy(open: &Open) -> Result<Policy, PolicyError> {
    let given: serde_json::Map<_, _> = open
        .policy
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let text = toml::to_string(&given).map_err(|error| PolicyError::Syntax {
        message: error.to_string().trim().to_owned(),
    })?;
    // There is no line that the caller would know.
    let document = PolicyDocument::parse(&text, Path::new("policy")).map_err(|error| match error {
        PolicyError::In { problem, .. } => *problem,
        other => other,
    })?;
    let base = match &open.profile {
        Some(name) => PolicyDocument::builtin(name)?,
        None => PolicyDocument::default(),
    };
    let mut policy = base.merge(document).resolve_with(|_| None)?;
    for path in &open.modules {
        policy.mounts.push(module(path)?);
    }
    Ok(policy)
}

/// Where a guest looks for modules of the host, after everything else.
const MODULES: &str = "/modules";

/// The mount that lets a guest import one package or file.
fn module(path: &Path) -> Result<Mount, PolicyError> {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    // `name`, `name.py` or `name.cpython-312-x86_64-linux-gnu.so`: something that an import finds.
    let own = name.split('.').next().unwrap_or_default();
    let plain = |character: char| character == '_' || character.is_alphanumeric();
    let found = [".py", ".so", ""].iter().any(|end| match *end {
        "" => name == own,
        end => name.ends_with(end),
    });
    if own.is_empty() || !own.chars().all(plain) || !found {
        return Err(PolicyError::Kind {
            key: format!("modules: {}", path.display()),
            expected: "a package or a single file that can be imported",
            found: "this name",
        });
    }
    Ok(Mount {
        source: path.to_path_buf(),
        target: Path::new(MODULES).join(name),
        access: Access::ReadOnly,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn read(policy_keys: serde_json::Value, profile: Option<&str>) -> Result<Policy, String> {
        let serde_json::Value::Object(keys) = policy_keys else {
            panic!("an object")
        };
        let open = Open {
            policy: keys,
            profile: profile.map(str::to_owned),
            ..Open::default()
        };
        policy(&open).map_err(|error| error.to_string())
    }

    #[test]
    fn keys_mean_what_they_mean_in_a_document() {
        let policy = read(
            json!({"memory": "64M", "timeout": 2.5, "env": {"A": "b"}, "mount": [{"source": "/srv", "target": "/srv"}], "venv": null}),
            Some("strict"),
        )
        .unwrap();
        assert_eq!(policy.limits.memory, 64 << 20);
        assert_eq!(policy.limits.timeout, Some(Duration::from_millis(2500)));
        assert_eq!(policy.env["A"], "b");
        assert!(!policy.system, "the profile counts");
        assert_eq!(policy.mounts.len(), 1);
    }

    #[test]
    fn modules_are_mounted_where_the_guest_looks_for_them() {
        let read = |path: &str| {
            let open = Open {
                modules: vec![path.into()],
                ..Open::default()
            };
            policy(&open).map(|policy| policy.mounts[0].target.display().to_string())
        };
        for (path, target) in [
            ("/x/pkg", "/modules/pkg"),
            ("/x/one.py", "/modules/one.py"),
            (
                "/x/_c.cpython-312-x86_64-linux-gnu.so",
                "/modules/_c.cpython-312-x86_64-linux-gnu.so",
            ),
        ] {
            assert_eq!(read(path).unwrap(), target);
        }
        for path in ["/", "/x/..", "/x/a b", "/x/a-b.py", "/x/.so", "/x/a.txt"] {
            let error = read(path).unwrap_err().to_string();
            assert!(error.contains("modules"), "{path}: {error}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_without_a_line() {
        for (keys, told) in [
            (
                json!({"memroy": 1}),
                "unknown key `memroy`; did you mean `memory`?",
            ),
            (json!({"env": ["HOME_OF_AGENT"]}), "HOME_OF_AGENT"),
            (json!({"memory": 1.5}), "memory"),
            (json!({"memory": u64::MAX}), "memory"),
            (json!({"env": {"A": null}}), "TOML"),
        ] {
            let error = read(keys.clone(), None).unwrap_err();
            assert!(error.contains(told), "{keys}: {error}");
            assert!(!error.contains("policy:"), "{error}");
        }
        assert!(read(json!({}), Some("no such")).is_err());
    }
}
