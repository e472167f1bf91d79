package java.lang;

/**
 * What rewritten classes call: runners of tests at the start and end of a test class and at a
 * failure. Framework objects are asked through native code, which needs neither access nor the
 * types of the other methods of their classes, as reflection does. Nothing here throws.
 */
public final class TamisHooks {
    private TamisHooks() {}

    /** Around a wrapped method; what is returned goes to {@link #leave}. */
    public static Object enter(String kind, Object self, Object[] arguments) {
        try {
            switch (kind) {
                case "junit4":
                    String runs = TamisRunners.junit4(self);
                    if (runs != null && TamisLauncher.skipsJunit4(self, runs, arguments[0])) {
                        return null;
                    }
                    Object begun = begin(kind, runs);
                    if (runs != null) {
                        TamisMethods.junit4(self, runs, arguments[0]);
                    }
                    return begun;
                case "junit4-method":
                    return TamisMethods.enter4(self, arguments);
                case "junit3":
                    String test = TamisRunners.junit3(self);
                    if (test != null && TamisLauncher.skipsJunit3(self, test)) {
                        return null;
                    }
                    Object method3 = test == null ? null : TamisMethods.enter3(self, test);
                    return method3 == null && test != null && !TamisLauncher.isLeaving(self)
                            ? begin3(self, test) : method3;
                case "platform-start":
                    begin("platform", TamisRunners.platform(arguments[0]));
                    Object engine = TamisLauncher.engineStarts(self, arguments[0]);
                    return engine != null ? engine : TamisMethods.platformStarts(self, arguments[0]);
                case "platform":
                    Object descriptor = field(
                            self, "testDescriptor", "Lorg/junit/platform/engine/TestDescriptor;");
                    String node = TamisRunners.platform(descriptor);
                    return node != null ? begin(kind, node) : TamisMethods.enterPlatform(descriptor);
                case "testng":
                    groupBegins(kind);
                    TamisTestng.runBegins();
                    TamisLauncher.testng(self);
                    return kind;
                case "testng-suite":
                    return new Object[] {self};
                case "testng-after-class":
                    TamisTestng.methodEnds(arguments[1]);
                    return new Object[] {arguments[1]};
                case "testng-methods":
                    Class<?> type = TamisTestng.type(arguments[0]);
                    if (type == null) {
                        return null;
                    }
                    TamisTestng.calls(type);
                    return TamisMethods.enterTestng(self, arguments[0], type);
                case "testng-status":
                    // ITestResult: 2 is a failure, 4 one within the tolerated percentage.
                    int status = (Integer) arguments[0];
                    if (status == 2 || status == 4) {
                        TamisRunners.testngFails(self);
                    }
                    return null;
                case "maven-execution":
                    return TamisMaven.enterExecution(arguments[0], arguments[1]);
                case "maven-goal":
                    return TamisMaven.enterGoal(self);
                default:
                    trouble("no hook is called " + kind);
                    return null;
            }
        } catch (Throwable problem) {
            trouble("the hook " + kind + " failed: " + problem);
            return null;
        }
    }

    public static void leave(String kind, Object token, Throwable thrown) {
        try {
            if (token instanceof int[]) {
                if (othersAreOpen()) {
                    TamisGlobals.look();
                }
                testEnds(((int[]) token)[0], thrown != null);
            } else if (token instanceof TamisMaven) {
                ((TamisMaven) token).leave(thrown);
            } else if (token instanceof TamisLauncher) {
                ((TamisLauncher) token).engineStarted();
            } else if (token instanceof TamisMethods) {
                ((TamisMethods) token).leave(thrown);
            } else if (token instanceof Object[]) {
                Object about = ((Object[]) token)[0];
                if (kind.equals("testng-suite")) {
                    TamisTestng.suiteMade(about);
                } else {
                    TamisTestng.methodEnded(about);
                }
            } else if (token != null) {
                TamisTestng.runEnds();
                groupEnds(kind, thrown != null);
            }
        } catch (Throwable problem) {
            trouble("the hook " + kind + " failed: " + problem);
        }
    }

    /** A test of the JUnit platform ended. */
    public static void platformEnds(Object descriptor) {
        try {
            String name = TamisRunners.platform(descriptor);
            if (name != null) {
                if (othersAreOpen()) {
                    TamisGlobals.look();
                }
                classEnds(name);
            }
            TamisLauncher.engineEnds(descriptor);
        } catch (Throwable problem) {
            trouble("the hook of the JUnit platform failed: " + problem);
        }
    }

    /** A result of the JUnit platform was made. */
    public static void platformResult(Object status) {
        if (status instanceof Enum && "FAILED".equals(((Enum<?>) status).name())) {
            failed();
        }
    }

    /** TestNG calls a method of an object, or a static one. */
    public static void testngInvokes(Object method, Object instance) {
        try {
            Class<?> type = instance == null ? TamisRunners.declarer(method) : instance.getClass();
            if (type != null) {
                TamisTestng.calls(type);
            }
        } catch (Throwable problem) {
            trouble("the hook of TestNG failed: " + problem);
        }
    }

    static Object begin(String framework, String name) {
        if (name == null) {
            return null;
        }
        TamisGlobals.look();
        TamisState.look(name);
        return new int[] {testBegins(framework, name)};
    }

    /** A test or a suite of JUnit 3, whose methods are listed where it is a class of its own. */
    private static Object begin3(Object test, String name) {
        Object begun = begin("junit3", name);
        TamisMethods.junit3(test, name);
        return begun;
    }

    /** All open tests count as failed. */
    public static native void failed();

    /** The open test of this class counts as failed; all if it is not open. */
    static native void failedIn(String name);

    /** Whether more than one test class is open. */
    private static native boolean othersAreOpen();

    static native void trouble(String what);

    private static native int testBegins(String framework, String name);

    private static native void testEnds(int test, boolean failed);

    /** Ends the test of this class one level up, if it is open. */
    static native void classEnds(String name);

    /** The same for a test that somebody else tells about. */
    static native void entityEnds(String name, boolean failed);

    /** Several test classes that end together. */
    private static native void groupBegins(String framework);

    static native void groupMember(String framework, String name);

    private static native void groupEnds(String framework, boolean failed);

    /** Calls a method without parameters; null if there is none or it throws. */
    static native Object call(Object self, String name, String descriptor);

    /** Calls a method that takes objects; null if there is none or it throws. */
    static native Object callWith(
            Object self, String name, String descriptor, Object[] arguments);

    /** Calls a method that returns nothing; false if there is none or it throws. */
    static native boolean run(Object self, String name, String descriptor, Object[] arguments);

    static native boolean has(Object self, String name, String descriptor);

    /** A field's value; null if there is none. */
    static native Object field(Object self, String name, String descriptor);
}
