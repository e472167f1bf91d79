package java.lang;

/**
 * For test frameworks that tamis does not know: they tell where a test begins and ends. Reached by
 * reflection, so that nothing has to be compiled against it; without tamis it is not there.
 */
public final class TamisEntity {
    private TamisEntity() {}

    /**
     * A test is about to run. False if it need not: then it must neither run nor be ended. A test that
     * begins inside another one is a part of that one and always runs.
     */
    public static boolean started(String name) {
        try {
            if (!TamisLauncher.isInside()) {
                if (TamisUnits.reason(name, "", TamisUnits.context()) != null) {
                    return false;
                }
            }
            TamisHooks.begin("entity", name);
        } catch (Throwable problem) {
            TamisHooks.trouble("a test could not be begun: " + problem);
        }
        return true;
    }

    /** A test that was started has ended. */
    public static void ended(String name, boolean passed) {
        try {
            TamisHooks.entityEnds(name, !passed);
        } catch (Throwable problem) {
            TamisHooks.trouble("a test could not be ended: " + problem);
        }
    }
}
