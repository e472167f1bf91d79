//! How many slots of the stack values take, and instructions take and give.

/// The slots of a value of this type: two for `long` and `double`, none for `void`.
pub(crate) fn of_type(descriptor: &[u8]) -> u16 {
    match descriptor.first() {
        Some(b'J' | b'D') => 2,
        Some(b'V') | None => 0,
        _ => 1,
    }
}

/// The slots of each parameter of a method; `None` where the descriptor is malformed.
pub fn of_parameters(descriptor: &[u8]) -> Option<Vec<u16>> {
    let end = descriptor.iter().position(|&b| b == b')')?;
    let mut rest = descriptor.get(1..end)?;
    let mut sizes = Vec::new();
    while let Some(&first) = rest.first() {
        let brackets = rest.iter().take_while(|&&b| b == b'[').count();
        let element = *rest.get(brackets)?;
        let len = match element {
            b'L' => rest.iter().position(|&b| b == b';')? + 1,
            _ => brackets + 1,
        };
        sizes.push(of_type(&[first]));
        rest = rest.get(len..)?;
    }
    Some(sizes)
}

/// What a method takes, without its receiver, and gives.
pub(crate) fn of_method(descriptor: &[u8]) -> Option<(u16, u16)> {
    let taken = of_parameters(descriptor)?.iter().sum();
    let end = descriptor.iter().position(|&b| b == b')')?;
    Some((taken, of_type(&descriptor[end + 1..])))
}

/// What an instruction without fields, calls, jumps, arrays or copies takes and gives.
pub(crate) fn of_plain(op: u8) -> (u16, u16) {
    match op {
        // Constants, and loads of locals.
        1..=8 | 11..=13 | 16..=19 | 21 | 23 | 25..=29 | 34..=37 | 42..=45 => (0, 1),
        9 | 10 | 14 | 15 | 20 | 22 | 24 | 30..=33 | 38..=41 => (0, 2),
        // Stores.
        54 | 56 | 58 | 59..=62 | 67..=70 | 75..=78 => (1, 0),
        55 | 57 | 63..=66 | 71..=74 => (2, 0),
        // Arithmetic: int, long, float, double in turn.
        96..=115 => {
            if op.is_multiple_of(2) {
                (2, 1)
            } else {
                (4, 2)
            }
        }
        116..=119 => {
            if op.is_multiple_of(2) {
                (1, 1)
            } else {
                (2, 2)
            }
        }
        120..=125 => {
            if op.is_multiple_of(2) {
                (2, 1)
            } else {
                (3, 2)
            }
        }
        126..=131 => {
            if op.is_multiple_of(2) {
                (2, 1)
            } else {
                (4, 2)
            }
        }
        // Conversions.
        133 | 135 | 140 | 141 => (1, 2),
        134 | 139 | 145..=147 => (1, 1),
        136 | 137 | 142 | 144 => (2, 1),
        138 | 143 => (2, 2),
        // Comparisons.
        148 | 151 | 152 => (4, 1),
        149 | 150 => (2, 1),
        _ => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_results() {
        assert_eq!(of_parameters(b"(IJ[DLa/B;[[La/B;Z)V").unwrap(), [1, 2, 1, 1, 1, 1]);
        assert_eq!(of_method(b"(DI)J"), Some((3, 2)));
        assert_eq!(of_method(b"()V"), Some((0, 0)));
        for bad in [&b""[..], b"(L", b"([", b"(La/B)", b"I"] {
            assert_eq!(of_parameters(bad), None, "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn arithmetic_in_turn() {
        // iadd, ladd, fadd, dadd; ineg, dneg; lshl; land.
        let of = [96, 97, 98, 99, 116, 119, 121, 127].map(of_plain);
        assert_eq!(of, [(2, 1), (4, 2), (2, 1), (4, 2), (1, 1), (2, 2), (3, 2), (4, 2)]);
    }
}
