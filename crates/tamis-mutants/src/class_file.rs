//! Faults in class files. Each replaces instructions by others of the same length: positions, jumps, frames and
//! the exception table stay as they are.
//!
//! A value that is left out becomes zero or null, which the verifier takes wherever the value was taken: null fits
//! every type of reference, and the frames that the compiler wrote say the types of the places where ways meet.

use crate::fault::{Fault, Kind, Lines};
use std::path::PathBuf;
use tamis_classfile::{ClassFile, Malformed, Member, RawCode, mutf8, parameter_slots};

const NOP: u8 = 0;
const ACONST_NULL: u8 = 1;
const ICONST_0: u8 = 3;
const ICONST_1: u8 = 4;
const LCONST_0: u8 = 9;
const FCONST_0: u8 = 11;
const DCONST_0: u8 = 14;
const POP: u8 = 87;
const POP2: u8 = 88;
const GETSTATIC: u8 = 178;
const GETFIELD: u8 = 180;
const INVOKEVIRTUAL: u8 = 182;
const INVOKEINTERFACE: u8 = 185;
const INVOKESTATIC: u8 = 184;
const CHECKCAST: u8 = 192;
const INSTANCEOF: u8 = 193;

/// All faults that can be put into one class file.
pub fn faults(bytes: &[u8]) -> Result<Vec<Fault>, Malformed> {
    let class = ClassFile::parse(bytes)?;
    let mut found = Vec::new();
    for method in &class.methods {
        if let Some(code) = class.code(method)? {
            Walk::new(bytes, &class, method, &code)?.all(&code, &mut found)?;
        }
    }
    Ok(found)
}

struct Walk<'a, 'c> {
    class: &'c ClassFile<'a>,
    /// Where the code begins in the file.
    start: usize,
    place: String,
    /// Position and line, in the order of positions.
    lines: Vec<(u16, u16)>,
}

impl<'a, 'c> Walk<'a, 'c> {
    fn new(
        file: &[u8],
        class: &'c ClassFile<'a>,
        method: &Member<'a>,
        code: &RawCode<'a>,
    ) -> Result<Self, Malformed> {
        let mut lines = code.lines(&class.pool)?;
        lines.sort_unstable();
        let name = |bytes| mutf8::decode(bytes).replace('/', ".");
        Ok(Self {
            class,
            start: code.bytes.as_ptr().addr() - file.as_ptr().addr(),
            place: format!("{}.{}", name(class.name), name(method.name)),
            lines,
        })
    }

    fn all(&self, code: &RawCode<'a>, found: &mut Vec<Fault>) -> Result<(), Malformed> {
        let numbers = self.lines.iter().map(|(_, line)| u32::from(*line));
        let around =
            Lines { first: numbers.clone().min().unwrap_or(0), last: numbers.max().unwrap_or(0) };
        let at = code.instructions()?;
        for (n, &pc) in at.iter().enumerate() {
            let end = at.get(n + 1).copied().unwrap_or(code.bytes.len());
            let next = code.bytes.get(end).copied();
            let Some((kind, mut other)) = self.fault(&code.bytes[pc..end], next)? else { continue };
            other.resize(end - pc, NOP);
            let line = self.lines.iter().rev().find(|(from, _)| usize::from(*from) <= pc);
            found.push(Fault {
                kind,
                place: self.place.clone(),
                line: line.map_or(0, |(_, line)| u32::from(*line)),
                around,
                at: self.start + pc..self.start + end,
                bytes: other,
                file: PathBuf::new(),
                source: String::new(),
            });
        }
        Ok(())
    }

