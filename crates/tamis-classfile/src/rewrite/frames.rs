//! `StackMapTable`: the frames of a method with a prefix.
//!
//! A frame's place is given relative to the frame before it, the first one's is absolute. So only
//! the first frame moves, in a wider form where its place no longer fits into its kind. Objects
//! that are not initialised yet are named by the position of their `new`, which moves in every
//! frame.
//!
//! A prefix that branches adds frames of its own, all equal to the method's initial one, before
//! the first of the method. Where the method's first frame stands at the same place it is kept and
//! ours is not needed: the initial frame always fits it, because the method's start fell into it.

use super::Refused;
use super::tables::moved_position;
use crate::reader::{Malformed, Reader};

const SAME_LOCALS_1_EXTENDED: u8 = 247;
const SAME_EXTENDED: u8 = 251;
const FULL: u8 = 255;

/// Appends the bytes of a table, moved by the length of the prefix.
pub(super) fn append(
    data: &mut Reader<'_>,
    by: u16,
    joins: &[u32],
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let count = data.u2()?;
    if count == 0 {
        return append_joins_only(joins, out);
    }
    let at = data.position();
    let kind = data.u1()?;
    let old = match kind {
        0..=63 => u16::from(kind),
        64..=127 => u16::from(kind - 64),
        SAME_LOCALS_1_EXTENDED..=FULL => data.u2()?,
        _ => return Err(unknown_frame(at).into()),
    };
    let first = moved_position(old, by, at)?;
    let joins = match joins.split_last() {
        Some((&last, before)) if last == u32::from(first) => before,
        _ => joins,
    };
    let total = joins.len() + usize::from(count);
    let total = u16::try_from(total).map_err(|_| Refused::TooLong)?;
    out.extend_from_slice(&total.to_be_bytes());
    let before = append_joins(joins, out)?;
    append_head(kind, distance(before, first), out);
    // From here on no length changes: all is copied and the positions are changed in the copy.
    let mut copy = Copy { base: data.position(), from: out.len(), by, out };
    copy.out.extend_from_slice(data.rest());
    copy.types(kind, data)?;
    for _ in 1..count {
        let at = data.position();
        let kind = data.u1()?;
        match kind {
            0..=127 => {}
            SAME_LOCALS_1_EXTENDED..=FULL => drop(data.take(2)?),
            _ => return Err(unknown_frame(at).into()),
        }
        copy.types(kind, data)?;
    }
    data.end("bytes behind the last frame")?;
    Ok(())
}

/// The table of a method that has none of its own.
pub(super) fn append_joins_only(joins: &[u32], out: &mut Vec<u8>) -> Result<(), Refused> {
    let total = u16::try_from(joins.len()).map_err(|_| Refused::TooLong)?;
    out.extend_from_slice(&total.to_be_bytes());
    append_joins(joins, out)?;
    Ok(())
}

/// Appends frames without changes and returns the place of the last one.
fn append_joins(joins: &[u32], out: &mut Vec<u8>) -> Result<Option<u16>, Refused> {
    let mut before = None;
    for &join in joins {
        let join = u16::try_from(join).map_err(|_| Refused::TooLong)?;
        append_head(0, distance(before, join), out);
        before = Some(join);
    }
    Ok(before)
}

/// How a table says where a frame is; `place` is behind `before`.
fn distance(before: Option<u16>, place: u16) -> u16 {
    before.map_or(place, |before| place.wrapping_sub(before).wrapping_sub(1))
}

/// Kind and place of a frame, in the short form where there is one and it fits.
fn append_head(kind: u8, distance: u16, out: &mut Vec<u8>) {
    let short = u8::try_from(distance).ok().filter(|&short| short < 64);
    let wide = match (kind, short) {
        (0..=63 | SAME_EXTENDED, Some(short)) => return out.push(short),
        (64..=127 | SAME_LOCALS_1_EXTENDED, Some(short)) => return out.push(64 + short),
        (0..=63, None) => SAME_EXTENDED,
        (64..=127, None) => SAME_LOCALS_1_EXTENDED,
        (kind, _) => kind,
    };
    out.push(wide);
    out.extend_from_slice(&distance.to_be_bytes());
}

fn unknown_frame(at: usize) -> Malformed {
    Malformed { at, what: "unknown kind of frame" }
}

/// A copy of the rest of a table, in which positions are changed.
struct Copy<'o> {
    /// Where the copied bytes stood in the file.
    base: usize,
    /// Where the copy begins.
    from: usize,
    by: u16,
    out: &'o mut Vec<u8>,
}

