package java.lang;

import java.io.File;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * A test goal of Maven (Surefire, Failsafe) while it runs: tells what it is going to do, hands the
 * arguments on that the forked JVM shall have, and takes classes out of what it found.
 */
public final class TamisMaven {
    /** Inherited, because tests may run inside Maven on other threads. */
    private static final InheritableThreadLocal<TamisMaven> CURRENT =
            new InheritableThreadLocal<TamisMaven>();

    private static final java.util.concurrent.atomic.AtomicInteger LAST =
            new java.util.concurrent.atomic.AtomicInteger();

    private final TamisMaven outer;
    /** What Maven calls this execution: a MojoExecution. */
    private final Object execution;
    /** Null while it is not a goal that runs tests. */
    private Object mojo;
    private int goal;
    private final Set<String> asked = new HashSet<String>();

    private TamisMaven(Object execution) {
        this.outer = CURRENT.get();
        this.execution = execution;
    }

    /** Maven executes a goal of any plugin. */
    static TamisMaven enterExecution(Object session, Object execution) {
        setProperties(get(session, "getCurrentProject"));
        TamisMaven entered = new TamisMaven(execution);
        CURRENT.set(entered);
        return entered;
    }

    /** Properties for some modules alone, by group:artifact; null until they are read. */
    private static Map<String, List<String[]>> properties;

    /** Gives a module the properties that the user wants it to have, before its goals are configured. */
    private static void setProperties(Object project) {
        String file = System.getProperty("tamis.module.properties");
        if (file == null || project == null) {
            return;
        }
        try {
            List<String[]> own = moduleProperties(file)
                    .get(get(project, "getGroupId") + ":" + get(project, "getArtifactId"));
            Object known = own == null ? null : get(project, "getProperties");
            if (known instanceof java.util.Properties) {
                for (String[] property : own) {
                    ((java.util.Properties) known).setProperty(property[1], property[2]);
                }
            }
        } catch (java.io.IOException problem) {
            TamisHooks.trouble("the properties of modules could not be read: " + problem);
        }
    }

    private static synchronized Map<String, List<String[]>> moduleProperties(String file)
            throws java.io.IOException {
        if (properties == null) {
            Map<String, List<String[]>> read = new TreeMap<String, List<String[]>>();
            byte[] bytes = java.nio.file.Files.readAllBytes(java.nio.file.Paths.get(file));
            for (String line : new String(bytes, java.nio.charset.StandardCharsets.UTF_8).split("\n")) {
                String[] parts = line.split("\t", 3);
                if (parts.length == 3) {
                    List<String[]> own = read.get(parts[0]);
                    if (own == null) {
                        own = new ArrayList<String[]>();
                        read.put(parts[0], own);
                    }
                    own.add(parts);
                }
            }
            properties = read;
        }
        return properties;
    }

    /** A goal that runs tests starts. */
    static TamisMaven enterGoal(Object mojo) throws Exception {
        TamisMaven around = CURRENT.get();
        TamisMaven entered = new TamisMaven(around == null ? null : around.execution);
        entered.mojo = mojo;
        entered.goal = LAST.incrementAndGet();
        CURRENT.set(entered);
        entered.begin();
        return entered;
    }

    void leave(Throwable thrown) {
        CURRENT.set(outer);
        if (mojo != null) {
            goalEnds(goal, thrown == null ? null : thrown.toString());
        }
    }

    private void begin() throws Exception {
        Object project = value("project");
        String[] texts = {
            name(),
            text(get(execution, "getExecutionId")),
            text(get(project, "getBasedir")),
            get(project, "getGroupId") + ":" + get(project, "getArtifactId") + ":"
                    + get(project, "getVersion"),
            text(value("testClassesDirectory")),
            text(first(value("classesDirectory"), value("mainBuildPath"))),
            java(),
            forks(),
        };
        String[] folders = {
            text(value("reportsDirectory")),
            text(value("tempDir")),
            text(value("summaryFile")),
            text(value("statisticsFile")),
            text(value("runHistoryFile")),
        };
        String arguments =
                goalBegins(goal, texts, classPath(project), configuration(), folders);
        if (arguments != null) {
            String own = text(value("argLine"));
            set("argLine", own.isEmpty() ? arguments : arguments + " " + own);
            fork(System.getProperty("tamis.forks"));
        }
    }

