package java.lang;

import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
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
        /** Fields that cannot be walked over, or cost too much. */
        final boolean[] lost;
        /** What it took to walk over them the last time, in nanoseconds. */
        final long[] cost;
        /** Whether it has a static initialiser. */
        final boolean initialises;
        /** Where the fields are; not known before the class is initialised. */
        long[] offsets;
        /** The class is initialised, and this is what was there at first; null if that was not seen. */
        boolean started;
        Known start;

        Known(Class<?> type, String[] fields, boolean initialises) {
            this.initialises = initialises;
            this.type = new WeakReference<Class<?>>(type);
            this.fields = fields;
            first = new long[fields.length / 2];
            lost = new boolean[fields.length / 2];
            cost = new long[fields.length / 2];
        }
    }

    private static final List<Known> KNOWN = new ArrayList<>();
    /** Those with a static initialiser that came to its end, and what it left. */
    private static final Map<Class<?>, Known> INITIALISED = new WeakHashMap<>();
    private static final long STARTED = System.nanoTime();
    private static long spent;
    private static long looks;
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
                looks++;
                if (isAffordable(now - STARTED)) {
                    changed = changed(watched);
                    spent += System.nanoTime() - now;
                }
            }
        } catch (Throwable problem) {
            changed = null;
        }
        tell(watched.toArray(new String[0]), changed);
    }

    /**
     * A fiftieth of the time may be spent, and what a small program can afford. When it is used up, the
     * fields that cost most are given up until a look costs half of what it may.
     */
    private static boolean isAffordable(long time) {
        if (spent <= 50_000_000L + time / 50) {
            return true;
        }
        long target = time / 50 / looks / 2;
        long total = 0;
        List<Known> started = new ArrayList<>();
        for (Known known : KNOWN) {
            if (known.start != null) {
                started.add(known.start);
                for (long cost : known.start.cost) {
                    total += cost;
                }
            }
        }
        while (total > target) {
            Known dearest = null;
            int field = 0;
            for (Known known : started) {
                for (int i = 0; i < known.cost.length; i++) {
                    if (dearest == null || known.cost[i] > dearest.cost[field]) {
                        dearest = known;
                        field = i;
                    }
                }
            }
            if (dearest == null || dearest.cost[field] == 0) {
                return false;
            }
            total -= dearest.cost[field];
            dearest.cost[field] = 0;
            dearest.lost[field] = true;
        }
        return true;
    }

    private static String[] changed(List<String> watched) {
        addPrepared(true, watched);
        addPrepared(false, watched);
        List<String> changed = new ArrayList<>();
        for (Known known : KNOWN) {
            Class<?> type = known.type.get();
            if (type == null || !known.started && !isInitialised(type)) {
                continue;
            }
            if (!known.started) {
                known.start = known.initialises ? INITIALISED.get(type) : known;
                known.started = true;
            }
            Known first = known.start;
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
        if (heap == null) {
            heap = new TamisHeap();
        }
        if (known.offsets == null) {
            long[] offsets = new long[known.first.length];
            for (int i = 0; i < offsets.length; i++) {
                offsets[i] = TamisHeap.offset(field(type, known.fields[2 * i], known.fields[2 * i + 1]), type);
            }
            known.offsets = offsets;
        }
        char kind = known.fields[2 * field + 1].charAt(0);
        if (kind != 'L' && kind != '[') {
            return TamisHeap.number(type, known.offsets[field], kind);
        }
        Object value = TamisHeap.object(type, known.offsets[field]);
        if (value == null) {
            return 0;
        }
        long began = System.nanoTime();
        long hash = heap.hashOf(value);
        known.cost[field] = System.nanoTime() - began;
        known.lost[field] |= !heap.known();
        return hash;
    }

    /** A number for all that an object holds; zero if that cannot be told. */
    static long held(Object object) {
        if (object == null) {
            return 0;
        }
        try {
            synchronized (KNOWN) {
                if (heap == null) {
                    heap = new TamisHeap();
                }
                long hash = heap.hashOf(object);
                return !heap.known() ? 0 : hash == 0 ? 1 : hash;
            }
        } catch (Throwable problem) {
            return 0;
        }
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

    /** A static field of a class that is initialised, or is being so by this thread. */
    private static native Field field(Class<?> type, String name, String kind);

    /** Classes that are looked at from now on; classes and fields that changed, null if nobody looked. */
    private static native void tell(String[] watched, String[] changed);
}
