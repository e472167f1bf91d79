//! Affected modules handed to Maven.
//!
//! Maven gets the modules to build (`-pl`): those that are affected, and those that they need,
//! within what the user's own words would build. Which of them run their tests is decided when their
//! test goals begin, by the agent in Maven's JVM: no build file and no property is touched.

use crate::modules::{Found, Words};
use anyhow::{Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tamis_modules::affected::is_called;
use tamis_modules::maven::read;
use tamis_modules::model::join;
use tamis_modules::{Files, Tree};
use tamis_project::Project;
use tamis_session::{Choice, ModuleTests};
use tamis_settings::modules::{UpstreamOf, When};

/// The words of the command with what the project's own configuration adds.
pub(super) fn words(project: &Project, tree: &Tree, words: &[String]) -> Words {
    let given = words.get(1..).unwrap_or_default();
    let folder = project.folder.ancestors().find(|f| f.join(".mvn").is_dir());
    let folder = folder.filter(|f| f.starts_with(tree.top()));
    let config = folder.and_then(|f| std::fs::read_to_string(f.join(".mvn/maven.config")).ok());
    Words::with_config(&config.unwrap_or_default(), given)
}

/// The pom that the command starts with.
pub(super) fn start(
    tree: &Tree,
    folder: &str,
    project: &Project,
    given: &[String],
) -> Result<String> {
    if given.is_empty() {
        // Asked about without a command: the nearest pom.
        for here in Path::new(folder).ancestors() {
            let pom = join(here.to_str().unwrap_or_default(), "pom.xml");
            if let Some(pom) = pom.filter(|p| tree.is_file(p)) {
                return Ok(pom);
            }
        }
        bail!("no pom.xml here or above; change to a build's folder");
    }
    let pom = words(project, tree, given).pom(&project.folder);
    let real = pom.canonicalize().unwrap_or_else(|_| pom.clone());
    match tree.relative(&real).filter(|p| tree.is_file(p)) {
        Some(pom) => Ok(pom),
        None => bail!(
            "there is no {}; change to a build's folder, or name a pom with -f",
            pom.display()
        ),
    }
}

/// What Maven is started with.
#[derive(Debug)]
pub(super) struct Handed {
    pub(super) words: Vec<String>,
    pub(super) choice: Choice,
    /// How many modules are built, and how many of them run their tests.
    pub(super) built: usize,
    pub(super) tested: usize,
    pub(super) notes: Vec<String>,
}

/// What to tell Maven; `None` where no module is to be tested.
pub(super) fn hand(
    found: &Found,
    project: &Project,
    given: &[String],
    tests: ModuleTests,
) -> Result<Option<Handed>> {
    let settings = &project.settings.modules;
    let given_words = words(project, &found.tree, given);
    let covered = covered(found, project, given, &given_words)?;
    let tested: BTreeSet<usize> =
        covered.iter().copied().filter(|&n| found.affected(n).is_some()).collect();
    if tested.is_empty() {
        return Ok(None);
    }
    let needed = match settings.upstream {
        When::Always => true,
        When::AsTold => given_words.also_make,
        When::Never => false,
    };
    let mut built = tested.clone();
    if needed {
        let of = tested.iter().copied().filter(|&n| {
            settings.upstream_of == UpstreamOf::Affected
                || found.affected(n).is_some_and(|m| m.changed)
        });
        built.extend(found.graph.upstream(of).intersection(&covered));
    }
    let mut notes = Vec::new();
    let outside: Vec<&str> = found
        .graph
        .upstream(tested.iter().copied())
        .iter()
        .filter(|n| !covered.contains(n) && found.affected(**n).is_some_and(|m| m.changed))
        .map(|&n| found.graph.modules[n].name.as_str())
        .collect();
    if !outside.is_empty() {
        notes.push(format!(
            "changed and not built by this command: {}; Maven takes what is installed",
            outside.join(", ")
        ));
    }
    let mut words = vec![given[0].clone()];
    // Where a build goes on after a failure, Maven must know the module that it goes on with.
    if built.len() == covered.len() || given_words.resume_from.is_some() {
        words.extend_from_slice(&given[1..]);
    } else {
        words.extend(given_words.without_choice(&given[1..]));
        let names: Vec<&str> =
            built.iter().map(|&n| found.graph.modules[n].name.as_str()).collect();
        words.extend(["-pl".to_owned(), names.join(",")]);
    }
    let mut modules = BTreeMap::new();
    let mut properties = Vec::new();
    for &n in &built {
        let module = &found.graph.modules[n];
        let (tests, why) = match found.affected(n) {
            Some(affected) => {
                let first = affected.reasons.first().map(ToString::to_string).unwrap_or_default();
                (tests, format!("its module is affected: {first}"))
            }
            None if settings.upstream_tests => {
                (tests, "an affected module needs it (upstream-tests)".to_owned())
            }
            None => (ModuleTests::None, "its module is not affected".to_owned()),
        };
        let own = match found.affected(n) {
            None => settings.upstream_args.as_slice(),
            Some(affected) if !affected.changed => &settings.downstream_args,
            Some(_) => &[],
        };
        let own = own.iter().map(|(k, v)| (module.name.clone(), k.clone(), v.clone()));
        properties.extend(own);
        modules.insert(module.name.clone(), (tests, why));
    }
    let (built, tested) = (built.len(), tested.len());
    let choice = Choice { modules, others: tests, properties };
    Ok(Some(Handed { words, choice, built, tested, notes }))
}

/// The modules that the user's own words would build.
fn covered(
    found: &Found,
    project: &Project,
    given: &[String],
    given_words: &Words,
) -> Result<BTreeSet<usize>> {
    let graph = &found.graph;
    let folder = found.tree.relative(&project.folder).unwrap_or_else(|| ".".into());
    let start = start(&found.tree, &folder, project, given)?;
    let mut all: BTreeSet<usize> = (0..graph.modules.len()).collect();
    if start != found.root {
        let part = read(&found.tree, &start, &found.around, false)?;
        let poms: BTreeSet<&str> = part.modules.iter().map(|m| m.definition.as_str()).collect();
        all.retain(|&n| poms.contains(graph.modules[n].definition.as_str()));
    }
    if given_words.alone {
        all.retain(|&n| graph.modules[n].definition == start);
    }
    let base = tamis_modules::model::folder_of(&start).to_owned();
    let named = |name: &str| -> Result<BTreeSet<usize>> {
        let found: BTreeSet<usize> =
            all.iter().copied().filter(|&n| is_selected(graph, n, name, &base)).collect();
        if found.is_empty() {
            bail!("-pl {name}: there is no such module; `tamis modules --all` lists them");
        }
        Ok(found)
    };
    let mut chosen = all.clone();
    if !given_words.wanted.is_empty() {
        chosen = BTreeSet::new();
        for name in &given_words.wanted {
            chosen.extend(named(name.trim_start_matches('?'))?);
        }
        let (up, down) = (given_words.also_make, given_words.also_make_dependents);
        let roots = chosen.clone();
        if up {
            chosen.extend(graph.upstream(roots.iter().copied()).intersection(&all));
        }
        if down {
            chosen.extend(graph.downstream(roots.iter().copied()).intersection(&all));
        }
    }
    for name in &given_words.unwanted {
        for module in named(name.trim_start_matches('?'))? {
            chosen.remove(&module);
        }
    }
    Ok(chosen)
}

/// Whether `-pl` means a module: `group:artifact`, `:artifact`, a folder or a pom.
fn is_selected(graph: &tamis_modules::Graph, n: usize, name: &str, base: &str) -> bool {
    if let Some(artifact) = name.strip_prefix(':') {
        return is_called(graph, n, &format!("*:{artifact}"));
    }
    let module = &graph.modules[n];
    let path = join(base, name);
    module.name == name
        || path.as_deref() == Some(module.folder.as_str())
        || path.as_deref() == Some(module.definition.as_str())
}
