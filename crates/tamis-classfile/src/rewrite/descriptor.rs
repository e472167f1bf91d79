//! The types of a method's parameters and of its result, as far as code must tell them apart.

use super::Refused;

/// A type as instructions see it. The small integers differ only in how they are boxed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    Byte,
    Char,
    Short,
    Int,
    Long,
    Float,
    Double,
    Reference,
    Void,
}

impl Kind {
    /// Local variables or stack places.
    pub(super) fn slots(self) -> u16 {
        match self {
            Self::Void => 0,
            Self::Long | Self::Double => 2,
            _ => 1,
        }
    }
}

const BAD: Refused = Refused::Unsupported("method descriptor that is not understood");

/// Parameters in order, and the result.
pub(super) fn parse(descriptor: &[u8]) -> Result<(Vec<Kind>, Kind), Refused> {
    let mut rest = descriptor.strip_prefix(b"(").ok_or(BAD)?;
    let mut parameters = Vec::new();
    while !rest.starts_with(b")") {
        let (kind, behind) = one(rest)?;
        if kind == Kind::Void {
            return Err(BAD);
        }
        parameters.push(kind);
        rest = behind;
    }
    let (result, behind) = one(&rest[1..])?;
    if behind.is_empty() { Ok((parameters, result)) } else { Err(BAD) }
}

fn one(text: &[u8]) -> Result<(Kind, &[u8]), Refused> {
    let kind = match text.first() {
        Some(b'Z') => Kind::Boolean,
        Some(b'B') => Kind::Byte,
        Some(b'C') => Kind::Char,
        Some(b'S') => Kind::Short,
        Some(b'I') => Kind::Int,
        Some(b'J') => Kind::Long,
        Some(b'F') => Kind::Float,
        Some(b'D') => Kind::Double,
        Some(b'V') => Kind::Void,
        Some(b'L' | b'[') => {
            let dimensions = text.iter().take_while(|&&byte| byte == b'[').count();
            let end = match text.get(dimensions) {
                Some(b'L') => {
                    dimensions + text[dimensions..].iter().position(|&b| b == b';').ok_or(BAD)?
                }
                Some(b'Z' | b'B' | b'C' | b'S' | b'I' | b'J' | b'F' | b'D') => dimensions,
                _ => return Err(BAD),
            };
            return Ok((Kind::Reference, &text[end + 1..]));
        }
        _ => return Err(BAD),
    };
    Ok((kind, &text[1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Kind::*;

    #[test]
    fn all_kinds() {
        let (parameters, result) = parse(b"(ZBCSIJFDLa/B;[I[[La/B;)[J").unwrap();
        assert_eq!(
            parameters,
            [Boolean, Byte, Char, Short, Int, Long, Float, Double, Reference, Reference, Reference]
        );
        assert_eq!(result, Reference);
        assert_eq!(parse(b"()V"), Ok((vec![], Void)));
    }

    #[test]
    fn broken_ones_are_refused() {
        for text in ["", "(", "()", "(V)V", "(L)V", "(La/B)V", "([)V", "([V)V", "()VV", "I", "(Q)V"]
        {
            assert_eq!(parse(text.as_bytes()), Err(BAD), "{text}");
        }
    }
}
