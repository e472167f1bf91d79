//! What a method does with objects: a short list of operations over variables.
//!
//! Variables are values in the sense of single assignment: every place that makes a value has its own,
//! and where control flow meets, copies lead into a common one. Numbers have no variables. The order of
//! operations means nothing: the analyses look at all of them.

use crate::ids::{ClassId, FieldId, SelectorId};

pub(crate) type Var = u32;

/// No variable: a number, or a result that is not kept.
pub(crate) const NO_VAR: Var = u32::MAX;
/// The constant `null`: a reference that never holds an object.
pub(crate) const NULL: Var = u32::MAX - 1;

/// Whether a variable can hold an object.
pub(crate) fn is_var(var: Var) -> bool {
    var < NULL
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallKind {
    Static,
    /// Constructors, private methods and `super`.
    Special,
    /// Chosen by the class of the receiver; interface calls as well.
    Virtual,
    /// As a virtual call, made by code that is not seen.
    Callback,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// An object or array; `site` tells the places in one method apart.
    New {
        dst: Var,
        class: ClassId,
        site: u32,
    },
    /// An object that is as good as any other of its class: strings, class literals.
    Shared {
        dst: Var,
        class: ClassId,
    },
    /// An object that comes from where the analysis does not look.
    Outside {
        dst: Var,
    },
    Copy {
        dst: Var,
        src: Var,
    },
    Cast {
        dst: Var,
        src: Var,
        class: ClassId,
    },
    GetField {
        dst: Var,
        base: Var,
        field: FieldId,
        owner: ClassId,
    },
    PutField {
        base: Var,
        field: FieldId,
        src: Var,
        owner: ClassId,
    },
    /// `dst` and `src` may be missing: numbers still initialise the class.
    GetStatic {
        dst: Var,
        field: FieldId,
    },
    PutStatic {
        field: FieldId,
        src: Var,
    },
    /// The first use of a class.
    Initialise {
        class: ClassId,
    },
    ArrayGet {
        dst: Var,
        base: Var,
    },
    ArrayPut {
        base: Var,
        src: Var,
    },
    Call {
        kind: CallKind,
        class: ClassId,
        selector: SelectorId,
        args: (u32, u32),
        dst: Var,
    },
    Throw {
        src: Var,
    },
    Catch {
        dst: Var,
        class: ClassId,
    },
    Return {
        src: Var,
    },
    /// Reflection with a constant: an object of this class, by any of its constructors.
    Reflect {
        dst: Var,
        class: ClassId,
    },
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Body {
    pub(crate) vars: u32,
    /// One per parameter, the receiver first; [`NO_VAR`] for numbers.
    pub(crate) parameters: Vec<Var>,
    pub(crate) ops: Vec<Op>,
    /// The arguments of calls, one behind the other.
    pub(crate) args: Vec<Var>,
}

impl Body {
    pub(crate) fn args(&self, (start, len): (u32, u32)) -> &[Var] {
        self.args.get(start as usize..(start + len) as usize).unwrap_or_default()
    }

    pub(crate) fn new_var(&mut self) -> Var {
        self.vars += 1;
        self.vars - 1
    }

    pub(crate) fn push_args(&mut self, args: &[Var]) -> (u32, u32) {
        let start = self.args.len() as u32;
        self.args.extend_from_slice(args);
        (start, args.len() as u32)
    }

    /// Removes copies that say nothing: a variable that only ever gets the value of one other one is
    /// that other one.
    pub(crate) fn simplify(&mut self) {
        let mut alias: Vec<Var> = (0..self.vars).collect();
        fn find(alias: &mut [Var], mut var: Var) -> Var {
            while alias[var as usize] != var {
                let next = alias[alias[var as usize] as usize];
                alias[var as usize] = next;
                var = next;
            }
            var
        }
        let copies: Vec<(Var, Var)> = self
            .ops
            .iter()
            .filter_map(|op| match *op {
                Op::Copy { dst, src } => Some((dst, src)),
                _ => None,
            })
            .collect();
        if copies.is_empty() {
            return;
        }
        const MANY: Var = NULL;
        let mut source = vec![NO_VAR; self.vars as usize];
        loop {
            source.fill(NO_VAR);
            for &(dst, src) in &copies {
                let (dst, src) = (find(&mut alias, dst), find(&mut alias, src));
                let known = &mut source[dst as usize];
                match *known {
                    _ if dst == src => {}
                    NO_VAR => *known = src,
                    other if other == src => {}
                    _ => *known = MANY,
                }
            }
            let mut changed = false;
            for var in 0..self.vars {
                let from = source[var as usize];
                // Only variables that copies alone write are aliases; those of joins are.
                if is_var(from) && alias[var as usize] == var {
                    let from = find(&mut alias, from);
                    if from != var {
                        alias[var as usize] = from;
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        let mut map = |var: &mut Var| {
            if is_var(*var) {
                *var = find(&mut alias, *var);
            }
        };
        self.args.iter_mut().for_each(&mut map);
        self.parameters.iter_mut().for_each(&mut map);
        for op in &mut self.ops {
            op.variables(&mut map);
        }
        self.ops.retain(|op| !matches!(op, Op::Copy { dst, src } if dst == src));
        self.drop_unused();
    }

    /// Removes copies into variables that are never read, and numbers the others without gaps.
    fn drop_unused(&mut self) {
        let mut read = vec![false; self.vars as usize];
        for var in self.args.iter().chain(&self.parameters) {
            if is_var(*var) {
                read[*var as usize] = true;
            }
        }
        for op in &mut self.ops {
            match *op {
                Op::Copy { .. } => {}
                _ => op.variables(&mut |var| {
                    if is_var(*var) {
                        read[*var as usize] = true;
                    }
                }),
            }
        }
        // What a needed copy reads is needed as well.
        loop {
            let mut changed = false;
            for op in &self.ops {
                if let Op::Copy { dst, src } = *op
                    && read[dst as usize]
                    && !read[src as usize]
                {
                    read[src as usize] = true;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        self.ops.retain(|op| !matches!(*op, Op::Copy { dst, .. } if !read[dst as usize]));
        let mut numbers = vec![NO_VAR; self.vars as usize];
        let mut next = 0;
        for (number, &read) in numbers.iter_mut().zip(&read) {
            if read {
                *number = next;
                next += 1;
            }
        }
        let mut map = |var: &mut Var| {
            if is_var(*var) {
                *var = numbers[*var as usize];
            }
        };
        self.args.iter_mut().for_each(&mut map);
        self.parameters.iter_mut().for_each(&mut map);
        self.ops.iter_mut().for_each(|op| op.variables(&mut map));
        self.vars = next;
    }
}

impl Op {
    /// Calls `see` for each variable, arguments of calls excepted.
    fn variables(&mut self, see: &mut impl FnMut(&mut Var)) {
        match self {
            Self::New { dst, .. }
            | Self::Shared { dst, .. }
            | Self::Outside { dst }
            | Self::GetStatic { dst, .. }
            | Self::Catch { dst, .. }
            | Self::Call { dst, .. }
            | Self::Reflect { dst, .. } => see(dst),
            Self::Copy { dst, src } | Self::Cast { dst, src, .. } => {
                see(dst);
                see(src);
            }
            Self::GetField { dst, base, .. } | Self::ArrayGet { dst, base } => {
                see(dst);
                see(base);
            }
            Self::PutField { base, src, .. } | Self::ArrayPut { base, src } => {
                see(base);
                see(src);
            }
            Self::PutStatic { src, .. } | Self::Throw { src } | Self::Return { src } => see(src),
            Self::Initialise { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(vars: u32, ops: &[Op]) -> Body {
        Body { vars, parameters: vec![0], ops: ops.to_vec(), args: Vec::new() }
    }

    #[test]
    fn a_loop_that_changes_nothing_leaves_no_copy() {
        // 1 and 2 are the values at two joins of a loop over the parameter.
        let copy = |dst, src| Op::Copy { dst, src };
        let mut body = body(3, &[copy(1, 0), copy(2, 1), copy(1, 2), Op::Return { src: 2 }]);
        body.simplify();
        assert_eq!(body.ops, [Op::Return { src: 0 }]);
        assert_eq!(body.vars, 1);
    }

    #[test]
    fn a_real_join_stays() {
        let copy = |dst, src| Op::Copy { dst, src };
        let new = Op::New { dst: 1, class: 7, site: 0 };
        let mut body = body(4, &[new, copy(2, 0), copy(2, 1), copy(3, 1), Op::Return { src: 2 }]);
        body.simplify();
        assert_eq!(body.ops, [new, copy(2, 0), copy(2, 1), Op::Return { src: 2 }]);
        assert_eq!(body.vars, 3);
    }
}
