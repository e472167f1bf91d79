package java.lang;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * TestNG: a test class begins with the first thing that TestNG calls in it, and ends behind its last method, whose
 * methods after the class were called by then. TestNG lists the methods of all suites before the first of them
 * runs. A class of which that is not known, or with methods after a suite, a test or groups, ends with the last run.
 *
 * <p>TestNG makes one object for all methods of a class. Where they are told apart, that object is looked at
 * before each of them and behind the last one: as long as it holds what it held before the first one, they have nothing
 * from each other in it, and what is called behind them has nothing of them.
 */
final class TamisTestng {
    private TamisTestng() {}

    /** Methods of all suites by their class; those that did not come to their end, by identity. */
    private static final Map<Class<?>, List<Object>> METHODS = new HashMap<Class<?>, List<Object>>();
    private static final Map<Class<?>, Set<Object>> TO_COME = new HashMap<Class<?>, Set<Object>>();

    /** Names of test classes that have begun, and those of them whose methods were listed. */
    private static final Set<String> OPEN = new HashSet<String>();
    private static final Set<String> LISTED = new HashSet<String>();

    /** What the object of an open class held before its first method; zero where that cannot be told. */
    private static final Map<String, Long> HELD = new HashMap<String, Long>();

    private static int runs;
    private static boolean depend;

    private static final String METHODS_OF = "()[Lorg/testng/ITestNGMethod;";

    /** A suite knows its tests; it does not run yet. */
    static void suiteMade(Object suite) {
        Object methods = TamisHooks.call(suite, "getAllMethods", "()Ljava/util/List;");
        if (!(methods instanceof List)) {
            return;
        }
        synchronized (OPEN) {
            for (Object method : (List<?>) methods) {
                Class<?> type = type(method);
                if (type == null) {
                    continue;
                }
                if (!METHODS.containsKey(type)) {
                    METHODS.put(type, new ArrayList<Object>());
                    TO_COME.put(type, Collections.newSetFromMap(new IdentityHashMap<Object, Boolean>()));
                }
                METHODS.get(type).add(method);
                TO_COME.get(type).add(method);
                depend |= TamisLauncher.dependsOnOthers(method);
            }
        }
    }

    static void runBegins() {
        synchronized (OPEN) {
            runs++;
        }
    }

    static void runEnds() {
        synchronized (OPEN) {
            if (--runs == 0) {
                OPEN.clear();
                LISTED.clear();
                HELD.clear();
                METHODS.clear();
                TO_COME.clear();
            }
        }
    }

    /** TestNG is about to call something in a class. */
    static void calls(Class<?> type) {
        boolean isNew;
        boolean others;
        synchronized (OPEN) {
            isNew = OPEN.add(type.getName());
            others = OPEN.size() > 1;
        }
        if (isNew || others) {
            TamisGlobals.look();
        }
        if (isNew) {
            TamisState.look(type.getName());
            TamisHooks.groupMember("testng", type.getName());
        }
    }

    /** A method came to its end; what TestNG calls behind it comes now. */
    static void methodEnds(Object methodInstance) {
        Object method = TamisHooks.call(methodInstance, "getMethod", "()Lorg/testng/ITestNGMethod;");
        Class<?> type = type(method);
        boolean isLast;
        synchronized (OPEN) {
            Set<Object> toCome = TO_COME.get(type);
            isLast = type != null && HELD.containsKey(type.getName())
                    && toCome != null && toCome.size() == 1 && toCome.contains(method);
        }
        String why = isLast ? left(type, instance(method)) : null;
        if (why != null) {
            TamisMethods.undivided(type.getName(), why);
        }
    }

    /** A method came to its end, with what TestNG calls behind it. */
    static void methodEnded(Object methodInstance) {
        Object method = TamisHooks.call(methodInstance, "getMethod", "()Lorg/testng/ITestNGMethod;");
        Class<?> type = type(method);
        if (type == null) {
            return;
        }
        synchronized (OPEN) {
            Set<Object> toCome = TO_COME.get(type);
            if (toCome == null || !toCome.remove(method) || !toCome.isEmpty() || hasLater(method)) {
                return;
            }
            OPEN.remove(type.getName());
            LISTED.remove(type.getName());
            HELD.remove(type.getName());
            METHODS.remove(type);
            if (!OPEN.isEmpty()) {
                TamisGlobals.look();
            }
        }
        TamisHooks.classEnds(type.getName());
    }

    /** Whether something of the method's class is called behind its last method, when others have begun. */
    private static boolean hasLater(Object method) {
        Object type = TamisHooks.call(method, "getTestClass", "()Lorg/testng/ITestClass;");
        return hasAny(type, "getAfterSuiteMethods") || hasAny(type, "getAfterTestConfigurationMethods")
                || hasAny(type, "getAfterGroupsMethods");
    }

    /** Also if that cannot be told. */
    private static boolean hasAny(Object type, String methods) {
        Object found = TamisHooks.call(type, methods, METHODS_OF);
        return !(found instanceof Object[]) || ((Object[]) found).length > 0;
    }

    // Methods

    /** The methods of a class that begins with its first one; null if they were asked for already. */
    static List<Object> methodsOf(Class<?> type) {
        synchronized (OPEN) {
            if (!LISTED.add(type.getName())) {
                return null;
            }
            List<Object> methods = METHODS.get(type);
            return methods == null ? new ArrayList<Object>() : new ArrayList<Object>(methods);
        }
    }

    /** Why the methods of a class belong together; null if they can be told apart. */
    static String together(List<Object> methods) {
        if (methods.isEmpty()) {
            return "TestNG did not list its methods";
        }
        if (depend) {
            return "tests of this run depend on each other";
        }
        Object one = instance(methods.get(0));
        for (Object method : methods) {
            if (instance(method) == null || instance(method) != one) {
                return "TestNG makes several objects of it";
            }
            if (!TamisHooks.has(method, "getPriority", "()I") || priority(method) != 0) {
                return "its methods have priorities";
            }
            Object type = TamisHooks.call(method, "getTestClass", "()Lorg/testng/ITestClass;");
            if (hasAny(type, "getBeforeGroupsMethods") || hasAny(type, "getAfterGroupsMethods")) {
                return "it has methods before or after groups";
            }
        }
        return null;
    }

    private static int priority(Object method) {
        try {
            java.lang.reflect.Method asks = method.getClass().getMethod("getPriority");
            asks.setAccessible(true);
            return (Integer) asks.invoke(method);
        } catch (Exception unknown) {
            return -1;
        }
    }

    /** Why a method that begins may have something from an earlier one; null if it has not. */
    static String left(Class<?> type, Object instance) {
        long now = TamisState.held(instance);
        synchronized (OPEN) {
            Long first = HELD.get(type.getName());
            if (first == null) {
                HELD.put(type.getName(), now);
                first = now;
            }
            return now == 0 ? "its methods share one object, which cannot be looked at"
                    : now != first ? "its methods share one object and change what it holds" : null;
        }
    }

    static Object instance(Object method) {
        return TamisHooks.call(method, "getInstance", "()Ljava/lang/Object;");
    }

    static Class<?> type(Object method) {
        Object type = TamisHooks.call(method, "getRealClass", "()Ljava/lang/Class;");
        return type instanceof Class ? (Class<?>) type : null;
    }
}
