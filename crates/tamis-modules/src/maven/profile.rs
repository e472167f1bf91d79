//! Which profiles of a pom are on.

use super::Surroundings;
use super::element::Element;
use std::cmp::Ordering;

/// The profiles of a raw pom that are on, in its order. `has` says whether a path, relative to the
/// folder of the pom or absolute, is there.
pub(crate) fn active<'m>(
    model: &'m Element,
    around: &Surroundings,
    has: &dyn Fn(&str) -> bool,
) -> Vec<&'m Element> {
    let profiles = model.list("profiles");
    let id = |profile: &Element| profile.text_of("id").unwrap_or("default").to_owned();
    let off = |profile: &Element| around.profiles_off.contains(&id(profile));
    let on: Vec<&Element> = profiles
        .iter()
        .filter(|profile| !off(profile))
        .filter(|profile| {
            around.profiles_on.contains(&id(profile))
                || profile.child("activation").is_some_and(|a| is_on(a, around, has))
        })
        .collect();
    if !on.is_empty() {
        return on;
    }
    // Only where no other profile of the same pom is on.
    let by_default = |profile: &&Element| {
        profile.at(&["activation", "activeByDefault"]).is_some_and(|d| d.text == "true")
    };
    profiles.iter().filter(|p| !off(p)).filter(by_default).collect()
}

/// All conditions hold, and there is one.
fn is_on(activation: &Element, around: &Surroundings, has: &dyn Fn(&str) -> bool) -> bool {
    let mut conditions = activation.children.iter().filter_map(|condition| {
        Some(match condition.name.as_ref() {
            "jdk" => jdk(&condition.text, around.java.as_deref()?),
            "os" => os(condition, around),
            "property" => property(condition, around)?,
            "file" => file(condition, around, has)?,
            _ => return None,
        })
    });
    let first = conditions.next();
    first.is_some_and(|one| one && conditions.all(|other| other))
}

fn jdk(wanted: &str, is: &str) -> bool {
    if let Some(not) = wanted.strip_prefix('!') {
        return !jdk(not, is);
    }
    let Some(range) = wanted.strip_prefix(['[', '(']) else { return is.starts_with(wanted) };
    let ends_inside = range.ends_with(']');
    let range = range.trim_end_matches([']', ')']);
    let (low, high) = range.split_once(',').unwrap_or((range, range));
    let (low, high) = (low.trim(), high.trim());
    let above = match compare(is, low) {
        _ if low.is_empty() => true,
        Ordering::Greater => true,
        Ordering::Equal => wanted.starts_with('['),
        Ordering::Less => false,
    };
    let below = match compare(is, high) {
        _ if high.is_empty() => true,
        Ordering::Less => true,
        Ordering::Equal => ends_inside,
        Ordering::Greater => false,
    };
    above && below
}

/// Compares as many numbers as the bound has: 17.0.2 is equal to 17.
fn compare(version: &str, bound: &str) -> Ordering {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(['.', '_', '-', '+']).map_while(|part| part.parse().ok()).collect()
    };
    let (version, bound) = (numbers(version), numbers(bound));
    bound
        .iter()
        .enumerate()
        .map(|(n, b)| version.get(n).copied().unwrap_or(0).cmp(b))
        .find(|o| o.is_ne())
        .unwrap_or(Ordering::Equal)
}

fn os(condition: &Element, around: &Surroundings) -> bool {
    let is = |name: &str, value: &str| {
        let Some(wanted) = condition.text_of(name) else { return true };
        match wanted.strip_prefix('!') {
            Some(not) => !not.eq_ignore_ascii_case(value),
            None => wanted.eq_ignore_ascii_case(value),
        }
    };
    is("family", &around.os_family)
        && is("name", &around.os_name)
        && is("arch", &around.os_arch)
        && is("version", &around.os_version)
}

fn property(condition: &Element, around: &Surroundings) -> Option<bool> {
    let name = condition.text_of("name")?;
    if let Some(name) = name.strip_prefix('!') {
        return Some(around.property(name).is_none_or(|v| v.is_empty()));
    }
    let value = around.property(name);
    Some(match condition.text_of("value") {
        None => value.is_some_and(|v| !v.is_empty()),
        Some(wanted) => match wanted.strip_prefix('!') {
            Some(not) => value.as_deref() != Some(not),
            None => value.as_deref() == Some(wanted),
        },
    })
}

