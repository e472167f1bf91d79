package java.lang;

/** The name of the class that a runner's object stands for; null if it stands for none. */
final class TamisRunners {
    private TamisRunners() {}

    static String junit4(Object runner) {
        Object description =
                TamisHooks.call(runner, "getDescription", "()Lorg/junit/runner/Description;");
        if (TamisHooks.has(description, "getTestClass", "()Ljava/lang/Class;")) {
            Object type = TamisHooks.call(description, "getTestClass", "()Ljava/lang/Class;");
            return type instanceof Class ? ((Class<?>) type).getName() : null;
        }
        // Before JUnit 4.6 only the text is there; it is the class's name where it has one.
        return className(TamisHooks.call(description, "getDisplayName", "()Ljava/lang/String;"));
    }

    static String junit3(Object test) {
        for (Class<?> type = test.getClass(); type != null; type = type.getSuperclass()) {
            if (type.getName().equals("junit.framework.TestSuite")) {
                // Named after the class that it was made of, unless somebody gave it another name.
                return className(TamisHooks.call(test, "getName", "()Ljava/lang/String;"));
            }
        }
        // Adapters and decorators of the framework stand for what is inside them.
        String name = test.getClass().getName();
        return name.startsWith("junit.") ? null : name;
    }

    /** Only descriptors whose source is a class stand for one. */
    static String platform(Object descriptor) {
        Object source = TamisHooks.call(descriptor, "getSource", "()Ljava/util/Optional;");
        if (!(source instanceof java.util.Optional) || !((java.util.Optional<?>) source).isPresent()) {
            return null;
        }
        source = ((java.util.Optional<?>) source).get();
        if (!source.getClass().getName().endsWith(".ClassSource")) {
            return null;
        }
        return className(TamisHooks.call(source, "getClassName", "()Ljava/lang/String;"));
    }

    /** The class that declares a method; TestNG has its own wrapper for those. */
    static Class<?> declarer(Object method) {
        Object type = TamisHooks.call(method, "getDeclaringClass", "()Ljava/lang/Class;");
        return type instanceof Class ? (Class<?>) type : null;
    }

    /** What belongs to more than one class, as TestNG calls it. */
    private static final String[] SHARED = {"Suite", "Test", "Groups"};

    /** A result of TestNG is a failure: of its class, or of all if the method is there for all. */
    static void testngFails(Object result) {
        Object method = TamisHooks.call(result, "getMethod", "()Lorg/testng/ITestNGMethod;");
        Object instance = TamisHooks.call(result, "getInstance", "()Ljava/lang/Object;");
        Object type = instance != null
                ? instance.getClass()
                : TamisHooks.call(method, "getRealClass", "()Ljava/lang/Class;");
        if (!(type instanceof Class) || isShared(method)) {
            TamisHooks.failed();
        } else {
            TamisHooks.failedIn(((Class<?>) type).getName());
        }
    }

    private static boolean isShared(Object method) {
        try {
            for (String what : SHARED) {
                for (String when : new String[] {"isBefore", "isAfter"}) {
                    java.lang.reflect.Method asks =
                            method.getClass().getMethod(when + what + "Configuration");
                    asks.setAccessible(true);
                    if ((Boolean) asks.invoke(method)) {
                        return true;
                    }
                }
            }
            return false;
        } catch (Exception unknown) {
            return true;
        }
    }

    private static String className(Object text) {
        if (!(text instanceof String) || text.equals("null")) {
            return null;
        }
        String name = (String) text;
        for (int i = 0; i < name.length(); i++) {
            if (!Character.isJavaIdentifierPart(name.charAt(i)) && name.charAt(i) != '.') {
                return null;
            }
        }
        return name.isEmpty() ? null : name;
    }
}
