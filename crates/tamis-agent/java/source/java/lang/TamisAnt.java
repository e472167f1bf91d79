package java.lang;

/**
 * Ant: hands the agent on to the JVMs that its tasks start, and tells where tests in its own JVM
 * begin. What Ant did before, such as reading all sources to compile them, is nothing to the tests:
 * they see it in files, which are looked at when they are read, and in system properties.
 */
public final class TamisAnt {
    /** The argument that gave this JVM the agent; null where Ant does not hand it on. */
    private static final String ARGUMENT = agentArgument();

    private static final boolean IS_ANT = isAnt(System.getProperty("sun.java.command", ""));

    private TamisAnt() {}

    private static boolean isAnt(String command) {
        return command.startsWith("org.apache.tools.ant.launch.Launcher")
                || command.startsWith("org.apache.tools.ant.Main");
    }

    /** Ant is about to start a JVM: a CommandlineJava. */
    public static void forks(Object command) {
        try {
            if (ARGUMENT == null || TamisLauncher.openTests() != 0) {
                return;
            }
            Object own = TamisHooks.call(
                    command, "getVmCommand", "()Lorg/apache/tools/ant/types/Commandline;");
            Object words = TamisHooks.call(own, "getArguments", "()[Ljava/lang/String;");
            if (words instanceof String[]) {
                for (String word : (String[]) words) {
                    if (word.equals(ARGUMENT)) {
                        return;
                    }
                }
            }
            Object argument = TamisHooks.call(command, "createVmArgument",
                    "()Lorg/apache/tools/ant/types/Commandline$Argument;");
            TamisHooks.run(argument, "setValue", "(Ljava/lang/String;)V", new Object[] {ARGUMENT});
        } catch (Throwable problem) {
            TamisHooks.trouble("the agent could not be handed on by Ant: " + problem);
        }
    }

    /** A task that runs tests begins, here or in a JVM that it starts. */
    public static void taskBegins() {
        if (ARGUMENT != null && TamisLauncher.openTests() == 0) {
            TamisUnits.forget(true);
        }
    }

    /** The part of a task that loads and runs a test class begins; elsewhere it is a JVM's own main. */
    public static void testsBegin() {
        if (ARGUMENT != null && IS_ANT && TamisLauncher.openTests() == 0) {
            outsideAnew();
        }
    }

    private static native void outsideAnew();

    private static native String agentArgument();
}
