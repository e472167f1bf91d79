//! Reads values out of a TOML tree and collects what is wrong with them.
//!
//! A [`Section`] is asked for its keys one by one; which keys exist is what was asked for, so the
//! list of known keys cannot differ from the keys that are read. Each getter returns `None` both
//! for "not there" and for "wrong", after noting the problem.

use crate::{glob, units, words};
use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(crate) type Value<'t> = Spanned<DeValue<'t>>;

/// Collects problems while the tree is walked.
#[derive(Debug, Default)]
pub(crate) struct Found(RefCell<Vec<(Range<usize>, String)>>);

impl Found {
    pub(crate) fn add(&self, span: Range<usize>, message: impl Into<String>) {
        self.0.borrow_mut().push((span, message.into()));
    }

    pub(crate) fn into_inner(self) -> Vec<(Range<usize>, String)> {
        self.0.into_inner()
    }
}

/// A string with its place in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'t> {
    pub(crate) text: &'t str,
    start: usize,
    end: usize,
}

impl Text<'_> {
    pub(crate) fn span(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// One table of the file.
#[derive(Debug)]
pub(crate) struct Section<'t> {
    /// As it stands in the file: `[[suite]]`.
    title: &'static str,
    table: &'t DeTable<'t>,
    span: Range<usize>,
    known: Vec<&'static str>,
    found: &'t Found,
}

impl<'t> Section<'t> {
    pub(crate) fn new(
        title: &'static str,
        table: &'t DeTable<'t>,
        span: Range<usize>,
        found: &'t Found,
    ) -> Self {
        Self { title, table, span, known: Vec::new(), found }
    }

    /// The value of a key, whatever its type.
    pub(crate) fn value(&mut self, key: &'static str) -> Option<&'t Value<'t>> {
        self.known.push(key);
        self.table.get(key)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Notes a problem with the section as a whole.
    pub(crate) fn missing(&self, message: impl Into<String>) {
        self.found.add(self.span.clone(), message);
    }

    pub(crate) fn problem(&self, span: Range<usize>, message: impl Into<String>) {
        self.found.add(span, message);
    }

    fn wrong_type(&self, key: &str, value: &Value<'t>, wanted: &str, example: &str) {
        let is = type_name(value.get_ref());
        let message = format!("`{key}` must be {wanted}, not {is}; for example: {example}");
        self.found.add(value.span(), message);
    }

    pub(crate) fn string(&mut self, key: &'static str, example: &str) -> Option<Text<'t>> {
        let value = self.value(key)?;
        let text = as_text(value);
        if text.is_none() {
            self.wrong_type(key, value, "a string", example);
        }
        text
    }

    pub(crate) fn boolean(&mut self, key: &'static str) -> Option<bool> {
        let value = self.value(key)?;
        let answer = value.get_ref().as_bool();
        if answer.is_none() {
            self.wrong_type(key, value, "true or false", &format!("{key} = true"));
        }
        answer
    }

    pub(crate) fn count(&mut self, key: &'static str, example: &str) -> Option<NonZeroUsize> {
        let value = self.value(key)?;
        let Some(integer) = value.get_ref().as_integer() else {
            self.wrong_type(key, value, "a whole number", example);
            return None;
        };
        let number = usize::from_str_radix(integer.as_str(), integer.radix()).ok();
        let number = number.and_then(NonZeroUsize::new);
        if number.is_none() {
            self.found.add(value.span(), format!("`{key}` must be 1 or more; remove it otherwise"));
        }
        number
    }

    pub(crate) fn strings(&mut self, key: &'static str, example: &str) -> Vec<Text<'t>> {
        self.value(key).map_or_else(Vec::new, |value| self.list_of(key, value, example))
    }

    /// The strings of a value that must be a list.
    fn list_of(&self, key: &str, value: &'t Value<'t>, example: &str) -> Vec<Text<'t>> {
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type(key, value, "a list of strings", example);
            return Vec::new();
        };
        let mut texts = Vec::new();
        for item in array {
            match as_text(item) {
                Some(text) => texts.push(text),
                None => {
                    let is = type_name(item.get_ref());
                    let message =
                        format!("`{key}` must hold strings only, not {is}; for example: {example}");
                    self.found.add(item.span(), message);
                }
            }
        }
        texts
    }

    /// A string or a list of strings; with whether it was a list.
    pub(crate) fn string_or_list(
        &self,
        key: &str,
        value: &'t Value<'t>,
        example: &str,
    ) -> (Vec<Text<'t>>, bool) {
        match as_text(value) {
            Some(text) => (vec![text], false),
            None if value.get_ref().is_array() => (self.list_of(key, value, example), true),
            None => {
                self.wrong_type(key, value, "a string or a list of strings", example);
                (Vec::new(), true)
            }
        }
    }

    /// A command: a string that is split into words, or the words themselves. Empty if wrong.
    pub(crate) fn command(
        &self,
        key: &str,
        value: &'t Value<'t>,
        example: &str,
    ) -> Option<Vec<String>> {
        let before = self.found.0.borrow().len();
        let (texts, is_list) = self.string_or_list(key, value, example);
        if self.found.0.borrow().len() > before {
            return None;
        }
        let words = if is_list {
            texts.iter().map(|text| text.text.to_owned()).collect()
        } else {
            match words::split(texts.first()?.text) {
                Ok(words) => words,
                Err(error) => {
                    self.found.add(value.span(), format!("`{key}` {error}"));
                    return None;
                }
            }
        };
        if words.first().is_none_or(String::is_empty) {
            self.found
                .add(value.span(), format!("`{key}` names no program; for example: {example}"));
            return None;
        }
        if words.iter().any(|word| word.contains('\0')) {
            self.found.add(value.span(), format!("`{key}` holds a NUL character"));
            return None;
        }
        Some(words)
    }

    pub(crate) fn duration(&mut self, key: &'static str, example: &str) -> Option<Duration> {
        let text = self.string(key, example)?;
        match units::duration(text.text) {
            Ok(Duration::ZERO) => {
                self.found.add(text.span(), format!("`{key}` must be longer than nothing"));
                None
            }
            Ok(duration) => Some(duration),
            Err(error) => {
                let message = format!("duration \"{}\" {error}; for example: {example}", text.text);
                self.found.add(text.span(), message);
                None
            }
        }
    }

    pub(crate) fn size(&mut self, key: &'static str, example: &str) -> Option<u64> {
        let text = self.string(key, example)?;
        match units::size(text.text) {
            Ok(size) => Some(size),
            Err(error) => {
                let message = format!("size \"{}\" {error}; for example: {example}", text.text);
                self.found.add(text.span(), message);
                None
            }
        }
    }

    /// One of a few words.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
    ) -> Option<T> {
        let example = format!("{key} = \"{}\"", choices[0].0);
        let text = self.string(key, &example)?;
        let chosen = choices.iter().find(|(name, _)| *name == text.text);
        if chosen.is_none() {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            let message = format!(
                "`{key}` cannot be \"{}\" (one of: {}){}",
                text.text,
                names.join(", "),
                did_you_mean(text.text, &names)
            );
            self.found.add(text.span(), message);
        }
        chosen.map(|(_, value)| *value)
    }

