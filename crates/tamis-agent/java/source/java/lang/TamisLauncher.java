package java.lang;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Enumeration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Test classes in a JVM that no build tool prepared: asks tamis which of them need not run, before
 * they do, and tells the runner that they are skipped.
 *
 * <p>Only what nothing else is around may be left out: a suite that ran without one of its members
 * would prove nothing about that member.
 */
public final class TamisLauncher implements InvocationHandler {
    private static final boolean ON = launched();

    /** The runner that this thread is about to leave at once. */
    private static final ThreadLocal<Object> LEAVING = new ThreadLocal<Object>();

    private static volatile boolean leftOut;

    /** Engines of the JUnit platform that run now: those decide, not the runners inside them. */
    private static final AtomicInteger ENGINES = new AtomicInteger();

    /** Of the JUnit platform. */
    private final Object listener;
    private final Object root;

    private TamisLauncher(Object listener, Object root) {
        this.listener = listener;
        this.root = root;
    }

    /** At the start of a runner's method: whether it has to return at once. */
    public static boolean leaves(Object runner) {
        if (LEAVING.get() != runner) {
            return false;
        }
        LEAVING.remove();
        return true;
    }

    /** The runner's method that is being entered shall return at once. */
    static void leaveAtOnce(Object runner) {
        LEAVING.set(runner);
    }

    /** Whether the runner's method that is being entered is going to return at once. */
    static boolean isLeaving(Object runner) {
        return LEAVING.get() == runner;
    }

    // JUnit 4 and 3

    /** Whether something else is around that decides, or that would miss what is left out. */
    static boolean isInside() {
        return !ON || ENGINES.get() != 0 || openTests() != 0;
    }

    /** JUnit 4 is going to run this; all its classes are asked about at once. */
    public static void junit4Batch(Object runner) {
        if (isInside()) {
            return;
        }
        TamisUnits.forget(false);
        try {
            Map<Object, String> units = new LinkedHashMap<Object, String>();
            units4(TamisHooks.call(runner, "getDescription", "()Lorg/junit/runner/Description;"), units);
            TamisUnits asked = new TamisUnits();
            for (Map.Entry<Object, String> unit : units.entrySet()) {
                Class<?> type = (Class<?>) unit.getKey();
                asked.add(type.getName(), unit.getValue(), type.getClassLoader());
            }
            asked.ask("");
        } catch (Throwable problem) {
            TamisHooks.trouble("the test classes of JUnit could not be read: " + problem);
        }
    }

    /** The outermost classes below a description. */
    private static void units4(Object description, Map<Object, String> units) {
        Object type = TamisHooks.call(description, "getTestClass", "()Ljava/lang/Class;");
        if (type instanceof Class) {
            units.put(type, choice4(description));
            return;
        }
        Object children = TamisHooks.call(description, "getChildren", "()Ljava/util/ArrayList;");
        if (children instanceof Collection) {
            for (Object child : (Collection<?>) children) {
                units4(child, units);
            }
        }
    }

    private static String choice4(Object description) {
        TreeSet<String> leaves = new TreeSet<String>();
        leaves4(description, leaves);
        return digest(leaves);
    }

    private static void leaves4(Object description, TreeSet<String> leaves) {
        Object children = TamisHooks.call(description, "getChildren", "()Ljava/util/ArrayList;");
        if (children instanceof Collection && !((Collection<?>) children).isEmpty()) {
            for (Object child : (Collection<?>) children) {
                leaves4(child, leaves);
            }
        } else {
            leaves.add(String.valueOf(
                    TamisHooks.call(description, "getDisplayName", "()Ljava/lang/String;")));
        }
    }

    /** Whether a runner of JUnit 4 need not run; it is told as ignored then. */
    static boolean skipsJunit4(Object runner, String name, Object notifier) {
        if (isInside()) {
            return false;
        }
        Object description =
                TamisHooks.call(runner, "getDescription", "()Lorg/junit/runner/Description;");
        Object type = TamisHooks.call(description, "getTestClass", "()Ljava/lang/Class;");
        ClassLoader loader = type instanceof Class ? ((Class<?>) type).getClassLoader() : TamisUnits.context();
        if (TamisUnits.reason(name, choice4(description), loader) == null) {
            return false;
        }
        run(notifier, "fireTestIgnored", "(Lorg/junit/runner/Description;)V", description);
        LEAVING.set(runner);
        return true;
    }

    /** JUnit 3 has no word for a test that was skipped. */
    static boolean skipsJunit3(Object test, String name) {
        if (isInside()) {
            return false;
        }
        TreeSet<String> leaves = new TreeSet<String>();
        leaves3(test, leaves);
        ClassLoader own = test.getClass().getClassLoader();
        boolean isSuite = test.getClass().getName().startsWith("junit.");
        if (TamisUnits.reason(name, digest(leaves), isSuite ? loaderOf(test, own) : own) == null) {
            return false;
        }
        LEAVING.set(test);
        return true;
    }

