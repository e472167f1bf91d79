//! Where instructions start, how long they are, and where they jump to.

use super::{Interpreter, Read, Unreadable};

impl Interpreter<'_, '_> {
    pub(super) fn byte(&self, at: usize) -> Read<u8> {
        self.code.bytes.get(at).copied().ok_or(Unreadable::Code("code ends inside an instruction"))
    }

    pub(super) fn short(&self, at: usize) -> Read<u16> {
        Ok(u16::from_be_bytes([self.byte(at)?, self.byte(at + 1)?]))
    }

    pub(super) fn int(&self, at: usize) -> Read<i32> {
        let high = i32::from(self.short(at)?.cast_signed());
        Ok(high << 16 | i32::from(self.short(at + 2)?))
    }

    /// Where a jump leads.
    pub(super) fn target(&self, pc: usize, offset: i32) -> Read<usize> {
        usize::try_from(pc as i64 + i64::from(offset))
            .ok()
            .filter(|&to| to < self.code.bytes.len())
            .ok_or(Unreadable::Code("jump out of the code"))
    }

    /// The instruction's length and where it jumps to.
    pub(super) fn decode(&self, pc: usize, targets: &mut Vec<usize>) -> Read<usize> {
        targets.clear();
        let op = self.byte(pc)?;
        let padded = (pc + 4) & !3;
        Ok(match op {
            16 | 18 | 21..=25 | 54..=58 | 169 | 188 => 2,
            17 | 19 | 20 | 132 | 178..=184 | 187 | 189 | 192 | 193 => 3,
            153..=168 | 198 | 199 => {
                let offset = i32::from(self.short(pc + 1)?.cast_signed());
                targets.push(self.target(pc, offset)?);
                3
            }
            197 => 4,
            185 | 186 => 5,
            200 | 201 => {
                targets.push(self.target(pc, self.int(pc + 1)?)?);
                5
            }
            196 => {
                if self.byte(pc + 1)? == 132 {
                    6
                } else {
                    4
                }
            }
            170 => {
                targets.push(self.target(pc, self.int(padded)?)?);
                let (low, high) = (self.int(padded + 4)?, self.int(padded + 8)?);
                let cases = i64::from(high) - i64::from(low) + 1;
                if !(0..=self.code.bytes.len() as i64).contains(&cases) {
                    return Err(Unreadable::Code("switch with an impossible number of cases"));
                }
                for case in 0..cases as usize {
                    targets.push(self.target(pc, self.int(padded + 12 + 4 * case)?)?);
                }
                padded + 12 + 4 * cases as usize - pc
            }
            171 => {
                targets.push(self.target(pc, self.int(padded)?)?);
                let pairs = self.int(padded + 4)?;
                if !(0..=self.code.bytes.len() as i32).contains(&pairs) {
                    return Err(Unreadable::Code("switch with an impossible number of cases"));
                }
                for pair in 0..pairs as usize {
                    targets.push(self.target(pc, self.int(padded + 12 + 8 * pair)?)?);
                }
                padded + 8 + 8 * pairs as usize - pc
            }
            0..=201 => 1,
            _ => return Err(Unreadable::Code("unknown instruction")),
        })
    }

    pub(super) fn find_leaders(&mut self) -> Read<()> {
        let mut pc = 0;
        let mut targets = Vec::new();
        self.ways.leader[0] = true;
        while pc < self.code.bytes.len() {
            let len = self.decode(pc, &mut targets)?;
            for &target in &targets {
                self.ways.leader[target] = true;
            }
            if matches!(self.code.bytes[pc], 168 | 201) {
                self.ways.jsr_returns.push(pc + len);
                if let Some(leader) = self.ways.leader.get_mut(pc + len) {
                    *leader = true;
                }
            }
            pc += len;
        }
        for handler in &self.code.handlers {
            for at in [handler.start, handler.end, handler.handler] {
                if let Some(leader) = self.ways.leader.get_mut(usize::from(at)) {
                    *leader = true;
                }
            }
        }
        Ok(())
    }
}
