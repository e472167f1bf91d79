//! Tests that a build tool runs: Go, Cargo, CTest, Maven, Gradle, Meson, make.

use super::detect::{Find, Grain, Place};

/// Says what a front end does without any suite.
pub(super) fn by_itself(find: Find, command: &str, units: &str) -> Find {
    let first =
        format!("`tamis {command}` needs no suite: each {units} is a test of its own, also in");
    find.comment(&[&first, "this suite, which is here so that `tamis` alone runs everything."])
}

pub(super) fn go(place: Place<'_>) -> Option<Find> {
    place.has("go.mod").then(|| {
        let find = Find::new("go", "go test ./...", Grain::Whole).comment(&["A Go module."]);
        by_itself(find, "go test ./...", "package")
    })
}

pub(super) fn maven(place: Place<'_>) -> Option<Find> {
    if !place.has("pom.xml") || place.above_has("pom.xml", "<module>") {
        return None;
    }
    let program = if place.has("mvnw") { "./mvnw" } else { "mvn" };
    let find = Find::new("maven", format!("{program} -q test"), Grain::Whole);
    Some(by_itself(find.comment(&["Maven."]), &format!("{program} test"), "test class"))
}

/// Whether the folder or one directly below it has test sources where Java builds have them.
fn has_java_tests(place: Place<'_>) -> bool {
    let below = std::fs::read_dir(place.folder).into_iter().flatten().flatten();
    let mut folders = below.map(|entry| entry.path()).chain([place.folder.to_path_buf()]);
    folders.any(|folder| folder.join("src/test").is_dir())
}

pub(super) fn gradle(place: Place<'_>) -> Option<Find> {
    let has = place.has("build.gradle") || place.has("build.gradle.kts");
    let part = ["settings.gradle", "settings.gradle.kts"].iter().any(|f| place.above_has(f, ""));
    if !has || part || place.folder != place.root && !has_java_tests(place) {
        return None;
    }
    let program = if place.has("gradlew") { "./gradlew" } else { "gradle" };
    // Who keeps both builds has the same tests in both.
    let grain = if place.has("pom.xml") { Grain::WholeIfAlone } else { Grain::Whole };
    let find = Find::new("gradle", format!("{program} --no-daemon test"), grain);
    let find = find.comment(&[
        "Gradle, without its daemon: that would be a process that was already running, which",
        "cannot be observed.",
    ]);
    Some(by_itself(find, &format!("{program} test"), "test class"))
}

pub(super) fn cargo(place: Place<'_>) -> Option<Find> {
    if place.above_has("Cargo.toml", "[workspace]") {
        return None;
    }
    let manifest = toml::from_str::<toml::Table>(&place.text("Cargo.toml")?).ok()?;
    let items = match manifest.contains_key("workspace") {
        true => packages(place, &manifest),
        false => targets(place, &manifest),
    };
    let what = match manifest.contains_key("workspace") {
        true => "A Cargo workspace: each package is one test.",
        false => {
            "Cargo: each test binary is one test, and so are the examples in the documentation."
        }
    };
    if items.len() < 2 {
        let all = "Cargo: all tests are one test.";
        return Some(Find::new("cargo", "cargo test", Grain::Whole).comment(&[all]));
    }
    let mut find = Find::new("cargo", "cargo test {}", Grain::PerItem)
        .comment(&[what, "One after the other, because cargo locks its build folder."]);
    find.each = super::files::each(&items);
    find.one_at_a_time = true;
    Some(find)
}

/// `--lib`, `--bins`, `--doc` and one `--test=NAME` for each test binary that can be built by default.
fn targets(place: Place<'_>, manifest: &toml::Table) -> Vec<String> {
    let listed = |key: &str| -> Vec<&toml::Table> {
        let all = manifest.get(key).and_then(toml::Value::as_array).into_iter().flatten();
        all.filter_map(toml::Value::as_table).collect()
    };
    let mut items = Vec::new();
    let has_lib = manifest.contains_key("lib") || place.has("src/lib.rs");
    items.extend(has_lib.then(|| "--lib".to_owned()));
    let has_bins = place.has("src/main.rs")
        || place.folder.join("src/bin").is_dir()
        || !listed("bin").is_empty();
    items.extend(has_bins.then(|| "--bins".to_owned()));
    let names = listed("test");
    let mut tests: Vec<String> = test_files(place, manifest);
    for test in names {
        let Some(name) = test.get("name").and_then(toml::Value::as_str) else { continue };
        tests.retain(|known| known != name);
        if !test.contains_key("required-features") {
            tests.push(name.to_owned());
        }
    }
    tests.sort();
    items.extend(tests.into_iter().map(|name| format!("--test={name}")));
    items.extend(has_lib.then(|| "--doc".to_owned()));
    items
}

