//! Test classes with several methods, each class of another kind.
//!
//! What methods share is made from code and files alone, as everywhere in a generated project: their order
//! does not matter.

use std::fmt::Write as _;

/// The methods write what they computed to `OUT/g.TnTest#mN.PARAMETER.txt`.
pub(crate) fn test_text(at: usize, terms: &[String]) -> String {
    let (head, inside) = match at {
        // What the constructor computes counts for each method.
        1 => (
            format!("public class T{at}Test {{\n"),
            format!(
                "    private final String shared = \"\" + made({at});\n\
                 \x20   private static int made(int n) {{ return {}; }}\n",
                terms[0]
            ),
        ),
        // The same for the class, kept by the JVM.
        2 => (
            format!("public class T{at}Test {{\n"),
            format!(
                "    @org.junit.BeforeClass\n    public static void up() {{\n        int n = {at};\n\
                 \x20       System.setProperty(\"g.up\", \"\" + ({}));\n    }}\n\
                 \x20   private final String shared = System.getProperty(\"g.up\");\n",
                terms[0]
            ),
        ),
        3 => (
            format!(
                "@org.junit.runner.RunWith(org.junit.runners.Parameterized.class)\n\
                 public class T{at}Test {{\n"
            ),
            "    @org.junit.runners.Parameterized.Parameters\n\
             \x20   public static Iterable<Integer> numbers() { return java.util.Arrays.asList(0, 1); }\n\
             \x20   @org.junit.runners.Parameterized.Parameter\n    public int number;\n\
             \x20   private final String shared = \"\";\n"
                .to_owned(),
        ),
        // Inherited methods are those of the class that runs them.
        4 => {
            let above = format!("abstract class T{at}Above {{\n{}}}\n\n", method(at, 0, &terms[0]));
            let inside = String::new();
            (format!("{above}public class T{at}Test extends T{at}Above {{\n"), inside)
        }
        // Static state of the test class itself.
        5 => (
            format!("public class T{at}Test {{\n"),
            format!(
                "    private static String kept;\n    private final String shared = kept();\n\
                 \x20   private static String kept() {{\n        int n = {at};\n\
                 \x20       if (kept == null) kept = \"\" + ({});\n        return kept;\n    }}\n",
                terms[0]
            ),
        ),
        _ => (
            format!("public class T{at}Test {{\n"),
            "    private final String shared = \"\";\n".to_owned(),
        ),
    };
    let own = if at == 4 { 1 } else { 0 };
    let mut text = format!(
        "package g;\n\nimport static org.junit.Assert.assertTrue;\n\nimport java.nio.file.*;\n\
         import org.junit.Test;\n\n{head}{inside}"
    );
    for (n, terms) in terms.iter().enumerate().skip(own) {
        let _ = write!(text, "{}", method(at, n, terms));
    }
    text + "}\n"
}

fn method(at: usize, n: usize, terms: &str) -> String {
    let number = if at == 3 { "number" } else { "0" };
    let shared = if at == 4 { "\"\"" } else { "shared" };
    format!(
        "    @Test\n    public void m{n}() throws Exception {{\n        int n = {at} + {number};\n\
         \x20       String result = {shared} + \"/\" + ({terms});\n\
         \x20       Path out = Paths.get(System.getProperty(\"out\", \"results\"));\n\
         \x20       Files.write(out.resolve(\"g.T{at}Test#m{n}.\" + {number} + \".txt\"), result.getBytes());\n\
         \x20       assertTrue(result, result.hashCode() % 13 != 5);\n    }}\n"
    )
}