    /**
     * In a trial each test class gets a JVM of its own, or all get one together, whatever the build says. It is set only now:
     * the configuration that was reported is that of the build.
     */
    private void fork(String how) throws IllegalAccessException {
        if (how == null) {
            return;
        }
        boolean apart = how.equals("apart");
        // Before 2.14 there was only the mode.
        if (field("reuseForks") == null) {
            set("forkMode", apart ? "always" : "once");
            return;
        }
        if (value("forkMode") != null) {
            // What it says is said by the two others then.
            set("forkMode", "once");
        }
        set("forkCount", "1");
        set("reuseForks", Boolean.valueOf(!apart));
    }

    /** Such as surefire:test. */
    private String name() {
        String plugin = text(get(execution, "getArtifactId"));
        if (plugin.isEmpty()) {
            return mojo.getClass().getName();
        }
        return plugin.replace("maven-", "").replace("-plugin", "") + ":"
                + text(get(execution, "getGoal"));
    }

    private String java() throws IllegalAccessException {
        String jvm = text(value("jvm"));
        if (jvm.isEmpty()) {
            Object toolchain = get(mojo, "getToolchain");
            jvm = text(call(toolchain, "findTool", String.class, "java"));
        }
        return jvm.isEmpty()
                ? System.getProperty("java.home") + File.separator + "bin" + File.separator + "java"
                : jvm;
    }

    /** Before 2.14 only the mode of forking could be given; later it is one more way to say it. */
    private String forks() throws IllegalAccessException {
        String mode = text(value("forkMode"));
        if (mode.equals("never") || mode.equals("none")) {
            return "0";
        }
        String count = text(value("forkCount"));
        if (!count.isEmpty() && mode.isEmpty()) {
            return count;
        }
        return mode.equals("perthread") ? text(value("threadCount")) : count.isEmpty() ? "1" : count;
    }

    /** As the goal itself computes it, else as the project has it. */
    private String[] classPath(Object project) {
        Object own = get(mojo, "generateTestClasspath");
        Object path = first(get(own, "toClasspath"), own);
        Object elements = get(path, "getClassPath");
        if (!(elements instanceof Collection)) {
            elements = get(project, "getTestClasspathElements");
        }
        List<String> texts = new ArrayList<String>();
        if (elements instanceof Collection) {
            for (Object element : (Collection<?>) elements) {
                texts.add(text(element));
            }
        }
        return texts.toArray(new String[0]);
    }

