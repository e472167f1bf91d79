//! JSON by value (RFC 8259): blanks, the order of keys and the way a string is escaped do not
//! count. Numbers count by their text, because readers differ in what they make of `1.0` and of
//! twenty digits; a key that is there twice counts twice, in its order.
//!
//! A reader of its own, because common ones turn numbers into `f64` and drop repeated keys.

use tamis_core::Hash;

/// Deeper nesting does not parse, which bounds the stack.
const MAX_DEPTH: usize = 256;

pub(super) fn hash(bytes: &[u8]) -> Option<Hash> {
    // Everything outside of strings is ASCII, so bytes are enough after this check.
    std::str::from_utf8(bytes).ok()?;
    let mut reader = Reader { bytes, at: 0, text: Vec::new() };
    let hash = reader.value(0)?;
    reader.blanks();
    (reader.at == bytes.len()).then_some(hash)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The last string, escapes resolved.
    text: Vec<u8>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Takes `expected` after blanks.
    fn take(&mut self, expected: u8) -> Option<()> {
        self.blanks();
        self.take_if(expected).then_some(())
    }

    fn take_if(&mut self, expected: u8) -> bool {
        let found = self.peek() == Some(expected);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Option<Hash> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.blanks();
        match self.peek()? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => {
                self.string()?;
                Some(Hash::of_parts([b"string", self.text.as_slice()]))
            }
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Hash> {
        self.take(b'{')?;
        let mut members: Vec<(Vec<u8>, [u8; 16])> = Vec::new();
        self.blanks();
        if !self.take_if(b'}') {
            loop {
                self.blanks();
                self.string()?;
                let key = std::mem::take(&mut self.text);
                self.take(b':')?;
                members.push((key, self.value(depth + 1)?.0.to_le_bytes()));
                self.blanks();
                if !self.take_if(b',') {
                    break;
                }
            }
            self.take(b'}')?;
        }
        // Stable: repeated keys keep their order, since readers take the first or the last.
        members.sort_by(|a, b| a.0.cmp(&b.0));
        let parts = members.iter().flat_map(|(key, hash)| [key.as_slice(), hash.as_slice()]);
        Some(Hash::of_parts(std::iter::once(b"object".as_slice()).chain(parts)))
    }

    fn array(&mut self, depth: usize) -> Option<Hash> {
        self.take(b'[')?;
        let mut elements: Vec<[u8; 16]> = Vec::new();
        self.blanks();
        if !self.take_if(b']') {
            loop {
                elements.push(self.value(depth + 1)?.0.to_le_bytes());
                self.blanks();
                if !self.take_if(b',') {
                    break;
                }
            }
            self.take(b']')?;
        }
        let parts = elements.iter().map(<[u8; 16]>::as_slice);
        Some(Hash::of_parts(std::iter::once(b"array".as_slice()).chain(parts)))
    }

    fn word(&mut self, word: &'static [u8]) -> Option<Hash> {
        if !self.bytes[self.at..].starts_with(word) {
            return None;
        }
        self.at += word.len();
        Some(Hash::of_parts([b"word".as_slice(), word]))
    }

    fn number(&mut self) -> Option<Hash> {
        let start = self.at;
        self.take_if(b'-');
        if !self.take_if(b'0') {
            self.digits()?;
        }
        if self.take_if(b'.') {
            self.digits()?;
        }
        if self.take_if(b'e') || self.take_if(b'E') {
            let _sign = self.take_if(b'+') || self.take_if(b'-');
            self.digits()?;
        }
        Some(Hash::of_parts([b"number".as_slice(), &self.bytes[start..self.at]]))
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    /// Reads a string into `self.text`.
    fn string(&mut self) -> Option<()> {
        self.text.clear();
        if !self.take_if(b'"') {
            return None;
        }
        loop {
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b'"' => return Some(()),
                b'\\' => self.escape()?,
                0..0x20 => return None,
                _ => self.text.push(byte),
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        let byte = self.peek()?;
        self.at += 1;
        let plain = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let unit = self.unit()?;
                self.push_unit(unit);
                return Some(());
            }
            _ => return None,
        };
        self.text.push(plain);
        Some(())
    }

    /// The four hexadecimal digits of a `\u`.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.bytes.get(self.at..self.at + 4)?;
        let mut unit = 0;
        for &digit in digits {
            unit = unit * 16 + char::from(digit).to_digit(16)?;
        }
        self.at += 4;
        Some(unit)
    }

    /// Appends the character of a UTF-16 unit; with the next unit where the two are a pair.
    fn push_unit(&mut self, unit: u32) {
        let mut code = unit;
        if (0xd800..0xdc00).contains(&unit) && self.bytes[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 2;
            match self.unit() {
                Some(low) if (0xdc00..0xe000).contains(&low) => {
                    code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                }
                _ => self.at = before,
            }
        }
        match char::from_u32(code) {
            Some(c) => self.text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            // Half of a pair: bytes that valid UTF-8 never has, so it equals no other text.
            None => self.text.extend_from_slice(&[0xff, (code >> 8) as u8, code as u8]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        hash(a.as_bytes()).unwrap() == hash(b.as_bytes()).unwrap()
    }

    #[test]
    fn blanks_order_and_escapes_do_not_count() {
        assert!(same("{\"a\" : 1, \"b\": [1, 2]}\n", "{\"b\":[1,2],\"a\":1}"));
        assert!(same(r#""\u00e9\/\n""#, "\"é/\\u000a\""));
        assert!(same(r#""\ud83d\ude00""#, "\"😀\""));
        assert!(same("{}", " { } "));
        assert!(same("[]", "[ ]"));
    }

    #[test]
    fn values_count() {
        for (a, b) in [
            ("1", "1.0"),
            ("1e2", "100"),
            ("-0", "0"),
            ("12345678901234567890", "12345678901234567891"),
            ("[1,2]", "[2,1]"),
            ("[[1],2]", "[[1,2]]"),
            ("{}", "[]"),
            ("\"null\"", "null"),
            ("\"1\"", "1"),
            ("{\"a\":1,\"a\":2}", "{\"a\":2,\"a\":1}"),
            ("{\"a\":1,\"a\":1}", "{\"a\":1}"),
            (r#""\ud83d""#, r#""\ud83e""#),
            (r#""\ud83dx""#, r#""\ud83d\u0078x""#),
            ("{\"a\":{\"b\":1}}", "{\"a\":{},\"b\":1}"),
        ] {
            assert!(!same(a, b), "{a} {b}");
        }
    }

    #[test]
    fn only_the_standard_parses() {
        for text in [
            "",
            " ",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "-",
            "nul",
            "'a'",
            "[1] 2",
            "// c\n1",
            "\"\t\"",
            r#""\x""#,
            r#""\u12""#,
            "\u{feff}1",
            "NaN",
            "{\"a\" 1}",
        ] {
            assert_eq!(hash(text.as_bytes()), None, "{text}");
        }
        assert_eq!(hash(b"\"\xff\""), None);
    }

    #[test]
    fn deep_nesting_does_not_overflow_the_stack() {
        assert_eq!(hash("[".repeat(1_000_000).as_bytes()), None);
        assert!(hash(format!("{}{}", "[".repeat(200), "]".repeat(200)).as_bytes()).is_some());
    }
}
