//! The numbers of a [program](crate::Program).

pub(crate) type NameId = u32;
pub type ClassId = u32;
pub type MethodId = u32;
pub(crate) type FieldId = u32;
/// Name and descriptor of a method or field.
pub(crate) type SelectorId = u32;

/// A member of a class as one number.
pub(crate) fn key(class: ClassId, selector: SelectorId) -> u64 {
    u64::from(class) << 32 | u64::from(selector)
}
