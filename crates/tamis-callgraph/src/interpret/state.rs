//! The stack and the locals at one place of the code, with one variable per value.

use super::{Read, Unreadable};
use crate::body::{NO_VAR, Var};
use crate::descriptor::Slot;

const EMPTY: Unreadable = Unreadable::Code("a value from an empty stack");

#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    pub(super) locals: Vec<Var>,
    pub(super) stack: Vec<Var>,
}

impl State {
    pub(crate) fn push(&mut self, var: Var) {
        self.stack.push(var);
    }

    pub(crate) fn push_slot(&mut self, slot: Slot, var: Var) {
        match slot {
            Slot::None => {}
            Slot::Reference => self.push(var),
            Slot::Number => self.push(NO_VAR),
            Slot::Wide => self.stack.extend([NO_VAR, NO_VAR]),
        }
    }

    pub(crate) fn pop(&mut self) -> Read<Var> {
        self.stack.pop().ok_or(EMPTY)
    }

    pub(crate) fn pop_slot(&mut self, slot: Slot) -> Read<Var> {
        match slot {
            Slot::None => Ok(NO_VAR),
            Slot::Wide => {
                self.pop()?;
                self.pop()?;
                Ok(NO_VAR)
            }
            _ => self.pop(),
        }
    }

    /// Takes and puts numbers.
    pub(crate) fn numbers(&mut self, taken: usize, put: usize) -> Read<()> {
        let left = self.stack.len().checked_sub(taken).ok_or(EMPTY)?;
        self.stack.truncate(left);
        self.stack.resize(left + put, NO_VAR);
        Ok(())
    }

    pub(super) fn load(&mut self, local: usize) {
        let var = self.locals.get(local).copied().unwrap_or(NO_VAR);
        self.push(var);
    }

    pub(super) fn store(&mut self, local: usize, wide: bool) -> Read<()> {
        if wide {
            self.pop()?;
        }
        let var = self.pop()?;
        for (at, var) in [(local, if wide { NO_VAR } else { var }), (local + 1, NO_VAR)]
            .into_iter()
            .take(1 + usize::from(wide))
        {
            if let Some(place) = self.locals.get_mut(at) {
                *place = var;
            }
        }
        Ok(())
    }

    /// Duplicates the upper `count` values and puts them below `below` more.
    pub(super) fn duplicate(&mut self, count: usize, below: usize) -> Read<()> {
        let len = self.stack.len();
        let (Some(from), Some(to)) = (len.checked_sub(count), len.checked_sub(count + below))
        else {
            return Err(EMPTY);
        };
        let upper: Vec<Var> = self.stack[from..].to_vec();
        self.stack.splice(to..to, upper);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(stack: &[Var]) -> State {
        State { locals: vec![NO_VAR; 3], stack: stack.to_vec() }
    }

    #[test]
    fn duplicates_lie_where_they_belong() {
        for (count, below, expected) in
            [(1, 0, &[1, 2, 3, 3][..]), (1, 2, &[3, 1, 2, 3]), (2, 1, &[2, 3, 1, 2, 3])]
        {
            let mut state = with(&[1, 2, 3]);
            state.duplicate(count, below).expect("there is enough");
            assert_eq!(state.stack, expected);
        }
        assert_eq!(with(&[1]).duplicate(1, 1), Err(EMPTY));
    }

    #[test]
    fn wide_values_take_two_places() {
        let mut state = with(&[7]);
        state.push_slot(Slot::Wide, 9);
        assert_eq!(state.stack, [7, NO_VAR, NO_VAR]);
        state.locals.fill(5);
        state.store(1, true).expect("two places");
        assert_eq!((&state.locals[..], &state.stack[..]), (&[5, NO_VAR, NO_VAR][..], &[7][..]));
        assert_eq!(state.pop_slot(Slot::Wide), Err(EMPTY));
    }

    #[test]
    fn locals_keep_references() {
        let mut state = with(&[7]);
        state.store(2, false).expect("one place");
        state.load(2);
        state.load(8);
        assert_eq!(state.stack, [7, NO_VAR]);
    }

    #[test]
    fn numbers_need_as_many_values_as_they_take() {
        let mut state = with(&[7, 8]);
        assert_eq!(state.numbers(3, 0), Err(EMPTY));
        state.numbers(1, 2).expect("there is one");
        assert_eq!(state.stack, [7, NO_VAR, NO_VAR]);
    }
}
