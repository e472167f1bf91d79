package java.lang;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;

/**
 * What JaCoCo counts, by tests. JaCoCo has one array for each class, in which code that runs sets elements. At
 * each border these are taken over and cleared, so that the next one finds only what was set since. Before JaCoCo
 * itself reads the arrays they get back all that was ever set in them, so that its data is what it would be
 * without us.
 *
 * <p>An element is cleared only after it was noted: what another thread sets meanwhile is never lost, it may only
 * count for the test on the other side of the border. After JaCoCo has read its data (which it does when the JVM
 * ends) nothing is cleared any more, and what a later test passes is not known. Nothing here throws.
 */
public final class TamisCoverage {
    private TamisCoverage() {}

    /** One class as JaCoCo knows it. */
    private static final class Known {
        final long id;
        final String name;
        final boolean[] probes;
        final boolean[] ever;

        Known(long id, Object data) {
            this.id = id;
            name = (String) TamisHooks.field(data, "name", "Ljava/lang/String;");
            probes = (boolean[]) TamisHooks.field(data, "probes", "[Z");
            ever = new boolean[probes.length];
        }
    }

    private static final String RUNTIME = ".core.runtime.RuntimeData";

    /** JaCoCo's runtimes, each with its store of the data of classes. */
    private static final Map<Object, Object> RUNTIMES = new IdentityHashMap<Object, Object>();
    /** The classes of each of these stores that are known so far, by their numbers. */
    private static final Map<Object, Map<Object, Known>> KNOWN =
            new IdentityHashMap<Object, Map<Object, Known>>();
    /** What was taken over and not yet handed on. */
    private static ByteArrayOutputStream pending = new ByteArrayOutputStream();
    /** JaCoCo has read its data, or something went wrong: nothing is known from then on. */
    private static boolean over;

    /** JaCoCo is asked for the array of a class. */
    public static void asked(Object runtime) {
        try {
            synchronized (TamisCoverage.class) {
                if (!RUNTIMES.containsKey(runtime)) {
                    Object store = store(runtime);
                    RUNTIMES.put(runtime, store);
                    over |= entries(store) == null;
                    KNOWN.put(store, new HashMap<Object, Known>());
                    measures();
                }
            }
        } catch (Throwable problem) {
            over = true;
        }
    }

    private static Object store(Object runtime) {
        Class<?> type = runtime.getClass();
        while (type != null && !type.getName().endsWith(RUNTIME)) {
            type = type.getSuperclass();
        }
        if (type == null) {
            return null;
        }
        String name = type.getName();
        String store = name.substring(0, name.length() - RUNTIME.length()).replace('.', '/')
                + "/core/data/ExecutionDataStore";
        return TamisHooks.field(runtime, "store", "L" + store + ";");
    }

    private static Map<?, ?> entries(Object store) {
        return (Map<?, ?>) TamisHooks.field(store, "entries", "Ljava/util/Map;");
    }

    /** JaCoCo is about to read its data, or to set it to nothing. */
    public static void collects(Object runtime) {
        try {
            synchronized (TamisCoverage.class) {
                if (!over && RUNTIMES.containsKey(runtime)) {
                    take();
                    over = true;
                    for (Map<Object, Known> classes : KNOWN.values()) {
                        for (Known known : classes.values()) {
                            for (int i = 0; i < known.ever.length; i++) {
                                if (known.ever[i]) {
                                    known.probes[i] = true;
                                }
                            }
                        }
                    }
                }
            }
        } catch (Throwable problem) {
            over = true;
        }
    }

    /**
     * What was set since the last call: for each class its number, its name, how many elements there are, and
     * these as bits. Null if that is not known.
     */
    static synchronized byte[] drain() {
        if (!over) {
            try {
                take();
            } catch (Throwable problem) {
                over = true;
            }
        }
        byte[] drained = pending.toByteArray();
        if (drained.length == 0 && over) {
            return null;
        }
        pending = new ByteArrayOutputStream();
        return drained;
    }

    private static void take() throws IOException {
        DataOutputStream out = new DataOutputStream(pending);
        for (Object store : RUNTIMES.values()) {
            for (Known known : known(store)) {
                byte[] bits = null;
                boolean[] probes = known.probes;
                for (int i = 0; i < probes.length; i++) {
                    if (probes[i]) {
                        known.ever[i] = true;
                        probes[i] = false;
                        if (bits == null) {
                            bits = new byte[(probes.length + 7) / 8];
                        }
                        bits[i / 8] |= 1 << i % 8;
                    }
                }
                if (bits != null) {
                    out.writeLong(known.id);
                    out.writeUTF(known.name);
                    out.writeInt(probes.length);
                    out.write(bits);
                }
            }
        }
        out.flush();
    }

    private static Iterable<Known> known(Object store) {
        Map<Object, Known> known = KNOWN.get(store);
        // As JaCoCo does it. It asks for nothing of ours while it holds this lock.
        synchronized (store) {
            Map<?, ?> entries = entries(store);
            if (entries.size() != known.size()) {
                for (Map.Entry<?, ?> entry : entries.entrySet()) {
                    if (!known.containsKey(entry.getKey())) {
                        known.put(entry.getKey(), new Known((Long) entry.getKey(), entry.getValue()));
                    }
                }
            }
        }
        return known.values();
    }

    /** There is something to drain from now on. */
    private static native void measures();
}
