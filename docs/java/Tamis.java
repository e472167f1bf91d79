/**
 * Tells tamis where a test of your own framework begins and ends. Copy this file into any package of
 * your test code; it needs nothing and does nothing without tamis.
 *
 * <pre>
 * if (Tamis.started("payment/refund")) {
 *     boolean passed = run("payment/refund");
 *     Tamis.ended("payment/refund", passed);
 * }
 * </pre>
 */
public final class Tamis {
    private Tamis() {}

    /** A test is about to run. False if it need not run: leave it out. */
    public static boolean started(String name) {
        return !Boolean.FALSE.equals(call("started", new Class<?>[] {String.class}, name));
    }

    /** A test that was started has ended. */
    public static void ended(String name, boolean passed) {
        call("ended", new Class<?>[] {String.class, boolean.class}, name, passed);
    }

    private static Object call(String method, Class<?>[] types, Object... arguments) {
        try {
            return Class.forName("java.lang.TamisEntity").getMethod(method, types).invoke(null, arguments);
        } catch (ReflectiveOperationException withoutTamis) {
            return null;
        }
    }
}
