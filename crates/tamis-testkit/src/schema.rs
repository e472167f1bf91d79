//! Holds lines of `tamis --json` against the published schema, with the words of JSON Schema that it
//! uses. Stricter than the schema in one thing: a field that it does not name is a mistake.

use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::LazyLock;

pub static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../docs/json-schema.json")).expect("JSON")
});

/// Panics where a line is not as the schema says.
#[track_caller]
pub fn assert_valid(line: &Value) {
    let of_event = SCHEMA["oneOf"].as_array().expect("one per event").iter();
    let mut of_event = of_event.filter(|s| s["properties"]["event"]["const"] == line["event"]);
    let schema = of_event.next().unwrap_or_else(|| panic!("no such event: {line}"));
    if let Err(mistake) = check(schema, line) {
        panic!("{mistake} in {line}");
    }
}

fn check(schema: &Value, value: &Value) -> Result<(), String> {
    let Some(object) = schema.as_object() else { return Ok(()) };
    for (word, rule) in object {
        match word.as_str() {
            "$ref" => check(referred(rule), value)?,
            "type" => is(has_type(rule, value), "type", rule, value)?,
            "const" => is(rule == value, "const", rule, value)?,
            "enum" => is(list(rule).contains(value), "enum", rule, value)?,
            "minimum" => {
                let small = value.as_f64() < rule.as_f64() && value.is_number();
                is(!small, "minimum", rule, value)?;
            }
            "oneOf" | "anyOf" => {
                let fitting = list(rule).iter().filter(|s| check(s, value).is_ok()).count();
                is(fitting == 1 || word == "anyOf" && fitting > 1, word, rule, value)?;
            }
            "items" => list(value).iter().try_for_each(|item| check(rule, item))?,
            "required" => {
                for name in list(rule) {
                    let there = value.get(name.as_str().expect("a name")).is_some();
                    is(there, "required", name, value)?;
                }
            }
            "properties" => {
                for (name, rule) in rule.as_object().expect("properties") {
                    value.get(name).map_or(Ok(()), |inner| check(rule, inner))?;
                }
            }
            "description" | "title" | "format" | "$schema" | "$defs" => {}
            word => panic!("the schema has a new word: {word}"),
        }
    }
    known_fields(object, value)
}

/// The fields of an object are among those that its schema names.
fn known_fields(schema: &Map<String, Value>, value: &Value) -> Result<(), String> {
    let mut names = BTreeSet::new();
    named(schema, &mut names);
    let Some(object) = value.as_object().filter(|_| !names.is_empty()) else { return Ok(()) };
    // The event stands outside of what the schema of a line refers to.
    let unknown = object.keys().find(|key| !names.contains(key.as_str()) && *key != "event");
    unknown.map_or(Ok(()), |key| Err(format!("the field {key} is not in the schema")))
}

fn named<'a>(schema: &'a Map<String, Value>, names: &mut BTreeSet<&'a str>) {
    if let Some(Value::Object(own)) = schema.get("properties") {
        names.extend(own.keys().map(String::as_str));
    }
    if let Some(inner) = schema.get("$ref").and_then(|r| referred(r).as_object()) {
        named(inner, names);
    }
}

fn referred(reference: &Value) -> &'static Value {
    let path = reference.as_str().and_then(|r| r.strip_prefix('#')).expect("a local reference");
    SCHEMA.pointer(path).unwrap_or_else(|| panic!("{path} is not in the schema"))
}

fn has_type(types: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str().expect("a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the schema has a new type: {other}"),
    };
    types.as_array().map_or_else(|| is(types), |all| all.iter().any(is))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn is(so: bool, word: &str, rule: &Value, value: &Value) -> Result<(), String> {
    if so { Ok(()) } else { Err(format!("not {word} {rule}: {value}")) }
}
