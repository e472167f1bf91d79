//! The types of a method's parameters and of its result, as far as code must tell them apart.

use super::Refused;

/// A type as instructions see it. The small integers differ only in how they are boxed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeKind {
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

impl TypeKind {
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
pub(super) fn parse(descriptor: &[u8]) -> Result<(Vec<TypeKind>, TypeKind), Refused> {
    let mut rest = descriptor.strip_prefix(b"(").ok_or(BAD)?;
    let mut parameters = Vec::new();
    while !rest.starts_with(b")") {
        let (kind, behind) = one(rest)?;
        if kind == TypeKind::Void {
            return Err(BAD);
        }
        parameters.push(kind);
        rest = behind;
    }
    let (result, behind) = one(&rest[1..])?;
    if behind.is_empty() { Ok((parameters, result)) } else { Err(BAD) }
}

fn one(text: &[u8]) -> Result<(TypeKind, &[u8]), Refused> {
    let kind = match text.first() {
        Some(b'Z') => TypeKind::Boolean,
        Some(b'B') => TypeKind::Byte,
        Some(b'C') => TypeKind::Char,
        Some(b'S') => TypeKind::Short,
        Some(b'I') => TypeKind::Int,
        Some(b'J') => TypeKind::Long,
        Some(b'F') => TypeKind::Float,
        Some(b'D') => TypeKind::Double,
        Some(b'V') => TypeKind::Void,
        Some(b'L' | b'[') => {
            let dimensions = text.iter().take_while(|&&byte| byte == b'[').count();
            let end = match text.get(dimensions) {
                Some(b'L') => {
                    dimensions + text[dimensions..].iter().position(|&b| b == b';').ok_or(BAD)?
                }
                Some(b'Z' | b'B' | b'C' | b'S' | b'I' | b'J' | b'F' | b'D') => dimensions,
                _ => return Err(BAD),
            };
            return Ok((TypeKind::Reference, &text[end + 1..]));
        }
        _ => return Err(BAD),
    };
    Ok((kind, &text[1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use TypeKind::*;

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
