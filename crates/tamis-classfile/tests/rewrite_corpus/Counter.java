package tamisprobe;

/** What rewritten libraries call. */
public class Counter {
    public static final byte[] HITS = new byte[1 << 20];
    static int entered;
    static int left;

    static {
        // A program that is rewritten may end anywhere: say what was seen when the JVM ends.
        Runtime.getRuntime().addShutdownHook(new Thread() {
            public void run() {
                int hits = 0;
                for (byte hit : HITS) hits += hit;
                System.err.println("seen " + hits + " " + entered + " " + (entered - left));
            }
        });
    }

    public static synchronized Object enter(String kind, Object self, Object[] arguments) { entered++; return kind; }
    public static synchronized void leave(String kind, Object token, Throwable thrown) { if (token == kind) left++; }
}
