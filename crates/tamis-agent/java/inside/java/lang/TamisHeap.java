package java.lang;

import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import jdk.internal.misc.Unsafe;

/**
 * A hash of all that an object holds, at any depth: classes, numbers, texts, and how objects refer to
 * each other. Two walks over the same objects give the same number only if nothing changed in between.
 * Fields in which the JDK remembers what it has worked out from others do not count; of some objects,
 * such as threads and class loaders, only which one it is. One walk at a time.
 */
final class TamisHeap {
    /** Beyond this a walk costs more than it is worth. */
    private static final int MOST = 20_000;
    private static final int FEW = 256;

    private static final Unsafe UNSAFE = Unsafe.getUnsafe();

    private static final Set<String> OPAQUE = new HashSet<>(Arrays.asList(
            "java.lang.Class", "java.lang.ClassLoader", "java.lang.Module", "java.lang.Thread",
            "java.lang.ThreadGroup", "java.lang.invoke.ConstantCallSite", "java.lang.invoke.MethodHandle",
            "java.lang.invoke.MethodType", "java.lang.invoke.VarHandle", "java.lang.ref.ReferenceQueue",
            "java.lang.reflect.AccessibleObject", "java.net.URL", "java.nio.charset.Charset",
            "java.security.Provider", "java.security.SecureRandom", "java.util.Locale",
            "java.util.concurrent.ThreadLocalRandom", "java.util.logging.Logger", "java.util.regex.Pattern"));

    private static final Set<String> REMEMBERED = new HashSet<>(Arrays.asList(
            "java.io.File.filePath", "java.io.File.status", "java.lang.Enum.hash",
            "java.lang.Throwable.backtrace", "java.lang.Throwable.stackTrace",
            "java.lang.ref.Reference.discovered", "java.lang.ref.Reference.next",
            "java.lang.ref.Reference.queue", "java.math.BigDecimal.precision",
            "java.math.BigDecimal.stringCache", "java.math.BigInteger.bitCountPlusOne",
            "java.math.BigInteger.bitLengthPlusOne", "java.math.BigInteger.firstNonzeroIntNumPlusTwo",
            "java.math.BigInteger.lowestSetBitPlusTwo", "java.util.AbstractList.modCount",
            "java.util.AbstractMap.keySet", "java.util.AbstractMap.values",
            "java.util.Collections$SynchronizedMap.entrySet", "java.util.Collections$SynchronizedMap.keySet",
            "java.util.Collections$SynchronizedMap.values", "java.util.Collections$UnmodifiableMap.entrySet",
            "java.util.Collections$UnmodifiableMap.keySet", "java.util.Collections$UnmodifiableMap.values",
            "java.util.EnumMap.entrySet", "java.util.HashMap.entrySet", "java.util.HashMap.modCount",
            "java.util.Hashtable.entrySet", "java.util.Hashtable.keySet", "java.util.Hashtable.modCount",
            "java.util.Hashtable.values", "java.util.IdentityHashMap.entrySet",
            "java.util.IdentityHashMap.modCount", "java.util.TreeMap.descendingMap",
            "java.util.TreeMap.entrySet", "java.util.TreeMap.modCount", "java.util.TreeMap.navigableKeySet",
            "java.util.WeakHashMap.entrySet", "java.util.WeakHashMap.modCount",
            "java.util.concurrent.ConcurrentHashMap.entrySet", "java.util.concurrent.ConcurrentHashMap.keySet",
            "java.util.concurrent.ConcurrentHashMap.values"));

    private static final Layouts LAYOUTS = new Layouts();

    private static final int FIELDS = 0;
    private static final int TEXT = 1;
    private static final int ARRAY = 2;
    private static final int NUMBERS = 3;
    /** It counts only which one it is. */
    private static final int ONE = 4;
    private static final int NOT_KNOWN = 5;

    /** Each stands with its class, which may be unloaded. */
    static final class Layouts extends ClassValue<Layout> {
        @Override
        protected Layout computeValue(Class<?> type) {
            return read(type);
        }
    }