    private static void leaves3(Object test, TreeSet<String> leaves) {
        Object tests = TamisHooks.call(test, "tests", "()Ljava/util/Enumeration;");
        if (tests instanceof Enumeration) {
            while (((Enumeration<?>) tests).hasMoreElements()) {
                leaves3(((Enumeration<?>) tests).nextElement(), leaves);
            }
        } else {
            leaves.add(test.getClass().getName() + " "
                    + TamisHooks.call(test, "getName", "()Ljava/lang/String;"));
        }
    }

    /** The loader of the first test case in a suite, which knows itself by its name only. */
    private static ClassLoader loaderOf(Object test, ClassLoader otherwise) {
        Object tests = TamisHooks.call(test, "tests", "()Ljava/util/Enumeration;");
        if (!(tests instanceof Enumeration)) {
            return test.getClass().getClassLoader();
        }
        return ((Enumeration<?>) tests).hasMoreElements()
                ? loaderOf(((Enumeration<?>) tests).nextElement(), otherwise)
                : otherwise;
    }

    // The JUnit platform

    /** A launcher of the JUnit platform is going to run its engines. */
    public static void platformRuns() {
        if (!isInside()) {
            TamisUnits.forget(false);
        }
    }

    /** An engine of the JUnit platform starts; null if there is nothing to do. */
    static TamisLauncher engineStarts(Object listener, Object descriptor) {
        if (!ON) {
            return null;
        }
        if (!isRoot(descriptor)) {
            return null;
        }
        ENGINES.incrementAndGet();
        // Which part of its tree an engine runs, and when it looks, is known of these.
        String id = id(descriptor);
        boolean isKnown = id.equals("[engine:junit-jupiter]") || id.equals("[engine:junit-vintage]")
                || id.equals("[engine:junit-platform-suite]");
        if (!isKnown && !children(descriptor).isEmpty()) {
            TamisUnits.refuse("the engine " + id + " of the JUnit platform is not known");
        }
        return isKnown ? new TamisLauncher(listener, descriptor) : null;
    }

    /** Something of the JUnit platform ended. */
    static void engineEnds(Object descriptor) {
        if (ON && isRoot(descriptor)) {
            ENGINES.decrementAndGet();
        }
    }

    private static boolean isRoot(Object descriptor) {
        Object parent = TamisHooks.call(descriptor, "getParent", "()Ljava/util/Optional;");
        return parent instanceof java.util.Optional && !((java.util.Optional<?>) parent).isPresent();
    }

    /** The engine has told that it runs; now its classes can be told as skipped and taken away. */
    void engineStarted() {
        List<Object> descriptors = new ArrayList<Object>();
        TamisUnits asked = new TamisUnits();
        for (Object child : children(root)) {
            unitsBelow(child, descriptors, asked);
        }
        asked.ask("");
        for (int i = 0; i < descriptors.size(); i++) {
            String reason = asked.reason(i);
            if (reason != null) {
                run(listener, "executionSkipped",
                        "(Lorg/junit/platform/engine/TestDescriptor;Ljava/lang/String;)V",
                        descriptors.get(i), "tamis: " + reason);
                run(descriptors.get(i), "removeFromHierarchy", "()V");
            }
        }
    }

    private static void unitsBelow(Object descriptor, List<Object> descriptors, TamisUnits asked) {
        String name = TamisRunners.platform(descriptor);
        if (name == null) {
            for (Object child : children(descriptor)) {
                unitsBelow(child, descriptors, asked);
            }
            return;
        }
        TreeSet<String> ids = new TreeSet<String>();
        idsBelow(descriptor, ids);
        java.util.Optional<?> source = (java.util.Optional<?>)
                TamisHooks.call(descriptor, "getSource", "()Ljava/util/Optional;");
        Object type = TamisHooks.call(source.get(), "getJavaClass", "()Ljava/lang/Class;");
        descriptors.add(descriptor);
        asked.add(name, digest(ids),
                type instanceof Class ? ((Class<?>) type).getClassLoader() : TamisUnits.context());
    }

    private static void idsBelow(Object descriptor, TreeSet<String> ids) {
        ids.add(id(descriptor));
        for (Object child : children(descriptor)) {
            idsBelow(child, ids);
        }
    }

    static String id(Object descriptor) {
        return String.valueOf(TamisHooks.call(
                descriptor, "getUniqueId", "()Lorg/junit/platform/engine/UniqueId;"));
    }

    static Collection<?> children(Object descriptor) {
        Object children = TamisHooks.call(descriptor, "getChildren", "()Ljava/util/Set;");
        return children instanceof Collection
                ? new ArrayList<Object>((Collection<?>) children)
                : new ArrayList<Object>();
    }

    // TestNG

