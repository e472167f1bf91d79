//! The schema against its published file and the page about it.

use super::schema;
use serde_json::Value;
use std::collections::BTreeSet;

const PUBLISHED: &str = include_str!("../../../../docs/json-schema.json");
const PAGE: &str = include_str!("../../../../docs/json.md");

/// The names of all properties in a schema, at any depth.
fn properties(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Object(own)) = object.get("properties") {
                names.extend(own.keys().cloned());
            }
            object.values().for_each(|inner| properties(inner, names));
        }
        Value::Array(list) => list.iter().for_each(|inner| properties(inner, names)),
        _ => {}
    }
}

#[test]
fn the_published_schema_is_that_of_the_code() {
    let published: Value = serde_json::from_str(PUBLISHED).unwrap();
    let hint = "cargo run -p tamis-report --example json-schema > docs/json-schema.json";
    assert_eq!(published, *schema().as_value(), "write it anew: {hint}");
}

#[test]
fn every_field_and_every_event_is_documented() {
    let schema = schema();
    let mut names = BTreeSet::new();
    properties(schema.as_value(), &mut names);
    assert!(names.len() > 60, "{names:?}");
    for name in &names {
        assert!(PAGE.contains(&format!("`{name}`")), "{name} is not in docs/json.md");
    }
    let events = schema.as_value()["oneOf"].as_array().unwrap();
    for event in events {
        let name = event["properties"]["event"]["const"].as_str().unwrap();
        assert!(PAGE.contains(&format!("`{name}`")), "{name} is not in docs/json.md");
    }
}
