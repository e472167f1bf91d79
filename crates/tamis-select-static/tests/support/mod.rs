//! Compiled Java for the tests of this crate, with small stand-ins for the test frameworks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tamis_classpath::{Caches, JarCache};
use tamis_select_static::{
    EdgeKinds, Libraries, Session, StaticSettings, TestDecision, TestModule,
};
use tamis_testkit::Sources;

/// Annotations and base classes of the test frameworks, as far as recognition needs them.
pub(crate) fn frameworks() -> Sources {
    let annotation = |package: &str, name: &str, body: &str| {
        format!(
            "package {package}; import java.lang.annotation.*; @Retention(RetentionPolicy.RUNTIME) public @interface {name} {{ {body} }}"
        )
    };
    let mut sources = Sources::new();
    for (package, name, body) in [
        ("org.junit", "Test", ""),
        ("org.junit.runner", "RunWith", "Class<?> value();"),
        ("org.junit.jupiter.api", "Test", ""),
        ("org.junit.jupiter.api", "Nested", ""),
        ("org.junit.jupiter.api.extension", "ExtendWith", "Class<?>[] value();"),
        ("org.junit.platform.suite.api", "Suite", ""),
        ("org.junit.platform.suite.api", "SelectClasses", "Class<?>[] value();"),
        ("org.junit.platform.suite.api", "SelectPackages", "String[] value();"),
        ("org.testng.annotations", "Test", ""),
    ] {
        let path = format!("{}/{name}.java", package.replace('.', "/"));
        sources = sources.file(&path, &annotation(package, name, body));
    }
    sources
        .file("org/junit/runners/Suite.java", "package org.junit.runners; import java.lang.annotation.*; public class Suite { @Retention(RetentionPolicy.RUNTIME) public @interface SuiteClasses { Class<?>[] value(); } }")
        .file("junit/framework/Test.java", "package junit.framework; public interface Test {}")
        .file("junit/framework/TestCase.java", "package junit.framework; public abstract class TestCase implements Test {}")
}

pub(crate) fn settings(folder: &Path) -> StaticSettings {
    StaticSettings {
        root: folder.join("project"),
        state: folder.join("state"),
        caches: Caches {
            folders: Some(folder.join("cache")),
            jars: JarCache::new(Some(folder.join("jars"))),
            ..Caches::none()
        },
        kinds: EdgeKinds::ALL,
        libraries: Libraries::Auto,
        offline: false,
        watched: tamis_core::Hash(0),
    }
}

pub(crate) fn module(test_classes: &Path, classes: &[&Path]) -> TestModule {
    TestModule {
        name: ".".into(),
        test_classes: vec![test_classes.into()],
        classes: classes.iter().map(|c| PathBuf::from(*c)).collect(),
        ..TestModule::default()
    }
}

pub(crate) fn selected(decisions: &[TestDecision]) -> Vec<String> {
    decisions.iter().filter(|d| d.run.is_some()).map(|d| d.name.clone()).collect()
}

/// Records that all selected tests ran and passed.
pub(crate) fn pass_all(session: &mut Session, decisions: &[TestDecision]) {
    let finished: BTreeMap<String, bool> =
        selected(decisions).into_iter().map(|name| (name, true)).collect();
    assert!(session.record(decisions, &finished).expect("the state can be written"));
}
