//! Faults in Python sources, by their syntax trees. Each replaces the text of one expression.

use crate::fault::{Fault, Kind, Lines};
use ruff_python_ast::helpers::any_over_expr;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, FString, Stmt, StmtFunctionDef};
use ruff_python_parser::parse_module;
use std::ops::Range;
use std::path::PathBuf;

/// All faults that can be put into one source; none where it cannot be parsed.
pub fn faults(source: &str) -> Vec<Fault> {
    // A byte order mark would move every position.
    let Ok(parsed) = parse_module(source) else { return Vec::new() };
    if source.starts_with('\u{feff}') {
        return Vec::new();
    }
    let mut walk = Walk { source, names: Vec::new(), around: None, found: Vec::new() };
    walk.visit_body(&parsed.syntax().body);
    let mut found = walk.found;
    found.retain(|fault| {
        let text = String::from_utf8(fault.applied(source.as_bytes()));
        text.is_ok_and(|text| parse_module(&text).is_ok())
    });
    found
}

struct Walk<'s> {
    source: &'s str,
    /// Classes and functions that are open.
    names: Vec<String>,
    /// The lines of the outermost function that is open.
    around: Option<Lines>,
    found: Vec<Fault>,
}

impl Walk<'_> {
    fn line(&self, at: usize) -> u32 {
        let before = &self.source.as_bytes()[..at.min(self.source.len())];
        1 + u32::try_from(before.iter().filter(|&&b| b == b'\n').count()).unwrap_or(u32::MAX - 1)
    }

    fn add(&mut self, kind: Kind, at: Range<usize>, text: String) {
        let line = self.line(at.start);
        let name = if self.names.is_empty() { "<module>".into() } else { self.names.join(".") };
        self.found.push(Fault {
            kind,
            place: name,
            line,
            around: self.around.unwrap_or(Lines { first: line, last: line }),
            at,
            bytes: text.into_bytes(),
            file: PathBuf::new(),
            source: String::new(),
        });
    }

    fn condition(&mut self, test: &Expr) {
        let at = range(test);
        let text = &self.source[at.clone()];
        // What a file does when it is a program is no part of what is imported.
        if !text.contains("__name__") && !text.contains("TYPE_CHECKING") && !suspends(test) {
            let text = format!("(not ({text}))");
            self.add(Kind::ConditionNegated, at, text);
        }
    }

    fn inside(&mut self, name: &str, lines: Option<Lines>, does: impl FnOnce(&mut Self)) {
        self.names.push(name.to_owned());
        let before = self.around;
        self.around = before.or(lines);
        does(self);
        self.around = before;
        self.names.pop();
    }

    fn function(&mut self, function: &StmtFunctionDef) {
        let at: Range<usize> = function.range.start().to_usize()..function.range.end().to_usize();
        let lines = Lines { first: self.line(at.start), last: self.line(at.end) };
        self.inside(&function.name, Some(lines), |walk| walk.visit_body(&function.body));
    }
}

impl<'a> Visitor<'a> for Walk<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => return self.function(function),
            Stmt::ClassDef(class) => {
                return self.inside(&class.name, None, |walk| walk.visit_body(&class.body));
            }
            Stmt::If(branch) => {
                self.condition(&branch.test);
                let clauses = branch.elif_else_clauses.iter().filter_map(|c| c.test.as_ref());
                clauses.for_each(|test| self.condition(test));
            }
            Stmt::While(repeat) => self.condition(&repeat.test),
            Stmt::Return(returned) => {
                if let Some(value) = returned.value.as_deref().filter(|value| !suspends(value)) {
                    let other = match value {
                        Expr::NoneLiteral(_) => None,
                        Expr::BooleanLiteral(known) => {
                            Some(if known.value { "False" } else { "True" })
                        }
                        _ => Some("None"),
                    };
                    if let Some(other) = other {
                        self.add(Kind::ReturnChanged, range(value), other.to_owned());
                    }
                }
            }
            Stmt::Expr(alone) if alone.value.is_call_expr() && !suspends(&alone.value) => {
                self.add(Kind::CallRemoved, range(&alone.value), "None".to_owned());
            }
            _ => {}
        }
        visitor::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::If(choice) = expression {
            self.condition(&choice.test);
        }
        visitor::walk_expr(self, expression);
    }

    /// Older versions of Python do not take every expression inside of a text.
    fn visit_f_string(&mut self, _: &'a FString) {}
}

/// Whether a function would be another kind of function without it.
fn suspends(expression: &Expr) -> bool {
    any_over_expr(expression, &|inner| {
        matches!(inner, Expr::Yield(_) | Expr::YieldFrom(_) | Expr::Await(_))
    })
}

fn range(expression: &Expr) -> Range<usize> {
    use ruff_text_size::Ranged as _;
    let range = expression.range();
    range.start().to_usize()..range.end().to_usize()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "\
import os
if __name__ == '__main__':
    main()
class A:
    def f(self, x):
        'ö'
        if x > 1 or \\
           x < 0:
            return x
        elif x: return True
        log(x)
        return (
            None)
    async def g(self):
        await self.f(1)
        return await self.f(2)
def h(n):
    while n: n -= 1
    yield f\"{1 if n else 2}\"
    return 1 if n else 2
";

    #[test]
    fn what_can_be_wrong() {
        let found: Vec<(String, u32, Kind, String)> = faults(SAMPLE)
            .into_iter()
            .map(|f| (f.place, f.line, f.kind, String::from_utf8(f.bytes).unwrap()))
            .collect();
        let is =
            |place: &str, line, kind, text: &str| (place.to_owned(), line, kind, text.to_owned());
        use Kind::{CallRemoved as Call, ConditionNegated as Condition, ReturnChanged as Return};
        let expected = [
            is("<module>", 3, Call, "None"),
            is("A.f", 7, Condition, "(not (x > 1 or \\\n           x < 0))"),
            is("A.f", 10, Condition, "(not (x))"),
            is("A.f", 9, Return, "None"),
            is("A.f", 10, Return, "False"),
            is("A.f", 11, Call, "None"),
            is("h", 18, Condition, "(not (n))"),
            is("h", 20, Return, "None"),
            is("h", 20, Condition, "(not (n))"),
        ];
        assert_eq!(found, expected, "{found:#?}");
    }

    #[test]
    fn the_lines_of_the_function_are_known() {
        let found = faults(SAMPLE);
        let fault = found.iter().find(|f| f.place == "A.f").unwrap();
        assert_eq!(fault.around, Lines { first: 5, last: 13 });
        let changed = fault.applied(SAMPLE.as_bytes());
        assert!(String::from_utf8(changed).unwrap().contains("if (not (x > 1 or"));
    }

    #[test]
    fn what_cannot_be_parsed_has_none() {
        assert!(faults("def f(:\n").is_empty());
        assert!(faults("\u{feff}def f(): return 1\n").is_empty());
        assert!(faults("").is_empty());
    }
}