    /** Names and values in turn, sorted by name. */
    private String[] configuration() {
        TreeMap<String, String> values = new TreeMap<String, String>();
        for (Class<?> type = mojo.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers()) || values.containsKey(field.getName())) {
                    continue;
                }
                try {
                    field.setAccessible(true);
                    String text = plain(field.get(mojo));
                    if (text != null) {
                        values.put(field.getName(), text);
                    }
                } catch (Exception unreadable) {
                    values.put(field.getName(), "unreadable: " + unreadable);
                }
            }
        }
        String line = values.get("argLine");
        if (line != null && line.contains("@{")) {
            values.put("argLine", resolved(line));
        }
        String plugin = get(execution, "getGroupId") + ":" + get(execution, "getArtifactId") + ":"
                + get(execution, "getVersion");
        values.put("plugin", plugin);
        // What stands behind -D on the command line is handed to the tests.
        Object user = get(get(mojo, "getSession"), "getUserProperties");
        if (user instanceof Map) {
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) user).entrySet()) {
                values.put("user:" + entry.getKey(), String.valueOf(entry.getValue()));
            }
        } else {
            // Never twice the same: nothing can be proven without them.
            values.put("user:unknown", String.valueOf(System.nanoTime()));
        }
        List<String> pairs = new ArrayList<String>();
        for (Map.Entry<String, String> entry : values.entrySet()) {
            pairs.add(entry.getKey());
            pairs.add(entry.getValue());
        }
        return pairs.toArray(new String[0]);
    }

    /** With properties of the project in place of their names, which Surefire takes late. */
    private String resolved(String line) {
        Object project = null;
        try {
            project = value("project");
        } catch (IllegalAccessException unreadable) {
            return line;
        }
        Object properties = get(project, "getProperties");
        if (properties instanceof java.util.Properties) {
            for (String name : ((java.util.Properties) properties).stringPropertyNames()) {
                String value = ((java.util.Properties) properties).getProperty(name);
                line = line.replace("@{" + name + "}", value);
            }
        }
        return line;
    }

    /** The text of a plain value, or of a collection of such; null for everything else. */
    private static String plain(Object value) {
        if (value instanceof String || value instanceof Number || value instanceof Boolean
                || value instanceof Character || value instanceof File || value instanceof Enum) {
            return value.toString();
        }
        StringBuilder text = new StringBuilder();
        if (value instanceof Map) {
            TreeMap<String, String> sorted = new TreeMap<String, String>();
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                String element = plain(entry.getValue());
                if (!(entry.getKey() instanceof String) || entry.getValue() != null && element == null) {
                    return null;
                }
                sorted.put((String) entry.getKey(), element);
            }
            return sorted.toString();
        }
        if (value instanceof Collection) {
            for (Object element : (Collection<?>) value) {
                String part = plain(element);
                if (part == null) {
                    return null;
                }
                text.append(text.length() == 0 ? "" : "\n").append(part);
            }
            return text.toString();
        }
        if (value != null && value.getClass().isArray()) {
            for (int i = 0; i < Array.getLength(value); i++) {
                String part = plain(Array.get(value, i));
                if (part == null) {
                    return null;
                }
                text.append(i == 0 ? "" : "\n").append(part);
            }
            return text.toString();
        }
        return null;
    }

    /** The goal found these classes: a constructor's argument, changed in place. */
    public static void scanned(Object found) {
        TamisMaven current = CURRENT.get();
        if (current == null || current.mojo == null || !(found instanceof List)) {
            return;
        }
        try {
            current.remove((List<?>) found);
        } catch (Throwable problem) {
            TamisHooks.trouble("the test classes that the goal found could not be read: " + problem);
        }
    }

    private void remove(List<?> found) throws Exception {
        // The same names come again when the goal joins several scans.
        List<String> names = new ArrayList<String>();
        for (Object name : found) {
            if (name instanceof String && asked.add((String) name)) {
                names.add((String) name);
            }
        }
        if (names.isEmpty()) {
            return;
        }
        int[] skip = testsFound(goal, names.toArray(new String[0]));
        if (skip == null || skip.length == 0) {
            return;
        }
        Set<String> gone = new HashSet<String>();
        for (int index : skip) {
            gone.add(names.get(index));
        }
        found.removeAll(gone);
        if (found.isEmpty()) {
            // Nothing is left because nothing needs to run, which is no mistake of the user.
            set("failIfNoTests", Boolean.FALSE);
            set("failIfNoSpecifiedTests", Boolean.FALSE);
        }
    }

    private static Object first(Object one, Object other) {
        return one == null ? other : one;
    }

    private static String text(Object value) {
        return value == null ? "" : value.toString();
    }

    /** Calls a method without parameters, of whatever visibility; null if that does not work. */
    private static Object get(Object self, String name) {
        return call(self, name, null, null);
    }

    private static Object call(Object self, String name, Class<?> parameter, Object argument) {
        for (Class<?> type = self == null ? null : self.getClass();
                type != null;
                type = type.getSuperclass()) {
            try {
                Method method = parameter == null
                        ? type.getDeclaredMethod(name)
                        : type.getDeclaredMethod(name, parameter);
                method.setAccessible(true);
                return parameter == null ? method.invoke(self) : method.invoke(self, argument);
            } catch (NoSuchMethodException next) {
                continue;
            } catch (Exception failed) {
                return null;
            }
        }
        return null;
    }

    private Field field(String name) {
        for (Class<?> type = mojo.getClass(); type != null; type = type.getSuperclass()) {
            try {
                Field field = type.getDeclaredField(name);
                field.setAccessible(true);
                return field;
            } catch (NoSuchFieldException next) {
                continue;
            }
        }
        return null;
    }

    private Object value(String name) throws IllegalAccessException {
        Field field = field(name);
        return field == null ? null : field.get(mojo);
    }

    private void set(String name, Object value) throws IllegalAccessException {
        Field field = field(name);
        if (field != null) {
            field.set(mojo, value);
        } else if (name.equals("argLine")) {
            TamisHooks.trouble("the goal has no argLine");
        }
    }

    /** What stands before the arguments of the forked JVM; null leaves the goal alone. */
    private static native String goalBegins(
            int goal, String[] texts, String[] classPath, String[] configuration, String[] folders);

    /** Which of the classes need not run. */
    private static native int[] testsFound(int goal, String[] classes);

    private static native void goalEnds(int goal, String error);
}
