package java.lang;

import java.util.zip.ZipFile;

/**
 * What the JDK's own classes call when the program puts a question by name. These calls stand
 * inside class loading and reflection: nothing here may load a class, ask for one, or throw.
 */
public final class TamisLookups {
    private static final int CLASS = 0;
    private static final int REFLECTED = 1;
    private static final int VARIABLE = 2;
    private static final int PROPERTY = 3;
    private static final int PLACE = 4;
    private static final int LINES = 5;
    private static final int HIDDEN_CLASS = 6;

    /**
     * Names that were told since the last boundary, as far as there is room: frameworks ask for the
     * same class again and again. Native code puts a new array here at a boundary, after it has taken
     * what was told.
     */
    private static volatile String[] told = new String[7 * 512];

    private TamisLookups() {}

    private static void ask(int kind, String name) {
        String[] told = TamisLookups.told;
        int place = kind * 512 + (name.hashCode() & 511);
        if (!name.equals(told[place])) {
            asked(kind, name);
            // Into the array from before the question: if a boundary came in between, it is dead.
            told[place] = name;
        }
    }

    public static void classNamed(Object name) {
        if (name != null) {
            ask(CLASS, (String) name);
        }
    }

    /** What a class says of itself. Classes of the JDK are the same for all tests. */
    public static void classMet(Object type) {
        Class<?> met = (Class<?>) type;
        if (met.getClassLoader() != null) {
            ask(CLASS, met.getName());
        }
    }

    /** What members a class has. */
    public static void classReflected(Object type) {
        Class<?> reflected = (Class<?>) type;
        if (reflected.getClassLoader() != null) {
            ask(REFLECTED, reflected.getName());
        }
    }

    /** A class of which a member is asked for by name; some of these calls take null and throw. */
    public static void classSearched(Object type) {
        if (type != null) {
            classReflected(type);
        }
    }

    /** A member of an object's class. */
    public static void objectSearched(Object object) {
        if (object != null) {
            classReflected(object.getClass());
        }
    }

    /** Where a class comes from. */
    public static void placeAsked(Object type) {
        Class<?> asked = (Class<?>) type;
        if (asked.getClassLoader() != null) {
            ask(PLACE, asked.getName());
        }
    }

    /** The number of a line. */
    public static void linesAsked() {
        ask(LINES, "");
    }

    /**
     * A class that is in no file and of which agents are not told. Some JDKs make those of lambdas here, too: they
     * have nothing but a call that the code which makes them names.
     */
    public static void hiddenClassMade(Object bytes) {
        if (bytes != null && !isLambda((byte[]) bytes)) {
            ask(HIDDEN_CLASS, "");
        }
    }

    /** Whether the JDK's name for such a class stands in it. */
    private static boolean isLambda(byte[] bytes) {
        String name = "$$Lambda$";
        for (int at = 0; at + name.length() <= bytes.length; at++) {
            int same = 0;
            while (same < name.length() && bytes[at + same] == name.charAt(same)) {
                same++;
            }
            if (same == name.length()) {
                return true;
            }
        }
        return false;
    }

    public static void variableNamed(Object name) {
        if (name != null) {
            ask(VARIABLE, (String) name);
        }
    }

    /** Code of a library or the program that is not Java: it may read any variable without asking anybody. */
    public static void nativeLoaded(Object type) {
        if (type == null || ((Class<?>) type).getClassLoader() != null) {
            variablesListed();
        }
    }

    public static void propertyNamed(Object name) {
        if (name != null && TamisGlobals.looking != Thread.currentThread()) {
            ask(PROPERTY, (String) name);
        }
    }

    /** All system properties; with a name that none has. */
    public static void propertiesListed() {
        String[] told = TamisLookups.told;
        boolean isTold = "".equals(told[PROPERTY * 512]);
        if (!isTold && TamisGlobals.looking != Thread.currentThread() && !isForOthers()) {
            ask(PROPERTY, "");
        }
    }

    /**
     * Surefire lists them for its reports, and no test sees anything of that. The JDK itself takes some that are its own
     * out of the list.
     */
    private static boolean isForOthers() {
        StackTraceElement[] frames = new Throwable().getStackTrace();
        // Behind this method, the one above, and System.getProperties.
        int at = 3;
        while (at < frames.length && frames[at].getClassName().startsWith("sun.management.")) {
            at++;
        }
        String caller = at < frames.length ? frames[at].getClassName() : "";
        return caller.startsWith("org.apache.maven.surefire.") || caller.equals("sun.security.action.GetPropertyAction");
    }

    public static void zoneIsSet() {
        TamisGlobals.zoneIsSet();
    }

    public static void entryNamed(Object jar, Object name) {
        if (name != null) {
            askedJar(((ZipFile) jar).getName(), (String) name);
        }
    }

    public static void entriesListed(Object jar) {
        askedJar(((ZipFile) jar).getName(), null);
    }

    /** All variables of the environment. */
    public static native void variablesListed();

    private static native void asked(int kind, String name);

    /** Without a name: all names. */
    private static native void askedJar(String jar, String name);
}