    /// What an instruction becomes, where it can become something else. `next` is the one behind it.
    fn fault(
        &self,
        instruction: &[u8],
        next: Option<u8>,
    ) -> Result<Option<(Kind, Vec<u8>)>, Malformed> {
        let op = instruction[0];
        if let Some(negated) = negated(op) {
            let bytes = [&[negated], &instruction[1..]].concat();
            return Ok(Some((Kind::ConditionNegated, bytes)));
        }
        let returned = next.filter(|next| (172..=176).contains(next));
        let kind = if returned.is_some() { Kind::ReturnChanged } else { Kind::CallRemoved };
        if (INVOKEVIRTUAL..=INVOKEINTERFACE).contains(&op) {
            let other = self.without_call(instruction)?;
            return Ok(other.map(|bytes| (kind, bytes)));
        }
        let Some(returned) = returned else { return Ok(None) };
        let other = match op {
            // A constant, a local, a static field: nothing is taken.
            1..=45 | GETSTATIC => other_value(returned, op).map(|value| vec![value]),
            GETFIELD | CHECKCAST | INSTANCEOF => {
                other_value(returned, op).map(|value| vec![POP, value])
            }
            _ => other_operator(op).map(|op| vec![op]),
        };
        Ok(other.map(|bytes| (Kind::ReturnChanged, bytes)))
    }

    /// Takes what a call takes, and gives zero or null where it gives something. `None` for constructors, and where
    /// that is longer than the call.
    fn without_call(&self, instruction: &[u8]) -> Result<Option<Vec<u8>>, Malformed> {
        let index = u16::from_be_bytes([instruction[1], instruction[2]]);
        let called = self.class.pool.member(index)?;
        let Some(slots) = parameter_slots(called.descriptor) else { return Ok(None) };
        if called.name.starts_with(b"<") {
            return Ok(None);
        }
        let receiver = (instruction[0] != INVOKESTATIC).then_some(1);
        let mut below: Vec<u16> = receiver.into_iter().chain(slots).collect();
        let mut bytes = Vec::new();
        while let Some(top) = below.pop() {
            let two = top == 1 && below.last() == Some(&1);
            if two {
                below.pop();
            }
            bytes.push(if top == 2 || two { POP2 } else { POP });
        }
        let given = called.descriptor.iter().rposition(|&b| b == b')');
        let given = given.and_then(|at| called.descriptor.get(at + 1));
        bytes.extend(match given {
            Some(b'V') | None => None,
            Some(b'J') => Some(LCONST_0),
            Some(b'F') => Some(FCONST_0),
            Some(b'D') => Some(DCONST_0),
            Some(b'L' | b'[') => Some(ACONST_NULL),
            Some(_) => Some(ICONST_0),
        });
        Ok(Some(bytes).filter(|bytes| bytes.len() <= instruction.len()))
    }
}

/// The jump that is taken where this one is not.
fn negated(op: u8) -> Option<u8> {
    match op {
        153..=166 => Some(((op - 153) ^ 1) + 153),
        198 => Some(199),
        199 => Some(198),
        _ => None,
    }
}

/// Another value for an instruction that returns, than the one that this instruction gives.
fn other_value(returns: u8, op: u8) -> Option<u8> {
    match returns {
        172 => Some(if op == ICONST_0 { ICONST_1 } else { ICONST_0 }),
        173 => Some(if op == LCONST_0 { LCONST_0 + 1 } else { LCONST_0 }),
        174 => Some(if op == FCONST_0 { FCONST_0 + 1 } else { FCONST_0 }),
        175 => Some(if op == DCONST_0 { DCONST_0 + 1 } else { DCONST_0 }),
        _ => (op != ACONST_NULL).then_some(ACONST_NULL),
    }
}