impl Copy<'_> {
    /// The types of a frame; the cursor stands behind its place.
    fn types(&mut self, kind: u8, data: &mut Reader<'_>) -> Result<(), Malformed> {
        match kind {
            64..=127 | SAME_LOCALS_1_EXTENDED => self.some(1, data),
            252..=254 => self.some(u16::from(kind - SAME_EXTENDED), data),
            FULL => {
                let locals = data.u2()?;
                self.some(locals, data)?;
                let stack = data.u2()?;
                self.some(stack, data)
            }
            _ => Ok(()),
        }
    }

    fn some(&mut self, count: u16, data: &mut Reader<'_>) -> Result<(), Malformed> {
        const OBJECT: u8 = 7;
        const UNINITIALISED: u8 = 8;
        for _ in 0..count {
            let at = data.position();
            match data.u1()? {
                0..OBJECT => {}
                OBJECT => drop(data.take(2)?),
                UNINITIALISED => {
                    let at = data.position();
                    let new = moved_position(data.u2()?, self.by, at)?;
                    let place = self.from + at - self.base;
                    self.out[place..place + 2].copy_from_slice(&new.to_be_bytes());
                }
                _ => return Err(Malformed { at, what: "unknown type in a frame" }),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shifted(table: &[u8], by: u16, joins: &[u32]) -> Result<Vec<u8>, Refused> {
        let mut out = vec![0xee];
        append(&mut Reader::new(table, 100), by, joins, &mut out)?;
        assert_eq!(out.remove(0), 0xee);
        Ok(out)
    }

    #[test]
    fn only_the_first_frame_moves() {
        assert_eq!(shifted(&[0, 2, 5, 7], 8, &[]).unwrap(), [0, 2, 13, 7]);
        // A loop to the start of the method.
        assert_eq!(shifted(&[0, 1, 0], 8, &[]).unwrap(), [0, 1, 8]);
        assert_eq!(shifted(&[0, 0], 8, &[]).unwrap(), [0, 0]);
    }

    #[test]
    fn a_place_that_no_longer_fits_gets_the_wider_form() {
        assert_eq!(shifted(&[0, 1, 55], 8, &[]).unwrap(), [0, 1, 63]);
        assert_eq!(shifted(&[0, 1, 56], 8, &[]).unwrap(), [0, 1, 251, 0, 64]);
        assert_eq!(shifted(&[0, 1, 64 + 55, 1], 8, &[]).unwrap(), [0, 1, 127, 1]);
        assert_eq!(shifted(&[0, 1, 64 + 56, 1], 8, &[]).unwrap(), [0, 1, 247, 0, 64, 1]);
        assert_eq!(shifted(&[0, 1, 251, 0, 200], 8, &[]).unwrap(), [0, 1, 251, 0, 208]);
        assert_eq!(shifted(&[0, 1, 247, 0, 250, 1], 8, &[]).unwrap(), [0, 1, 247, 1, 2, 1]);
        assert_eq!(shifted(&[0, 1, 250, 0, 1], 8, &[]).unwrap(), [0, 1, 250, 0, 9]);
        assert_eq!(shifted(&[0, 1, 252, 0, 1, 1], 8, &[]).unwrap(), [0, 1, 252, 0, 9, 1]);
    }

    #[test]
    fn uninitialised_objects_move_in_every_frame() {
        let table = [
            0, 3, // frames
            255, 0, 4, 0, 2, 6, 8, 0, 3, 0, 1, 7, 0,
            8, // full: this, new at 3; stack: class 8
            64, 8, 1, 250, // one on the stack: new at 0x1fa
            253, 0, 9, 8, 0, 0, 4, // two more locals: new at 0, long
        ];
        let expected = [
            0, 3, //
            255, 0, 12, 0, 2, 6, 8, 0, 11, 0, 1, 7, 0, 8, //
            64, 8, 2, 2, //
            253, 0, 9, 8, 0, 8, 4,
        ];
        assert_eq!(shifted(&table, 8, &[]).unwrap(), expected);
    }

    #[test]
    fn joins_stand_before_the_first_frame() {
        assert_eq!(shifted(&[0, 1, 5], 16, &[8, 16]).unwrap(), [0, 3, 8, 7, 4]);
        // Far behind the join: the distance counts, not the place.
        assert_eq!(shifted(&[0, 1, 60], 100, &[100]).unwrap(), [0, 2, 251, 0, 100, 59]);
        assert_eq!(shifted(&[0, 0], 16, &[16]).unwrap(), [0, 1, 16]);
    }

    #[test]
    fn a_frame_at_the_join_takes_its_place() {
        assert_eq!(shifted(&[0, 2, 0, 3], 16, &[16]).unwrap(), [0, 2, 16, 3]);
        assert_eq!(shifted(&[0, 1, 252, 0, 0, 1], 16, &[8, 16]).unwrap(), [0, 2, 8, 252, 0, 7, 1]);
        // The join is inside of the prefix: both stay.
        assert_eq!(shifted(&[0, 1, 0], 16, &[8]).unwrap(), [0, 2, 8, 7]);
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for table in [
            &[0, 1][..],
            &[0, 1, 128],
            &[0, 1, 246],
            &[0, 2, 0, 200],
            &[0, 1, 64],
            &[0, 1, 64, 9],
            &[0, 1, 0, 0],
            &[0, 1, 255, 0, 0, 255, 255],
            &[0, 1, 251, 255, 255],
            &[0, 1, 64, 8, 255, 250],
        ] {
            assert!(matches!(shifted(table, 8, &[]), Err(Refused::Malformed(_))), "{table:?}");
        }
    }
}
