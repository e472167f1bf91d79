//! The first message: which JVM this is.

use crate::jvm::{Jni, Object};
use std::ffi::CStr;
use tamis_jvm_wire::{Hello, Role, VERSION};

pub(crate) fn hello(jni: Jni, role: Role, blind: Vec<String>) -> Hello {
    let property = |name: &str| property(jni, name);
    Hello {
        version: VERSION,
        pid: std::process::id(),
        role,
        java_home: property("java.home"),
        java_version: property("java.version"),
        command: property("sun.java.command"),
        vm_arguments: vm_arguments(jni),
        class_path: match role {
            // Only the JVM knows where it was started.
            Role::Child(_) => absolute(&property("java.class.path")),
            _ => property("java.class.path"),
        },
        blind,
    }
}

/// The entries of a class path, from the root on.
fn absolute(class_path: &str) -> String {
    let folder = std::env::current_dir().unwrap_or_default();
    let entries: Vec<String> =
        class_path.split(':').map(|entry| folder.join(entry).to_string_lossy().into()).collect();
    entries.join(":")
}

/// A system property; empty if there is none.
pub(crate) fn property(jni: Jni, name: &str) -> String {
    let value = jni.find_class(c"java/lang/System").and_then(|system| {
        let name = jni.string(name)?;
        let kind = c"(Ljava/lang/String;)Ljava/lang/String;";
        jni.text(jni.call_static(system, c"getProperty", kind, &[name])?)
    });
    value.unwrap_or_default()
}

/// As the JVM took them, options from the environment and from files included. JDK 8 does not tell;
/// there the command line of the process has to do.
pub(crate) fn vm_arguments(jni: Jni) -> Vec<String> {
    let initial = jni.find_class(c"jdk/internal/misc/VM").and_then(|class| {
        jni.call_static(class, c"getRuntimeArguments", c"()[Ljava/lang/String;", &[])
    });
    match initial {
        Some(arguments) => jni.texts(arguments),
        None => {
            let line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
            let words = line.split(|&byte| byte == 0).skip(1);
            before_main(words.map(|word| String::from_utf8_lossy(word).into_owned()))
        }
    }
}

/// The options of a command line: everything before the main class.
fn before_main(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut options = Vec::new();
    let mut words = words.peekable();
    while let Some(word) = words.next_if(|word| word.starts_with('-')) {
        let takes_value = matches!(word.as_str(), "-cp" | "-classpath");
        options.push(word);
        if takes_value {
            options.extend(words.next());
        }
    }
    options
}

/// The loader of the JDK's own classes beside the boot loader, as a local reference.
pub(crate) fn platform_loader(jni: Jni) -> Option<Object> {
    const KIND: &CStr = c"()Ljava/lang/ClassLoader;";
    let class = jni.find_class(c"java/lang/ClassLoader")?;
    if let Some(loader) = jni.call_static(class, c"getPlatformClassLoader", KIND, &[]) {
        return Some(loader);
    }
    // JDK 8: the extension loader stands above the application's.
    let mut loader = jni.call_static(class, c"getSystemClassLoader", KIND, &[])?;
    loop {
        let class = jni.call_object(loader, c"getClass", c"()Ljava/lang/Class;", &[])?;
        let name = jni.text(jni.call_object(class, c"getName", c"()Ljava/lang/String;", &[])?)?;
        if name == "sun.misc.Launcher$ExtClassLoader" {
            return Some(loader);
        }
        loader = jni.call_object(loader, c"getParent", KIND, &[])?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_path_is_reported_from_the_root_on() {
        let here = std::env::current_dir().expect("a folder");
        let path = absolute("classes:/a/b.jar:");
        assert_eq!(path, format!("{0}/classes:/a/b.jar:{0}/", here.display()));
    }

    #[test]
    fn options_end_where_the_main_class_stands() {
        let words = ["-Xmx1g", "-cp", "a:b", "-Dx=y", "Main", "-z"].map(str::to_owned);
        assert_eq!(before_main(words.into_iter()), ["-Xmx1g", "-cp", "a:b", "-Dx=y"]);
        let words = ["-ea", "-jar", "a.jar", "-x"].map(str::to_owned);
        assert_eq!(before_main(words.into_iter()), ["-ea", "-jar"]);
        assert!(before_main(std::iter::empty()).is_empty());
    }
}