/// Another operator that takes and gives the same types.
fn other_operator(op: u8) -> Option<u8> {
    match op {
        // Plus and minus, times and divided by.
        96..=99 | 104..=107 => Some(op + 4),
        100..=103 | 108..=111 => Some(op - 4),
        // Minus one value.
        116..=119 => Some(NOP),
        // Shifts to the left and to the right; and, or.
        120 | 121 | 126 | 127 => Some(op + 2),
        122 | 123 | 128 | 129 => Some(op - 2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;
    use tamis_testkit::{Sources, jdk};

    const SAMPLE: &str = "class A {
    static long calls;
    int field; String text = \"x\"; static double level = 1.5; long big;
    boolean even(int n) { return n % 2 == 0; }
    int plus(int a, int b) { return a + b; }
    long twice(long n) { if (n > 3) { touch(n, 1, 2L); } return n * 2; }
    static void touch(long a, int b, long c) { calls++; }
    int field() { return field; }
    String text() { return text.trim(); }
    Object same(Object o) { return o == null ? this : (Comparable<?>) o; }
    static double level() { return level; }
    float part() { return 0f; }
    long big() { return big; }
    int[] numbers(java.util.List<Integer> list) {
        int[] all = new int[list.size()];
        for (int n = 0; n < all.length; n++) { all[n] = list.get(n); }
        java.util.Arrays.sort(all);
        try { list.clear(); } catch (UnsupportedOperationException e) { return null; }
        return all.clone();
    }
    boolean is(Object o) { return o instanceof A; }
    String many(int n) { switch (n) { case 1: return \"a\"; case 2: return \"b\"; default: return String.valueOf(n); } }
    Runnable later(String s) { return () -> System.out.println(s.length()); }
}
";

    /// Loads and links the class of every folder that is named.
    const LOADS: &str = "import java.net.*; import java.nio.file.*;
public class Loads { public static void main(String[] folders) throws Exception {
    for (String folder : folders) {
        URLClassLoader loader = new URLClassLoader(new URL[] { Path.of(folder).toUri().toURL() }, null);
        Class.forName(\"A\", true, loader);
    }
    System.out.println(folders.length);
} }
";

    #[test]
    fn every_fault_is_a_class_that_the_verifier_takes() {
        let jdk = jdk();
        let folder = Sources::new().file("A.java", SAMPLE).file("Loads.java", LOADS).compile(&jdk);
        let original = std::fs::read(folder.join("A.class")).unwrap();
        let found = faults(&original).unwrap();
        let all = tempfile::tempdir().unwrap();
        let mut folders = Vec::new();
        for (n, fault) in found.iter().enumerate() {
            let bytes = fault.applied(&original);
            assert_eq!(bytes.len(), original.len());
            assert_ne!(bytes, original, "{fault:?}");
            let folder = all.path().join(n.to_string());
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("A.class"), bytes).unwrap();
            folders.push(folder);
        }
        let count = |kind| found.iter().filter(|fault| fault.kind == kind).count();
        assert!(count(Kind::ConditionNegated) >= 4, "{found:#?}");
        assert!(count(Kind::ReturnChanged) >= 12, "{found:#?}");
        assert!(count(Kind::CallRemoved) >= 6, "{found:#?}");
        let run = |folders: &[std::path::PathBuf]| {
            let mut java = Command::new(jdk.tool("java"));
            java.args(["-Xverify:all", "-cp"]).arg(&folder).arg("Loads").args(folders);
            java.output().unwrap()
        };
        let output = run(&folders);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), folders.len().to_string());
    }

    #[test]
    fn a_fault_does_what_it_says() {
        let source = "public class B { static boolean more(int a) { if (a > 3) { return true; } return false; }
static int size() { return Math.abs(-4); }
static StringBuilder filled() { StringBuilder b = new StringBuilder(); fill(b); return b; }
static void fill(StringBuilder b) { b.append(1); }
public static void main(String[] a) { System.out.print(more(5) + \" \" + size() + \" \" + filled()); } }";
        let jdk = jdk();
        let folder = Sources::new().file("B.java", source).compile(&jdk);
        let original = std::fs::read(folder.join("B.class")).unwrap();
        let says = |folder: &Path| {
            let mut java = Command::new(jdk.tool("java"));
            let output = java.arg("-cp").arg(folder).arg("B").output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        assert_eq!(says(&folder), "true 4 1");
        let other = tempfile::tempdir().unwrap();
        let with = |kind: Kind, place: &str| {
            let all = faults(&original).unwrap();
            let fault = all.iter().find(|f| f.kind == kind && f.place == place).expect(place);
            std::fs::write(other.path().join("B.class"), fault.applied(&original)).unwrap();
            (says(other.path()), fault.line)
        };
        assert_eq!(with(Kind::ConditionNegated, "B.more"), ("false 4 1".into(), 1));
        assert_eq!(with(Kind::ReturnChanged, "B.size"), ("true 0 1".into(), 2));
        assert_eq!(with(Kind::CallRemoved, "B.filled"), ("true 4 ".into(), 3));
        let constructors = faults(&original).unwrap();
        assert!(!constructors.iter().any(|f| f.place == "B.<init>"), "{constructors:#?}");
    }

    #[test]
    fn what_is_no_class_is_an_error() {
        assert!(faults(b"no class").is_err());
    }
}