    /** TestNG is going to run the classes of one test: an interceptor of its methods is added. */
    static void testng(Object runner) {
        if (!ON || !runner.getClass().getName().equals("org.testng.TestRunner")) {
            return;
        }
        try {
            intercept(runner);
        } catch (Throwable problem) {
            TamisHooks.trouble("the methods of TestNG could not be intercepted: " + problem);
        }
    }

    private static void intercept(Object runner) throws Exception {
        // Of one suite; those of all suites stand side by side.
        Object output = TamisHooks.call(runner, "getOutputDirectory", "()Ljava/lang/String;");
        if (output instanceof String) {
            TamisUnits.ownFolder = new java.io.File((String) output).getAbsoluteFile().getParent();
        }
        ClassLoader loader = runner.getClass().getClassLoader();
        Class<?> type = Class.forName("org.testng.IMethodInterceptor", false, loader);
        Object interceptor = Proxy.newProxyInstance(
                loader, new Class<?>[] {type}, new TamisLauncher(null, null));
        run(runner, "addMethodInterceptor", "(Lorg/testng/IMethodInterceptor;)V", interceptor);
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) {
        switch (method.getName()) {
            case "intercept":
                try {
                    return intercept((List<?>) arguments[0], arguments[1]);
                } catch (Throwable problem) {
                    TamisHooks.trouble("the test classes of TestNG could not be read: " + problem);
                    return arguments[0];
                }
            case "equals":
                return proxy == arguments[0];
            case "hashCode":
                return System.identityHashCode(proxy);
            default:
                return "tamis";
        }
    }

    private static List<?> intercept(List<?> methods, Object context) {
        Map<Class<?>, TreeSet<String>> chosen = new LinkedHashMap<Class<?>, TreeSet<String>>();
        String needed = "";
        for (Object instance : methods) {
            Object method = TamisHooks.call(instance, "getMethod", "()Lorg/testng/ITestNGMethod;");
            Class<?> type = TamisTestng.type(method);
            if (type == null) {
                return methods;
            }
            TreeSet<String> names = chosen.get(type);
            if (names == null) {
                names = new TreeSet<String>();
                chosen.put(type, names);
            }
            names.add(String.valueOf(method));
            if (dependsOnOthers(method)) {
                // Without what it depends on a method would not run.
                needed = "tests of this run depend on each other";
            }
        }
        String test = String.valueOf(TamisHooks.call(context, "getName", "()Ljava/lang/String;"));
        TamisUnits asked = new TamisUnits();
        for (Map.Entry<Class<?>, TreeSet<String>> unit : chosen.entrySet()) {
            unit.getValue().add(test);
            asked.add(unit.getKey().getName(), digest(unit.getValue()), unit.getKey().getClassLoader());
        }
        asked.ask(needed);
        List<Object> left = new ArrayList<Object>();
        List<Class<?>> types = new ArrayList<Class<?>>(chosen.keySet());
        for (Object instance : methods) {
            Object method = TamisHooks.call(instance, "getMethod", "()Lorg/testng/ITestNGMethod;");
            if (asked.reason(types.indexOf(TamisTestng.type(method))) == null) {
                left.add(instance);
            } else {
                leftOut = true;
            }
        }
        return left;
    }

    /** Whether a method of TestNG names others that have to run before it. */
    static boolean dependsOnOthers(Object method) {
        return hasAny(method, "getMethodsDependedUpon") || hasAny(method, "getGroupsDependedUpon");
    }

    private static boolean hasAny(Object method, String name) {
        Object names = TamisHooks.call(method, name, "()[Ljava/lang/String;");
        return !(names instanceof String[]) || ((String[]) names).length > 0;
    }

    /** TestNG wants to know whether it found any tests: those that were left out were found, too. */
    public static void testngFound(Object listener) {
        if (!leftOut) {
            return;
        }
        try {
            java.lang.reflect.Field field = listener.getClass().getDeclaredField("hasTests");
            field.setAccessible(true);
            field.setBoolean(listener, true);
        } catch (Exception problem) {
            TamisHooks.trouble("TestNG could not be told that there are tests: " + problem);
        }
    }

    private static String digest(TreeSet<String> texts) {
        long hash = 0xcbf29ce484222325L;
        for (String text : texts) {
            for (int i = 0; i <= text.length(); i++) {
                hash = (hash ^ (i < text.length() ? text.charAt(i) : 0xffff)) * 0x100000001b3L;
            }
        }
        return texts.size() + "-" + Long.toHexString(hash);
    }

    /** Calls a method that returns nothing. */
    static void run(Object self, String name, String descriptor, Object... arguments) {
        if (!TamisHooks.run(self, name, descriptor, arguments)) {
            TamisHooks.trouble(name + " of the runner could not be called");
        }
    }

    private static native boolean launched();

    /** How many tests are open in this JVM. */
    static native int openTests();
}
