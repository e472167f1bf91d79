package java.lang;

/** What the JDK calls when it starts a process: a JVM that a test starts gets the agent as well. */
public final class TamisChildren {
    private TamisChildren() {}

    /** The words of a command, with the agent's argument where it is one for this same `java`. */
    public static Object command(Object words) {
        try {
            String[] all = (String[]) words;
            if (!isLookForBuild(all)) {
                // It gets all variables, and is found by one of them.
                TamisLookups.variablesListed();
            }
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

    /** Surefire asks each second whether Maven is still there; no test sees anything of that. */
    private static boolean isLookForBuild(String[] words) {
        return words.length == 3
                && words[2].contains("/ps -o etime= -p ")
                && Thread.currentThread().getName().startsWith("surefire-forkedjvm-");
    }

    /** Null if the command gets none. */
    private static native String argument(String[] words);
}