    static final class Layout {
        int kind = FIELDS;
        long name;
        long[] references = {};
        long[] numbers = {};
        char[] types = {};
    }

    /** Objects that were met, by identity, and their numbers in order. */
    private Object[] met = new Object[FEW];
    private int[] numbers = new int[FEW];
    private int count;
    private Object[] todo = new Object[64];
    private int open;
    private long hash;
    private int left;
    private boolean known;

    /** Where a static field of a class is, inside of the class as an object. */
    static long offset(Field field, Class<?> type) {
        if (UNSAFE.staticFieldBase(field) != type) {
            throw new IllegalStateException("static fields are elsewhere");
        }
        return UNSAFE.staticFieldOffset(field);
    }

    static Object object(Object of, long offset) {
        return UNSAFE.getReferenceVolatile(of, offset);
    }

    /** Whether the last walk saw everything. */
    boolean known() {
        return known;
    }

    long hashOf(Object root) {
        hash = 0;
        left = MOST;
        known = true;
        try {
            meet(root);
            while (open > 0 && known) {
                Object next = todo[--open];
                todo[open] = null;
                walk(next);
            }
        } finally {
            Arrays.fill(todo, 0, open, null);
            count = 0;
            open = 0;
            // A small one is cleared sooner than a large one.
            if (met.length > FEW) {
                met = new Object[FEW];
                numbers = new int[FEW];
            } else {
                Arrays.fill(met, null);
            }
        }
        return hash;
    }

    static long mix(long hash, long value) {
        long mixed = (hash ^ value) * 0x9E3779B97F4A7C15L;
        return mixed ^ (mixed >>> 29);
    }

    private void add(long value) {
        hash = mix(hash, value + 1);
    }

    /** Counts a reference; what it refers to is walked over once. */
    private void meet(Object object) {
        if (object == null) {
            add(-1);
            return;
        }
        int at = place(object);
        if (met[at] != null) {
            add(numbers[at]);
            return;
        }
        if (--left < 0) {
            known = false;
            return;
        }
        met[at] = object;
        numbers[at] = ++count;
        add(count);
        if (count * 2 > met.length) {
            grow();
        }
        if (open == todo.length) {
            todo = Arrays.copyOf(todo, open * 2);
        }
        todo[open++] = object;
    }

    private int place(Object object) {
        int mask = met.length - 1;
        int at = (System.identityHashCode(object) * 0x9E3779B1) >>> 7 & mask;
        while (met[at] != null && met[at] != object) {
            at = at + 1 & mask;
        }
        return at;
    }

    private void grow() {
        Object[] old = met;
        int[] oldNumbers = numbers;
        met = new Object[old.length * 2];
        numbers = new int[old.length * 2];
        for (int i = 0; i < old.length; i++) {
            if (old[i] != null) {
                int at = place(old[i]);
                met[at] = old[i];
                numbers[at] = oldNumbers[i];
            }
        }
    }

    private void walk(Object object) {
        Layout layout = LAYOUTS.get(object.getClass());
        add(layout.name);
        switch (layout.kind) {
            case TEXT:
                String text = (String) object;
                int length = text.length();
                left -= length >> 6;
                add(length);
                long all = hash;
                for (int i = 0; i < length; i++) {
                    all = mix(all, text.charAt(i) + 1L);
                }
                hash = all;
                break;
            case ARRAY:
                Object[] array = (Object[]) object;
                add(array.length);
                for (int i = 0; i < array.length && known; i++) {
                    meet(array[i]);
                }
                break;
            case NUMBERS:
                array(object);
                break;
            case ONE:
                add(System.identityHashCode(object));
                break;
            case NOT_KNOWN:
                known = false;
                break;
            default:
                for (int i = 0; i < layout.numbers.length; i++) {
                    add(number(object, layout.numbers[i], layout.types[i]));
                }
                for (long offset : layout.references) {
                    meet(UNSAFE.getReference(object, offset));
                }
        }
    }