    /// A list of globs, each checked.
    pub(crate) fn globs(&mut self, key: &'static str, example: &str) -> Vec<String> {
        let texts = self.strings(key, example);
        texts.into_iter().filter_map(|text| self.glob(key, text)).collect()
    }

    /// One glob, checked.
    pub(crate) fn glob(&self, key: &str, text: Text<'t>) -> Option<String> {
        let pattern = text.text;
        let problem = if pattern.is_empty() {
            Some(format!("empty glob in `{key}`"))
        } else {
            glob::compile(pattern).err().map(|error| format!("`{pattern}` in `{key}` {error}"))
        };
        match problem {
            None => Some(pattern.to_owned()),
            Some(message) => {
                self.found.add(text.span(), message);
                None
            }
        }
    }

    /// Notes all keys that were not asked for. `elsewhere` tells for a key of another section where
    /// it belongs.
    pub(crate) fn finish(self, elsewhere: impl Fn(&str) -> Option<&'static str>) {
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            if self.known.contains(&name) {
                continue;
            }
            let hint = match elsewhere(name) {
                Some(place) => format!("; it belongs in {place}"),
                None => match did_you_mean(name, &self.known).as_str() {
                    "" => format!("; known here: {}", self.known.join(", ")),
                    hint => hint.to_owned(),
                },
            };
            self.found.add(key.span(), format!("unknown key `{name}` in {}{hint}", self.title));
        }
    }
}

pub(crate) fn as_text<'t>(value: &'t Value<'t>) -> Option<Text<'t>> {
    let span = value.span();
    let text = value.get_ref().as_str()?;
    Some(Text { text, start: span.start, end: span.end })
}

pub(crate) fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// `; did you mean ...?` where one of the names is near, else nothing.
pub(crate) fn did_you_mean(wrong: &str, names: &[&str]) -> String {
    let plain = |text: &str| text.to_lowercase().replace(['_', ' '], "-");
    let wrong = plain(wrong);
    let near = names
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&wrong, &plain(name)), *name))
        .filter(|(distance, name)| *distance <= (name.len().max(wrong.len()) / 3).max(1))
        .min();
    near.map_or_else(String::new, |(_, name)| format!("; did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names() {
        let names = ["jobs", "keep-records", "run", "each"];
        assert_eq!(did_you_mean("jbos", &names), "; did you mean `jobs`?");
        assert_eq!(did_you_mean("keep_records", &names), "; did you mean `keep-records`?");
        assert_eq!(did_you_mean("Run", &names), "; did you mean `run`?");
        assert_eq!(did_you_mean("colour", &names), "");
    }
}
