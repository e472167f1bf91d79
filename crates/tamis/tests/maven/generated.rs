//! A Java project made at random, and random edits of it.
//!
//! Class `Cn` refers to classes of higher numbers only, so nothing goes in circles. What a class keeps in
//! static state follows from the code and the files alone: the order of tests does not matter.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use tamis_testkit::Random;
use tamis_testkit::maven::{Maven, Pom};

const CLASSES: usize = 8;
pub(crate) const TESTS: usize = 6;
const RESOURCES: usize = 3;
const EXTRAS: usize = 3;

/// One class; texts are Java expressions over `n`.
#[derive(Debug, Clone, Default)]
struct Class {
    parent: Option<usize>,
    face: usize,
    constant: usize,
    annotation: Option<usize>,
    fields: usize,
    initial: String,
    plain: String,
    cached: String,
    lazy: String,
    shared: String,
    /// An override of what the parent does, if any.
    own: Option<String>,
    comment: usize,
}

pub(crate) struct Project {
    pub(crate) seed: u64,
    pub(crate) history: Vec<String>,
    random: Random,
    classes: Vec<Class>,
    faces: [String; 2],
    base: String,
    default_mark: usize,
    /// Of each test class what its methods compute.
    tests: Vec<Vec<String>>,
    resources: Vec<Option<usize>>,
    files: Vec<Option<usize>>,
    extras: Vec<Option<usize>>,
    providers: usize,
    provider: String,
    written: BTreeMap<String, Option<String>>,
}

impl Project {
    /// With so many methods in each test class.
    pub(crate) fn new(seed: u64, methods: usize) -> Self {
        let mut project = Self {
            seed,
            history: Vec::new(),
            random: Random::new(seed),
            classes: vec![Class::default(); CLASSES],
            faces: ["n + 1".into(), "n + 2".into()],
            base: "n".into(),
            default_mark: 1,
            tests: vec![vec![String::new(); methods]; TESTS],
            resources: vec![Some(1), None, Some(3)],
            files: vec![Some(1), Some(2), None],
            extras: vec![Some(0), None, None],
            providers: 1,
            provider: "1".into(),
            written: BTreeMap::new(),
        };
        for at in 0..CLASSES {
            for part in 0..PARTS {
                project.change(at, part);
            }
        }
        for test in 0..TESTS {
            for method in 0..methods {
                project.tests[test][method] = project.terms(0, 3);
            }
        }
        project
    }

    /// The source of a test class, for messages.
    pub(crate) fn test_text(&self, test: &str) -> String {
        let file = format!("src/test/java/{}.java", test.replace('.', "/"));
        self.written.get(&file).cloned().flatten().unwrap_or_default()
    }

    /// A few random edits.
    pub(crate) fn edit(&mut self, round: u64) {
        for _ in 0..1 + self.random.below(3) {
            let edit = self.one_edit();
            self.history.push(format!("{round}: {edit}"));
        }
    }

    fn one_edit(&mut self) -> String {
        let n = self.random.below(9);
        match self.random.below(20) {
            0 => {
                let at = self.random.below(RESOURCES);
                self.resources[at] = (!self.random.chance(3)).then_some(n);
                format!("resource {at}: {:?}", self.resources[at])
            }
            1 => {
                let at = self.random.below(RESOURCES);
                self.files[at] = (!self.random.chance(3)).then_some(n);
                format!("file {at}: {:?}", self.files[at])
            }
            2 => {
                let at = self.random.below(EXTRAS);
                self.extras[at] = (!self.random.chance(3)).then_some(n % 3);
                format!("class Extra{at}: {:?}", self.extras[at])
            }
            3 => {
                self.providers = self.random.below(3);
                format!("{} providers", self.providers)
            }
            4 => {
                self.provider = n.to_string();
                format!("provider: {n}")
            }
            5 => {
                let at = self.random.below(2);
                self.faces[at] = format!("n * {n}");
                format!("default method of I{at}: {}", self.faces[at])
            }
            6 => {
                self.base = format!("n - {n}");
                format!("Base.v: {}", self.base)
            }
            7 => {
                self.default_mark = n;
                format!("default of the annotation: {n}")
            }
            8 => {
                let at = self.random.below(TESTS);
                let method = self.random.below(self.tests[at].len());
                self.tests[at][method] = self.terms(0, 3);
                format!("test {at}, method {method}: {}", self.tests[at][method])
            }
            _ => {
                let at = self.random.below(CLASSES);
                let part = self.random.below(PARTS);
                self.change(at, part);
                format!("part {part} of C{at}: {:?}", self.classes[at])
            }
        }
    }