    private void array(Object object) {
        // In a variable of its own: a field would be written for each element.
        long all;
        if (object instanceof byte[]) {
            size(((byte[]) object).length);
            all = hash;
            for (byte value : (byte[]) object) all = mix(all, value + 1L);
        } else if (object instanceof char[]) {
            size(((char[]) object).length);
            all = hash;
            for (char value : (char[]) object) all = mix(all, value + 1L);
        } else if (object instanceof int[]) {
            size(((int[]) object).length);
            all = hash;
            for (int value : (int[]) object) all = mix(all, value + 1L);
        } else if (object instanceof long[]) {
            size(((long[]) object).length);
            all = hash;
            for (long value : (long[]) object) all = mix(all, value + 1L);
        } else if (object instanceof short[]) {
            size(((short[]) object).length);
            all = hash;
            for (short value : (short[]) object) all = mix(all, value + 1L);
        } else if (object instanceof boolean[]) {
            size(((boolean[]) object).length);
            all = hash;
            for (boolean value : (boolean[]) object) all = mix(all, (value ? 1 : 0) + 1L);
        } else if (object instanceof float[]) {
            size(((float[]) object).length);
            all = hash;
            for (float value : (float[]) object) all = mix(all, Float.floatToRawIntBits(value) + 1L);
        } else {
            size(((double[]) object).length);
            all = hash;
            for (double value : (double[]) object) all = mix(all, Double.doubleToRawLongBits(value) + 1L);
        }
        hash = all;
    }

    /** Long arrays are as dear as many objects. */
    private void size(int length) {
        add(length);
        left -= length >> 6;
    }

    static long number(Object object, long offset, char type) {
        switch (type) {
            case 'Z':
            case 'B':
                return UNSAFE.getByte(object, offset);
            case 'C':
            case 'S':
                return UNSAFE.getShort(object, offset);
            case 'I':
            case 'F':
                return UNSAFE.getInt(object, offset);
            default:
                return UNSAFE.getLong(object, offset);
        }
    }

    private static Layout read(Class<?> type) {
        Layout layout = new Layout();
        layout.name = mix(type.getName().hashCode(), type.getName().length());
        if (type == String.class) {
            layout.kind = TEXT;
        } else if (type.isArray()) {
            layout.kind = type.getComponentType().isPrimitive() ? NUMBERS : ARRAY;
        } else if (isElsewhere(type)) {
            layout.kind = NOT_KNOWN;
        } else {
            for (Class<?> part = type; part != null; part = part.getSuperclass()) {
                if (OPAQUE.contains(part.getName())) {
                    layout.kind = part == type || part.getClassLoader() == type.getClassLoader()
                            ? ONE : FIELDS;
                    break;
                }
                addFields(part, layout);
            }
        }
        return layout;
    }

    /** Whether what such an object holds stands in threads, in classes, or outside of the heap. */
    private static boolean isElsewhere(Class<?> type) {
        String name = type.getName();
        return ThreadLocal.class.isAssignableFrom(type) || ClassValue.class.isAssignableFrom(type)
                || name.startsWith("java.nio.Direct") || name.startsWith("java.nio.ByteBufferAs")
                || name.startsWith("jdk.internal.foreign.");
    }

    private static void addFields(Class<?> part, Layout layout) {
        String[] fields = TamisState.fields(part, false);
        for (int i = 0; i < fields.length; i += 2) {
            if (REMEMBERED.contains(part.getName() + "." + fields[i])) {
                continue;
            }
            long offset = UNSAFE.objectFieldOffset(part, fields[i]);
            char type = fields[i + 1].charAt(0);
            if (type == 'L' || type == '[') {
                layout.references = Arrays.copyOf(layout.references, layout.references.length + 1);
                layout.references[layout.references.length - 1] = offset;
            } else {
                int length = layout.numbers.length;
                layout.numbers = Arrays.copyOf(layout.numbers, length + 1);
                layout.types = Arrays.copyOf(layout.types, length + 1);
                layout.numbers[length] = offset;
                layout.types[length] = type;
            }
        }
    }
}
