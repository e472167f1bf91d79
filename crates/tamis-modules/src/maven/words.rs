//! The words of a Maven command that say what it builds.

use super::Surroundings;
use std::path::{Path, PathBuf};

/// What the words of a Maven command ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    /// `-pl`: wanted modules, and those that are not (`!x`).
    pub wanted: Vec<String>,
    pub unwanted: Vec<String>,
    /// `-am`, `-amd`.
    pub also_make: bool,
    pub also_make_dependents: bool,
    /// `-N`: no modules.
    pub alone: bool,
    /// `-f`.
    pub file: Option<PathBuf>,
    /// `-rf`.
    pub resume_from: Option<String>,
    pub profiles: Vec<String>,
    pub properties: Vec<(String, String)>,
    /// The positions of the words that say which modules are built.
    choosing: Vec<usize>,
}

impl Words {
    /// Reads the words after `mvn`.
    pub fn read(words: &[String]) -> Self {
        let mut read = Self::default();
        let mut at = 0;
        while at < words.len() {
            let word = words[at].as_str();
            let (name, glued) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word, None),
            };
            let takes_value = matches!(
                name,
                "-pl"
                    | "--projects"
                    | "-f"
                    | "--file"
                    | "-rf"
                    | "--resume-from"
                    | "-P"
                    | "--activate-profiles"
                    | "-D"
                    | "--define"
            );
            let from = at;
            let value = match (takes_value, glued) {
                (true, None) => {
                    at += 1;
                    words.get(at).cloned().unwrap_or_default()
                }
                (_, glued) => glued.unwrap_or_default(),
            };
            let list =
                || value.split(',').map(str::trim).filter(|v| !v.is_empty()).map(str::to_owned);
            let mut chooses = true;
            match name {
                "-pl" | "--projects" => {
                    for module in list() {
                        match module.strip_prefix(['!', '-']) {
                            Some(not) => read.unwanted.push(not.to_owned()),
                            None => read.wanted.push(module.trim_start_matches('+').to_owned()),
                        }
                    }
                }
                "-am" | "--also-make" => read.also_make = true,
                "-amd" | "--also-make-dependents" => read.also_make_dependents = true,
                _ => chooses = false,
            }
            if chooses {
                read.choosing.extend(from..=at.min(words.len() - 1));
            }
            match name {
                "-f" | "--file" => read.file = Some(PathBuf::from(&value)),
                "-rf" | "--resume-from" => read.resume_from = Some(value.clone()),
                "-N" | "--non-recursive" => read.alone = true,
                "-P" | "--activate-profiles" => read.profiles.extend(list()),
                "-D" | "--define" => read.property(&value),
                _ if name.starts_with("-D") => read.property(&word[2..]),
                _ if name.starts_with("-P") => {
                    let profiles = name[2..].split(',').filter(|p| !p.is_empty());
                    read.profiles.extend(profiles.map(str::to_owned));
                }
                _ => {}
            }
            at += 1;
        }
        read
    }

    fn property(&mut self, text: &str) {
        let (name, value) = text.split_once('=').unwrap_or((text, "true"));
        self.properties.push((name.to_owned(), value.to_owned()));
    }

    /// The same words without those that say which modules are built.
    pub fn without_choice(&self, words: &[String]) -> Vec<String> {
        let kept = words.iter().enumerate().filter(|(n, _)| !self.choosing.contains(n));
        kept.map(|(_, word)| word.clone()).collect()
    }

    /// Adds what `.mvn/maven.config` says; the command's own words come later and win.
    pub fn with_config(config: &str, words: &[String]) -> Self {
        let mut all: Vec<String> = config.split_whitespace().map(str::to_owned).collect();
        let before = all.len();
        all.extend(words.iter().cloned());
        let mut read = Self::read(&all);
        // Positions are those of the command.
        read.choosing.retain(|&n| n >= before);
        read.choosing.iter_mut().for_each(|n| *n -= before);
        read
    }

    /// What profiles and properties these words give.
    pub fn add_to(&self, around: &mut Surroundings) {
        for profile in &self.profiles {
            let name = profile.trim_start_matches('?');
            match name.strip_prefix(['!', '-']) {
                Some(not) => around.profiles_off.push(not.trim_start_matches('?').to_owned()),
                None => around.profiles_on.push(name.trim_start_matches(['+', '?']).to_owned()),
            }
        }
        for (name, value) in &self.properties {
            if name == "maven.repo.local" {
                around.repository = PathBuf::from(value);
            }
            around.user.insert(name.clone(), value.clone());
        }
    }

    /// The pom that the command starts with, for a call from this folder.
    pub fn pom(&self, folder: &Path) -> PathBuf {
        let file = self.file.as_ref().map_or_else(|| folder.to_path_buf(), |f| folder.join(f));
        if file.is_dir() { file.join("pom.xml") } else { file }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_words_say() {
        let read = Words::read(&words(
            "-o -pl a,:b,!c -am --projects=g:d -amd -Px,!y -P z -Dk=v -D l=w -Dm -f sub -N test",
        ));
        assert_eq!(read.wanted, ["a", ":b", "g:d"]);
        assert_eq!(read.unwanted, ["c"]);
        assert!(read.also_make && read.also_make_dependents && read.alone);
        assert_eq!(read.file.as_deref(), Some(Path::new("sub")));
        assert_eq!(read.profiles, ["x", "!y", "z"]);
        let expected = [("k", "v"), ("l", "w"), ("m", "true")];
        let expected = expected.map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(read.properties, expected);
    }

    #[test]
    fn the_choice_can_be_left_out() {
        let all = words("-o -pl a -am test -Dx --projects=b -amd -rf c verify");
        let read = Words::read(&all);
        assert_eq!(read.without_choice(&all).join(" "), "-o test -Dx -rf c verify");
        assert_eq!(read.resume_from.as_deref(), Some("c"));
        let cut = words("test -pl");
        assert_eq!(Words::read(&cut).without_choice(&cut), ["test"]);
    }

    #[test]
    fn the_projects_own_words_come_first() {
        let all = words("-pl a test");
        let read = Words::with_config("-Dx=1\n-Pp", &all);
        assert_eq!((read.wanted.len(), read.profiles.len()), (1, 1));
        assert_eq!(read.without_choice(&all), ["test"]);
        let mut around = Surroundings::default();
        read.add_to(&mut around);
        assert_eq!(around.profiles_on, ["p"]);
        assert_eq!(around.user["x"], "1");
    }

    #[test]
    fn profiles_on_and_off() {
        let mut around = Surroundings::default();
        Words::read(&words("-Pa,!b,-c,+d,?e")).add_to(&mut around);
        assert_eq!(around.profiles_on, ["a", "d", "e"]);
        assert_eq!(around.profiles_off, ["b", "c"]);
    }
}