    /// Another text for one part of a class.
    fn change(&mut self, at: usize, part: usize) {
        let above = at + 1;
        let terms = self.terms(above, 2);
        let n = self.random.below(9);
        let parent = (above < CLASSES && self.random.chance(2))
            .then(|| above + self.random.below(CLASSES - above));
        let coin = self.random.chance(2);
        let class = &mut self.classes[at];
        match part {
            0 => class.parent = parent,
            1 => class.face = n % 2,
            2 => class.constant = n,
            3 => class.annotation = if n < 4 { None } else { Some(n - 4) },
            4 => class.fields = n % 3,
            5 => class.initial = terms,
            6 => class.plain = terms,
            7 => class.cached = terms,
            8 => class.lazy = terms,
            9 => class.own = coin.then_some(terms),
            10 => class.shared = terms,
            _ => class.comment = n,
        }
    }

    /// A sum of some terms over classes from `from` on.
    fn terms(&mut self, from: usize, most: usize) -> String {
        let count = 1 + self.random.below(most);
        let terms: Vec<String> = (0..count).map(|_| self.term(from)).collect();
        terms.join(" + ")
    }

    fn term(&mut self, from: usize) -> String {
        let n = self.random.below(5);
        if from >= CLASSES || self.random.chance(6) {
            return match self.random.below(6) {
                0 => format!("G.resource(\"/r{}.txt\")", self.random.below(RESOURCES)),
                1 => format!("G.kept(\"/r{}.txt\")", self.random.below(RESOURCES)),
                2 => format!("G.file(\"data/f{}.txt\")", self.random.below(RESOURCES)),
                3 => format!("G.named(\"g.Extra{}\")", self.random.below(EXTRAS)),
                4 => "G.services()".into(),
                _ => n.to_string(),
            };
        }
        let c = format!("C{}", from + self.random.below(CLASSES - from));
        match self.random.below(14) {
            0..3 => format!("{c}.plain(n + {n})"),
            3 => format!("{c}.cached(n % 3)"),
            4 => format!("{c}.CONSTANT"),
            5 => format!("{c}.initial"),
            6 => format!("new {c}().v(n)"),
            7 => format!("new {c}().d(n)"),
            8 => format!("{c}.{}()", self.random.one(&["one().lazy", "viaField", "viaGetter"])),
            9 => format!("G.apply(x -> x + {c}.plain(x), n)"),
            10 => format!("G.apply({c}::plain, n)"),
            11 => format!("G.named(\"g.\" + \"{c}\") + G.invoke(\"g.{c}\", n)"),
            12 => format!("(G.make(\"g.{c}\") instanceof I1 ? 10 : 20)"),
            _ => format!("G.mark({c}.class)"),
        }
    }

