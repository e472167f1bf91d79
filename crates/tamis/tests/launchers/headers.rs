//! Members that are added to classes which tests met: who cannot find them is left out, who can runs.

use tamis_testkit::runner::JUNIT4;
use tamis_testkit::{Call, Project};

/// Name of the test, the class that it meets, and what it does.
const TESTS: [(&str, &str, &str); 6] = [
    ("CallsTest", "class Called { int used() { return 1; } /**/ }", "assertEquals(1, new Called().used());"),
    (
        "InheritsTest",
        "class Base { String who() { return \"base\"; } } class Sub extends Base { /**/ }",
        "Base base = new Sub(); assertEquals(\"base\", base.who());",
    ),
    (
        "BagTest",
        "class Bag extends java.util.ArrayList<String> { /**/ }",
        "assertEquals(0, new java.util.ArrayList<>(new Bag()).size());",
    ),
    (
        "ListsTest",
        "class Listed { void one() { } /**/ }",
        "new Listed().one(); assertEquals(1, Listed.class.getDeclaredMethods().length);",
    ),
    (
        "HandleTest",
        "class Looked { /**/ }",
        "new Looked(); try { java.lang.invoke.MethodHandles.lookup().findVirtual(Looked.class, \"more\",
            java.lang.invoke.MethodType.methodType(void.class)); fail(); } catch (NoSuchMethodException expected) { }",
    ),
    (
        "SerialTest",
        "class Written implements java.io.Serializable { int n; /**/ }",
        "new Written(); java.io.ObjectStreamClass known = java.io.ObjectStreamClass.lookup(Written.class);
            assertEquals(1, known.getFields().length);",
    ),
];

fn project() -> Option<Project> {
    let project = Project::java(&JUNIT4)?;
    for (test, met, body) in TESTS {
        write(&project, test, met, body);
    }
    project.compile();
    Some(project)
}

