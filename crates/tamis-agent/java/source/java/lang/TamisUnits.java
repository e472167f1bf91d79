package java.lang;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Test classes that are about to run: tamis is asked about all of them together, and once each. */
final class TamisUnits {
    /** Name and choice of every test class that was asked about; why it need not run, or null. */
    private static final Map<String, String> DECIDED = new HashMap<String, String>();

    /** Whether tamis takes tests that are found on this class path. */
    private static final Map<String, Boolean> PATHS = new HashMap<String, Boolean>();

    /** Since the last question a task of a build tool began, which may have set other properties. */
    private static boolean otherTask;

    /** Where the runner writes its reports; null if it is not known. */
    static String ownFolder;

    private final List<String> names = new ArrayList<String>();
    private final List<String> choices = new ArrayList<String>();
    private final List<ClassLoader> loaders = new ArrayList<ClassLoader>();

    /** Tests begin to run: what was said about earlier ones is said about classes as they were. */
    static void forget(boolean isOtherTask) {
        synchronized (DECIDED) {
            otherTask |= isOtherTask;
            DECIDED.clear();
            PATHS.clear();
        }
    }

    /** The choice is a text for which of its tests are going to run. */
    void add(String name, String choice, ClassLoader loader) {
        names.add(name);
        choices.add(choice);
        loaders.add(loader);
    }

    /** Needed says why they have to run in any case; it is empty where they do not. */
    void ask(String needed) {
        synchronized (DECIDED) {
            TamisUnits asked = new TamisUnits();
            for (int i = 0; i < names.size(); i++) {
                if (!DECIDED.containsKey(key(i))) {
                    DECIDED.put(key(i), null);
                    if (isTaken(loaders.get(i))) {
                        asked.add(names.get(i), choices.get(i), null);
                    }
                }
            }
            if (asked.names.isEmpty()) {
                return;
            }
            String answer = choose(asked.names.toArray(new String[0]),
                    asked.choices.toArray(new String[0]), needed);
            String[] reasons = answer == null ? new String[0] : answer.split("\n", -1);
            // Anything else is an answer to another question.
            if (reasons.length == asked.names.size()) {
                for (int i = 0; i < reasons.length; i++) {
                    DECIDED.put(asked.key(i), reasons[i].isEmpty() ? null : reasons[i]);
                }
            }
        }
    }

    /** Why the test class need not run; null if it has to. */
    String reason(int i) {
        synchronized (DECIDED) {
            return DECIDED.get(key(i));
        }
    }

    static String reason(String name, String choice, ClassLoader loader) {
        TamisUnits one = new TamisUnits();
        one.add(name, choice, loader);
        one.ask("");
        return one.reason(0);
    }

    private String key(int i) {
        return names.get(i) + "\n" + choices.get(i);
    }

    /** Tells that tests are going to run that cannot be told apart, and why. */
    static void refuse(String why) {
        String[] none = new String[0];
        launchBegins(System.getProperty("user.dir"), none, none, none, false, why);
    }

    private static boolean isTaken(ClassLoader loader) {
        TamisLoaders loaders = TamisLoaders.of(loader);
        String path = loaders.path + String.valueOf(loaders.unknown);
        Boolean taken = PATHS.get(path);
        if (taken == null) {
            taken = launchBegins(System.getProperty("user.dir"), loaders.path.toArray(new String[0]),
                    properties(), ownFolder == null ? new String[0] : new String[] {ownFolder},
                    otherTask, loaders.unknown);
            PATHS.put(path, taken);
            otherTask = false;
        }
        return taken;
    }

    /** Names and values in turn, sorted by name. */
    private static String[] properties() {
        TreeMap<String, String> sorted = new TreeMap<String, String>();
        for (Map.Entry<Object, Object> entry : System.getProperties().entrySet()) {
            sorted.put(String.valueOf(entry.getKey()), String.valueOf(entry.getValue()));
        }
        List<String> pairs = new ArrayList<String>();
        for (Map.Entry<String, String> entry : sorted.entrySet()) {
            pairs.add(entry.getKey());
            pairs.add(entry.getValue());
        }
        return pairs.toArray(new String[0]);
    }

    static ClassLoader context() {
        return Thread.currentThread().getContextClassLoader();
    }

    /** Whether tamis takes tests from this class path; unknown is null where it is known. */
    private static native boolean launchBegins(
            String folder, String[] classPath, String[] properties, String[] ownFolders,
            boolean otherTask, String unknown);

    /** One line for each class: why it need not run, empty if it has to. */
    private static native String choose(String[] names, String[] choices, String needed);
}
