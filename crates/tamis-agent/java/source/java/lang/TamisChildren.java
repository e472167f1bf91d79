package java.lang;

/** What the JDK calls when it starts a process: a JVM that a test starts gets the agent as well. */
public final class TamisChildren {
    private TamisChildren() {}

    /** The words of a command, with the agent's argument where it is one for this same `java`. */
    public static Object command(Object words) {
        try {
            String[] all = (String[]) words;
            String argument = all.length == 0 ? null : argument(all);
            if (argument != null) {
                String[] more = new String[all.length + 1];
                more[0] = all[0];
                more[1] = argument;
                System.arraycopy(all, 1, more, 2, all.length - 1);
                return more;
            }
        } catch (Throwable problem) {
            // Then it is observed from outside alone.
        }
        return words;
    }

    /** Null if the command gets none. */
    private static native String argument(String[] words);
}
