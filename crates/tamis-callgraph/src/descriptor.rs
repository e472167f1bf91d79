//! Descriptors of methods and fields, as far as the flow of objects needs them.

/// How a value lies on the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// Nothing (`void`).
    None,
    Reference,
    /// A number that takes one place.
    Number,
    /// A number that takes two.
    Wide,
}

/// Parameters and result of a method; a field is a method that takes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) parameters: Vec<Slot>,
    pub(crate) result: Slot,
}

fn slot(first: u8) -> Slot {
    match first {
        b'L' | b'[' => Slot::Reference,
        b'J' | b'D' => Slot::Wide,
        b'V' => Slot::None,
        _ => Slot::Number,
    }
}

impl Shape {
    pub(crate) fn of(descriptor: &[u8]) -> Self {
        let mut parameters = Vec::new();
        let result = match descriptor.strip_prefix(b"(") {
            None => descriptor,
            Some(_) => {
                parameters.extend(parameter_types(descriptor).map(|text| slot(text[0])));
                result_type(descriptor)
            }
        };
        Self { parameters, result: slot(result.first().copied().unwrap_or(b'V')) }
    }
}

/// The descriptors of the parameters, one by one.
pub(crate) fn parameter_types(descriptor: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = descriptor.strip_prefix(b"(").unwrap_or_default();
    std::iter::from_fn(move || {
        if matches!(rest.first(), None | Some(b')')) {
            return None;
        }
        let brackets = rest.iter().take_while(|&&b| b == b'[').count();
        let len = match rest.get(brackets) {
            Some(b'L') => rest.iter().position(|&b| b == b';').map_or(rest.len(), |end| end + 1),
            _ => (brackets + 1).min(rest.len()),
        };
        let (first, behind) = rest.split_at(len);
        rest = behind;
        Some(first)
    })
}

/// The descriptor of the result.
pub(crate) fn result_type(descriptor: &[u8]) -> &[u8] {
    let end = descriptor.iter().rposition(|&b| b == b')').map_or(0, |at| at + 1);
    &descriptor[end..]
}

/// `Lcom/acme/Thing;` without its frame; arrays as they are.
pub(crate) fn plain(descriptor: &[u8]) -> &[u8] {
    descriptor.strip_prefix(b"L").and_then(|d| d.strip_suffix(b";")).unwrap_or(descriptor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        let shape = Shape::of(b"(IJLjava/lang/String;[D[[La/B;Z)V");
        use Slot::*;
        assert_eq!(shape.parameters, [Number, Wide, Reference, Reference, Reference, Number]);
        assert_eq!(shape.result, None);
        assert_eq!(Shape::of(b"()[I").result, Reference);
        assert_eq!(Shape::of(b"D").result, Wide);
        assert_eq!(Shape::of(b"La/B;"), Shape { parameters: vec![], result: Reference });
    }

    #[test]
    fn types_one_by_one() {
        let types: Vec<&[u8]> = parameter_types(b"(I[[JLa/B;)La/C;").collect();
        assert_eq!(types, [&b"I"[..], b"[[J", b"La/B;"]);
        assert_eq!(result_type(b"(I)La/C;"), b"La/C;");
        assert_eq!(plain(b"La/C;"), b"a/C");
        assert_eq!(plain(b"[La/C;"), b"[La/C;");
    }

    #[test]
    fn broken_descriptors_end() {
        for broken in [&b"("[..], b"(L", b"([", b"(La/B", b"", b")", b"(I"] {
            let _ = Shape::of(broken);
        }
    }
}
