//! What a Maven call gets from outside the project: options, JDK, machine, local repository.

use super::element::Element;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What poms can depend on besides themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Profiles that are switched on (`-P`, `activeProfiles`) and off (`-P !x`).
    pub profiles_on: Vec<String>,
    pub profiles_off: Vec<String>,
    /// Properties given by the user (`-D`).
    pub user: BTreeMap<String, String>,
    /// The version of the JDK, where it is known.
    pub java: Option<String>,
    pub os_family: String,
    pub os_name: String,
    pub os_arch: String,
    pub os_version: String,
    pub home: String,
    /// The local repository.
    pub repository: PathBuf,
}

impl Surroundings {
    /// Those of this machine and user.
    pub fn of_user(home: Option<&Path>) -> Self {
        let home = home.map(Path::to_path_buf).unwrap_or_default();
        let mut around = Self {
            java: java_version(),
            os_family: "unix".into(),
            os_name: std::env::consts::OS.into(),
            os_arch: match std::env::consts::ARCH {
                "x86_64" => "amd64".into(),
                other => other.into(),
            },
            os_version: std::fs::read_to_string("/proc/sys/kernel/osrelease")
                .map(|t| t.trim().to_owned())
                .unwrap_or_default(),
            repository: home.join(".m2/repository"),
            home: home.to_string_lossy().into_owned(),
            ..Self::default()
        };
        if let Ok(bytes) = std::fs::read(home.join(".m2/settings.xml")) {
            around.settings(&bytes);
        }
        around
    }

    /// What the user's settings add: a repository, profiles that are on, and their properties.
    fn settings(&mut self, bytes: &[u8]) {
        let Ok(settings) = Element::parse(bytes) else { return };
        if let Some(path) = settings.text_of("localRepository") {
            self.repository = PathBuf::from(path.replace("${user.home}", &self.home));
        }
        let listed = settings.list("activeProfiles").iter().map(|p| p.text.clone());
        self.profiles_on.extend(listed);
        for profile in settings.list("profiles") {
            let by_default = profile.at(&["activation", "activeByDefault"]);
            let on = by_default.is_some_and(|d| d.text == "true")
                || profile.text_of("id").is_some_and(|id| self.profiles_on.iter().any(|p| p == id));
            for property in profile.list("properties").iter().filter(|_| on) {
                self.user.entry(property.name.to_string()).or_insert_with(|| property.text.clone());
            }
        }
    }

    /// A property of the user, the system or the environment.
    pub(crate) fn property(&self, name: &str) -> Option<String> {
        if let Some(value) = self.user.get(name) {
            return Some(value.clone());
        }
        match name {
            "java.version" => self.java.clone(),
            "os.name" => Some(self.os_name.clone()),
            "os.arch" => Some(self.os_arch.clone()),
            "user.home" => Some(self.home.clone()),
            _ => std::env::var(name.strip_prefix("env.")?).ok(),
        }
    }
}

impl Surroundings {
    /// A text with those expressions replaced that the machine gives a value.
    pub(crate) fn complete(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${")
            && let Some(length) = rest[start..].find('}')
        {
            let (expression, name) =
                (&rest[start..=start + length], &rest[start + 2..start + length]);
            out.push_str(&rest[..start]);
            out.push_str(&self.property(name).unwrap_or_else(|| expression.to_owned()));
            rest = &rest[start + length + 1..];
        }
        out + rest
    }
}

/// The version of the JDK that Maven would take.
fn java_version() -> Option<String> {
    Some(tamis_jdk::Release::of(&tamis_jdk::home()?)?.version()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_user() {
        let mut around = Surroundings { home: "/h".into(), ..Surroundings::default() };
        around.settings(
            b"<settings><localRepository>${user.home}/repo</localRepository>
              <activeProfiles><activeProfile>p</activeProfile></activeProfiles>
              <profiles><profile><id>p</id><properties><x>1</x></properties></profile>
              <profile><id>q</id><properties><y>1</y></properties></profile></profiles></settings>",
        );
        assert_eq!(around.repository, Path::new("/h/repo"));
        assert_eq!(around.profiles_on, ["p"]);
        assert_eq!(around.property("x").as_deref(), Some("1"));
        assert_eq!(around.property("y"), None);
    }

    #[test]
    fn settings_that_cannot_be_read_add_nothing() {
        let mut around = Surroundings::default();
        around.settings(b"<settings>");
        assert_eq!(around, Surroundings::default());
    }
}
