package java.lang;

import java.util.Arrays;
import java.util.Collection;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Test methods, where tamis tells them apart: lists those of a class when it begins, asks which of them
 * need not run, leaves those out, and tells where the others begin and end.
 *
 * <p>A method is called by the class that it runs in, {@code a.FooTest#bar}, also if it is inherited.
 * All invocations of a parameterised, repeated or dynamic test are one method. What is not listed here is
 * not divided.
 */
final class TamisMethods {
    private static final boolean ON = on();

    /** Methods that need not run: the class that was asked about, and why. */
    private static final Map<String, String[]> LEFT_OUT = new HashMap<String, String[]>();

    /** Runners that keep nothing of one method for the next. */
    private static final Set<String> RUNNERS = new HashSet<String>(Arrays.asList(
            "org.junit.runners.JUnit4",
            "org.junit.runners.BlockJUnit4ClassRunner",
            "org.junit.runners.Parameterized",
            "org.junit.experimental.runners.Enclosed",
            "org.junit.experimental.theories.Theories"));

    private static final String SUITE_3 = "junit.framework.TestSuite";
    /** JUnit 4's runner for classes of JUnit 3. */
    private static final String RUNNER_3 = "org.junit.internal.runners.JUnit38ClassRunner";

    /** A class of JUnit 3 that it runs, the runner, and whom it tells. */
    private static final ThreadLocal<Object[]> IGNORED3 = new ThreadLocal<Object[]>();

    /** A method that began. */
    private final int method;
    /** Of the JUnit platform: a class that is about to begin. */
    private final Object listener;
    private final Object descriptor;

    private TamisMethods(int method, Object listener, Object descriptor) {
        this.method = method;
        this.listener = listener;
        this.descriptor = descriptor;
    }

    void leave(Throwable thrown) {
        if (descriptor != null) {
            platformStarted();
        } else {
            methodEnds(method, thrown != null);
        }
    }

    private static TamisMethods begin(String key) {
        if (key != null && ON) {
            TamisGlobals.look();
        }
        int method = key == null ? 0 : methodBegins(key);
        return method == 0 ? null : new TamisMethods(method, null, null);
    }

    /** Asks which methods of a class need not run. */
    private static void ask(String name, TreeSet<String> methods, boolean madeBefore) {
        // What is inside another class belongs to it, and was asked about with it.
        if (!isOutermost(name)) {
            return;
        }
        String[] all = methods.toArray(new String[0]);
        String answer = all.length == 0 ? null : choose(name, all, madeBefore);
        String[] reasons = answer == null ? new String[0] : answer.split("\n", -1);
        synchronized (LEFT_OUT) {
            for (int i = 0; i < all.length; i++) {
                LEFT_OUT.remove(all[i]);
                // Another number would be an answer to another question.
                if (reasons.length == all.length && !reasons[i].isEmpty()) {
                    LEFT_OUT.put(all[i], new String[] {name, reasons[i]});
                }
            }
        }
    }

    /** Why a method need not run; null inside of a suite, which is a test of its own. */
    private static String leftOut(String key) {
        String[] leftOut;
        synchronized (LEFT_OUT) {
            leftOut = LEFT_OUT.get(key);
        }
        return leftOut != null && isOutermost(leftOut[0]) ? leftOut[1] : null;
    }

    // JUnit 4

    /** A runner of JUnit 4 begins with a class. */
    static void junit4(Object runner, String name, Object notifier) {
        if (!ON) {
            return;
        }
        String type = runner.getClass().getName();
        TreeSet<String> methods = new TreeSet<String>();
        IGNORED3.remove();
        if (type.equals(RUNNER_3)) {
            Object test = TamisHooks.call(runner, "getTest", "()Ljunit/framework/Test;");
            if (ask3(test, name)) {
                IGNORED3.set(new Object[] {name, runner, notifier});
            }
        } else if (!RUNNERS.contains(type)) {
            undivided(name, "its runner " + type + " may keep something from one method to the next");
        } else if (!list4(TamisHooks.call(
                runner, "getDescription", "()Lorg/junit/runner/Description;"), methods)) {
            undivided(name, "not all its tests are methods");
        } else {
            ask(name, methods, false);
        }
    }

    /** The methods below a description; false if there is anything else. */
    private static boolean list4(Object description, TreeSet<String> methods) {
        Object children = TamisHooks.call(description, "getChildren", "()Ljava/util/ArrayList;");
        if (!(children instanceof Collection)) {
            return false;
        }
        for (Object child : (Collection<?>) children) {
            if (!list4(child, methods)) {
                return false;
            }
        }
        if (!((Collection<?>) children).isEmpty()) {
            return true;
        }
        if (!TamisHooks.has(description, "getMethodName", "()Ljava/lang/String;")) {
            return false;
        }
        Object type = TamisHooks.call(description, "getTestClass", "()Ljava/lang/Class;");
        Object method = TamisHooks.call(description, "getMethodName", "()Ljava/lang/String;");
        if (!(type instanceof Class) || !(method instanceof String)) {
            return false;
        }
        // A parameterised test has its number behind its name.
        int end = ((String) method).indexOf('[');
        String name = end < 0 ? (String) method : ((String) method).substring(0, end);
        methods.add(((Class<?>) type).getName() + "#" + name);
        return !name.isEmpty();
    }

    /** A runner is about to run a method, which it tells as ignored if it need not run. */
    static Object enter4(Object runner, Object[] arguments) {
        if (!ON) {
            return null;
        }
        Object type = TamisHooks.call(
                TamisHooks.call(runner, "getTestClass", "()Lorg/junit/runners/model/TestClass;"),
                "getJavaClass", "()Ljava/lang/Class;");
        Object name = TamisHooks.call(arguments[0], "getName", "()Ljava/lang/String;");
        if (!(type instanceof Class) || !(name instanceof String)) {
            return null;
        }
        String key = ((Class<?>) type).getName() + "#" + name;
        if (leftOut(key) == null) {
            return begin(key);
        }
        Object description = TamisHooks.callWith(runner, "describeChild",
                "(Lorg/junit/runners/model/FrameworkMethod;)Lorg/junit/runner/Description;",
                new Object[] {arguments[0]});
        if (description == null || !TamisHooks.run(arguments[1], "fireTestIgnored",
                "(Lorg/junit/runner/Description;)V", new Object[] {description})) {
            TamisHooks.trouble("a method that need not run could not be told as ignored");
            return begin(key);
        }
        TamisLauncher.leaveAtOnce(runner);
        return null;
    }

    // JUnit 3

    /** A suite of JUnit 3 begins, or a test that stands alone. */
    static void junit3(Object test, String name) {
        Object[] listed = IGNORED3.get();
        boolean isListed = listed != null && listed[0].equals(name);
        if (ON && !isListed && test.getClass().getName().equals(SUITE_3)) {
            ask3(test, name);
        }
    }

    /**
     * Asks about the tests of a suite that JUnit made of a class: each has an object of its own, and all of them
     * were made before.
     */
    private static boolean ask3(Object suite, String name) {
        TreeSet<String> methods = new TreeSet<String>();
        Object tests = suite == null || !suite.getClass().getName().equals(SUITE_3)
                ? null : TamisHooks.call(suite, "tests", "()Ljava/util/Enumeration;");
        boolean isKnown = tests instanceof Enumeration;
        while (isKnown && ((Enumeration<?>) tests).hasMoreElements()) {
            Object test = ((Enumeration<?>) tests).nextElement();
            String key = key3(test, name);
            isKnown = key != null && methods.add(key);
        }
        if (!isKnown) {
            undivided(name, "its suite has other tests than one for each method of it");
            return false;
        }
        ask(name, methods, true);
        return true;
    }

    /** The method that a test of this class stands for; null if it stands for none. */
    private static String key3(Object test, String name) {
        if (test == null || !test.getClass().getName().equals(name)) {
            return null;
        }
        Object method = TamisHooks.call(test, "getName", "()Ljava/lang/String;");
        return method instanceof String && !((String) method).isEmpty() ? name + "#" + method : null;
    }

    /** A test of JUnit 3 is about to run; null if it is not told apart, or is left out. */
    static Object enter3(Object test, String name) {
        String key = ON ? key3(test, name) : null;
        if (key == null) {
            return null;
        }
        if (leftOut(key) == null) {
            return begin(key);
        }
        TamisLauncher.leaveAtOnce(test);
        Object[] runner = IGNORED3.get();
        if (runner != null && runner[0].equals(name)) {
            ignore3(runner[1], runner[2], test);
        }
        return null;
    }

    /** A runner of JUnit 4 has a word for it. */
    private static void ignore3(Object runner, Object notifier, Object test) {
        Object method = TamisHooks.call(test, "getName", "()Ljava/lang/String;");
        Object all = TamisHooks.call(runner, "getDescription", "()Lorg/junit/runner/Description;");
        Object children = TamisHooks.call(all, "getChildren", "()Ljava/util/ArrayList;");
        if (children instanceof Collection) {
            for (Object child : (Collection<?>) children) {
                if (method.equals(TamisHooks.call(child, "getMethodName", "()Ljava/lang/String;"))) {
                    TamisHooks.run(notifier, "fireTestIgnored", "(Lorg/junit/runner/Description;)V",
                            new Object[] {child});
                }
            }
        }
    }

    // TestNG

    /** TestNG is about to run a method, all its invocations; null if it is not told apart, or is left out. */
    static Object enterTestng(Object worker, Object method, Class<?> type) {
        if (!ON) {
            return null;
        }
        List<Object> all = TamisTestng.methodsOf(type);
        if (all != null) {
            String why = TamisTestng.together(all);
            if (why == null) {
                TreeSet<String> keys = new TreeSet<String>();
                for (Object one : all) {
                    keys.add(keyNg(one, type));
                }
                ask(type.getName(), keys, true);
            } else {
                undivided(type.getName(), why);
            }
        }
        String key = keyNg(method, type);
        if (leftOut(key) != null) {
            TamisLauncher.leaveAtOnce(worker);
            return null;
        }
        String why = TamisTestng.left(type, TamisTestng.instance(method));
        if (why != null) {
            undivided(type.getName(), why);
        }
        return begin(key);
    }

    private static String keyNg(Object method, Class<?> type) {
        return type.getName() + "#" + TamisHooks.call(method, "getMethodName", "()Ljava/lang/String;");
    }

    // The JUnit platform

    /** Something of the JUnit platform is about to be executed. */
    static Object enterPlatform(Object descriptor) {
        return ON ? begin(platformKey(descriptor)) : null;
    }

    /** The method that a descriptor stands for; null if it stands for none, or for a part of one. */
    private static String platformKey(Object descriptor) {
        Object source = get(TamisHooks.call(descriptor, "getSource", "()Ljava/util/Optional;"));
        if (source == null || !source.getClass().getName().endsWith(".MethodSource")) {
            return null;
        }
        Object parent = get(TamisHooks.call(descriptor, "getParent", "()Ljava/util/Optional;"));
        String type = parent == null ? null : TamisRunners.platform(parent);
        Object name = TamisHooks.call(source, "getMethodName", "()Ljava/lang/String;");
        return type == null || !(name instanceof String) ? null : type + "#" + name;
    }

    private static Object get(Object optional) {
        return optional instanceof java.util.Optional
                ? ((java.util.Optional<?>) optional).orElse(null)
                : null;
    }

    /** A class of the JUnit platform is about to be told as started; null if there is nothing to do. */
    static TamisMethods platformStarts(Object listener, Object descriptor) {
        if (!ON || TamisRunners.platform(descriptor) == null
                || !TamisLauncher.id(descriptor).startsWith("[engine:junit-jupiter]")) {
            return null;
        }
        Object parent = get(TamisHooks.call(descriptor, "getParent", "()Ljava/util/Optional;"));
        boolean isNested = parent != null && TamisRunners.platform(parent) != null;
        return isNested ? null : new TamisMethods(0, listener, descriptor);
    }

    /** The class has begun and none of its methods yet: those that need not run are taken away. */
    private void platformStarted() {
        String name = TamisRunners.platform(descriptor);
        Map<Object, String> found = new java.util.LinkedHashMap<Object, String>();
        if (!listPlatform(descriptor, found)) {
            undivided(name, "not all its tests are methods");
            return;
        }
        ask(name, new TreeSet<String>(found.values()), false);
        for (Map.Entry<Object, String> method : found.entrySet()) {
            String reason = leftOut(method.getValue());
            if (reason != null) {
                TamisLauncher.run(listener, "executionSkipped",
                        "(Lorg/junit/platform/engine/TestDescriptor;Ljava/lang/String;)V",
                        method.getKey(), "tamis: " + reason);
                TamisLauncher.run(method.getKey(), "removeFromHierarchy", "()V");
            }
        }
        removeEmpty(descriptor);
    }

    private static boolean listPlatform(Object descriptor, Map<Object, String> found) {
        for (Object child : TamisLauncher.children(descriptor)) {
            if (TamisRunners.platform(child) != null) {
                if (!listPlatform(child, found)) {
                    return false;
                }
                continue;
            }
            String key = platformKey(child);
            if (key == null) {
                return false;
            }
            found.put(child, key);
        }
        return true;
    }

    /** Nested classes of which nothing is left would still be set up. */
    private static void removeEmpty(Object descriptor) {
        for (Object child : TamisLauncher.children(descriptor)) {
            if (TamisRunners.platform(child) != null) {
                removeEmpty(child);
                if (TamisLauncher.children(child).isEmpty()) {
                    TamisLauncher.run(child, "removeFromHierarchy", "()V");
                }
            }
        }
    }

    private static native boolean on();

    /** Whether no other test class was open when this one began. */
    private static native boolean isOutermost(String name);

    /** A number for the method; 0 if it is not told apart. */
    private static native int methodBegins(String key);

    private static native void methodEnds(int method, boolean failed);

    /** One line for each method: why it need not run, empty if it has to. */
    private static native String choose(String name, String[] methods, boolean madeBefore);

    /** The methods of this class are not told apart. */
    static native void undivided(String name, String why);
}
