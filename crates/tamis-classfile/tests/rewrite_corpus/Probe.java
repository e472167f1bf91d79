package probe;

import java.util.*;

/** What the rewritten classes call. */
public class Probe {
    /** Classes of marks. */
    static final int MARKS = 3;
    static final List<String> EVENTS = Collections.synchronizedList(new ArrayList<String>());
    static final Map<String, Integer> OPEN = new TreeMap<String, Integer>();
    static final Set<String> CALLED = Collections.synchronizedSet(new TreeSet<String>());

    public static Object enter(String kind, Object self, Object[] arguments) {
        count(kind, 1);
        if (kind.contains(" corpus/Kinds.")) EVENTS.add("enter " + kind + " " + (self != null) + " " + Arrays.deepToString(arguments));
        return new String[] {kind};
    }

    public static void leave(String kind, Object token, Throwable thrown) {
        if (!((String[]) token)[0].equals(kind)) EVENTS.add("wrong token of " + kind);
        if (thrown != null && (kind.contains(".thrower") || kind.contains(".failing"))) EVENTS.add("thrown " + kind + " " + thrown.getMessage());
        count(kind, -1);
    }

    static synchronized void count(String kind, int by) {
        CALLED.add(kind);
        Integer open = OPEN.get(kind);
        OPEN.put(kind, (open == null ? 0 : open) + by);
    }

    public static void called(String kind) { CALLED.add(kind); }

    public static void called(Object self, String kind) {
        if (self == null) EVENTS.add("no this in " + kind);
        CALLED.add(kind);
    }

    public static void ended(Class<?> type, String kind) {
        if (!kind.startsWith(type.getName().replace('.', '/') + ".")) EVENTS.add("wrong class " + type + " in " + kind);
        CALLED.add("e " + kind);
    }

    public static boolean skip(String kind) { return false; }

    public static boolean skip(Object self, String kind) { return kind.endsWith(" corpus/Loops.startsWithLoop()V"); }

    /** One fact per line. */
    public static String report() throws Exception {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < MARKS; i++)
            for (int j = 0; j < 256; j++)
                if (Class.forName("probe.ProbeMarks" + i).getField(String.format("p%02x", j)).getByte(null) != 0) out.append("hit ").append(256 * i + j).append('\n');
        for (String event : EVENTS) out.append("event ").append(event).append('\n');
        for (String kind : CALLED) out.append("called ").append(kind).append('\n');
        for (Map.Entry<String, Integer> open : OPEN.entrySet())
            if (open.getValue() != 0) out.append("open ").append(open.getKey()).append(' ').append(open.getValue()).append('\n');
        return out.toString();
    }
}
