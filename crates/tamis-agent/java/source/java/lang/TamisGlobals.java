package java.lang;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TimeZone;
import java.util.WeakHashMap;

/**
 * What of the JVM itself is not as it was before the first test: system properties, the default locale and
 * time zone, the standard streams, the handler of uncaught exceptions, and what belongs to the thread that
 * runs tests. Nothing here throws; what cannot be looked at counts as changed each time.
 */
final class TamisGlobals {
    private TamisGlobals() {}

    /** The thread that looks: what it asks for is no question of the program. */
    static volatile Thread looking;
    /** What there was at first, and who each thread was when it was first met. */
    private static Map<Object, Object> properties;
    private static final Map<String, Object> FIRST = new HashMap<>();
    private static final Map<Thread, Object[]> THREADS = new WeakHashMap<>();
    /** The time zone before it was first set; null if it was not. */
    private static TimeZone zone;
    private static int failures;

    /** Somebody is about to set the default time zone. */
    static synchronized void zoneIsSet() {
        if (zone == null) {
            zone = TimeZone.getDefault();
        }
    }

    /** Tells what differs, with a number that is the same while the difference is. */
    static void look() {
        List<String> names = new ArrayList<>();
        List<Long> numbers = new ArrayList<>();
        synchronized (TamisGlobals.class) {
            looking = Thread.currentThread();
            try {
                properties(names, numbers);
                locale(names, numbers);
                if (zone != null && !zone.equals(TimeZone.getDefault())) {
                    TimeZone now = TimeZone.getDefault();
                    add(names, numbers, "the default time zone", now.getID().hashCode() * 31L + now.hashCode());
                }
                one(names, numbers, "System.out", System.out);
                one(names, numbers, "System.err", System.err);
                one(names, numbers, "System.in", System.in);
                one(names, numbers, "the handler of uncaught exceptions", Thread.getDefaultUncaughtExceptionHandler());
                thread(names, numbers);
            } catch (Throwable problem) {
                add(names, numbers, "the state of the JVM", ++failures);
            } finally {
                looking = null;
            }
        }
        long[] all = new long[numbers.size()];
        for (int i = 0; i < all.length; i++) {
            all[i] = numbers.get(i);
        }
        tell(names.toArray(new String[0]), all);
    }

    private static void add(List<String> names, List<Long> numbers, String name, long number) {
        names.add(name);
        numbers.add(number);
    }

    private static void properties(List<String> names, List<Long> numbers) {
        Properties now = System.getProperties();
        Map<Object, Object> all = new HashMap<>(now);
        if (properties == null) {
            properties = all;
            return;
        }
        for (Map.Entry<Object, Object> entry : all.entrySet()) {
            Object value = entry.getValue();
            Object before = properties.get(entry.getKey());
            if (before != value && !(value instanceof String && value.equals(before))) {
                add(names, numbers, name(entry.getKey()), value instanceof String ? value.hashCode() : identity(value));
            }
        }
        for (Object key : properties.keySet()) {
            if (!all.containsKey(key)) {
                add(names, numbers, name(key), -1);
            }
        }
    }

    private static String name(Object key) {
        return key instanceof String ? "system property " + key : "system properties";
    }

    private static long identity(Object value) {
        return value == null ? 0 : System.identityHashCode(value) + ((long) value.getClass().getName().hashCode() << 32);
    }

    private static void locale(List<String> names, List<Long> numbers) {
        String now = Locale.getDefault() + " " + Locale.getDefault(Locale.Category.DISPLAY) + " "
                + Locale.getDefault(Locale.Category.FORMAT);
        Object first = FIRST.get("locale");
        if (first == null) {
            FIRST.put("locale", now);
        } else if (!first.equals(now)) {
            add(names, numbers, "the default locale", now.hashCode());
        }
    }

    private static void one(List<String> names, List<Long> numbers, String name, Object now) {
        if (!FIRST.containsKey(name)) {
            FIRST.put(name, now);
        } else if (FIRST.get(name) != now) {
            add(names, numbers, name, content(now));
        }
    }

    /** Objects that are set by a program are looked into, if that can be done. */
    private static long content(Object now) {
        long content = identity(now);
        try {
            TamisHeap heap = new TamisHeap();
            long hash = heap.hashOf(now);
            content = content * 31 + (heap.known() ? hash : ++failures);
        } catch (Throwable problem) {
            content = content * 31 + ++failures;
        }
        return content;
    }

    private static void thread(List<String> names, List<Long> numbers) {
        Thread thread = Thread.currentThread();
        Object[] now = {thread.getName(), thread.getContextClassLoader(), thread.getUncaughtExceptionHandler()};
        Object[] first = THREADS.get(thread);
        if (first == null) {
            THREADS.put(thread, now);
            return;
        }
        if (!now[0].equals(first[0])) {
            add(names, numbers, "the name of the thread", now[0].hashCode());
        }
        if (now[1] != first[1]) {
            add(names, numbers, "the context class loader", identity(now[1]));
        }
        if (now[2] != first[2]) {
            add(names, numbers, "the handler of the thread", content(now[2]));
        }
    }

    private static native void tell(String[] names, long[] numbers);
}
