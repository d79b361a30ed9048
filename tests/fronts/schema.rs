//! Holds values against docs/reference/outcome.schema.json, by the few keywords that it uses.

use serde_json::Value;

/// Says where a value is not what the schema says.
pub fn hold(value: &Value) -> Result<(), String> {
    let text = include_str!("../../docs/reference/outcome.schema.json");
    let schema: Value = serde_json::from_str(text).expect("the schema is JSON");
    check(value, &schema, &schema, "$")
}

fn check(value: &Value, schema: &Value, root: &Value, at: &str) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.strip_prefix("#/$defs/").expect("a reference into $defs");
        return check(value, &root["$defs"][name], root, at);
    }
    if let Some(options) = schema["oneOf"].as_array() {
        let tried: Vec<_> = options
            .iter()
            .map(|option| check(value, option, root, at))
            .collect();
        return match tried.iter().filter(|result| result.is_ok()).count() {
            1 => Ok(()),
            _ => Err(format!("{at}: not one of {tried:?}")),
        };
    }
    if let Some(options) = schema["enum"].as_array()
        && !options.contains(value)
    {
        return Err(format!("{at}: {value} is none of {options:?}"));
    }
    let kinds = match &schema["type"] {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is(value, kind)) {
        return Err(format!("{at}: {value} is no {kinds:?}"));
    }
    for name in schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if value.get(name).is_none() {
            return Err(format!("{at}: {name} is missing"));
        }
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        let at = format!("{at}.{name}");
        match (&schema["properties"][name], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => return Err(format!("{at}: not in the schema")),
            (Value::Null, Value::Null) => {}
            (Value::Null, rest) => check(inner, rest, root, &at)?,
            (property, _) => check(inner, property, root, &at)?,
        }
    }
    for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
        check(inner, &schema["items"], root, &format!("{at}[{index}]"))?;
    }
    Ok(())
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the schema uses {other}, which this reader does not know"),
    }
}

#[test]
fn what_is_wrong_is_found() {
    let failure = |message: Value| serde_json::json!({ "error": { "message": message, "hint": null } });
    assert_eq!(hold(&failure("x".into())), Ok(()));
    assert!(hold(&failure(1.into())).is_err());
    assert!(hold(&serde_json::json!({ "error": { "message": "x" } })).is_err());
    assert!(hold(&serde_json::json!({ "error": { "message": "x", "hint": null, "more": 1 } })).is_err());
}
