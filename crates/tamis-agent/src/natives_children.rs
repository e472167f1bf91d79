//! JVMs that a test starts.
//!
//! A process that is started while a test is open gets the agent if its program is the `java` of this
//! very JVM: in that one the agent is known to work. Whatever else is started, by a shell or with another
//! JDK, is seen by the tracer alone, and so is a JVM that writes an archive of classes, in which an agent
//! must not be.

use crate::agent::guarded;
use crate::hello;
use crate::jvm::{Jni, Object};
use std::path::{Path, PathBuf};
use tamis_jvm_wire::{Options, Role};

/// `private static native String argument(String[] words)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisChildren_argument(
    jni: Jni,
    _: Object,
    words: Object,
) -> Object {
    guarded(Object::NULL, |agent| {
        let role = match agent.options.role {
            role @ Role::Child(_) => role,
            Role::Tests | Role::Launched if agent.open_tests() > 0 => {
                Role::Child(std::process::id())
            }
            _ => return Object::NULL,
        };
        let words = jni.texts(words);
        let own = hello::property(jni, "java.home");
        let ours = |argument: &String| {
            let (library, options) = argument.strip_prefix("-agentpath:")?.split_once('=')?;
            options.contains(&agent.options.token).then(|| PathBuf::from(library))
        };
        // A build inside of a test may have given it already.
        let has_agent = words.iter().any(|word| ours(word).is_some());
        let is_java = words.first().is_some_and(|word| is_java_of(Path::new(&own), word));
        if has_agent || writes_archive(&words) || !is_java {
            return Object::NULL;
        }
        let library = hello::vm_arguments(jni).iter().find_map(ours);
        let options = Options { role, methods: false, ..agent.options.clone() };
        let argument = library.and_then(|library| options.argument(&library));
        argument.and_then(|argument| jni.string(&argument)).unwrap_or(Object::NULL)
    })
}

fn writes_archive(words: &[String]) -> bool {
    const ARCHIVES: [&str; 4] =
        ["-Xshare:dump", "-XX:ArchiveClassesAtExit", "-XX:+RecordDynamicDumpInfo", "-XX:AOT"];
    words.iter().any(|word| ARCHIVES.iter().any(|archive| word.starts_with(archive)))
}

/// Whether a program is `java` of this home.
fn is_java_of(home: &Path, program: &str) -> bool {
    let Ok(own) = home.join("bin/java").canonicalize() else { return false };
    let program = Path::new(program);
    let found = if program.is_absolute() {
        Some(program.to_path_buf())
    } else if program.as_os_str() == "java" {
        // The JDK goes by the variable as it was when this JVM started; nothing in it changes that.
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).map(|f| f.join("java")).find(|file| file.is_file())
    } else {
        // Where a relative path leads depends on the folder of the new process.
        None
    };
    found.and_then(|found| found.canonicalize().ok()) == Some(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_java_is_ours() {
        let jdks = tamis_testkit::jdks();
        let java = |home: &Path| home.join("bin/java").to_string_lossy().into_owned();
        for one in &jdks {
            for other in &jdks {
                assert_eq!(is_java_of(&one.home, &java(&other.home)), one == other);
            }
            assert!(!is_java_of(&one.home, "bin/java"));
            assert!(!is_java_of(&one.home, "./java"));
            assert!(!is_java_of(&one.home, &java(Path::new("/nonexistent"))));
            assert!(!is_java_of(&one.home, &one.home.join("bin/javac").to_string_lossy()));
        }
        assert!(!is_java_of(Path::new("/nonexistent"), &java(Path::new("/nonexistent"))));
    }

    #[test]
    fn who_writes_an_archive_gets_no_agent() {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        assert!(writes_archive(&words(&["java", "-Xshare:dump"])));
        assert!(writes_archive(&words(&["java", "-XX:AOTCacheOutput=x", "Main"])));
        assert!(!writes_archive(&words(&["java", "-Xshare:auto", "Main"])));
    }
}
