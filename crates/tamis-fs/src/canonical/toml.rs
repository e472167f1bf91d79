//! TOML by value: the order of keys, comments and the way a value is written do not count; the
//! order in arrays does.

use tamis_core::Hash;
use toml::{Table, Value};

pub(super) fn hash(bytes: &[u8]) -> Option<Hash> {
    let table: Table = std::str::from_utf8(bytes).ok()?.parse().ok()?;
    Some(of_table(&table))
}

fn of_table(table: &Table) -> Hash {
    let mut entries: Vec<(&str, [u8; 16])> =
        table.iter().map(|(key, value)| (key.as_str(), of(value).0.to_le_bytes())).collect();
    entries.sort_unstable();
    let parts = entries.iter().flat_map(|(key, hash)| [key.as_bytes(), hash.as_slice()]);
    Hash::of_parts(std::iter::once(b"table".as_slice()).chain(parts))
}

/// The depth is bounded by the parser.
fn of(value: &Value) -> Hash {
    match value {
        Value::String(text) => Hash::of_parts([b"string", text.as_bytes()]),
        Value::Integer(number) => Hash::of_parts([b"integer", number.to_le_bytes().as_slice()]),
        Value::Float(number) => {
            Hash::of_parts([b"float", number.to_bits().to_le_bytes().as_slice()])
        }
        Value::Boolean(yes) => Hash::of_parts([b"boolean", [u8::from(*yes)].as_slice()]),
        Value::Datetime(time) => Hash::of_parts([b"datetime", time.to_string().as_bytes()]),
        Value::Array(values) => {
            let hashes: Vec<[u8; 16]> = values.iter().map(|v| of(v).0.to_le_bytes()).collect();
            let parts = hashes.iter().map(<[u8; 16]>::as_slice);
            Hash::of_parts(std::iter::once(b"array".as_slice()).chain(parts))
        }
        Value::Table(table) => of_table(table),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        hash(a.as_bytes()).unwrap() == hash(b.as_bytes()).unwrap()
    }

    #[test]
    fn the_way_it_is_written_does_not_count() {
        assert!(same(
            "# head\n[a]\nx = 1\ny = 0x10\n[b]\nz = \"q\"",
            "b.z = 'q' # tail\n[a]\ny = 16\nx = 1"
        ));
        assert!(same("a = {x = 1, y = 2}", "[a]\ny = 2\nx = 1"));
        assert!(same("a = [1,\n 2,\n]", "a = [1, 2]"));
    }

    #[test]
    fn values_count() {
        assert!(!same("a = [1, 2]", "a = [2, 1]"));
        assert!(!same("a = 1", "a = 1.0"));
        assert!(!same("a = 1", "a = '1'"));
        assert!(!same("a = 1979-05-27", "a = '1979-05-27'"));
        assert!(!same("a = []", "a = {}"));
        assert!(!same("a = 1", "b = 1"));
        assert!(!same("[a]", ""));
        assert!(!same("a = 1e300", "a = 1.0000001e300"));
    }

    #[test]
    fn what_toml_forbids_does_not_parse() {
        assert_eq!(hash(b"a = 1\na = 2"), None);
        assert_eq!(hash(b"a = \xff"), None);
        assert_eq!(
            hash(format!("a = {}1{}", "[".repeat(100_000), "]".repeat(100_000)).as_bytes()),
            None
        );
    }
}