    /// Writes what is not written so yet.
    pub(crate) fn write(&mut self, maven: &Maven) {
        let mut files: BTreeMap<String, Option<String>> = BTreeMap::new();
        for (at, class) in self.classes.iter().enumerate() {
            files.insert(format!("src/main/java/g/C{at}.java"), Some(class_text(at, class)));
        }
        for (at, body) in self.faces.iter().enumerate() {
            let parent = if at == 1 { " extends I0" } else { "" };
            let text = format!(
                "package g;\n\ninterface I{at}{parent} {{\n    default int d(int n) {{ return {body}; }}\n}}\n"
            );
            files.insert(format!("src/main/java/g/I{at}.java"), Some(text));
        }
        let base = format!(
            "package g;\n\nclass Base {{\n    int v(int n) {{ return {}; }}\n}}\n",
            self.base
        );
        files.insert("src/main/java/g/Base.java".into(), Some(base));
        let mark = format!(
            "package g;\n\n@java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)\n\
             @interface Mark {{\n    int value() default {};\n}}\n",
            self.default_mark
        );
        files.insert("src/main/java/g/Mark.java".into(), Some(mark));
        files.insert("src/main/java/g/G.java".into(), Some(HELPERS.into()));
        let provider = format!(
            "package g;\n\npublic class S {{\n    public int value() {{ return 1; }}\n\n    public static class P0 extends S {{\n        public int value() {{ return {}; }}\n    }}\n\n    public static class P1 extends S {{\n        public int value() {{ return 100; }}\n    }}\n}}\n",
            self.provider
        );
        files.insert("src/main/java/g/S.java".into(), Some(provider));
        let services: String = (0..self.providers).map(|n| format!("g.S$P{n}\n")).collect();
        files.insert("src/main/resources/META-INF/services/g.S".into(), Some(services));
        for (at, value) in self.resources.iter().enumerate() {
            files.insert(format!("src/main/resources/r{at}.txt"), value.map(|v| v.to_string()));
        }
        for (at, value) in self.files.iter().enumerate() {
            files.insert(format!("data/f{at}.txt"), value.map(|v| v.to_string()));
        }
        for (at, fields) in self.extras.iter().enumerate() {
            let text = fields.map(|count| {
                format!("package g;\n\nclass Extra{at} {{\n{}}}\n", fields_text(count))
            });
            files.insert(format!("src/main/java/g/Extra{at}.java"), text);
        }
        for (at, terms) in self.tests.iter().enumerate() {
            let text = match &terms[..] {
                [one] => test_text(at, one),
                several => crate::generated_methods::test_text(at, several),
            };
            files.insert(format!("src/test/java/g/T{at}Test.java"), Some(text));
        }
        files.insert("pom.xml".into(), Some(pom()));
        for (file, text) in &files {
            if self.written.get(file) == Some(text) {
                continue;
            }
            match text {
                Some(text) => maven.write(file, text),
                None => {
                    let _ = std::fs::remove_file(maven.path(file));
                    remove_output(maven, file);
                }
            }
        }
        self.written = files;
    }
}

/// Maven leaves what it copied of a resource that is gone.
fn remove_output(maven: &Maven, file: &str) {
    if let Some(resource) = file.strip_prefix("src/main/resources/") {
        let _ = std::fs::remove_file(maven.path("target/classes").join(resource));
    }
}

/// How many parts of a class can change.
const PARTS: usize = 12;

fn fields_text(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, "    int more{n};");
        text
    })
}

