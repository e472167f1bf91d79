//! Prints the JSON Schema of `tamis --json`, as it is published in `docs/json-schema.json`.

fn main() -> Result<(), serde_json::Error> {
    println!("{}", serde_json::to_string_pretty(&tamis_report::json::schema())?);
    Ok(())
}
