package java.lang;

import java.lang.ref.WeakReference;
import java.security.CodeSource;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * What the static fields of the project's classes hold: as the static initialiser left it, and when a
 * test begins. A field that holds the same then has nothing of earlier tests in it. Nothing here throws;
 * what cannot be told counts as changed.
 */
public final class TamisState {
    private TamisState() {}

    /** One class: its static fields, and what each held at first. */
    private static final class Known {
        final WeakReference<Class<?>> type;
        /** Names and types. */
        final String[] fields;
        final long[] first;
        /** Fields that cannot be walked over. */
        final boolean[] lost;
        /** Whether it has a static initialiser. */
        final boolean initialises;

        Known(Class<?> type, String[] fields, boolean initialises) {
            this.initialises = initialises;
            this.type = new WeakReference<Class<?>>(type);
            this.fields = fields;
            first = new long[fields.length / 2];
            lost = new boolean[fields.length / 2];
        }
    }

    private static final List<Known> KNOWN = new ArrayList<>();
    /** Those with a static initialiser that came to its end, and what it left. */
    private static final Map<Class<?>, Known> INITIALISED = new WeakHashMap<>();
    private static final long STARTED = System.nanoTime();
    private static long spent;
    private static TamisHeap heap;
    private static ProtectionDomain lastDomain;
    private static boolean lastIsProject;

    /** A class's static initialiser begins. */
    public static void begins(Class<?> type, String probe) {
        try {
            if (isProject(type)) {
                initialiserBegins(Integer.parseInt(probe));
            }
        } catch (Throwable problem) {
            // Then it is not known what it used.
        }
    }

    /** A class's static initialiser is about to return. */
    public static void ends(Class<?> type, String probe) {
        try {
            if (isProject(type)) {
                initialiserEnds(Integer.parseInt(probe));
                long began = System.nanoTime();
                synchronized (KNOWN) {
                    String[] fields = fields(type, true);
                    if (fields.length > 0) {
                        Known known = new Known(type, fields, true);
                        for (int i = 0; i < known.first.length; i++) {
                            known.first[i] = hash(type, known, i);
                        }
                        INITIALISED.put(type, known);
                    }
                    spent += System.nanoTime() - began;
                }
            }
        } catch (Throwable problem) {
            // Then it counts as changed.
        }
    }

    /** Tells which static fields do not hold what they held at first, if a test may begin now. */
    static void look(String test) {
        if (!isIdle(test)) {
            return;
        }
        List<String> watched = new ArrayList<>();
        String[] changed = null;
        try {
            long now = System.nanoTime();
            synchronized (KNOWN) {
                // At most a fiftieth of the time, and what a small program can afford.
                if (spent <= 50_000_000L + (now - STARTED) / 50) {
                    changed = changed(watched);
                    spent += System.nanoTime() - now;
                }
            }
        } catch (Throwable problem) {
            changed = null;
        }
        tell(watched.toArray(new String[0]), changed);
    }

    private static String[] changed(List<String> watched) {
        addPrepared(true, watched);
        addPrepared(false, watched);
        List<String> changed = new ArrayList<>();
        for (Known known : KNOWN) {
            Class<?> type = known.type.get();
            if (type == null || !isInitialised(type)) {
                continue;
            }
            Known first = known.initialises ? INITIALISED.get(type) : known;
            for (int i = 0; i < known.first.length; i++) {
                if (first == null || first.lost[i] || hash(type, first, i) != first.first[i] || first.lost[i]) {
                    changed.add(type.getName());
                    changed.add(known.fields[2 * i]);
                }
            }
        }
        return changed.toArray(new String[0]);
    }

    private static void addPrepared(boolean initialises, List<String> watched) {
        for (Class<?> type : prepared(initialises)) {
            if (isProject(type)) {
                String[] fields = fields(type, true);
                if (fields.length > 0) {
                    KNOWN.add(new Known(type, fields, initialises));
                    watched.add(type.getName());
                }
            }
        }
    }

    /** What a static field holds; zero for nothing. */
    private static long hash(Class<?> type, Known known, int field) {
        String name = known.fields[2 * field];
        String kind = known.fields[2 * field + 1];
        if (kind.charAt(0) != 'L' && kind.charAt(0) != '[') {
            return number(type, name, kind);
        }
        Object value = object(type, name, kind);
        if (value == null) {
            return 0;
        }
        if (heap == null) {
            heap = new TamisHeap();
        }
        long hash = heap.hashOf(value);
        known.lost[field] |= !heap.known();
        return hash;
    }

    /** Classes of the project come from folders. */
    private static boolean isProject(Class<?> type) {
        ProtectionDomain domain = type.getProtectionDomain();
        synchronized (TamisState.class) {
            if (domain != lastDomain) {
                CodeSource source = domain.getCodeSource();
                lastIsProject = source != null && source.getLocation() != null
                        && source.getLocation().getPath().endsWith("/");
                lastDomain = domain;
            }
            return lastIsProject;
        }
    }

    private static native void initialiserBegins(int probe);

    private static native void initialiserEnds(int probe);

    /** Whether a test of this class that begins now is the only one. */
    private static native boolean isIdle(String test);

    /** Classes with static fields that were prepared since the last time, with a static initialiser or without. */
    private static native Class<?>[] prepared(boolean initialises);

    private static native boolean isInitialised(Class<?> type);

    /** Names and types of the fields that a class declares; of static ones, those that can change. */
    static native String[] fields(Class<?> type, boolean isStatic);

    private static native long number(Class<?> type, String name, String kind);

    private static native Object object(Class<?> type, String name, String kind);

    /** Classes that are looked at from now on; classes and fields that changed, null if nobody looked. */
    private static native void tell(String[] watched, String[] changed);
}