/// The tests that Cargo finds by itself.
fn test_files(place: Place<'_>, manifest: &toml::Table) -> Vec<String> {
    let off = manifest.get("package").and_then(|package| package.get("autotests"));
    if off.and_then(toml::Value::as_bool) == Some(false) {
        return Vec::new();
    }
    let (_, files) = place.matching(&["tests/*.rs".into(), "tests/*/main.rs".into()]);
    let name = |file: String| {
        let name = file.strip_prefix("tests/")?.trim_end_matches("/main.rs");
        Some(name.trim_end_matches(".rs").to_owned())
    };
    files.into_iter().filter_map(name).collect()
}

/// `--package=NAME` for each member of a workspace.
fn packages(place: Place<'_>, manifest: &toml::Table) -> Vec<String> {
    let members = manifest.get("workspace").and_then(|workspace| workspace.get("members"));
    let members = members.and_then(toml::Value::as_array).into_iter().flatten();
    let members = members.filter_map(toml::Value::as_str);
    let manifests: Vec<String> = members
        .map(|member| format!("{}/Cargo.toml", member.trim_end_matches('/')))
        .chain(["Cargo.toml".to_owned()])
        .collect();
    let (_, mut files) = place.matching(&manifests);
    files.extend(manifests.into_iter().filter(|file| place.has(file)));
    files.sort();
    files.dedup();
    let name = |file: String| {
        let manifest = toml::from_str::<toml::Table>(&place.text(&file)?).ok()?;
        let name = manifest.get("package")?.get("name")?.as_str()?.to_owned();
        Some(format!("--package={name}"))
    };
    files.into_iter().filter_map(name).collect()
}

/// Folders in which people build with CMake.
const BUILD_FOLDERS: [&str; 4] = ["build", "_build", "cmake-build-debug", "out"];

pub(super) fn ctest(place: Place<'_>) -> Option<Find> {
    let text = place.text("CMakeLists.txt")?.to_lowercase();
    let has_tests = text.contains("enable_testing") || text.contains("include(ctest)");
    if !has_tests || place.above_has("CMakeLists.txt", "") {
        return None;
    }
    let made = BUILD_FOLDERS.iter().find(|folder| place.has(&format!("{folder}/CMakeCache.txt")));
    let (folder, configure) = match made {
        Some(folder) => (*folder, String::new()),
        None => ("build", "cmake -B build && ".to_owned()),
    };
    let shell = format!(
        "{{ {configure}cmake --build {folder}; }} >/dev/null && ctest --test-dir {folder} --show-only=json-v1"
    );
    let run = format!("ctest --test-dir {folder} --output-on-failure --no-tests=error -R '^{{}}$'");
    let mut find = Find::new("ctest", run, Grain::PerItem).comment(&[
        "CMake: each test of CTest is one test. What they run is built first, whenever tamis asks",
        "for their names. One after the other, because they share CTest's log.",
    ]);
    find.each =
        Some(format!("{{ command = [\"sh\", \"-c\", \"{shell}\"], json = \"tests.name\" }}"));
    find.one_at_a_time = true;
    find.own_state = Some(format!("{folder}/Testing/**"));
    Some(find)
}

pub(super) fn make(place: Place<'_>) -> Option<Find> {
    let file = ["GNUmakefile", "makefile", "Makefile"].into_iter().find(|file| place.has(file))?;
    let text = place.text(file)?;
    let target = ["test", "check", "tests"].into_iter().find(|target| {
        text.lines().any(|line| {
            let names = line.split_once(':').filter(|(_, rest)| !rest.starts_with('='));
            names.is_some_and(|(names, _)| {
                !line.starts_with(['\t', '#', '.'])
                    && names.split_whitespace().any(|n| n == *target)
            })
        })
    })?;
    let comment = format!("{file} has the target {target}: all its tests are one test.");
    Some(Find::new("make", format!("make {target}"), Grain::WholeIfAlone).comment(&[&comment]))
}

pub(super) fn meson(place: Place<'_>) -> Option<Find> {
    let text = place.text("meson.build")?;
    if !text.contains("test(") || place.above_has("meson.build", "project(") {
        return None;
    }
    Some(Find::new("meson", "meson test -C build", Grain::Whole).comment(&[
        "Meson with tests: all tests are one test, run in the folder build.",
        "Configure first: meson setup build",
    ]))
}
