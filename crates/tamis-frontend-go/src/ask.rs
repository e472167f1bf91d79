//! What go itself answers: `go env` and `go list`, started at the same time.
//!
//! `-e` lets broken packages be listed with their error, `-test` adds the test binaries and the variants of
//! packages that are compiled for them (`a [b.test]`), `-deps` everything that they import. Only the needed
//! fields are asked for: `Stale` alone would make go compute the state of every build.

use crate::command::GoTest;
use crate::environment::Surroundings;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// Why the packages of a command are not known.
#[derive(Debug, thiserror::Error)]
pub enum GoError {
    #[error("{program} cannot be started ({error}); install go, or put it on the PATH")]
    Start { program: String, error: std::io::Error },
    #[error("go {verb}: {message}")]
    Refused { verb: &'static str, message: String },
    #[error("go {verb} printed something else than JSON: {error}")]
    Strange { verb: &'static str, error: serde_json::Error },
    /// The command runs as one.
    #[error("{0}")]
    Whole(String),
}

/// The fields of `go list -json` that are used.
const FIELDS: &str = "-json=ImportPath,Dir,Name,Standard,ForTest,Module,Match,DefaultGODEBUG,GoFiles,CgoFiles,\
IgnoredGoFiles,IgnoredOtherFiles,CFiles,CXXFiles,MFiles,HFiles,FFiles,SFiles,SwigFiles,SwigCXXFiles,SysoFiles,\
TestGoFiles,XTestGoFiles,EmbedPatterns,EmbedFiles,TestEmbedPatterns,TestEmbedFiles,XTestEmbedPatterns,\
XTestEmbedFiles,CgoCFLAGS,CgoCPPFLAGS,CgoCXXFLAGS,CgoFFLAGS,CgoLDFLAGS,CgoPkgConfig,Deps,Error,DepsErrors";

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Listed {
    pub(crate) import_path: String,
    pub(crate) dir: PathBuf,
    pub(crate) standard: bool,
    pub(crate) for_test: String,
    pub(crate) module: Option<Module>,
    #[serde(rename = "Match")]
    pub(crate) matched: Vec<String>,
    #[serde(rename = "DefaultGODEBUG")]
    pub(crate) default_godebug: String,
    pub(crate) go_files: Vec<String>,
    pub(crate) cgo_files: Vec<String>,
    pub(crate) ignored_go_files: Vec<String>,
    pub(crate) ignored_other_files: Vec<String>,
    pub(crate) c_files: Vec<String>,
    #[serde(rename = "CXXFiles")]
    pub(crate) cxx_files: Vec<String>,
    pub(crate) m_files: Vec<String>,
    pub(crate) h_files: Vec<String>,
    pub(crate) f_files: Vec<String>,
    pub(crate) s_files: Vec<String>,
    pub(crate) swig_files: Vec<String>,
    #[serde(rename = "SwigCXXFiles")]
    pub(crate) swig_cxx_files: Vec<String>,
    pub(crate) syso_files: Vec<String>,
    pub(crate) test_go_files: Vec<String>,
    #[serde(rename = "XTestGoFiles")]
    pub(crate) x_test_go_files: Vec<String>,
    pub(crate) embed_patterns: Vec<String>,
    pub(crate) embed_files: Vec<String>,
    pub(crate) test_embed_patterns: Vec<String>,
    pub(crate) test_embed_files: Vec<String>,
    #[serde(rename = "XTestEmbedPatterns")]
    pub(crate) x_test_embed_patterns: Vec<String>,
    #[serde(rename = "XTestEmbedFiles")]
    pub(crate) x_test_embed_files: Vec<String>,
    #[serde(rename = "CgoCFLAGS")]
    pub(crate) cgo_cflags: Vec<String>,
    #[serde(rename = "CgoCPPFLAGS")]
    pub(crate) cgo_cppflags: Vec<String>,
    #[serde(rename = "CgoCXXFLAGS")]
    pub(crate) cgo_cxxflags: Vec<String>,
    #[serde(rename = "CgoFFLAGS")]
    pub(crate) cgo_fflags: Vec<String>,
    #[serde(rename = "CgoLDFLAGS")]
    pub(crate) cgo_ldflags: Vec<String>,
    pub(crate) cgo_pkg_config: Vec<String>,
    pub(crate) deps: Vec<String>,
    pub(crate) error: Option<Failure>,
    pub(crate) deps_errors: Vec<Failure>,
}

impl Listed {
    /// The import path, without what says for which test a variant is compiled.
    pub(crate) fn name(&self) -> &str {
        plain_name(&self.import_path)
    }
}

/// `a` for `a [b.test]`.
pub(crate) fn plain_name(import_path: &str) -> &str {
    import_path.split(' ').next().unwrap_or(import_path)
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Failure {
    pub(crate) err: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Module {
    pub(crate) path: String,
    pub(crate) version: String,
    pub(crate) replace: Option<Box<Module>>,
    pub(crate) dir: PathBuf,
    pub(crate) go_mod: PathBuf,
    pub(crate) go_version: String,
    pub(crate) sum: String,
    pub(crate) main: bool,
}

/// The answers of `go env`, by name.
#[derive(Debug)]
pub(crate) struct Settings(BTreeMap<String, String>);

impl Settings {
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

pub(crate) struct Answers {
    pub(crate) settings: Settings,
    pub(crate) listed: Vec<Listed>,
}

/// Asks go about the packages of a command.
pub(crate) fn ask(test: &GoTest, at: &Surroundings) -> Result<Answers, GoError> {
    let mut env = test.ask("env");
    env.push("-json".into());
    let env = start(test, at, &env)?;
    let mut list = test.ask("list");
    list.extend(["-e", "-deps", "-test", FIELDS, "--"].map(str::to_owned));
    list.extend_from_slice(test.packages());
    let list = start(test, at, &list)?;
    let env = finish("env", env)?;
    let strange = |verb| move |error| GoError::Strange { verb, error };
    let settings = serde_json::from_slice(&env).map_err(strange("env"))?;
    let list = finish("list", list)?;
    let listed = serde_json::Deserializer::from_slice(&list).into_iter();
    let listed = listed.collect::<Result<_, _>>().map_err(strange("list"))?;
    Ok(Answers { settings: Settings(settings), listed })
}

fn start(test: &GoTest, at: &Surroundings, words: &[String]) -> Result<Child, GoError> {
    let failed = |error| GoError::Start { program: test.program().to_owned(), error };
    let program =
        at.program(test.program()).ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))?;
    let mut command = Command::new(program);
    command.args(words).current_dir(at.folder()).env_clear().envs(at.variables());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(failed)
}

fn finish(verb: &'static str, child: Child) -> Result<Vec<u8>, GoError> {
    let refused = |message: String| GoError::Refused { verb, message };
    let Output { status, stdout, stderr } =
        child.wait_with_output().map_err(|error| refused(error.to_string()))?;
    match status.success() {
        true => Ok(stdout),
        false => Err(refused(String::from_utf8_lossy(&stderr).trim().to_owned())),
    }
}
