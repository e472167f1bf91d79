//! Content by meaning: two files that differ only in what a format ignores have the same hash.
//!
//! A content that does not parse, or that is too large to be held in memory, falls back to its
//! bytes, in a hash that can never be equal to one of a parsed content. Whoever asks by meaning
//! accepts that readers of the file ignore the same things; where a format leaves doubt, the
//! difference counts.

mod class;
mod git_index;
mod json;
mod text;
mod toml;
mod venv;
mod xml;

use tamis_core::Hash;

/// Larger files count by their bytes.
pub(crate) const LIMIT: u64 = 64 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Xml,
    Json,
    Toml,
    Text,
    Class,
    GitIndex,
    Venv,
}

impl Format {
    pub(crate) fn hash(self, bytes: &[u8]) -> Hash {
        let parsed = match self {
            Self::Xml => xml::hash(bytes),
            Self::Json => json::hash(bytes),
            Self::Toml => toml::hash(bytes),
            Self::Text => Some(text::hash(bytes)),
            Self::Class => class::hash(bytes),
            Self::GitIndex => git_index::hash(bytes),
            Self::Venv => venv::hash(bytes),
        };
        match parsed {
            Some(hash) => Hash::of_parts([self.domain(), b"parsed", &hash.0.to_le_bytes()]),
            None => self.fallback(Hash::of(bytes)),
        }
    }

    /// The hash of a content that has no meaning in this format, from the hash of its bytes.
    pub(crate) fn fallback(self, raw: Hash) -> Hash {
        Hash::of_parts([self.domain(), b"bytes", &raw.0.to_le_bytes()])
    }

    fn domain(self) -> &'static [u8] {
        match self {
            Self::Xml => b"xml",
            Self::Json => b"json",
            Self::Toml => b"toml",
            Self::Text => b"text",
            Self::Class => b"class",
            Self::GitIndex => b"git-index",
            Self::Venv => b"venv",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Format; 7] = [
        Format::Xml,
        Format::Json,
        Format::Toml,
        Format::Text,
        Format::Class,
        Format::GitIndex,
        Format::Venv,
    ];

    #[test]
    fn what_does_not_parse_counts_by_its_bytes() {
        for format in ALL.into_iter().filter(|format| *format != Format::Text) {
            let broken: &[u8] = b"<a> [ {\xff";
            assert_eq!(format.hash(broken), format.fallback(Hash::of(broken)), "{format:?}");
            assert_ne!(format.hash(b"<a> [ { "), format.hash(b"<a> [ {"), "{format:?}");
        }
    }

    #[test]
    fn one_content_has_another_hash_in_each_format() {
        let hashes: std::collections::HashSet<Hash> = ALL.iter().map(|f| f.hash(b"")).collect();
        assert_eq!(hashes.len(), ALL.len());
    }

    proptest! {
        #[test]
        fn foreign_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            for format in ALL {
                prop_assert_eq!(format.hash(&bytes), format.hash(&bytes));
            }
        }

        /// Characters that mean something in the formats, so that the parsers get far.
        #[test]
        fn almost_valid_text_never_panics(text in r#"[<>/a!\-\[\]{}"':,.=&;#0-9eE\\u \n?]{0,60}"#) {
            for format in ALL {
                format.hash(text.as_bytes());
            }
        }
    }
}
