//! Test classes that the settings never let be skipped: `[jvm]` in tamis.toml.

use tamis_classpath::ClassIndex;
use tamis_core::Unit;
use tamis_settings::Jvm;

/// Whether any test class could be meant: a build then is never skipped as a whole.
pub(crate) fn is_set(settings: &Jvm) -> bool {
    !(settings.always_run.patterns().is_empty() && settings.always_run_tags.is_empty())
}

/// What a test class always runs for: a pattern that its name matches, or a tag that it has. A method
/// runs where its class does.
pub(crate) fn always_run(settings: &Jvm, unit: &Unit, index: &ClassIndex) -> Option<String> {
    let (Unit::Class(class) | Unit::Method { class, .. }) = unit else { return None };
    let simple = class.rsplit('.').next().unwrap_or(class);
    let names = [class.as_str(), simple];
    let by_name = names.iter().find_map(|n| settings.always_run.matching(n.as_bytes()));
    if let Some(pattern) = by_name {
        return Some(pattern.to_owned());
    }
    if settings.always_run_tags.is_empty() {
        return None;
    }
    let tags = tamis_dynamic::tags(index, class);
    let tag = settings.always_run_tags.iter().find(|tag| tags.contains(*tag))?;
    Some(format!("tag {tag}"))
}