fn file(condition: &Element, around: &Surroundings, has: &dyn Fn(&str) -> bool) -> Option<bool> {
    let path = |name: &str| {
        let mut text = condition.text_of(name)?.to_owned();
        for folder in ["${basedir}/", "${project.basedir}/"] {
            text = text.replace(folder, "");
        }
        for (name, value) in &around.user {
            text = text.replace(&format!("${{{name}}}"), value);
        }
        Some(text.replace("${user.home}", &around.home))
    };
    if let Some(path) = path("exists") {
        return Some(has(&path));
    }
    path("missing").map(|path| !has(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings() -> Surroundings {
        Surroundings {
            java: Some("17.0.15".into()),
            os_family: "unix".into(),
            os_name: "linux".into(),
            os_arch: "amd64".into(),
            os_version: "6.1".into(),
            ..Surroundings::default()
        }
    }

    fn on(profiles: &[(&str, &str)], around: &Surroundings) -> Vec<String> {
        let profiles: String = profiles
            .iter()
            .map(|(id, a)| format!("<profile><id>{id}</id><activation>{a}</activation></profile>"))
            .collect();
        let text = format!("<project><profiles>{profiles}</profiles></project>");
        let model = Element::parse(text.as_bytes()).unwrap();
        let has = |path: &str| path == "here.txt";
        active(&model, around, &has).iter().map(|p| p.text_of("id").unwrap().to_owned()).collect()
    }

    #[test]
    fn conditions() {
        let mut around = surroundings();
        around.user.insert("given".into(), "x".into());
        for (condition, expected) in [
            ("<jdk>17</jdk>", true),
            ("<jdk>1.7</jdk>", false),
            ("<jdk>!1.8</jdk>", true),
            ("<jdk>[11,)</jdk>", true),
            ("<jdk>[17,18)</jdk>", true),
            ("<jdk>(17,18)</jdk>", false),
            ("<jdk>[1.8,17)</jdk>", false),
            ("<jdk>(,17]</jdk>", true),
            ("<os><family>unix</family></os>", true),
            ("<os><family>!windows</family><arch>amd64</arch></os>", true),
            ("<os><name>Linux</name><arch>x86</arch></os>", false),
            ("<property><name>given</name></property>", true),
            ("<property><name>given</name><value>x</value></property>", true),
            ("<property><name>given</name><value>!x</value></property>", false),
            ("<property><name>other</name><value>!x</value></property>", true),
            ("<property><name>other</name></property>", false),
            ("<property><name>!other</name></property>", true),
            ("<property><name>!given</name></property>", false),
            ("<file><exists>${basedir}/here.txt</exists></file>", true),
            ("<file><exists>gone.txt</exists></file>", false),
            ("<file><missing>gone.txt</missing></file>", true),
            ("<jdk>17</jdk><property><name>other</name></property>", false),
            ("", false),
            ("<activeByDefault>false</activeByDefault>", false),
        ] {
            let expected: &[&str] = if expected { &["p"] } else { &[] };
            assert_eq!(on(&[("p", condition)], &around), expected, "{condition}");
        }
    }

    #[test]
    fn by_default_only_where_no_other_is_on() {
        let by_default = ("d", "<activeByDefault>true</activeByDefault>");
        let other = ("o", "<jdk>17</jdk>");
        let mut around = surroundings();
        assert_eq!(on(&[by_default], &around), ["d"]);
        assert_eq!(on(&[by_default, other], &around), ["o"]);
        around.profiles_off.push("o".into());
        assert_eq!(on(&[by_default, other], &around), ["d"]);
        around.profiles_off.push("d".into());
        assert!(on(&[by_default, other], &around).is_empty());
    }

    #[test]
    fn by_name() {
        let mut around = surroundings();
        around.profiles_on.push("p".into());
        let by_default = ("d", "<activeByDefault>true</activeByDefault>");
        assert_eq!(on(&[("p", ""), ("q", ""), by_default], &around), ["p"]);
    }
}
