//! No bytes make the parser or the analyser panic: real classes, broken at random.

use proptest::prelude::*;
use std::sync::OnceLock;
use tamis_classfile::{Analyser, ClassFile};
use tamis_testkit::{Sources, class_files, jdk};

const SOURCE: &str = "
import java.lang.annotation.*; import java.util.*; import java.util.function.*;
@Retention(RetentionPolicy.RUNTIME) @interface Mark { int[] value() default {1, 2}; Class<?> type() default Object.class; Mode mode() default Mode.A; Inner inner() default @Inner; @interface Inner {} }
@Retention(RetentionPolicy.RUNTIME) @Target(ElementType.TYPE_USE) @interface OnUse {}
enum Mode { A, B }
@Mark(3) public sealed class Rich<T extends Comparable<T>> implements Function<T, String> permits Rich.Leaf {
  static final long BIG = 1L << 40; static final String NAME = \"rich\"; List<Map.Entry<T, ? super String>> entries;
  record Pair<A>(@Mark A first, int second) {}
  static final class Leaf extends Rich<String> {}
  public String apply(T t) { try { return switch (t.toString()) { case \"a\", \"b\" -> \"x\" + t + BIG; default -> { Supplier<String> s = () -> NAME + t; yield s.get(); } }; } catch (IllegalStateException | IllegalArgumentException e) { throw new RuntimeException(e); } finally { entries = null; } }
  int table(int a) { switch (a) { case 1: return 1; case 2: return 4; case 3: return 9; case 1000: return 0; } for (int i = 0; i < a; i++) { a += (@OnUse int) i; } return a; }
  Object local() { class Local { int v = 1; } return new Local() { int w = 2; }; }
}";

fn real_classes() -> &'static [Vec<u8>] {
    static CLASSES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    CLASSES.get_or_init(|| {
        let sources = Sources::new().file("Rich.java", SOURCE).option("-g").option("-parameters");
        class_files(&sources.compile(&jdk())).into_iter().map(|(_, bytes)| bytes).collect()
    })
}

fn analyse(bytes: &[u8]) {
    if let Ok(class) = ClassFile::parse(bytes) {
        let first = Analyser::default().analyse(&class);
        assert_eq!(first, Analyser::default().analyse(&class));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn changed_bytes(pick in any::<prop::sample::Index>(), edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = pick.get(real_classes()).clone();
        for (at, value) in edits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        analyse(&bytes);
    }

    #[test]
    fn cut_and_doubled(pick in any::<prop::sample::Index>(), from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>()) {
        let bytes = pick.get(real_classes());
        let (a, b) = (from.index(bytes.len()), to.index(bytes.len()));
        let (a, b) = (a.min(b), a.max(b));
        analyse(&bytes[..a]);
        analyse(&[&bytes[..b], &bytes[a..]].concat());
        analyse(&[&bytes[..a], &bytes[b..]].concat());
    }

    #[test]
    fn any_bytes(tail in prop::collection::vec(any::<u8>(), 0..400)) {
        analyse(&tail);
        let head = [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61];
        analyse(&[&head[..], &tail].concat());
    }
}

#[test]
fn a_cut_at_every_byte_is_an_error() {
    for bytes in real_classes() {
        for len in 0..bytes.len() {
            assert!(ClassFile::parse(&bytes[..len]).is_err());
        }
        assert!(ClassFile::parse(bytes).is_ok());
        assert!(ClassFile::parse(&[bytes, &b"x"[..]].concat()).is_err());
    }
}

#[test]
fn versions_newer_than_known_are_read_and_unknown_constants_are_not() {
    let mut bytes = real_classes()[0].clone();
    bytes[6..8].copy_from_slice(&200_u16.to_be_bytes());
    let class = ClassFile::parse(&bytes).expect("a newer version");
    assert!(Analyser::default().analyse(&class).is_ok());
    bytes[10] = 99;
    let error = ClassFile::parse(&bytes).expect_err("an unknown constant");
    assert_eq!(error.to_string(), "unknown kind of constant at byte 10");
}