fn write(project: &Project, test: &str, met: &str, body: &str) {
    project.add(format!("src/a/{test}Met.java"), format!("package a; {met}"));
    project.add(
        format!("src/a/{test}.java"),
        format!(
            "package a; import static org.junit.Assert.*;
            public class {test} {{ @org.junit.Test public void t() throws Throwable {{
            Log.ran(\"{test}\"); {body} }} }}"
        ),
    );
}

fn run(project: &Project, tests: &[&str]) -> Call {
    let class_path = format!("classes:{}", project.jars());
    let names: Vec<String> = tests.iter().map(|test| format!("a.{test}")).collect();
    let mut words = vec!["java", "-cp", &class_path, "org.junit.runner.JUnitCore"];
    words.extend(names.iter().map(String::as_str));
    project.inside(&words)
}

fn edit(project: &Project, test: &str, member: &str) {
    project.replace(format!("src/a/{test}Met.java"), "/**/", &format!("{member} /**/"));
}

#[test]
fn a_member_more_selects_those_who_can_find_it() {
    let Some(project) = project() else { return };
    let mut all = TESTS.map(|(test, ..)| test);
    all.sort_unstable();
    run(&project, &all).assert_code(0).assert_ran("the first run", &all);
    for test in ["CallsTest", "InheritsTest", "BagTest"] {
        edit(&project, test, "void more() { } int field; static class Nested { }");
    }
    edit(&project, "CallsTest", "int used(int more) { return 2; }");
    project.compile();
    run(&project, &all).assert_code(0).assert_ran("members that cannot be found", &[]);

    edit(&project, "InheritsTest", "String who() { return \"sub\"; }");
    edit(&project, "BagTest", "public Object[] toArray() { return new Object[] {\"more\"}; }");
    for test in ["ListsTest", "HandleTest"] {
        edit(&project, test, "void more() { }");
    }
    edit(&project, "SerialTest", "int more;");
    project.compile();
    let found = ["BagTest", "HandleTest", "InheritsTest", "ListsTest", "SerialTest"];
    let call = run(&project, &all);
    call.assert_code(1).assert_ran("members that are found", &found);
    assert!(call.stderr.contains("Failures: 5"), "each of them fails: {call:?}");
}

/// Ways to notice another member that do not look like it: name, the classes that the test meets, what it does,
/// and what is put in place of what in those classes so that it fails.
const TRAPS: &[(&str, &str, &str, (&str, &str))] = &[
    (
        "ReflectedBelow",
        "class RbBase { String m() { return \"base\"; } } class RbSub extends RbBase { /**/ }",
        "assertEquals(\"base\", RbBase.class.getDeclaredMethod(\"m\").invoke(new RbSub()));",
        ("/**/", "String m() { return \"sub\"; }"),
    ),
    (
        "HandleBelow",
        "class HbBase { String m() { return \"base\"; } } class HbSub extends HbBase { /**/ }",
        "assertEquals(\"base\", (Object) java.lang.invoke.MethodHandles.lookup().findVirtual(HbBase.class, \"m\",
            java.lang.invoke.MethodType.methodType(String.class)).invoke(new HbSub()));",
        ("/**/", "String m() { return \"sub\"; }"),
    ),
    (
        "ProxyBelow",
        "interface PbI { String m(); } class PbBase { public String m() { return \"base\"; } }
        class PbSub extends PbBase implements PbI { /**/ }",
        "PbI target = new PbSub(); Object proxy = java.lang.reflect.Proxy.newProxyInstance(PbI.class.getClassLoader(),
            new Class<?>[] {PbI.class}, (p, method, arguments) -> method.invoke(target));
            assertEquals(\"base\", PbI.class.getMethod(\"m\").invoke(proxy));",
        ("/**/", "public String m() { return \"sub\"; }"),
    ),
    (
        "PrivateOpened",
        "class PoBase { private String m() { return \"base\"; } String call() { return m(); } }
        class PoSub extends PoBase { String m() { return \"sub\"; } }",
        "assertEquals(\"base\", new PoSub().call());",
        ("private String m", "String m"),
    ),
    (
        "DefaultNearer",
        "interface DnI { default String m() { return \"one\"; } } interface DnJ extends DnI { /**/ }
        class DnC implements DnJ { }",
        "DnI i = new DnC(); assertEquals(\"one\", i.m());",
        ("/**/", "default String m() { return \"two\"; }"),
    ),
    (
        "SuperCall",
        "class ScA { String m() { return \"a\"; } } class ScB extends ScA { /**/ }
        class ScC extends ScB { String m() { return super.m(); } }",
        "assertEquals(\"a\", new ScC().m());",
        ("/**/", "String m() { return \"b\"; }"),
    ),
    (
        "InheritedAnnotation",
        "@java.lang.annotation.Inherited @java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)
        @interface IaMark { } class IaBase { } class IaSub extends IaBase { }",
        "assertFalse(IaSub.class.isAnnotationPresent(IaMark.class));",
        ("class IaBase", "@IaMark class IaBase"),
    ),
    (
        "DeclaredClasses",
        "class DcOuter { /**/ }",
        "assertEquals(0, DcOuter.class.getDeclaredClasses().length);",
        ("/**/", "class In { }"),
    ),
    (
        "EnumConstants",
        "enum EcAll { ONE /**/ }",
        "assertEquals(1, java.util.EnumSet.allOf(EcAll.class).size());",
        ("/**/", ", TWO"),
    ),
    (
        "ConcatenatedText",
        "class CtText { /**/ }",
        "String text = \"x\" + new CtText(); assertFalse(text, text.equals(\"xyes\"));",
        ("/**/", "public String toString() { return \"yes\"; }"),
    ),
    (
        "StaticBySub",
        "class SsBase { static String st() { return \"base\"; } static String f = \"base\"; } class SsSub extends SsBase { /**/ }",
        "assertEquals(\"base\", SsSub.st());",
        ("/**/", "static String st() { return \"sub\"; }"),
    ),
    (
        "FieldBySub",
        "class FsBase { static String f = \"base\"; } class FsSub extends FsBase { /**/ }",
        "assertEquals(\"base\", FsSub.f);",
        ("/**/", "static String f = \"sub\";"),
    ),
    (
        "ReadResolve",
        "class RrWritten implements java.io.Serializable { static final long serialVersionUID = 1; /**/ }",
        "java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream();
            new java.io.ObjectOutputStream(out).writeObject(new RrWritten());
            assertNotNull(new java.io.ObjectInputStream(new java.io.ByteArrayInputStream(out.toByteArray())).readObject());",
        ("/**/", "private Object readResolve() { return null; }"),
    ),
    (
        "ThreadRuns",
        "class TrThread extends Thread { static int n; /**/ }",
        "TrThread thread = new TrThread(); thread.start(); thread.join(); assertEquals(0, TrThread.n);",
        ("/**/", "public void run() { n++; }"),
    ),
    (
        "BeanProperties",
        "class BpBean { public int getOne() { return 1; } /**/ }",
        "assertEquals(1, java.beans.Introspector.getBeanInfo(BpBean.class, Object.class).getPropertyDescriptors().length);",
        ("/**/", "public int getTwo() { return 2; }"),
    ),
    (
        "MethodReference",
        "class MrBase { String m() { return \"base\"; } } class MrSub extends MrBase { /**/ }",
        "java.util.function.Function<MrBase, String> f = MrBase::m; assertEquals(\"base\", f.apply(new MrSub()));",
        ("/**/", "String m() { return \"sub\"; }"),
    ),
    (
        "Bridge",
        "class BrBase<T> { String m(T t) { return \"base\"; } } class BrSub extends BrBase<String> { /**/ }",
        "BrBase<String> b = new BrSub(); assertEquals(\"base\", b.m(\"x\"));",
        ("/**/", "String m(String t) { return \"sub\"; }"),
    ),
    (
        "Covariant",
        "class CoBase { Object m() { return \"base\"; } } class CoSub extends CoBase { /**/ }",
        "CoBase b = new CoSub(); assertEquals(\"base\", b.m());",
        ("/**/", "String m() { return \"sub\"; }"),
    ),
    (
        "Overload",
        "class OvAll { static String m(long n) { return \"long\"; } /**/ }",
        "assertEquals(\"long\", OvAll.m(1));",
        ("/**/", "static String m(int n) { return \"int\"; }"),
    ),
    (
        "EqualKeys",
        "class EkKey { /**/ }",
        "java.util.Set<Object> keys = new java.util.HashSet<>(); keys.add(new EkKey()); keys.add(new EkKey());
            assertEquals(2, keys.size());",
        ("/**/", "public boolean equals(Object o) { return true; } public int hashCode() { return 1; }"),
    ),
    (
        "KeptObject",
        "class KoBase { String m() { return \"base\"; } } class KoSub extends KoBase { /**/ }
        class KoAll { static final java.util.Map<String, KoBase> ALL = new java.util.HashMap<>();
            static KoBase get() { return ALL.computeIfAbsent(\"x\", k -> make()); } static KoBase make() { return new KoSub(); } }",
        "assertEquals(\"base\", KoAll.get().m());",
        ("/**/", "String m() { return \"sub\"; }"),
    ),
];

/// A class that is hidden from everybody: its code is in no class file that is loaded.
const HIDDEN: (&str, &str, &str, (&str, &str)) = (
    "Hidden",
    "class HiBase { String m() { return \"base\"; } } class HiSub extends HiBase { /**/ }
    class HiCaller { public String toString() { return new HiSub().m(); } }",
    "byte[] bytes = HiddenTest.class.getResourceAsStream(\"HiCaller.class\").readAllBytes();
        Object caller = java.lang.invoke.MethodHandles.lookup().defineHiddenClass(bytes, true).lookupClass()
            .getDeclaredConstructor().newInstance();
        assertEquals(\"base\", caller.toString());",
    ("/**/", "String m() { return \"sub\"; }"),
);

#[test]
fn members_are_noticed_by_those_who_find_them_in_other_ways() {
    for traps in [TRAPS, &[HIDDEN]] {
        let Some(project) = Project::java(&JUNIT4) else { return };
        for &(name, met, body, _) in traps {
            write(&project, &format!("{name}Test"), met, body);
        }
        project.compile();
        let mut names: Vec<String> = traps.iter().map(|(name, ..)| format!("{name}Test")).collect();
        names.sort();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        run(&project, &names).assert_code(0).assert_ran("the first run", &names);
        run(&project, &names).assert_code(0).assert_ran("nothing changed", &[]);
        for (name, _, _, (from, to)) in traps {
            project.replace(format!("src/a/{name}TestMet.java"), from, to);
        }
        project.compile();
        let call = run(&project, &names);
        call.assert_code(1).assert_ran("what they find is another one", &names);
        let failures = format!("Failures: {}", names.len());
        assert!(call.stderr.contains(&failures), "each of them fails: {call:?}");
    }
}

/// Classes that a test gets to know only as types of members of another class, or as what a class says of itself, and of
/// which it asks what the JVM answers without any code: name, the classes, what the test does, and the edit by
/// which it fails. Each is asked twice in one JVM, as the types are looked up by their names only the first time.
const SHOWN: &[(&str, &str, &str, (&str, &str))] = &[
    (
        "Returned",
        "class ReType { } class ReOther { } class ReListed { ReType m() { return null; } }",
        "assertSame(Object.class, ReListed.class.getDeclaredMethod(\"m\").getReturnType().getSuperclass());",
        ("class ReType", "class ReType extends ReOther"),
    ),
    (
        "Parameter",
        "abstract class PaType { } class PaListed { public void m(PaType one) { } }",
        "assertFalse(PaListed.class.getMethods()[0].getParameterTypes()[0].isInterface());",
        ("abstract class PaType", "interface PaType"),
    ),
    (
        "OfField",
        "class OfType { } class OfListed { OfType f; }",
        "assertEquals(0, OfListed.class.getDeclaredField(\"f\").getType().getModifiers());",
        ("class OfType", "final class OfType"),
    ),
    (
        "Elements",
        "class ElType { } class ElListed { ElType[][] f; }",
        "assertEquals(0, ElListed.class.getDeclaredFields()[0].getType().getComponentType().getComponentType()
            .getInterfaces().length);",
        ("class ElType", "class ElType implements Cloneable"),
    ),
    (
        "Thrown",
        "class ThType extends Exception { } class ThListed { void m() throws ThType { } }",
        "assertFalse(RuntimeException.class.isAssignableFrom(ThListed.class.getDeclaredMethod(\"m\").getExceptionTypes()[0]));",
        ("class ThType extends Exception", "class ThType extends RuntimeException"),
    ),
    (
        "Constructed",
        "class CoType { } class CoListed { CoListed(CoType one) { } }",
        "assertFalse(CoListed.class.getDeclaredConstructors()[0].getParameterTypes()[0].isEnum());",
        ("class CoType", "enum CoType"),
    ),
    (
        "Argument",
        "abstract class ArType { } class ArListed { java.util.List<ArType> f; }",
        "assertFalse(((Class<?>) ((java.lang.reflect.ParameterizedType) ArListed.class.getDeclaredField(\"f\")
            .getGenericType()).getActualTypeArguments()[0]).isInterface());",
        ("abstract class ArType", "interface ArType"),
    ),
    (
        "Inherited",
        "abstract class InType { } abstract class InListed implements java.util.function.Supplier<InType> { }",
        "assertFalse(((Class<?>) ((java.lang.reflect.ParameterizedType) InListed.class.getGenericInterfaces()[0])
            .getActualTypeArguments()[0]).isInterface());",
        ("abstract class InType", "interface InType"),
    ),
    (
        "Declaring",
        "abstract class DeOuter { static class In { } }",
        "assertFalse(DeOuter.In.class.getDeclaringClass().isInterface());",
        ("abstract class DeOuter", "interface DeOuter"),
    ),
    (
        "Above",
        "abstract class AbTop { } class AbType extends AbTop { } class AbListed { AbType m() { return null; } }",
        "assertSame(Object.class, AbListed.class.getDeclaredMethod(\"m\").getReturnType().getSuperclass().getSuperclass());",
        ("abstract class AbTop", "abstract class AbTop extends Thread"),
    ),
    (
        "FurtherOn",
        "abstract class FuType { } class FuNext { FuType k() { return null; } } class FuListed { FuNext m() { return null; } }",
        "assertFalse(FuListed.class.getDeclaredMethod(\"m\").getReturnType().getDeclaredMethod(\"k\").getReturnType()
            .isInterface());",
        ("abstract class FuType", "interface FuType"),
    ),
];

#[test]
fn types_of_members_count_for_those_who_list_them() {
    let Some(project) = Project::java(&JUNIT4) else { return };
    let mut names = Vec::new();
    for &(name, met, body, _) in SHOWN {
        write(&project, &format!("{name}Test"), met, body);
        project.add(
            format!("src/a/{name}AgainTest.java"),
            format!(
                "package a; import static org.junit.Assert.*;
                public class {name}AgainTest {{ @org.junit.Test public void t() throws Throwable {{
                Log.ran(\"{name}AgainTest\"); {body} }} }}"
            ),
        );
        names.extend([format!("{name}AgainTest"), format!("{name}Test")]);
    }
    project.compile();
    names.sort();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    run(&project, &names).assert_code(0).assert_ran("the first run", &names);
    run(&project, &names).assert_code(0).assert_ran("nothing changed", &[]);
    for (name, _, _, (from, to)) in SHOWN {
        project.replace(format!("src/a/{name}TestMet.java"), from, to);
    }
    project.compile();
    let call = run(&project, &names);
    call.assert_code(1).assert_ran("the types are others", &names);
    let failures = format!("Failures: {}", names.len());
    assert!(call.stderr.contains(&failures), "each of them fails: {call:?}");
}