fn class_text(at: usize, class: &Class) -> String {
    let parent = class.parent.map_or("Base".into(), |parent| format!("C{parent}"));
    let mark = class.annotation.map_or(String::new(), |value| match value {
        0 => "@Mark\n".into(),
        value => format!("@Mark({value})\n"),
    });
    let own = class.own.as_ref().map_or(String::new(), |body| {
        format!("    @Override\n    int v(int n) {{ return {body}; }}\n")
    });
    let comment = "// a comment\n".repeat(class.comment);
    format!(
        "package g;\n\nimport java.util.HashMap;\nimport java.util.Map;\n\n{comment}{mark}\
         class C{at} extends {parent} implements I{face} {{\n\
         {fields}    static final int CONSTANT = {constant};\n\
         \x20   static int initial = start(2);\n\
         \x20   private static final Map<Integer, Integer> KNOWN = new HashMap<>();\n\
         \x20   private static C{at} one;\n\
         \x20   private Integer made;\n\n\
         \x20   private static int start(int n) {{ return {initial}; }}\n\n\
         \x20   static C{at} one() {{\n        if (one == null) one = new C{at}();\n        return one;\n    }}\n\n\
         \x20   int lazy() {{\n        int n = 3;\n        if (made == null) made = {lazy};\n        return made;\n    }}\n\n\
         \x20   static int plain(int n) {{ return {plain}; }}\n\n\
         \x20   static int cached(int n) {{\n        Integer found = KNOWN.get(n);\n        if (found == null) {{\n            found = {cached};\n            KNOWN.put(n, found);\n        }}\n        return found;\n    }}\n\n\
         \x20   static int viaField() {{\n        int n = 1;\n        if (!G.KEPT.containsKey(\"field {at}\")) G.KEPT.put(\"field {at}\", {shared});\n        return G.KEPT.get(\"field {at}\");\n    }}\n\n\
         \x20   static int viaGetter() {{\n        int n = 1;\n        Map<String, Integer> all = G.all();\n        if (!all.containsKey(\"getter {at}\")) all.put(\"getter {at}\", {shared});\n        return all.get(\"getter {at}\");\n    }}\n\n\
         {own}}}\n",
        face = class.face,
        fields = fields_text(class.fields),
        constant = class.constant,
        initial = class.initial,
        lazy = class.lazy,
        plain = class.plain,
        cached = class.cached,
        shared = class.shared,
    )
}

fn test_text(at: usize, terms: &str) -> String {
    format!(
        "package g;\n\nimport static org.junit.Assert.assertTrue;\n\nimport java.nio.file.*;\nimport org.junit.Test;\n\n\
         public class T{at}Test {{\n    @Test\n    public void works() throws Exception {{\n        int n = {at};\n\
         \x20       String result = \"\" + ({terms});\n        Path out = Paths.get(System.getProperty(\"out\", \"results\"));\n\
         \x20       Files.createDirectories(out);\n        Files.write(out.resolve(\"g.T{at}Test.txt\"), result.getBytes());\n\
         \x20       assertTrue(result, result.hashCode() % 13 != 5);\n    }}\n}}\n"
    )
}

/// What the classes share; it keeps what it read.
const HELPERS: &str = r#"package g;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.function.IntUnaryOperator;

class G {
    static final Map<String, Integer> KEPT = new HashMap<>();
    private static final Map<String, Integer> ALL = new HashMap<>();

    static Map<String, Integer> all() {
        return ALL;
    }

    static int resource(String name) {
        try (InputStream in = G.class.getResourceAsStream(name)) {
            return in == null ? -1 : in.read();
        } catch (Exception e) {
            return -2;
        }
    }

    static int kept(String name) {
        Integer known = KEPT.get(name);
        if (known == null) KEPT.put(name, known = resource(name));
        return known;
    }

    static int file(String name) {
        try {
            return Files.readAllBytes(Paths.get(name))[0];
        } catch (Exception e) {
            return -1;
        }
    }

    static int named(String name) {
        try {
            return Class.forName(name).getDeclaredFields().length;
        } catch (ClassNotFoundException e) {
            return -1;
        }
    }

    static int invoke(String name, int n) {
        try {
            return (Integer) Class.forName(name).getDeclaredMethod("plain", int.class).invoke(null, n);
        } catch (ReflectiveOperationException e) {
            return -1;
        }
    }

    static Object make(String name) {
        try {
            return Class.forName(name).getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    static int services() {
        int sum = 0;
        for (S s : ServiceLoader.load(S.class)) {
            sum += s.value();
        }
        return sum;
    }

    static int apply(IntUnaryOperator function, int n) {
        return function.applyAsInt(n);
    }

    static int mark(Class<?> type) {
        Mark mark = type.getAnnotation(Mark.class);
        return mark == null ? -1 : mark.value();
    }
}
"#;

/// The pom of a generated project.
fn pom() -> String {
    Pom::new("g:g", 8).dependency("junit:junit:4.13.2", "<scope>test</scope>").text()
}
