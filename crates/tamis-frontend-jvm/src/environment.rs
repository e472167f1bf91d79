//! Which variables of the environment count for a test class.
//!
//! Those that its JVM was asked for before the test ended, by whoever asked, there or not; all of them where the
//! environment was listed, handed to a child process, or can have been read by native code of a library. And for every test those that
//! the JVM, the C library and the JDK's own native code read by themselves.

use tamis_core::record::Observed;
use tamis_core::{Question, Value};
use tamis_dynamic::AskedNames;
use tamis_project::{given, variables_like};

/// Names of variables that are read without anybody asking for them. That one comes to be there counts, too.
const READ_UNSEEN: &[&str] = &[
    "LD_*",
    "LC_*",
    "LANG*",
    "LOCPATH",
    "NLSPATH",
    "TZ*",
    "HOME",
    "JAVA_*",
    "_JAVA_*",
    "JDK_*",
    "CLASSPATH",
    "MAVEN_*",
    "MALLOC_*",
    "GLIBC_*",
    "GCONV_*",
    "RES_OPTIONS",
    "LOCALDOMAIN",
    "HOSTALIASES",
    "KRB5*",
    "SSL_CERT_*",
    "DISPLAY",
    "WAYLAND_*",
    "XAUTHORITY",
    "XDG_*",
    "GTK_*",
    "FONTCONFIG_*",
    "PULSE_*",
    "ALSA_*",
    "CUPS_*",
    "*_proxy",
    "*_PROXY",
];

/// What counts of the surroundings of all tests; without what was asked for, all of them.
pub(crate) fn counting(surroundings: &[Observed], asked: Option<&AskedNames>) -> Vec<Observed> {
    let Some(asked) = asked.filter(|asked| !asked.all_variables) else {
        return surroundings.to_vec();
    };
    let is_asked = |name: &[u8]| asked.variables.iter().any(|known| known.as_bytes() == name);
    let counts = |observed: &&Observed| match &observed.question {
        Question::Variable(name) => variables_like::is_like(name, READ_UNSEEN) || is_asked(name),
        Question::VariableNames => false,
        _ => true,
    };
    let mut counting: Vec<Observed> = surroundings.iter().filter(counts).cloned().collect();
    let unset = asked.variables.iter().map(|name| Question::Variable(name.as_bytes().to_vec()));
    let is_set = |question: &Question| surroundings.iter().any(|o| o.question == *question);
    // With the set of all names left out, their absence has to count by itself.
    let unset = unset.filter(|question| !is_set(question));
    counting.extend(unset.map(|question| given(question, Value::Absent)));
    let question = variables_like::question(READ_UNSEEN);
    let names = surroundings.iter().filter_map(|observed| match &observed.question {
        Question::Variable(name) => Some(name.as_slice()),
        _ => None,
    });
    if let Question::Fact(fact) = &question
        && let Some(value) = variables_like::answer(fact, names)
    {
        counting.push(given(question, value));
    }
    counting
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings() -> Vec<Observed> {
        let variable = |name: &str| Question::Variable(name.as_bytes().to_vec());
        let questions = [
            variable("A"),
            variable("PATH"),
            variable("TZ"),
            variable("https_proxy"),
            Question::VariableNames,
            Question::Rules,
        ];
        questions.into_iter().map(|q| given(q, Value::text(b"x"))).collect()
    }

    fn names(observed: &[Observed]) -> Vec<String> {
        observed.iter().map(|o| o.question.to_string()).collect()
    }

    #[test]
    fn what_was_asked_for_counts_there_or_not() {
        let asked = AskedNames {
            variables: ["A", "B"].into_iter().map(str::to_owned).collect(),
            ..AskedNames::default()
        };
        let counting = counting(&surroundings(), Some(&asked));
        let rules = Question::Rules.to_string();
        let set = variables_like::question(READ_UNSEEN).to_string();
        assert_eq!(
            names(&counting),
            ["variable A", "variable TZ", "variable https_proxy", &rules, "variable B", &set]
        );
        assert_eq!(counting[4].before, Value::Absent);
    }

    #[test]
    fn all_count_where_it_is_not_known_who_asked() {
        let all = AskedNames { all_variables: true, ..AskedNames::default() };
        assert_eq!(counting(&surroundings(), Some(&all)), surroundings());
        assert_eq!(counting(&surroundings(), None), surroundings());
    }

    #[test]
    fn what_was_not_asked_for_does_not_count() {
        let names = names(&counting(&surroundings(), Some(&AskedNames::default())));
        assert!(!names.contains(&"variable PATH".to_owned()), "{names:?}");
        assert!(!names.contains(&Question::VariableNames.to_string()), "{names:?}");
    }
}
