//! What a source file says: the bodies of its functions, and everything else.
//!
//! A function that is not inside of another one has a fingerprint of its own, by its qualified name; what is
//! defined inside of it belongs to it. Names, decorators, parameters with their defaults and annotations,
//! docstrings, and whether a body yields, belong to the module: they can be seen without calling the
//! function. Functions with the same qualified name (a property's getter and setter, two branches) are one.
//!
//! Trees are compared without positions: comments, blank lines and formatting do not count. A file that is no
//! Python of the version that the parser knows counts by its bytes.

mod lines;

pub(crate) use lines::{Lines, Position, Statement};

use ruff_python_ast::comparable::ComparableStmt;
use ruff_python_ast::helpers::any_over_body;
use ruff_python_ast::{ExceptHandler, Expr, ModModule, Stmt, StmtFunctionDef};
use std::collections::BTreeMap;
use std::hash::{Hash as _, Hasher};
use tamis_core::{Hash, Value};

/// The fingerprints of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceFacts {
    /// The bytes.
    pub(crate) bytes: Hash,
    /// The whole tree.
    pub(crate) code: Hash,
    /// The tree without the bodies of functions.
    pub(crate) module: Hash,
    /// Bodies by qualified name; nothing where the file cannot be parsed.
    functions: BTreeMap<String, Hash>,
}

impl SourceFacts {
    pub(crate) fn of(source: &[u8]) -> Self {
        let bytes = Hash::of(source);
        let parsed = std::str::from_utf8(source).ok().and_then(|text| {
            ruff_python_parser::parse_module(text.strip_prefix('\u{feff}').unwrap_or(text)).ok()
        });
        let Some(parsed) = parsed else {
            return Self { bytes, code: bytes, module: bytes, functions: BTreeMap::new() };
        };
        let mut module: ModModule = parsed.into_syntax();
        let code = hash_of(&module.body);
        let mut bodies = BTreeMap::new();
        take_bodies(&mut module.body, "", &mut bodies);
        let functions = bodies.into_iter().map(|(name, bytes)| (name, Hash::of(&bytes))).collect();
        Self { bytes, code, module: hash_of(&module.body), functions }
    }

    /// The function that a code object's qualified name belongs to; `None`: to the module.
    pub(crate) fn function<'n>(&self, qualified: &'n str) -> Option<&'n str> {
        let mut name = qualified.split(".<").next().unwrap_or_default();
        loop {
            if self.functions.contains_key(name) {
                return Some(name);
            }
            name = name.rsplit_once('.')?.0;
        }
    }

    /// The fingerprint that statements are named in: of a function, or of the module where this is empty.
    pub(crate) fn of_owner(&self, name: &str) -> Option<Hash> {
        if name.is_empty() { Some(self.module) } else { self.functions.get(name).copied() }
    }

    /// The body of a function, or that there is none.
    pub(crate) fn body(&self, name: &str) -> Value {
        self.functions.get(name).map_or(Value::Absent, |hash| Value::Text(*hash))
    }
}

/// Takes the bodies of functions out of statements at the level of a module or class.
fn take_bodies(statements: &mut [Stmt], around: &str, bodies: &mut BTreeMap<String, Vec<u8>>) {
    for statement in statements {
        match statement {
            Stmt::FunctionDef(function) => take_body(function, around, bodies),
            Stmt::ClassDef(class) => {
                let name = qualified(around, &class.name);
                take_bodies(&mut class.body, &name, bodies);
            }
            Stmt::If(branch) => {
                take_bodies(&mut branch.body, around, bodies);
                for clause in &mut branch.elif_else_clauses {
                    take_bodies(&mut clause.body, around, bodies);
                }
            }
            Stmt::For(repeat) => {
                take_bodies(&mut repeat.body, around, bodies);
                take_bodies(&mut repeat.orelse, around, bodies);
            }
            Stmt::While(repeat) => {
                take_bodies(&mut repeat.body, around, bodies);
                take_bodies(&mut repeat.orelse, around, bodies);
            }
            Stmt::With(with) => take_bodies(&mut with.body, around, bodies),
            Stmt::Match(choice) => {
                for case in &mut choice.cases {
                    take_bodies(&mut case.body, around, bodies);
                }
            }
            Stmt::Try(attempt) => {
                for handler in &mut attempt.handlers {
                    let ExceptHandler::ExceptHandler(handler) = handler;
                    take_bodies(&mut handler.body, around, bodies);
                }
                for block in [&mut attempt.body, &mut attempt.orelse, &mut attempt.finalbody] {
                    take_bodies(block, around, bodies);
                }
            }
            _ => {}
        }
    }
}

fn take_body(function: &mut StmtFunctionDef, around: &str, bodies: &mut BTreeMap<String, Vec<u8>>) {
    let name = qualified(around, &function.name);
    let body = std::mem::take(&mut function.body);
    let bytes = bytes_of(&body);
    let known = bodies.entry(name).or_default();
    known.extend((bytes.len() as u64).to_le_bytes());
    known.extend(bytes);
    // What can be seen of a body without running it.
    let yields = any_over_body(&body, &|e| matches!(e, Expr::Yield(_) | Expr::YieldFrom(_)));
    let marker = yields.then(pass_statement);
    function.body = docstring(&body).into_iter().chain(marker).collect();
}

fn docstring(body: &[Stmt]) -> Option<Stmt> {
    let first = body.first()?;
    let is_text = first.as_expr_stmt().is_some_and(|e| e.value.is_string_literal_expr());
    is_text.then(|| first.clone())
}

/// Stands for "this function yields" in the module's tree.
fn pass_statement() -> Stmt {
    Stmt::Pass(ruff_python_ast::StmtPass {
        node_index: ruff_python_ast::AtomicNodeIndex::default(),
        range: Default::default(),
    })
}

fn qualified(around: &str, name: &str) -> String {
    match around {
        "" => name.to_owned(),
        _ => format!("{around}.{name}"),
    }
}

fn hash_of(statements: &[Stmt]) -> Hash {
    Hash::of(&bytes_of(statements))
}

fn bytes_of(statements: &[Stmt]) -> Vec<u8> {
    let mut bytes = Collected(Vec::new());
    for statement in statements {
        ComparableStmt::from(statement).hash(&mut bytes);
    }
    bytes.0
}

/// Takes all that is hashed, so that a hash of more than 64 bits can be made of it.
struct Collected(Vec<u8>);

impl Hasher for Collected {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests;
