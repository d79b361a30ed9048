//! What is generated from the policy's key table, beside the table in docs/reference/policy.md: the keywords of the Python
//! package with their types and ranges, and the JSON schema.

use std::fmt::Write;

use anyhow::Context;
use belljar::policy::{Access, Amount, KEYS, Key, Layer, LimitKey, Takes, Unit, WorkdirMode, profiles};
use serde_json::{Map, Value, json};

/// `python/belljar/_keys.py`: what checks the value of each keyword, and what bounds it.
pub fn python() -> anyhow::Result<String> {
    let mut text = String::from(
        "\"\"\"Every key of a policy, and what it takes. Written by `make docs` from crates/belljar/src/policy/keys.rs.\"\"\"\n\n\
         from __future__ import annotations\n\n\
         TYPE_CHECKING = False\n\
         if TYPE_CHECKING:\n    from typing import Any\n\n\
         #: The kind of its value, and what bounds it: names, or least, most, a value that works, and whether \"none\" does.\n\
         KEYS: dict[str, tuple[Any, ...]] = {\n",
    );
    for key in KEYS {
        writeln!(text, "    \"{}\": ({}),", key.name, kind(&key.takes))?;
    }
    text.push_str("}\n");
    Ok(text)
}

fn kind(takes: &Takes) -> String {
    let named = |kind: &str, names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        format!("\"{kind}\", {}", names.join(", "))
    };
    match takes {
        Takes::Python => "\"python\",".into(),
        Takes::Path => "\"path\",".into(),
        Takes::Switch => "\"switch\",".into(),
        Takes::Choice(names) => named("choice", names),
        Takes::Mounts => "\"mounts\",".into(),
        Takes::Workdir => "\"workdir\",".into(),
        Takes::Variables => "\"variables\",".into(),
        // Too long for one line, and laid out as ruff does it.
        Takes::Layers => format!(
            "\n        \"layers\",\n        *\"{}\".split(),\n    ",
            Layer::ALL.map(Layer::name).join(" ")
        ),
        Takes::Profiles => named("choice", &profiles().collect::<Vec<_>>()),
        Takes::Limit(limit) => format!(
            "\"{}\", {}, {}, \"{}\", {}",
            match limit.unit {
                Unit::Bytes => "size",
                Unit::Count => "count",
                Unit::Number | Unit::Seconds => "amount",
                Unit::Time => "duration",
            },
            number(limit.least),
            number(limit.most),
            limit.works.trim_matches('"'),
            if limit.none { "True" } else { "False" },
        ),
    }
}

/// As JSON and Python both write it.
fn number(amount: Amount) -> Value {
    match amount {
        Amount::Whole(value) => json!(value),
        Amount::Number(value) => whole(value),
        Amount::Time(value) => whole(value.as_secs_f64()),
    }
}

fn whole(value: f64) -> Value {
    if value.fract() == 0.0 {
        json!(value as u64)
    } else {
        json!(value)
    }
}

/// The fields of `PolicyKeywords`, for type checkers.
pub fn types() -> anyhow::Result<String> {
    let mut text = String::new();
    for key in KEYS {
        let literal = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            format!("Literal[{}]", names.join(", "))
        };
        let kind = match &key.takes {
            Takes::Python | Takes::Path => "Path".into(),
            Takes::Switch => "bool".into(),
            Takes::Choice(names) => literal(names),
            Takes::Mounts => "Path | Mapping[str, str] | Sequence[Path | Mapping[str, str]]".into(),
            Takes::Workdir => "Path | Mapping[str, str]".into(),
            Takes::Variables => "Mapping[str, str] | Sequence[str]".into(),
            Takes::Layers => "Sequence[str]".into(),
            Takes::Profiles => literal(&profiles().collect::<Vec<_>>()),
            Takes::Limit(limit) => match (limit.unit, limit.none) {
                (Unit::Bytes, _) => "int | str".into(),
                (Unit::Count, _) => "int".into(),
                (Unit::Number | Unit::Seconds, false) => "float".into(),
                (Unit::Number | Unit::Seconds, true) => "float | Literal[\"none\"]".into(),
                (Unit::Time, _) => "float | str | timedelta".into(),
            },
        };
        writeln!(text, "    {}: {kind} | None", key.name)?;
    }
    Ok(text)
}

/// `docs/reference/policy.schema.json`.
pub fn schema() -> anyhow::Result<String> {
    let mut keys = Map::new();
    for key in KEYS {
        let mut about = taken(&key)?;
        about.insert("description".into(), key.about.into());
        if let Ok(Value::Object(default)) = toml::from_str(&format!("x = {}", key.default)) {
            about.insert("default".into(), default["x"].clone());
        }
        keys.insert(key.name.into(), Value::Object(about));
    }
    let whole = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A policy of belljar",
        "type": "object",
        "properties": keys,
        "additionalProperties": false,
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&whole)?))
}

fn taken(key: &Key) -> anyhow::Result<Map<String, Value>> {
    let place = |third: &str, names: &[&str]| {
        json!({
            "type": "object",
            "properties": {"source": {"type": "string"}, "target": {"type": "string"}, third: {"enum": names}},
            "required": ["source"],
            "additionalProperties": false,
        })
    };
    let text = json!({"type": "string"});
    let value = match &key.takes {
        Takes::Python | Takes::Path => text,
        Takes::Switch => json!({"type": "boolean"}),
        Takes::Choice(names) => json!({"enum": names}),
        Takes::Mounts => {
            json!({"type": "array", "items": {"oneOf": [text, place("access", &Access::ALL.map(Access::name))]}})
        }
        Takes::Workdir => json!({"oneOf": [text, place("mode", &WorkdirMode::ALL.map(WorkdirMode::name))]}),
        Takes::Variables => json!({"oneOf": [
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"type": "array", "items": {"type": "string"}},
        ]}),
        Takes::Layers => json!({"type": "array", "items": {"enum": Layer::ALL.map(Layer::name)}}),
        Takes::Profiles => json!({"type": "object", "additionalProperties": {"$ref": "#"}}),
        Takes::Limit(limit) => bounded(limit),
    };
    value.as_object().cloned().context("a schema is an object")
}

fn bounded(limit: &LimitKey) -> Value {
    let range =
        |kind: &str| json!({"type": kind, "minimum": number(limit.least), "maximum": number(limit.most)});
    let text = |pattern: &str| json!({"type": "string", "pattern": pattern});
    let mut forms = match limit.unit {
        Unit::Bytes => vec![range("integer"), text("^[0-9]+([kmgtKMGT]([iI]?[bB])?|[bB])?$")],
        Unit::Count => vec![range("integer")],
        Unit::Number | Unit::Seconds => vec![range("number")],
        Unit::Time => vec![
            range("number"),
            text("^([0-9]+(\\.[0-9]+)?(d|h|m|s|ms|us|ns))+$|^[0-9]+(\\.[0-9]+)?$"),
        ],
    };
    if limit.none {
        forms.push(json!({"enum": ["none"]}));
    }
    match &forms[..] {
        [only] => only.clone(),
        forms => json!({"oneOf": forms}),
    }
}
