//! No bytes make the editor panic, and what it writes can be read: real classes, broken at random.

use proptest::prelude::*;
use std::sync::OnceLock;
use tamis_classfile::ClassFile;
use tamis_classfile::rewrite::{Argument, Editor, Prefix, Wrap};
use tamis_testkit::{Sources, class_files, jdk};

const SOURCE: &str = "
import java.lang.annotation.*; import java.util.*; import java.util.function.*;
@Retention(RetentionPolicy.RUNTIME) @Target(ElementType.TYPE_USE) @interface OnUse { int[] value() default {}; }
public class Rich<T extends Comparable<T>> implements Function<T, String> {
  int n; List<T> entries;
  Rich(int n) { this.n = n > 3 ? n : new Rich<T>(n > 2 ? 4 : 5).n; }
  public String apply(T t) { try { return switch (t.toString()) { case \"a\", \"b\" -> \"x\" + t; default -> { Supplier<String> s = () -> \"y\" + t; yield s.get(); } }; } catch (IllegalStateException | IllegalArgumentException e) { throw new RuntimeException(e); } finally { entries = null; } }
  synchronized void loop(long a, @OnUse({1, 2}) Object... more) { do { n++; } while (n % 7 != 0); for (@OnUse(3) Object o : more) { @OnUse String s = (@OnUse String) o; if (o instanceof @OnUse Integer) n += s.length(); } }
  static Object made(boolean a, double d) { return new StringBuilder(a ? new String(a ? \"x\" : \"y\") : \"z\").append(new ArrayList<@OnUse(4) String>(a ? 1 : 2)); }
  interface Inner { default int f(char c) { while (c > 5) c -= 3; return g(c); } private int g(int n) { return n; } static void h() {} }
}";

fn real_classes() -> &'static [Vec<u8>] {
    static CLASSES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    CLASSES.get_or_init(|| {
        let sources = Sources::new().file("Rich.java", SOURCE).option("-g");
        class_files(&sources.compile(&jdk())).into_iter().map(|(_, bytes)| bytes).collect()
    })
}

/// All edits on all methods, in an order that varies; whatever is refused is left out.
fn edit(bytes: &[u8], seed: u8) {
    let Ok(mut editor) = Editor::new(bytes) else { return };
    let arguments = [Argument::Text("t"), Argument::Local(u16::from(seed % 4))];
    let edits = [
        Prefix::Mark { family: "p/P", mark: u32::from(seed) << 7 },
        Prefix::Call { owner: "p/P", name: "f", arguments: &arguments[usize::from(seed % 2)..] },
        Prefix::ReturnIf { owner: "p/P", name: "g", arguments: &arguments[..1] },
    ];
    let mut wrapped = 0;
    for method in 0..editor.class().methods.len() {
        for turn in 0..usize::from(seed % 5) {
            let prefix = edits[(turn + method + usize::from(seed / 5)) % edits.len()];
            let _ = editor.prefix(method, prefix);
        }
        if !seed.is_multiple_of(3) {
            let wrap = Wrap { owner: "p/P", enter: "enter", leave: "leave", kind: "k" };
            wrapped += usize::from(editor.wrap(method, wrap).is_ok());
        }
    }
    let methods = editor.class().methods.len();
    if let Ok(edited) = editor.finish() {
        let class = ClassFile::parse(&edited).expect("an edited class can be read");
        assert_eq!(class.methods.len(), methods + wrapped);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn changed_bytes(pick in any::<prop::sample::Index>(), seed in any::<u8>(), edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8)) {
        let mut bytes = pick.get(real_classes()).clone();
        for (at, value) in edits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        edit(&bytes, seed);
    }

    #[test]
    fn cut_and_doubled(pick in any::<prop::sample::Index>(), seed in any::<u8>(), from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>()) {
        let bytes = pick.get(real_classes());
        let (a, b) = (from.index(bytes.len()), to.index(bytes.len()));
        let (a, b) = (a.min(b), a.max(b));
        edit(&bytes[..a], seed);
        edit(&[&bytes[..b], &bytes[a..]].concat(), seed);
        edit(&[&bytes[..a], &bytes[b..]].concat(), seed);
    }
}

/// Every byte of a class, set to the values at which something ends.
#[test]
fn each_byte_in_turn() {
    for bytes in real_classes() {
        let mut changed = bytes.clone();
        for at in 0..bytes.len() {
            for value in [0, 0xff, bytes[at] ^ 0x80] {
                changed[at] = value;
                edit(&changed, (at % 251) as u8);
            }
            changed[at] = bytes[at];
        }
    }
}
